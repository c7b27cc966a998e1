"""`airpath results`: prints the results of sweeps."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from airpath.cli.arguments import argument, flag, option
from airpath.errors import OutputError
from airpath.report.terminal import show
from airpath.terminal import warn

TABLE = "table"


def command(
    folders: Annotated[
        list[Path], argument("DIR", "Folders that 'airpath sweep' wrote; several make one table.")
    ],
    format_: Annotated[
        str, option("NAME", "table, csv, latex (booktabs), markdown or json.", "--format")
    ] = TABLE,
    against: Annotated[
        list[str] | None,
        option(
            "KEY=VALUE",
            "Add differences from this point, other parameters being equal, run by run. Repeatable.",
        ),
    ] = None,
    where: Annotated[
        list[str] | None,
        option("KEY=VALUE", "Only these points. Repeatable; the same key again: or this value."),
    ] = None,
    label: Annotated[
        list[str] | None,
        option("KEY=TEXT", "Name a parameter, a metric or a value TEXT. Repeatable."),
    ] = None,
    json_: Annotated[bool, flag("--json", "Equivalent to --format json.")] = False,
) -> None:
    """Print mean and interval of every metric at every point of a sweep."""
    from airpath.report.sweep import sweep_table
    from airpath.report.sweep_formats import FORMATS

    known = (TABLE, *FORMATS)
    if format_ not in known:
        raise OutputError("--format", f"there is no format '{format_}'", f"choose from {', '.join(known)}")
    if json_ and format_ not in (TABLE, "json"):
        raise OutputError("--json", f"contradicts --format {format_}", "leave one of both out")
    chosen = "json" if json_ else format_
    table = sweep_table(*folders, where=where or (), against=against or (), labels=label or ())
    for warning in table.warnings:
        warn(warning)
    if chosen == TABLE:
        show(table.parts())
    else:
        typer.echo(FORMATS[chosen](table), nl=False)
