"""`airpath results`: prints the results of a sweep."""

from __future__ import annotations

from airpath.cli.arguments import JsonOption, SweepFolder
from airpath.cli.output import tell
from airpath.terminal import warn


def command(folder: SweepFolder, json_: JsonOption = False) -> None:
    """Print mean and interval of every metric at every point of a sweep."""
    from airpath.experiments.sweep.results import read_results
    from airpath.report.sweep import sweep_report

    found = read_results(folder)
    for warning in found.warnings:
        warn(warning)
    tell(json_, found.as_json() if json_ else None, sweep_report(found))
