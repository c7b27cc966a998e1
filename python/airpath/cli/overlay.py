"""`airpath overlay`: draws several runs in one picture."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from airpath.cli.arguments import ForceOption, argument, option
from airpath.cli.output import check_free, picture_format, write_picture
from airpath.cli.plot import JsonOption, SizeOption, TitleOption
from airpath.plots.overlay import CHOICE, USUAL, overlay


def command(
    runs: Annotated[list[Path], argument("RUN...", "Folders that 'run --out' or 'live --out' wrote.")],
    panel: Annotated[
        list[str] | None,
        option(
            "NAME",
            f"Of {', '.join(CHOICE)}. Repeatable; if absent, all but the last that have data.",
            "--panel",
        ),
    ] = None,
    out: Annotated[
        Path, option("FILE", ".png, .svg or .pdf, or - for a PNG on standard output.", "--out")
    ] = Path("overlay.png"),
    title: TitleOption = None,
    size: SizeOption = None,
    force: ForceOption = False,
    json_: JsonOption = False,
) -> None:
    """Draw several runs in one picture, labelled by their differences."""
    picture_format(out, json_)
    check_free("--out", out, force)
    write_picture(overlay(runs, panel or USUAL, title=title, size=size), out, force, json_)
