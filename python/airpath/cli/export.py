"""`airpath export`: writes a finished run in the formats of other tools."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from airpath.cli.arguments import ForceOption
from airpath.cli.output import STANDARD_OUTPUT, opened
from airpath.errors import ExportError
from airpath.runs.export.source import Run, write_csv
from airpath.runs.recorder import FILES


class Format(StrEnum):
    """Formats."""

    NS2 = "ns2"
    CSV = "csv"
    MM_LINK = "mm-link"
    MM_TRACE = "mm-trace"


class Direction(StrEnum):
    """Directions of a bearer."""

    DOWNLINK = "downlink"
    UPLINK = "uplink"


def command(
    run: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of a finished run.")],
    format_: Annotated[
        Format,
        typer.Option(
            "--format",
            metavar="NAME",
            help="Trace lines of ns-2 (ns2), the trace as a table (csv), or mahimahi's log (mm-link) or "
            "trace (mm-trace) of a bearer.",
        ),
    ],
    out: Annotated[
        Path, typer.Option(metavar="FILE", help="Write here; - is standard output.")
    ] = STANDARD_OUTPUT,
    force: ForceOption = False,
    ue: Annotated[int, typer.Option(metavar="N", help="mm-link, mm-trace: UE of the bearer.")] = 0,
    direction: Annotated[
        Direction, typer.Option(metavar="NAME", help="mm-link, mm-trace: its direction, downlink or uplink.")
    ] = Direction.DOWNLINK,
) -> None:
    """Write the trace of a finished run in the format of another tool."""
    from airpath.runs.export.mahimahi import write_mm_link, write_mm_trace
    from airpath.runs.export.ns2 import write_ns2

    source = Run.open(run)
    if out.resolve() in {(run / name).resolve() for name in FILES}:
        raise ExportError("out", f"'{out}' is a file of the run itself", "choose another name")
    with opened("out", out, force) as file:
        match format_:
            case Format.NS2:
                write_ns2(source, file)
            case Format.CSV:
                write_csv(source, file)
            case Format.MM_LINK:
                write_mm_link(source, file, ue=ue, direction=direction.value)
            case Format.MM_TRACE:
                write_mm_trace(source, file, ue=ue, direction=direction.value)
