"""`airpath export`: a finished run in the formats of other tools."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import IO, Annotated

import typer

from airpath.atomic import replacing
from airpath.export.source import ExportError, Run
from airpath.recorder import FILES


class Format(StrEnum):
    """What to write."""

    NS2 = "ns2"
    CSV = "csv"
    MM_LINK = "mm-link"
    MM_TRACE = "mm-trace"


class Direction(StrEnum):
    """Of a bearer."""

    DOWNLINK = "downlink"
    UPLINK = "uplink"


def export(
    run: Annotated[Path, typer.Argument(metavar="RUN_DIR", help="A folder that a run has filled.")],
    format_: Annotated[
        Format,
        typer.Option(
            "--format", help="Trace lines of ns-2, the trace as CSV, or mahimahi's log or trace of a bearer."
        ),
    ],
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write here, not to standard output.")
    ] = None,
    ue: Annotated[int, typer.Option(help="mm-*: UE of the bearer.")] = 0,
    direction: Annotated[Direction, typer.Option(help="mm-*: its direction.")] = Direction.DOWNLINK,
) -> None:
    """Write the trace of a finished run in the format of another tool."""
    from airpath.export.mm_link import write_mm_link
    from airpath.export.mm_trace import write_mm_trace
    from airpath.export.ns2 import write_ns2
    from airpath.export.table import write_csv

    source = Run.open(run)
    if out is not None and out.resolve() in {(run / name).resolve() for name in FILES}:
        raise ExportError("out", f"'{out}' is a file of the run itself", "choose another name")
    with _target(out) as file:
        match format_:
            case Format.NS2:
                write_ns2(source, file)
            case Format.CSV:
                write_csv(source, file)
            case Format.MM_LINK:
                write_mm_link(source, file, ue=ue, direction=direction.value)
            case Format.MM_TRACE:
                write_mm_trace(source, file, ue=ue, direction=direction.value)


@contextlib.contextmanager
def _target(out: Path | None) -> Iterator[IO[bytes]]:
    """Open the file to write, under another name until it is complete."""
    if out is None:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    with replacing(out) as unfinished, unfinished.open("wb") as file:
        yield file
