"""`airpath export`: writes a finished run in the formats of other tools."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from airpath.cli.arguments import ForceOption, argument, option
from airpath.cli.output import STANDARD_OUTPUT, opened
from airpath.errors import ExportError
from airpath.files.atomic import real
from airpath.runs.export.source import Run, write_csv
from airpath.runs.recorder import FILES


def command(
    run: Annotated[Path, argument("DIR", "Folder of a finished run.")],
    format_: Annotated[
        Literal["ns2", "csv", "mm-link", "mm-trace", "qlog", "qlog-link", "pcapng"],
        option(
            "NAME",
            "Trace lines of ns-2 (ns2), the trace as a table (csv), mahimahi's log (mm-link) or "
            "trace (mm-trace) of a bearer, qlog of TCP's senders (qlog) or of a bearer (qlog-link), or the "
            "capture with comments on its packets (pcapng).",
            "--format",
        ),
    ],
    out: Annotated[Path, option("FILE", "Write here; - is standard output.")] = STANDARD_OUTPUT,
    force: ForceOption = False,
    ue: Annotated[int, option("N", "mm-link, mm-trace, qlog-link: UE of the bearer.")] = 0,
    direction: Annotated[
        Literal["downlink", "uplink"],
        option("NAME", "Direction of the bearer (mm-*) or of the sender's data (qlog*): downlink or uplink."),
    ] = "downlink",
    qlog_version: Annotated[
        Literal["14", "0.3"],
        option("VERSION", "qlog, qlog-link: draft 14 of the main schema, or 0.3, which qvis reads."),
    ] = "14",
) -> None:
    """Write the trace of a finished run in the format of another tool."""
    from airpath.runs.export.mahimahi import write_mm_link, write_mm_trace
    from airpath.runs.export.ns2 import write_ns2
    from airpath.runs.export.pcapng import write_pcapng
    from airpath.runs.export.qlog import write_qlog, write_qlog_link

    source = Run.open(run)
    if real(out) in {real(run / name) for name in FILES}:
        raise ExportError("out", f"'{out}' is a file of the run itself", "choose another name")
    with opened("out", out, force) as file:
        match format_:
            case "ns2":
                write_ns2(source, file)
            case "csv":
                write_csv(source, file)
            case "mm-link":
                write_mm_link(source, file, ue=ue, direction=direction)
            case "mm-trace":
                write_mm_trace(source, file, ue=ue, direction=direction)
            case "qlog":
                write_qlog(source, file, direction=direction, version=qlog_version)
            case "qlog-link":
                write_qlog_link(source, file, ue=ue, direction=direction, version=qlog_version)
            case "pcapng":
                write_pcapng(source, file)
