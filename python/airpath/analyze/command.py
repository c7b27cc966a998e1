"""`airpath analyze`: what TCP did in a capture."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from airpath.analyze.capture import MOST_CONNECTIONS, analyze
from airpath.analyze.models import predictions
from airpath.analyze.words import HEADINGS, WORDS, cells, complaints, content, in_words, label, of_small, rows
from airpath.arguments import ForceOption, JsonOption, parse_folder
from airpath.errors import ScenarioError
from airpath.output import folder_for, write_file
from airpath.terminal import Table, console_for, say

# More flows than this are left to --json.
MOST_ROWS = 20
# More are described one by one only if asked for.
MOST_IN_WORDS = 4


def analyze_command(
    capture: Annotated[Path, typer.Argument(metavar="CAPTURE", help="A pcap or pcapng file.")],
    json_: JsonOption = False,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="DIR",
            parser=parse_folder,
            help="Write a page with plots, index.html, and the JSON, analysis.json, here.",
        ),
    ] = None,
    force: ForceOption = False,
    connection: Annotated[
        int | None, typer.Option(metavar="N", help="Only the connection with this number in the table.")
    ] = None,
) -> None:
    """Explain a capture: round trips, losses and their causes, and what limited each TCP connection."""
    files = (out / "index.html", out / "analysis.json") if out else ()
    folder_for("out", *files, force=force)
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
        report["connections"] = chosen
    text = json.dumps(report, indent=2)
    if json_:
        typer.echo(text)
    else:
        _print(report, capture.name)
    if files:
        from airpath.analyze.page import render

        page, data = files
        write_file("out", page, render(report, capture.name), force)
        write_file("out", data, text + "\n", force)
        say(console_for(stderr=json_), f"page: {page}")


def _print(report: dict[str, Any], name: str) -> None:
    console = console_for()
    say(console, f"{name}: {content(report)}")
    for line in complaints(report):
        say(console, f"  {line}")
    flows, small = rows(report)
    table = Table(*HEADINGS, words=WORDS)
    for row in flows[:MOST_ROWS]:
        table.add(*cells(row))
    table.print(console)
    if len(flows) > MOST_ROWS:
        say(console, f"and {len(flows) - MOST_ROWS} more: see --json")
    if small:
        say(console, f"and {of_small(small)}: see --connection")
    shown = flows + small if len(report["connections"]) == 1 else flows
    if len(shown) > MOST_IN_WORDS:
        return
    for row in shown:
        console.print()
        say(console, label(row))
        for line in in_words(row):
            say(console, f"  {line}")
    for number, lines in {row[0]["number"]: row[0]["not_known"] for row in shown}.items():
        for line in lines:
            say(console, f"#{number}, not known: {line}")
