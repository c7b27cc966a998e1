"""`airpath list`: lists everything that can be named."""

from __future__ import annotations

import json
from enum import StrEnum
from typing import Annotated

import typer

from airpath.cli.arguments import JsonOption


class Kind(StrEnum):
    """Kinds of things to list."""

    scenarios = "scenarios"
    sweeps = "sweeps"
    traces = "traces"
    components = "components"
    probes = "probes"


def command(
    kind: Annotated[
        Kind | None,
        typer.Argument(metavar="KIND", help="scenarios, sweeps, components or probes; all if absent."),
    ] = None,
    prefix: Annotated[
        str | None, typer.Argument(metavar="PREFIX", help="Only names with this beginning, such as tcp.cc.")
    ] = None,
    json_: JsonOption = False,
) -> None:
    """Show the bundled scenarios and sweeps and everything registered, with defaults and meanings."""
    from airpath.report.catalogue import catalogue, catalogue_report
    from airpath.report.terminal import show

    content = catalogue(kind, prefix)
    if json_:
        typer.echo(json.dumps(content, indent=2))
    else:
        show(catalogue_report(content))
