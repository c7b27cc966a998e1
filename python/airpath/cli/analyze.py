"""`airpath analyze`: explains a capture."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from airpath.captures import MOST_CONNECTIONS, analyze, predictions
from airpath.cli.arguments import ForceOption, JsonOption, argument, option, out_option
from airpath.cli.output import as_text, folder_for, tell, write_files
from airpath.errors import ScenarioError
from airpath.report.capture import MOST_ROWS, capture_report
from airpath.studio.page import capture_page
from airpath.terminal import clean, console_for, say


def command(
    capture: Annotated[Path, argument("CAPTURE", "A pcap or pcapng file.")],
    json_: JsonOption = False,
    out: Annotated[
        Path | None, out_option("Write a page with plots, index.html, and the JSON, analysis.json, here.")
    ] = None,
    force: ForceOption = False,
    connection: Annotated[
        int | None, option("N", "Only the connection with this number in the table.")
    ] = None,
) -> None:
    """Explain a capture: what limited each TCP connection, why it lost; rates and delays of UDP."""
    files = ("index.html", "analysis.json")
    if out:
        folder_for("out", *(out / name for name in files), force=force)
    report = analyze(capture, MOST_CONNECTIONS)
    for one in report["connections"]:
        for flow in one["flows"]:
            flow["models"] = predictions(flow)
    if connection is not None:
        chosen = [one for one in report["connections"] if one["number"] == connection]
        if not chosen:
            known = ", ".join(str(one["number"]) for one in report["connections"][:MOST_ROWS])
            remedy = f"choose from {known}" if known else "leave it out: the capture has no TCP connection"
            raise ScenarioError("--connection", f"there is no {connection}", remedy)
        report["connections"], report["conversations"] = chosen, []
    tell(json_, report, capture_report(report, capture.name))
    if out:
        page, data = files
        drawn = capture_page(report, clean(capture.name))
        write_files("out", out, {page: drawn, data: as_text(report) + "\n"}, force)
        say(console_for(stderr=json_), f"page: {out / page}")
