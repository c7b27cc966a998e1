"""What several commands take from the command line."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from airpath.errors import OutputError, ScenarioError
from airpath.scenario import Scenario, bundled, load
from airpath.terminal import warn


def parse_folder(name: str) -> Path:
    """Take a folder's name; none has the name that elsewhere is standard output, or no name.

    Raises
    ------
    OutputError
        If it is one of these.
    """
    if name in ("", "-"):
        raise OutputError("--out", f"'{name}' is not a folder", "name the folder to write to")
    return Path(name)


def at_least_one(option: typer.CallbackParam, count: int | None) -> int | None:
    """Raise a `ScenarioError` if a number is not positive."""
    if count is not None and count < 1:
        raise ScenarioError(option.opts[0], f"{count} is too few", "give at least 1")
    return count


def _scenario_names(incomplete: str) -> list[str]:
    return [name for name in bundled() if name.startswith(incomplete)]


SCENARIO = typer.Argument(
    metavar="SCENARIO", help="A .toml file or a bundled name.", autocompletion=_scenario_names
)
ScenarioArgument = Annotated[str, SCENARIO]
SetOption = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="PATH=VALUE", help="Change a value, such as tcp.mss='536 B'. Repeatable."),
]
SeedOption = Annotated[int, typer.Option(metavar="N", help="Same scenario and seed, same random draws.")]


def runs_option(what: str) -> Any:
    """Make the option of every command that makes several runs: their number, and never their seeds."""
    return typer.Option("--runs", metavar="N", callback=at_least_one, help=what)


WORKERS = typer.Option(
    "--workers",
    metavar="N",
    callback=at_least_one,
    help="Runs side by side; as many as processors if absent.",
)
OutOption = Annotated[
    Path | None,
    typer.Option("--out", metavar="DIR", parser=parse_folder, help="Write results, trace and picture here."),
]
ForceOption = Annotated[bool, typer.Option("--force", help="Replace files that exist already.")]
CaptureRlcOption = Annotated[
    bool,
    typer.Option(
        "--capture-rlc", help="Also capture the PDUs of RLC; the capture grows some 30 times larger."
    ),
]
CaptureIuOption = Annotated[
    bool,
    typer.Option("--capture-iu", help="Also capture whole packets in GTP-U between SGSN and RNC."),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON on standard output instead of tables.")]


def wanted_interfaces(scenario: Scenario, capture_rlc: bool, capture_iu: bool) -> tuple[bool, bool]:
    """Warn of each interface that was asked for and has nothing to show; say which are left."""
    from airpath import _core

    pdus, iu = _core.captures(scenario.text)
    empty = {
        "--capture-rlc": (capture_rlc and not pdus, "the cell has no link layer that goes by TTIs"),
        "--capture-iu": (capture_iu and not iu, "the scenario has no [umts]"),
    }
    for option, (is_empty, reason) in empty.items():
        if is_empty:
            warn(f"{option}: {reason}; the capture is without that interface")
    return capture_rlc and pdus, capture_iu and iu


def parse_changes(changes: Sequence[str] | None) -> tuple[tuple[str, str], ...]:
    """Split what was given with --set into keys and values.

    Raises
    ------
    ScenarioError
        If a change is not PATH=VALUE.
    """
    overrides = []
    for change in changes or ():
        path, equals, value = change.partition("=")
        if not equals or not path.strip():
            hint = "write --set PATH=VALUE, such as --set radio.dch.downlink.rate='128 kbit/s'"
            raise ScenarioError("--set", f"'{change}' does not name a key and its value", hint)
        overrides.append((path.strip(), value.strip()))
    return tuple(overrides)


def load_changed(scenario: str, changes: Sequence[str] | None) -> Scenario:
    """Load a scenario, with changes as given on the command line.

    Raises
    ------
    ScenarioError
        If there is no such scenario or it cannot be used; the key names the scenario where no key is
        at fault.
    """
    overrides = parse_changes(changes)
    try:
        return load(scenario, overrides)
    except ScenarioError as error:
        path, message, hint = error.key, error.problem, error.remedy
        if " " in path:  # Not a key but a place in the text.
            path, message = scenario, f"{path}: {message}"
        raise ScenarioError(path or scenario, message, hint) from error
