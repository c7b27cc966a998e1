"""What several commands take from the command line."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from airpath import _core
from airpath._core import ScenarioError
from airpath.scenario import Scenario, load

SetOption = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="PATH=VALUE", help="Change a value, such as tcp.mss='536 B'. Repeatable."),
]
SeedOption = Annotated[int, typer.Option(help="Same scenario and seed, same random draws.")]
OutOption = Annotated[Path | None, typer.Option(metavar="DIR", help="Write results, trace and picture here.")]
ForceOption = Annotated[bool, typer.Option("--force", help="Replace the files of an earlier run in DIR.")]
CaptureRlcOption = Annotated[
    bool,
    typer.Option(
        "--capture-rlc", help="Have the PDUs of RLC in the capture too; they make it some 30 times larger."
    ),
]
CaptureIuOption = Annotated[
    bool,
    typer.Option("--capture-iu", help="Have whole packets in GTP-U between SGSN and RNC in the capture too."),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]


def wanted_interfaces(scenario: Scenario, capture_rlc: bool, capture_iu: bool) -> tuple[bool, bool]:
    """Warn of each interface that was asked for and has nothing to show; say which are left."""
    pdus, iu = _core.captures(scenario.text)
    empty = {
        "--capture-rlc": (capture_rlc and not pdus, "the cell has no link layer that goes by TTIs"),
        "--capture-iu": (capture_iu and not iu, "the scenario has no [umts]"),
    }
    for option, (is_empty, reason) in empty.items():
        if is_empty:
            typer.echo(f"warning: {option}: {reason}; the capture is without that interface", err=True)
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
        path, message, hint = error.args
        if " " in path:  # Not a key but a place in the text.
            path, message = scenario, f"{path}: {message}"
        raise ScenarioError(path or scenario, message, hint) from error
