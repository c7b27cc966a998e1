"""`airpath export`: writes a finished run in the formats of other tools."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

from airpath.cli.arguments import ForceOption, argument, option
from airpath.cli.output import STANDARD_OUTPUT, opened
from airpath.errors import ExportError
from airpath.runs.export.source import Run
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
    run: Annotated[Path, argument("DIR", "Folder of a finished run.")],
    format_: Annotated[
        Format,
        option(
            "NAME",
            "Trace lines of ns-2 (ns2), the trace as a table (csv), or mahimahi's log (mm-link) or "
            "trace (mm-trace) of a bearer.",
            "--format",
        ),
    ],
    out: Annotated[Path, option("FILE", "Write here; - is standard output.")] = STANDARD_OUTPUT,
    force: ForceOption = False,
    ue: Annotated[int, option("N", "mm-link, mm-trace: UE of the bearer.")] = 0,
    direction: Annotated[
        Direction, option("NAME", "mm-link, mm-trace: its direction, downlink or uplink.")
    ] = Direction.DOWNLINK,
) -> None:
    """Write the trace of a finished run in the format of another tool."""
    from airpath.runs.export.mm_link import write_mm_link
    from airpath.runs.export.mm_trace import write_mm_trace
    from airpath.runs.export.ns2 import write_ns2
    from airpath.runs.export.table import write_csv

    source = Run.open(run)
    if out.resolve() in {(run / name).resolve() for name in FILES}:
        raise ExportError("out", f"'{out}' is a file of the run itself", "choose another name")
    with opened("out", out, force) as file:
        if format_ in (Format.NS2, Format.CSV):
            (write_ns2 if format_ == Format.NS2 else write_csv)(source, file)
        else:
            write = write_mm_link if format_ == Format.MM_LINK else write_mm_trace
            write(source, file, ue=ue, direction=direction.value)
