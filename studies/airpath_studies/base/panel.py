"""Panels: the parts of a picture, and what has to be measured for them.

A *chart* shows means of replicated cells over a parameter, a *plane* two means of each cell against each
other, a *map* the means of a grid as colours, a *trace* one run over time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from airpath_studies.base.cell import Cell
from airpath_studies.base.grid import Grid, GridRow
from airpath_studies.base.quantity import Quantity


@dataclass(frozen=True)
class Line:
    """A measurement over the parameter of a chart, one entry per value; `label` is the line's label."""

    label: str
    entries: tuple[Quantity, ...]


@dataclass(frozen=True)
class Chart:
    """Lines over a parameter, with intervals."""

    title: str
    parameter: str
    """Name and unit of the parameter."""
    values: tuple[float, ...]
    """Values of the parameter, rising."""
    measured: str
    """Name of what is measured, without unit."""
    unit: str
    lines: tuple[Line, ...]
    marks: tuple[tuple[float, float], ...] = ()
    """Published points: values of the parameter and of what is measured."""

    @property
    def grid(self) -> Grid:
        """The chart as a table: a row for each value of the parameter, a column for each line."""
        return _grid(self, self.measured, self.unit, self.lines)


@dataclass(frozen=True)
class Path:
    """Cells whose two means `x` and `y` are points on a line of a plane, one per value of the parameter."""

    label: str
    x: tuple[Quantity, ...]
    y: tuple[Quantity, ...]


@dataclass(frozen=True)
class Reference:
    """A cell that all lines of a plane are compared with."""

    label: str
    x: Quantity
    y: Quantity


@dataclass(frozen=True)
class Plane:
    """Two means of each cell against each other, with lines along a parameter, and a reference."""

    title: str
    parameter: str
    """Name and unit of the parameter along a line."""
    values: tuple[float | str, ...]
    """Values of the parameter: rising, or words."""
    x_name: str
    x_unit: str
    y_name: str
    y_unit: str
    paths: tuple[Path, ...]
    reference: Reference | None = None
    has_own_axes: bool = False
    """Whether its axes differ from the other planes' axes."""

    @property
    def names(self) -> list[str]:
        """The values of the parameter as they are written."""
        return _written(self.values)

    @property
    def grids(self) -> tuple[Grid, Grid]:
        """The plane as two tables: a row for each value of the parameter, a column for each line."""
        x = [Line(path.label, path.x) for path in self.paths]
        y = [Line(path.label, path.y) for path in self.paths]
        at_x, at_y = [], []
        if self.reference is not None:
            labels = (self.reference.label,)
            at_x, at_y = ([GridRow(labels, (of,) * len(x))] for of in (self.reference.x, self.reference.y))
        return (
            _grid(self, self.x_name, self.x_unit, x, *at_x),
            _grid(self, self.y_name, self.y_unit, y, *at_y),
        )


@dataclass(frozen=True)
class Map:
    """The means of a grid as colours."""

    grid: Grid
    over: Grid | None = None
    """A grid of the same lines and columns: what is drawn is the change from it, percent."""


@dataclass(frozen=True)
class Series:
    """Points in the order in which they are drawn, of shape (n,), in the units of the trace's labels."""

    x: NDArray[np.float64]
    y: NDArray[np.float64]


def cut(steps: Series, begin: float, end: float) -> Series:
    """Keep a part of a step function, with the value that it has at the beginning."""
    first = max(0, int(np.searchsorted(steps.x, begin, side="right")) - 1)
    last = int(np.searchsorted(steps.x, end, side="right"))
    return Series(steps.x[first:last].clip(min=begin), steps.y[first:last])


@dataclass(frozen=True)
class Layers:
    """Several kinds of point of one run: what each is, and its points."""

    series: tuple[tuple[str, Series], ...]


@dataclass(frozen=True)
class Trace:
    """A line of one run, or several kinds of point."""

    title: str
    x_label: str
    y_label: str
    cell: Cell
    """A cell that observes a :class:`Series` or :class:`Layers`."""
    is_step: bool = True
    """Whether a value stands until the next one."""


def _written(values: Sequence[float | str]) -> list[str]:
    return [value if isinstance(value, str) else f"{value:g}" for value in values]


def _grid(panel: Chart | Plane, name: str, unit: str, lines: Sequence[Line], *more: GridRow) -> Grid:
    entries = zip(*(line.entries for line in lines), strict=True)
    rows = [GridRow((name,), of) for name, of in zip(_written(panel.values), entries, strict=True)]
    labels = tuple(line.label for line in lines)
    return Grid(labels, unit, (*rows, *more), f"{panel.title}: {name}", (panel.parameter,))
