"""`airpath diff`: compares two scenarios, runs, folders of runs, or sweeps."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from airpath.cli.arguments import argument, option
from airpath.cli.output import tell
from airpath.cli.status import DIFFERENT

SUBJECT = "A scenario's name or file, or a folder that 'run --out' or 'sweep' wrote, or a folder of runs."


def command(
    a: Annotated[str, argument("A", SUBJECT)],
    b: Annotated[str, argument("B", "What to compare with it.")],
    format_: Annotated[Literal["text", "json"], option("NAME", "text or json.", "--format")] = "text",
) -> None:
    """Print the settings and results in which two runs, folders of runs, sweeps or scenarios differ.

    Several runs of each give differences with 95 % confidence intervals, paired by seed where both have the
    same seeds. The exit status is 0 if nothing differs, and 1 if something does.
    """
    from airpath.experiments.difference import difference
    from airpath.report.difference import difference_report

    found = difference(a, b)
    tell(format_ == "json", found.as_json(), difference_report(found))
    if not found.is_none:
        raise typer.Exit(DIFFERENT)
