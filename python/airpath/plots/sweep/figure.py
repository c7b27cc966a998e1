"""`airpath.plot_sweep`: figures of a sweep."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airpath.drawing.picture import Picture, width_and_height
from airpath.files.atomic import write_whole
from airpath.terminal import counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from airpath.plots.sweep.content import Content
    from airpath.plots.sweep.request import Request

MOST_RATIO = 5
"""Panels whose largest numbers differ by more than this factor are hard to read with one scale."""


@dataclass(frozen=True, repr=False)
class SweepFigure(Picture):
    """A figure of a sweep: its numbers, the line above it, and a name for its file, without suffix.

    `warnings` name damaged or foreign files in the folder, and what the figure leaves out.
    """

    content: Content
    warnings: tuple[str, ...]
    title: str | None
    size_in: tuple[float, float | None] | None  # Width and height, inches; None where the content decides.
    has_caption: bool
    name: str

    @property
    def data(self) -> dict[str, Any]:
        """The numbers that are drawn, as plain data, in the units of the axes."""
        return self.content.as_json()

    def draw(self, ax: Axes | Iterable[Axes] | None = None, *, legend: bool = True) -> Figure:
        """Draw it as a matplotlib figure, to change or show, or into given axes.

        Parameters
        ----------
        ax : Axes or iterable of Axes, optional
            Draw into these, in their style, without title and caption: one per panel, row by row.
        legend : bool
            Whether the last of `ax` has a legend.

        Raises
        ------
        SweepError
            If there are more or fewer axes than panels, or if the size is too small for what is to be read.
        """
        if ax is None:
            return super().draw()
        from matplotlib import rc_context
        from matplotlib.axes import Axes

        from airpath.plots.sweep.layout import draw_onto

        with rc_context({"text.parse_math": False}):  # Names from files are never formulas.
            return draw_onto(self.content, [ax] if isinstance(ax, Axes) else ax, legend)

    def csv(self) -> str:
        """Write the numbers that are drawn as CSV, a row per mean or per step of a distribution."""
        from airpath.plots.sweep.csv_text import as_csv

        return as_csv(self.content)

    def save_csv(self, file: str | Path) -> None:
        """Write `csv` to a file.

        Raises
        ------
        OSError
            If the file cannot be written.
        """
        write_whole(Path(file), self.csv().encode())

    def _draw(self) -> Figure:
        from airpath.plots.sweep.layout import draw

        return draw(self.content, self.title, self.size_in, self.has_caption)

    def __repr__(self) -> str:
        return f"SweepFigure({self.name!r})"


def plot_sweep(
    folder: str | Path | Iterable[str | Path],
    x: str | None = None,
    y: str | None = None,
    *,
    z: str | None = None,
    by: str | Iterable[str] = (),
    color: str | Iterable[str] = (),
    marker: str | Iterable[str] = (),
    facet: str | Iterable[str] | Mapping[str, str | Iterable[str]] = (),
    along: str | None = None,
    where: dict[str, Any] | Iterable[str] = (),
    kind: str | None = None,
    log: str | Iterable[str] = (),
    free: str | Iterable[str] = (),
    labels: str | Iterable[str] | Mapping[str, str] = (),
    title: str | None = None,
    caption: bool = True,
    size: str | tuple[float, float] | None = None,
) -> SweepFigure:
    """Make a figure of one or more sweeps, finished or not.

    Keys and metrics may be shortened to a unique ending such as ``"bler"``.

    Parameters
    ----------
    folder : path, or iterable of path
        Folders that `airpath sweep` wrote. What distinguishes several becomes a parameter: ``"scenario"``,
        keys that all points of a sweep set, else ``"sweep"``.
    x, y, z : str, optional
        Keys or metrics on the axes. A parameter and a metric make lines, two metrics a plane, one metric
        alone (`x`) a distribution, and two parameters with the metric `z` a heat map.
    by : str or iterable of str, optional
        Keys with a line, path or curve for each value, by colour and mark; of a heat map, a panel.
    color, marker : str or iterable of str, optional
        Instead of `by`, keys that colours show, and keys that marks and line styles show.
    facet : str, iterable of str, or mapping, optional
        Keys with a panel for each value, ``"KEY"``, or a grid of panels: ``"row=KEY"``, ``"col=KEY"``, or
        ``{"row": "scenario", "col": "queue"}``.
    along : str, optional
        Key along which the points of a plane are joined. [default: the only numeric key that is left]
    where : dict, or iterable of str, optional
        Keys and values, or ``"KEY=VALUE"``, of the points that are drawn; in a dict a list of values means
        any of them, and None points that do not set the key.
    kind : str, optional
        ``"line"``, ``"plane"``, ``"cdf"`` or ``"heat"``.
    log : str or iterable of str, optional
        Logarithmic axes, such as ``"x,y"``.
    free : str or iterable of str, optional
        Axes of metrics with a separate scale in each panel, such as ``"y"``; the others are shared.
    labels : str, iterable of str, or mapping, optional
        Texts instead of names, ``"KEY=TEXT"`` or ``{"KEY": "TEXT"}``: of parameters, metrics and values;
        ``"KEY=VALUE=TEXT"`` of a value of one parameter.
    title : str, optional
        Line above the figure.
    caption : bool
        Whether a line below states the number of runs, the kind of intervals, and missing runs.
    size : str or (float, float), optional
        Such as ``"8.8x6cm"``, or a width alone, ``"8.8cm"``; without a unit, and in a tuple, inches.

    Returns
    -------
    SweepFigure
        With `save`, `draw`, the numbers in `data` and `csv`, and `warnings`.

    Raises
    ------
    SweepError
        If a folder holds no sweep, or lacks a requested item, or if there are too many series or panels.

    Examples
    --------
    >>> figure = airpath.plot_sweep("out/sweep", "rate", "goodput_bps", by="cc", where={"bler": "10 %"})
    >>> figure.save("goodput.pdf")
    """
    from airpath.errors import SweepError
    from airpath.experiments.sweep.results import merge, read_results
    from airpath.plots.sweep.gather import gather
    from airpath.plots.sweep.labels import read_labels
    from airpath.plots.sweep.request import request

    inches = width_and_height(size)
    folders = [Path(folder)] if isinstance(folder, (str, Path)) else [Path(one) for one in folder]
    if not folders:
        raise SweepError("DIR", "no sweep is named", "name what 'airpath sweep' wrote")
    for one in folders:
        _check_folder(one)
    results = merge({str(one): read_results(one) for one in folders})
    asked = request(
        results,
        kind,
        {"x": x, "y": y, "z": z},
        by=_listed(by),
        color=_listed(color),
        marker=_listed(marker),
        facet=facet if isinstance(facet, Mapping) else _listed(facet),
        along=along,
        where=where if isinstance(where, dict) else _listed(where),
        log=_listed(log),
        free=_listed(free),
    )
    if isinstance(labels, Mapping):
        labels = [f"{key}={text}" for key, text in labels.items()]
    found = gather(results, asked, read_labels(results, _listed(labels)))
    warnings = (*results.warnings, *_left_out(found), *_flattened(found))
    return SweepFigure(found, warnings, title, inches, caption, _name(asked))


def _check_folder(folder: Path) -> None:
    """Raise a helpful error for a folder that might be mistaken for a sweep's."""
    from airpath.errors import SweepError
    from airpath.experiments.sweep.store import RUNS

    if folder.is_file():
        hint = "name the folder that 'airpath sweep' wrote: that of --out, or out/NAME"
        raise SweepError(str(folder), "is a file", hint)
    if (folder / "results.json").is_file() and not (folder / RUNS).is_dir():
        picture = folder / "plot.png"
        hint = f"its picture is {picture}" if picture.is_file() else "'airpath run --out DIR' draws one run"
        hint += "; figures need a folder that 'airpath sweep' wrote"
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


def _flattened(content: Content) -> list[str]:
    """Name axes on which some panels are flat, as another panel has much larger numbers."""
    said = []
    shared = [name for name, axis in content.axes.items() if axis.key in content.not_measured]
    for name in shared if content.has_panels and content.kind in ("line", "plane") else []:
        largest = [max(mark.places[name].at for mark in panel.marks) for panel in content.panels.values()]
        if name not in content.free and max(largest) > MOST_RATIO * min(largest) > 0:
            each = "each panel" if not content.is_grid else "each row" if name == "y" else "each column"
            factor = f"by a factor of {max(largest) / min(largest):.0f}"
            said.append(
                f"panels differ in {content.axes[name].label} {factor}: "
                f"--free {name} gives {each} a scale of its own"
            )
    return said


def _name(asked: Request) -> str:
    """Name a figure by its request; different figures have different names."""
    parts = [asked.kind, *(asked.names[axis] for axis in "zyx" if axis in asked.names)]
    for role, keys in asked.roles.items():
        parts += [role, *keys]
    parts += ["along", asked.along] if asked.along else []
    parts += [f"{key}={'+'.join(values)}" for key, values in asked.where.items()]
    parts += ["log", "".join(sorted(asked.log))] if asked.log else []
    parts += ["free", "".join(sorted(asked.free))] if asked.free else []
    return re.sub(r"[^A-Za-z0-9=+.]+", "_", "_".join(parts).replace("*", "all")).strip("_.")
