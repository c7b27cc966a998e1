"""`airpath plot`: draws figures of a sweep."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Annotated

import typer

from airpath.cli.arguments import ForceOption
from airpath.cli.output import STANDARD_OUTPUT, folder_for, write_file
from airpath.drawing.picture import format_of
from airpath.errors import SweepError
from airpath.plots.sweep.figure import SweepFigure, plot_sweep
from airpath.terminal import clean, warn

LONGEST_NAME = 120
"""Most letters of a file's name; longer names are cut and end with a hash."""

FolderArgument = Annotated[Path, typer.Argument(metavar="DIR", help="What 'airpath sweep' wrote.")]
XOption = Annotated[
    str | None, typer.Option("--x", metavar="KEY", help="Parameter, or metric, on the horizontal axis.")
]
YOption = Annotated[
    str | None,
    typer.Option("--y", metavar="METRIC", help="Metric on the vertical axis; of a heat map a key."),
]
ZOption = Annotated[
    str | None,
    typer.Option("--z", metavar="METRIC", help="Metric shown as colours over two keys: a heat map."),
]
ByOption = Annotated[
    list[str] | None,
    typer.Option("--by", metavar="KEY", help="A line, path, curve or panel for each value. Repeatable."),
]
AlongOption = Annotated[
    str | None, typer.Option("--along", metavar="KEY", help="Join the points of a plane along this key.")
]
WhereOption = Annotated[
    list[str] | None,
    typer.Option(
        "--where",
        metavar="KEY=VALUE",
        help="Only these points. Repeatable; the same key again: or this value. KEY= where it is not set.",
    ),
]
KindOption = Annotated[
    str | None,
    typer.Option(metavar="KIND", help="line, plane, cdf or heat; what is on the axes tells if absent."),
]
LogOption = Annotated[
    list[str] | None, typer.Option("--log", metavar="AXES", help="Logarithmic axes: x, y, x,y or z.")
]
OutFileOption = Annotated[
    Path | None,
    typer.Option(
        "--out",
        metavar="FILE",
        help=".png, .svg or .pdf, or - for a PNG on standard output; DIR/figures if absent.",
    ),
]
TitleOption = Annotated[str | None, typer.Option(metavar="TEXT", help="Line above the figure.")]
SizeOption = Annotated[
    str | None,
    typer.Option(metavar="WxH", help="3.5x2.6 (inches), 8.8x6cm or 88x60mm; a column's width if absent."),
]
JsonOption = Annotated[
    bool,
    typer.Option(
        "--json", help="Print the numbers that are drawn as JSON instead of the figure's file name."
    ),
]


def command(
    folder: FolderArgument,
    x: XOption = None,
    y: YOption = None,
    z: ZOption = None,
    by: ByOption = None,
    along: AlongOption = None,
    where: WhereOption = None,
    kind: KindOption = None,
    log: LogOption = None,
    out: OutFileOption = None,
    title: TitleOption = None,
    size: SizeOption = None,
    force: ForceOption = False,
    json_: JsonOption = False,
) -> None:
    """Draw a figure of a sweep: lines with intervals, goodput-delay planes, distributions, heat maps."""
    if out == STANDARD_OUTPUT and json_:
        raise SweepError("--json", "standard output takes the figure", "leave one of --json and --out - out")
    if out is not None and out != STANDARD_OUTPUT:
        _check_place(out, folder)
        format_of(out)
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
        folder_for("--out", file, force=force)
    kind = "png" if file == STANDARD_OUTPUT else format_of(file)
    write_file("--out", file, figure.as_bytes(kind), force)
    if json_:
        typer.echo(json.dumps(figure.data, indent=2))
    elif file != STANDARD_OUTPUT:
        typer.echo(clean(str(file)))


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

    if file.resolve().parent in (folder.resolve(), (folder / RUNS).resolve()):
        hint = f"name a file elsewhere, such as {folder / FIGURES / file.name}"
        raise SweepError("--out", f"'{file}' would lie among the sweep's own files", hint)
