"""`airpath plot`: figures of a sweep."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Annotated

import typer

from airpath.atomic import write_whole
from airpath.figures.picture import format_of
from airpath.figures.plot_sweep import SweepFigure, plot_sweep
from airpath.sweep.error import SweepError

LONGEST_NAME = 120
"""Letters of a file's name; longer ones are cut short and told apart by a number."""

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
    typer.Option("--out", metavar="FILE", help=".png, .svg or .pdf; a PNG in DIR/figures if absent."),
]
TitleOption = Annotated[str | None, typer.Option(help="Line above the figure.")]
SizeOption = Annotated[
    str | None,
    typer.Option(metavar="WxH", help="3.5x2.6 (inches), 8.8x6cm or 88x60mm; a column's width if absent."),
]
JsonFileOption = Annotated[
    Path | None, typer.Option("--json", metavar="FILE", help="Write the numbers that are drawn there too.")
]


def plot(
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
    json_: JsonFileOption = None,
) -> None:
    """Draw a figure of a sweep: lines with intervals, goodput-delay planes, distributions, heat maps."""
    for option, file in (("--out", out), ("--json", json_)):
        _check_place(option, file, folder)
    if out is not None:
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
        typer.echo(f"warning: {warning}", err=True)
    file = out or default_file(folder, figure)
    if out is None:
        _make_folder(file.parent)
    write_picture("--out", file, figure.as_bytes(format_of(file)))
    if json_ is not None:
        write_picture("--json", json_, (json.dumps(figure.data, indent=2) + "\n").encode())
    typer.echo(str(file))


def default_file(folder: Path, figure: SweepFigure) -> Path:
    """Where a figure goes if no place is named: a file in the sweep's folder that no other figure has."""
    from airpath.sweep.store import FIGURES

    name = figure.name
    if len(name) > LONGEST_NAME:
        name = f"{name[:LONGEST_NAME]}_{hashlib.sha256(name.encode()).hexdigest()[:8]}"
    return folder / FIGURES / f"{name}.png"


def _check_place(option: str, file: Path | None, folder: Path) -> None:
    """Refuse files among those of the sweep, where its reader would warn of them ever after."""
    from airpath.sweep.store import FIGURES, RUNS

    if file is not None and file.resolve().parent in (folder.resolve(), (folder / RUNS).resolve()):
        hint = f"name a file elsewhere, such as {folder / FIGURES / file.name}"
        raise SweepError(option, f"'{file}' would lie among the sweep's own files", hint)


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        what = f"cannot make '{folder}': {error.strerror or error}"
        raise SweepError("--out", what, "name a file elsewhere") from error


def write_picture(option: str, file: Path, content: bytes) -> None:
    """Write a picture whole; raise a `SweepError` that names the option and the file if that fails."""
    try:
        write_whole(file, content)
    except OSError as error:
        what = f"cannot write to '{file}': {error.strerror or error}"
        raise SweepError(option, what, "choose another place for it") from error
