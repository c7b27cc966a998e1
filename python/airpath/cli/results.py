"""`airpath results`: prints the results of a sweep."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from airpath.cli.arguments import JsonOption
from airpath.terminal import warn

FolderArgument = Annotated[Path, typer.Argument(metavar="DIR", help="What 'airpath sweep' wrote.")]


def command(folder: FolderArgument, json_: JsonOption = False) -> None:
    """Print mean and interval of every metric at every point of a sweep."""
    from airpath.experiments.sweep.results import read_results
    from airpath.report.sweep import sweep_report
    from airpath.report.terminal import show

    found = read_results(folder)
    for warning in found.warnings:
        warn(warning)
    if json_:
        typer.echo(json.dumps(found.as_json(), indent=2))
    else:
        show(sweep_report(found))
