"""`airpath overlay`: runs over each other in one picture."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from airpath.arguments import JsonOption
from airpath.figures.command import SizeOption, TitleOption, write_picture
from airpath.figures.overlay import CHOICE, USUAL, overlay
from airpath.figures.picture import format_of
from airpath.recorder import OutputError

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
    Path, typer.Option("--out", metavar="FILE", help=".png, .svg or .pdf; - writes a PNG to standard output.")
]
OverwriteOption = Annotated[bool, typer.Option("--force", help="Replace FILE.")]


def overlay_command(
    runs: RunsArgument,
    panel: PanelOption = None,
    out: OverlayOutOption = Path("overlay.png"),
    force: OverwriteOption = False,
    title: TitleOption = None,
    size: SizeOption = None,
    json_: JsonOption = False,
) -> None:
    """Draw runs over each other in one picture, named by what differs among them."""
    is_stream = str(out) == "-"
    kind = "png" if is_stream else format_of(out)
    if out.exists() and not (is_stream or force or json_):
        hint = "name another with --out FILE, or replace it with --force"
        raise OutputError("--out", f"'{out}' exists already", hint)
    picture = overlay(runs, panel or USUAL, title=title, size=size)
    if json_:
        typer.echo(json.dumps(picture.data))
    elif is_stream:
        sys.stdout.buffer.write(picture.as_bytes())
    else:
        write_picture("--out", out, picture.as_bytes(kind))
        typer.echo(str(out))
