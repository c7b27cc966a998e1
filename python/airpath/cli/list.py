"""`airpath list`: lists everything that can be named."""

from __future__ import annotations

from typing import Annotated, Literal

from airpath.cli.arguments import JsonOption, argument
from airpath.cli.output import tell


def command(
    kind: Annotated[
        Literal["scenarios", "sweeps", "traces", "components", "probes"] | None,
        argument("KIND", "What to show; all if absent."),
    ] = None,
    prefix: Annotated[
        str | None, argument("PREFIX", "Only names with this beginning, such as tcp.cc.")
    ] = None,
    json_: JsonOption = False,
) -> None:
    """Show the bundled scenarios and sweeps and everything registered, with defaults and meanings."""
    from airpath.report.catalogue import catalogue, catalogue_report

    content = catalogue(kind, prefix)
    tell(json_, content, catalogue_report(content))
