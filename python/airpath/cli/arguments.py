"""Options and arguments of several commands."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

from airpath.errors import OutputError, ScenarioError, SweepError
from airpath.scenario import Scenario, bundled, load
from airpath.terminal import warn

if TYPE_CHECKING:
    from airpath.runner.cluster import Security

MOST = 2**31 - 1
"""Runs or workers at most."""


class OnceEach(TyperCommand):
    """Refuses an option that is given twice, unless it is repeatable or has no value."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Look for options that are given twice, then parse."""
        _, _, given = self.make_parser(ctx).parse_args(args=list(args))
        once = [one for one in given if not (one.multiple or getattr(one, "is_flag", True))]
        twice = next((one for at, one in enumerate(once) if one in once[:at]), None)
        if twice:
            ctx.fail(f"{twice.opts[0]} is given twice")
        return super().parse_args(ctx, args)


def option(metavar: str | None, text: str, *names: str, **more: Any) -> Any:
    """Make an option; `names` are needed where the parameter has another."""
    return typer.Option(*names, metavar=metavar, help=text, **more)


def flag(name: str, text: str) -> Any:
    """Make an option without value."""
    return typer.Option(name, help=text)


def argument(metavar: str, text: str, **more: Any) -> Any:
    """Make an argument."""
    return typer.Argument(metavar=metavar, help=text, **more)


def number_option(metavar: str, text: str, *names: str) -> Any:
    """Make an option whose value is at least 1."""
    return option(metavar, text, *names, callback=_at_least_one)


def runs_option(text: str) -> Any:
    """Make the option `--runs`: a number of runs, never of seeds."""
    return number_option("N", text, "--runs")


def out_option(text: str) -> Any:
    """Make the option `--out DIR`."""
    return option("DIR", text, "--out", parser=_parse_folder)


def _at_least_one(option: typer.CallbackParam, count: int | None) -> int | None:
    if count is not None and count < 1:
        raise ScenarioError(option.opts[0], f"{count} is too few", "give at least 1")
    if count is not None and count > MOST:
        raise ScenarioError(option.opts[0], f"{count} is too many", f"give at most {MOST}")
    return count


def _parse_folder(name: str) -> Path:
    """Read the name of a folder; `-` means standard output elsewhere."""
    if name in ("", "-"):
        raise OutputError("--out", f"'{name}' is not a folder", "name the folder to write to")
    return Path(name)


def _scenario_names(incomplete: str) -> list[str]:
    return [name for name in bundled() if name.startswith(incomplete)]


SCENARIO = argument("SCENARIO", "A .toml file or a bundled name.", autocompletion=_scenario_names)
WORKERS = number_option("N", "Runs in parallel; one for each processor if absent.")

ScenarioArgument = Annotated[str, SCENARIO]
SetOption = Annotated[
    list[str] | None, option("PATH=VALUE", "Change a value, such as tcp.mss='536 B'. Repeatable.", "--set")
]
SeedOption = Annotated[int, option("N", "Same scenario and seed, same random draws.")]
ThreadsOption = Annotated[
    int,
    option("N", "Run on N threads where the scenario allows it; same results.", "--threads", min=1, max=256),
]
ExplainOption = Annotated[
    bool, flag("--explain", "Say whether N threads can share the run, and its largest memory; run nothing.")
]
OutOption = Annotated[Path | None, out_option("Write results, trace and picture here.")]
ForceOption = Annotated[bool, flag("--force", "Replace files that exist already.")]
CaptureRlcOption = Annotated[
    bool, flag("--capture-rlc", "Also capture the PDUs of RLC; the capture grows some 30 times larger.")
]
CaptureIuOption = Annotated[
    bool, flag("--capture-iu", "Also capture whole packets in GTP-U between SGSN and RNC.")
]
ProbesOption = Annotated[
    str | None,
    option(
        "KIND,...",
        "Event kinds to record: '' for none, all, or a list. [default: all except packet and rlc_sdu]",
    ),
]
PageOption = Annotated[
    bool, flag("--page/--no-page", "Whether there is a page.html in DIR, which shows the run in a browser.")
]
JsonOption = Annotated[bool, flag("--json", "Print JSON on standard output instead of tables.")]
DaskOption = Annotated[
    str | None, option("tcp://HOST:PORT", "Run on the workers of this Dask scheduler, not here.")
]
DaskWaitOption = Annotated[
    float | None, option("SECONDS", "How long to wait for Dask workers when there are none; 60.", min=0)
]
DaskSecurityOption = Annotated[
    str | None,
    option(
        "CA,CERT,KEY", "PEM files for a scheduler at tls://HOST:PORT; those of Dask's settings if absent."
    ),
]


def refuse_without_out(out: Path | None, **given: Any) -> None:
    """Raise a `ScenarioError` if an option about files is given without --out."""
    for name, value in given.items():
        if out is None and value:
            option = f"--{name.replace('_', '-')}"
            raise ScenarioError(option, "nothing is written without a folder", "add --out DIR")


def choose_probes(kinds: str | None) -> dict[str, list[str]]:
    """Choose the kinds of event to record; return them with their columns."""
    from airpath import _core
    from airpath.runs.memory import check_probes, coarse_probes

    known = _core.probes()
    if kinds is None:
        wanted = coarse_probes()
    elif kinds.strip() == "all":
        wanted = list(known)
    else:
        wanted = [kind.strip() for kind in kinds.split(",") if kind.strip()]
        check_probes(wanted)
    return {kind: columns for kind, columns in known.items() if kind in wanted}


def wanted_interfaces(scenario: Scenario, capture_rlc: bool, capture_iu: bool) -> tuple[bool, bool]:
    """Warn of each interface asked for that the scenario does not have; return which to capture."""
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
    """Split the arguments of --set into keys and values; raise a `ScenarioError` where one has no key."""
    overrides = []
    for change in changes or ():
        path, equals, value = change.partition("=")
        if not equals or not path.strip():
            hint = "write --set PATH=VALUE, such as --set radio.dch.downlink.rate='128 kbit/s'"
            raise ScenarioError("--set", f"'{change}' does not name a key and its value", hint)
        overrides.append((path.strip(), value.strip()))
    return tuple(overrides)


def load_changed(scenario: str, changes: Sequence[str] | None) -> Scenario:
    """Load a scenario and apply the changes of --set; an error without a key has the scenario."""
    overrides = parse_changes(changes)
    try:
        return load(scenario, overrides)
    except ScenarioError as error:
        path, message, hint = error.key, error.problem, error.remedy
        if " " in path:  # A place in the text, not a key.
            path, message = scenario, f"{path}: {message}"
        raise ScenarioError(path or scenario, message, hint) from error


def check_dask(
    workers: int | None, dask: str | None, dask_wait: float | None, dask_security: str | None
) -> Security | None:
    """Read the files of TLS; raise a `SweepError` if options about workers contradict each other."""
    if dask is not None and workers is not None:
        remedy = "leave it out: how many workers a cluster has is said where they start"
        raise SweepError("--workers", "has no meaning with --dask", remedy)
    for name, value in (("--dask-wait", dask_wait), ("--dask-security", dask_security)):
        if dask is None and value is not None:
            raise SweepError(name, "has no meaning without --dask", "leave it out, or name a scheduler")
    if dask is None or dask_security is None:
        return None
    from airpath.runner.cluster import Security

    return Security.of(dask_security, dask)
