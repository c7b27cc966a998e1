"""`airpath.plot_sweep`: figures of a sweep."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airpath.drawing.picture import Picture, size_in_inches
from airpath.terminal import counted

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from airpath.plots.sweep.content import Content
    from airpath.plots.sweep.request import Request


@dataclass(frozen=True, repr=False)
class SweepFigure(Picture):
    """A figure of a sweep: its numbers, the line above it, and a name for its file, without suffix.

    `warnings` name damaged or foreign files in the folder, and what the figure leaves out.
    """

    content: Content
    warnings: tuple[str, ...]
    title: str | None
    size_in: tuple[float, float] | None  # Width and height, inches; a column's width if None.
    name: str

    @property
    def data(self) -> dict[str, Any]:
        """The numbers that are drawn, as plain data, in the units of the axes."""
        return self.content.as_json()

    def _draw(self) -> Figure:
        from airpath.plots.sweep.axes import draw

        return draw(self.content, self.title, self.size_in)

    def __repr__(self) -> str:
        return f"SweepFigure({self.name!r})"


def plot_sweep(
    folder: str | Path,
    x: str | None = None,
    y: str | None = None,
    *,
    z: str | None = None,
    by: str | Iterable[str] = (),
    along: str | None = None,
    where: dict[str, Any] | Iterable[str] = (),
    kind: str | None = None,
    log: str | Iterable[str] = (),
    title: str | None = None,
    size: str | tuple[float, float] | None = None,
) -> SweepFigure:
    """Make a figure of a sweep, finished or not.

    Keys and metrics may be shortened to a unique ending such as ``"bler"``.

    Parameters
    ----------
    folder : path
        Folder that `airpath sweep` wrote.
    x, y, z : str, optional
        Keys or metrics on the axes. A parameter and a metric make lines, two metrics a plane, one metric
        alone (`x`) a distribution, and two parameters with the metric `z` a heat map.
    by : str or iterable of str, optional
        Keys with a line, path, curve or panel for each value.
    along : str, optional
        Key along which the points of a plane are joined; needed if several are possible.
    where : dict, or iterable of str, optional
        Keys and values, or ``"KEY=VALUE"``, of the points that are drawn; in a dict a list of values means
        any of them, and None those that do not set the key.
    kind : str, optional
        ``"line"``, ``"plane"``, ``"cdf"`` or ``"heat"``.
    log : str or iterable of str, optional
        Logarithmic axes, such as ``"x,y"``.
    title : str, optional
        Line above the figure.
    size : str or (float, float), optional
        Such as ``"8.8x6cm"``; without a unit, and in a tuple, inches.

    Returns
    -------
    SweepFigure
        With `save`, `draw`, the numbers in `data`, and `warnings`.

    Raises
    ------
    SweepError
        If the folder holds no sweep, or lacks what is asked for.

    Examples
    --------
    >>> figure = airpath.plot_sweep("out/sweep", "rate", "goodput_bps", by="cc", where={"bler": "10 %"})
    >>> figure.save("goodput.pdf")
    """
    from airpath.experiments.sweep.results import read_results
    from airpath.plots.sweep.gather import gather
    from airpath.plots.sweep.request import request

    inches = size_in_inches(size)
    _check_folder(Path(folder))
    results = read_results(Path(folder))
    axes = {"x": x, "y": y, "z": z}
    chosen = where if isinstance(where, dict) else _listed(where)
    asked = request(results, kind, axes, by=_listed(by), along=along, where=chosen, log=_listed(log))
    found = gather(results, asked)
    return SweepFigure(found, (*results.warnings, *_left_out(found)), title, inches, _name(asked))


def _check_folder(folder: Path) -> None:
    """Say what to do with a folder that might be taken for a sweep's."""
    from airpath.errors import SweepError
    from airpath.experiments.sweep.store import RUNS

    if folder.is_file():
        hint = "name the folder that 'airpath sweep' wrote: that of --out, or out/NAME"
        raise SweepError(str(folder), "is a file", hint)
    if (folder / "results.json").is_file() and not (folder / RUNS).is_dir():
        picture = folder / "plot.png"
        hint = f"its picture is {picture}" if picture.is_file() else "'airpath run --out DIR' draws one run"
        hint += "; figures want what 'airpath sweep' wrote"
        raise SweepError(str(folder), "is the folder of a run, not of a sweep", hint)


def _listed(names: str | Iterable[str]) -> list[str]:
    return [names] if isinstance(names, str) else list(names)


def _left_out(content: Content) -> list[str]:
    """Describe the chosen points that are not in the figure."""
    said, runs, missing = [], content.runs, content.missing
    if missing:
        said.append(f"the sweep is unfinished: {missing} of {runs + missing} runs are missing")
    for metric, count in content.not_measured.items():
        if count:
            said.append(f"{count} of {runs} runs did not measure {metric}; they are left out")
    if content.empty_points:
        said.append(f"{counted(content.empty_points, 'point')} without any value to draw")
    if content.points_without_x:
        keys = " or ".join(one.key for one in content.axes.values() if one.key not in content.not_measured)
        said.append(f"{counted(content.points_without_x, 'point')} left out, without a value of {keys}")
    return said


def _name(asked: Request) -> str:
    """Name a figure by what is asked for; different figures have different names."""
    parts = [asked.kind, *(asked.names[axis] for axis in "zyx" if axis in asked.names)]
    parts += ["by", *asked.by] if asked.by else []
    parts += ["along", asked.along] if asked.along else []
    parts += [f"{key}={'+'.join(values)}" for key, values in asked.where.items()]
    parts += ["log", "".join(sorted(asked.log))] if asked.log else []
    return re.sub(r"[^A-Za-z0-9=+.]+", "_", "_".join(parts).replace("*", "all")).strip("_.")
