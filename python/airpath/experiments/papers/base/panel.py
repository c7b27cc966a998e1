"""Panels: the parts of a picture, and what has to be measured for them.

A *chart* shows means of replicated cells over a parameter, a *plane* two means of each cell against each
other, a *trace* one run over time.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from airpath.experiments.papers.base.cell import Cell
from airpath.experiments.papers.base.grid import Grid, GridRow
from airpath.experiments.papers.base.quantity import Quantity


@dataclass(frozen=True)
class Line:
    """What is measured over the parameter of a chart.

    Attributes
    ----------
    label : str
        What stands beside the line.
    entries : tuple of Quantity
        What is measured, one per value of the parameter.
    """

    label: str
    entries: tuple[Quantity, ...]


@dataclass(frozen=True)
class Chart:
    """Lines over a parameter, with intervals.

    Attributes
    ----------
    title : str
        What it shows.
    parameter : str
        Name and unit of the parameter.
    values : tuple of float
        Values of the parameter, rising.
    measured : str
        Name of what is measured, without unit.
    unit : str
        Its unit.
    lines : tuple of Line
        The lines, one entry per value of the parameter.
    marks : tuple of (float, float)
        Published points: values of the parameter and of what is measured.
    """

    title: str
    parameter: str
    values: tuple[float, ...]
    measured: str
    unit: str
    lines: tuple[Line, ...]
    marks: tuple[tuple[float, float], ...] = ()

    @property
    def grid(self) -> Grid:
        """The same as a table: a line for each value of the parameter, a column for each line."""
        entries = zip(*(line.entries for line in self.lines), strict=True)
        return Grid(
            columns=tuple(line.label for line in self.lines),
            unit=self.unit,
            rows=tuple(GridRow((f"{value:g}",), of) for value, of in zip(self.values, entries, strict=True)),
            title=f"{self.title}: {self.measured}",
            heads=(self.parameter,),
        )


@dataclass(frozen=True)
class Path:
    """Cells whose two means are points on a line of a plane.

    Attributes
    ----------
    label : str
        What stands beside the line.
    x, y : tuple of Quantity
        What is measured of each cell, one per value of the parameter.
    """

    label: str
    x: tuple[Quantity, ...]
    y: tuple[Quantity, ...]


@dataclass(frozen=True)
class Reference:
    """A cell that all lines of a plane are compared with.

    Attributes
    ----------
    label : str
        What it is.
    x, y : Quantity
        What is measured of it.
    """

    label: str
    x: Quantity
    y: Quantity


@dataclass(frozen=True)
class Plane:
    """Two means of each cell against each other, with lines along a parameter, and a reference.

    Attributes
    ----------
    title : str
        What it shows.
    parameter : str
        Name and unit of the parameter along a line.
    values : tuple of float
        Its values, rising.
    x_name, x_unit, y_name, y_unit : str
        Names of what is measured, without units, and units.
    paths : tuple of Path
        The lines.
    reference : Reference
        A point beside.
    """

    title: str
    parameter: str
    values: tuple[float, ...]
    x_name: str
    x_unit: str
    y_name: str
    y_unit: str
    paths: tuple[Path, ...]
    reference: Reference

    @property
    def grids(self) -> tuple[Grid, Grid]:
        """The same as two tables: a line for each value of the parameter, a column for each line."""
        return (
            self._grid(self.x_name, self.x_unit, [path.x for path in self.paths], self.reference.x),
            self._grid(self.y_name, self.y_unit, [path.y for path in self.paths], self.reference.y),
        )

    def _grid(self, name: str, unit: str, columns: list[tuple[Quantity, ...]], reference: Quantity) -> Grid:
        rows = [
            GridRow((f"{value:g}",), entries)
            for value, entries in zip(self.values, zip(*columns, strict=True), strict=True)
        ]
        rows.append(GridRow((self.reference.label,), (reference,) * len(columns)))
        heads, title = (self.parameter,), f"{self.title}: {name}"
        return Grid(tuple(path.label for path in self.paths), unit, tuple(rows), title, heads)


@dataclass(frozen=True)
class Series:
    """Points in the order in which they are drawn.

    Attributes
    ----------
    x, y : ndarray of float, shape (n,)
        What the trace's labels say, in their units.
    """

    x: NDArray[np.float64]
    y: NDArray[np.float64]


def cut(steps: Series, begin: float, end: float) -> Series:
    """Keep a part of a step function, with the value that it has at the beginning."""
    first = max(0, int(np.searchsorted(steps.x, begin, side="right")) - 1)
    last = int(np.searchsorted(steps.x, end, side="right"))
    return Series(steps.x[first:last].clip(min=begin), steps.y[first:last])


@dataclass(frozen=True)
class Layers:
    """Several kinds of point of one run.

    Attributes
    ----------
    series : tuple of (str, Series)
        What each is, and its points.
    """

    series: tuple[tuple[str, Series], ...]


@dataclass(frozen=True)
class Trace:
    """A line of one run, or several kinds of point.

    Attributes
    ----------
    title : str
        What it shows.
    x_label, y_label : str
        Names and units of the axes.
    cell : Cell
        A cell that observes a :class:`Series` or :class:`Layers`.
    is_step : bool
        Whether a value stands until the next one.
    """

    title: str
    x_label: str
    y_label: str
    cell: Cell
    is_step: bool = True
