"""`airpath plot`: draws figures of sweeps."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from airpath.cli.arguments import ForceOption, argument, flag, option
from airpath.cli.output import (
    STANDARD_OUTPUT,
    check_free,
    folder_for,
    picture_format,
    write_file,
    write_picture,
)
from airpath.errors import OutputError, SweepError
from airpath.files.atomic import real
from airpath.plots.sweep.figure import SweepFigure, plot_sweep
from airpath.terminal import warn

LONGEST_NAME = 120
"""Most letters of a file's name; longer names are cut and end with a hash."""

TitleOption = Annotated[str | None, option("TEXT", "Line above the figure.")]
SizeOption = Annotated[
    str | None, option("WxH", "3.5x2.6 (inches), 8.8x6cm or 88x60mm; a column's width if absent.")
]
SweepSizeOption = Annotated[
    str | None,
    option(
        "WxH",
        "3.3x2.5 (inches), 8.4x6cm, or a width, 8.4cm. [default: 3.5 wide, with columns of panels 7.16]",
        "--size",
    ),
]
JsonOption = Annotated[
    bool, flag("--json", "Print the numbers that are drawn as JSON instead of the figure's file name.")
]


def command(
    folders: Annotated[
        list[Path], argument("DIR", "Folders that 'airpath sweep' wrote; several make one figure.")
    ],
    x: Annotated[str | None, option("KEY", "Parameter, or metric, on the horizontal axis.", "--x")] = None,
    y: Annotated[
        str | None, option("METRIC", "Metric on the vertical axis; of a heat map a key.", "--y")
    ] = None,
    z: Annotated[
        str | None, option("METRIC", "Metric shown as colours over two keys: a heat map.", "--z")
    ] = None,
    by: Annotated[
        list[str] | None,
        option("KEY", "A line, path or curve for each value, by colour and mark. Repeatable.", "--by"),
    ] = None,
    color: Annotated[
        list[str] | None,
        option("KEY", "Colours show this key alone; use it with --marker. Repeatable.", "--color"),
    ] = None,
    marker: Annotated[
        list[str] | None,
        option("KEY", "Marks and line styles show this key alone. Repeatable.", "--marker"),
    ] = None,
    facet: Annotated[
        list[str] | None,
        option("[row=|col=]KEY", "A panel, row or column of panels for each value. Repeatable.", "--facet"),
    ] = None,
    free: Annotated[
        list[str] | None,
        option(
            "AXES", "Let panels have scales of their own: x, y or x,y; in a grid by column and row.", "--free"
        ),
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
        str | None, option("KIND", "line, plane, cdf or heat. [default: what is on the axes tells]")
    ] = None,
    log: Annotated[list[str] | None, option("AXES", "Logarithmic axes: x, y, x,y or z.")] = None,
    label: Annotated[
        list[str] | None,
        option(
            "KEY=TEXT",
            "Write TEXT for a parameter, a metric or a value; tcp.cc=reno=TEXT for a value of one parameter. "
            "Repeatable.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        option("FILE", ".pdf, .svg or .png, or - for a PNG on standard output. [default: in DIR/figures]"),
    ] = None,
    csv: Annotated[
        Path | None, option("FILE", "Also write the numbers that are drawn as CSV.", "--csv")
    ] = None,
    title: TitleOption = None,
    no_caption: Annotated[
        bool, flag("--no-caption", "Leave out the grey line below: runs, intervals, missing runs.")
    ] = False,
    size: SweepSizeOption = None,
    force: ForceOption = False,
    json_: JsonOption = False,
) -> None:
    """Draw a figure of sweeps: lines with intervals, goodput-delay planes, distributions, heat maps."""
    if out is not None:
        if out != STANDARD_OUTPUT:
            _check_place("--out", out, folders)
        picture_format(out, json_)
    elif len(folders) > 1:
        raise SweepError("--out", "is missing for a figure of several sweeps", "name a file with --out")
    if csv is not None:
        _check_csv(csv, folders, out, json_)
    figure = plot_sweep(
        folders,
        x,
        y,
        z=z,
        by=by or (),
        color=color or (),
        marker=marker or (),
        facet=facet or (),
        free=free or (),
        along=along,
        where=where or (),
        kind=kind,
        log=log or (),
        labels=label or (),
        title=title,
        caption=not no_caption,
        size=size,
    )
    for warning in figure.warnings:
        warn(warning)
    file = out or default_file(folders[0], figure)
    if out is None:
        if file.parent.is_symlink():
            raise SweepError("--out", f"'{file.parent}' is a link", "name a file with --out")
        folder_for("--out", file, force=force)
    if csv is not None:
        if csv != STANDARD_OUTPUT:
            check_free("--csv", csv, force)
        check_free("--out", file, force)
    write_picture(figure, file, force, json_, is_silent=csv == STANDARD_OUTPUT)
    if csv is not None:
        write_file("--csv", csv, figure.csv(), force)


def default_file(folder: Path, figure: SweepFigure) -> Path:
    """Default file of a figure: in the sweep's folder, different for each figure."""
    from airpath.experiments.sweep.store import FIGURES

    name = figure.name
    if len(name) > LONGEST_NAME:
        name = f"{name[:LONGEST_NAME]}_{hashlib.sha256(name.encode()).hexdigest()[:8]}"
    return folder / FIGURES / f"{name}.png"


def _check_place(option: str, file: Path, folders: Sequence[Path]) -> None:
    """Refuse files inside a sweep's folder: its reader would always warn of them."""
    from airpath.experiments.sweep.store import FIGURES, RUNS

    for folder in folders:
        if real(file).parent in (real(folder), real(folder / RUNS)):
            hint = f"name a file elsewhere, such as {folder / FIGURES / file.name}"
            raise SweepError(option, f"'{file}' would lie among the sweep's own files", hint)


def _check_csv(file: Path, folders: Sequence[Path], out: Path | None, json_: bool) -> None:
    """Refuse a file of numbers that would be a picture, or a stream that has another content already."""
    if file == STANDARD_OUTPUT:
        if json_ or out == STANDARD_OUTPUT:
            taken = "--json" if json_ else "--out -"
            raise OutputError("--csv", f"standard output is taken by {taken}", "name a file")
        return
    if file.suffix.lower() != ".csv":
        raise OutputError(
            "--csv", f"'{file}' does not end in .csv", "name a .csv file, and the picture with --out"
        )
    _check_place("--csv", file, folders)
