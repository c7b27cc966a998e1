"""`airpath plot`: draws figures of a sweep."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Annotated

from airpath.cli.arguments import ForceOption, SweepFolder, flag, option
from airpath.cli.output import STANDARD_OUTPUT, folder_for, picture_format, write_picture
from airpath.errors import SweepError
from airpath.files.atomic import real
from airpath.plots.sweep.figure import SweepFigure, plot_sweep
from airpath.terminal import warn

LONGEST_NAME = 120
"""Most letters of a file's name; longer names are cut and end with a hash."""

TitleOption = Annotated[str | None, option("TEXT", "Line above the figure.")]
SizeOption = Annotated[
    str | None, option("WxH", "3.5x2.6 (inches), 8.8x6cm or 88x60mm; a column's width if absent.")
]
JsonOption = Annotated[
    bool, flag("--json", "Print the numbers that are drawn as JSON instead of the figure's file name.")
]


def command(
    folder: SweepFolder,
    x: Annotated[str | None, option("KEY", "Parameter, or metric, on the horizontal axis.", "--x")] = None,
    y: Annotated[
        str | None, option("METRIC", "Metric on the vertical axis; of a heat map a key.", "--y")
    ] = None,
    z: Annotated[
        str | None, option("METRIC", "Metric shown as colours over two keys: a heat map.", "--z")
    ] = None,
    by: Annotated[
        list[str] | None, option("KEY", "A line, path, curve or panel for each value. Repeatable.", "--by")
    ] = None,
    along: Annotated[str | None, option("KEY", "Join the points of a plane along this key.")] = None,
    where: Annotated[
        list[str] | None,
        option(
            "KEY=VALUE",
            "Only these points. Repeatable; the same key again: or this value. KEY= where it is not set.",
        ),
    ] = None,
    kind: Annotated[
        str | None, option("KIND", "line, plane, cdf or heat; what is on the axes tells if absent.")
    ] = None,
    log: Annotated[list[str] | None, option("AXES", "Logarithmic axes: x, y, x,y or z.")] = None,
    out: Annotated[
        Path | None,
        option("FILE", ".png, .svg or .pdf, or - for a PNG on standard output; DIR/figures if absent."),
    ] = None,
    title: TitleOption = None,
    size: SizeOption = None,
    force: ForceOption = False,
    json_: JsonOption = False,
) -> None:
    """Draw a figure of a sweep: lines with intervals, goodput-delay planes, distributions, heat maps."""
    if out is not None:
        if out != STANDARD_OUTPUT:
            _check_place(out, folder)
        picture_format(out, json_)
    figure = plot_sweep(
        folder,
        x,
        y,
        z=z,
        by=by or (),
        along=along,
        where=where or (),
        kind=kind,
        log=log or (),
        title=title,
        size=size,
    )
    for warning in figure.warnings:
        warn(warning)
    file = out or default_file(folder, figure)
    if out is None:
        if file.parent.is_symlink():
            raise SweepError("--out", f"'{file.parent}' is a link", "name a file with --out")
        folder_for("--out", file, force=force)
    write_picture(figure, file, force, json_)


def default_file(folder: Path, figure: SweepFigure) -> Path:
    """Default file of a figure: in the sweep's folder, different for each figure."""
    from airpath.experiments.sweep.store import FIGURES

    name = figure.name
    if len(name) > LONGEST_NAME:
        name = f"{name[:LONGEST_NAME]}_{hashlib.sha256(name.encode()).hexdigest()[:8]}"
    return folder / FIGURES / f"{name}.png"


def _check_place(file: Path, folder: Path) -> None:
    """Refuse files among those of the sweep, of which its reader would always warn."""
    from airpath.experiments.sweep.store import FIGURES, RUNS

    if real(file).parent in (real(folder), real(folder / RUNS)):
        hint = f"name a file elsewhere, such as {folder / FIGURES / file.name}"
        raise SweepError("--out", f"'{file}' would lie among the sweep's own files", hint)
