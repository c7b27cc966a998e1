"""`airpath overlay`: draws several runs in one picture."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from airpath.cli.arguments import ForceOption
from airpath.cli.output import STANDARD_OUTPUT, check_free, write_file
from airpath.cli.plot import JsonOption, SizeOption, TitleOption
from airpath.drawing.picture import format_of
from airpath.errors import ExportError
from airpath.plots.overlay import CHOICE, USUAL, overlay
from airpath.terminal import clean

RunsArgument = Annotated[
    list[Path], typer.Argument(metavar="RUN...", help="Folders that 'run --out' or 'live --out' wrote.")
]
PanelOption = Annotated[
    list[str] | None,
    typer.Option(
        "--panel", metavar="NAME", help=f"Of {', '.join(CHOICE)}. Repeatable; the first four if absent."
    ),
]
OverlayOutOption = Annotated[
    Path,
    typer.Option("--out", metavar="FILE", help=".png, .svg or .pdf, or - for a PNG on standard output."),
]


def command(
    runs: RunsArgument,
    panel: PanelOption = None,
    out: OverlayOutOption = Path("overlay.png"),
    title: TitleOption = None,
    size: SizeOption = None,
    force: ForceOption = False,
    json_: JsonOption = False,
) -> None:
    """Draw runs over each other in one picture, named by what differs among them."""
    is_stream = out == STANDARD_OUTPUT
    if is_stream and json_:
        raise ExportError("--json", "standard output takes the figure", "leave one of --json and --out - out")
    kind = "png" if is_stream else format_of(out)
    check_free("--out", out, force)
    picture = overlay(runs, panel or USUAL, title=title, size=size)
    write_file("--out", out, picture.as_bytes(kind), force)
    if json_:
        typer.echo(json.dumps(picture.data, indent=2))
    elif not is_stream:
        typer.echo(clean(str(out)))
