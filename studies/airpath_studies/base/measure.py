"""Measures: what is read off the runs of cells, and the tables and charts that are made of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from airpath_studies.base.cell import Cell, Metric, Outcome
from airpath_studies.base.grid import Grid, GridRow
from airpath_studies.base.panel import Chart, Line
from airpath_studies.base.quantity import Quantity


@dataclass(frozen=True)
class Measure:
    """What is measured of cells.

    Attributes
    ----------
    name, unit : str
        As a :class:`Quantity` has them.
    metric : callable
        The value of a run.
    seen_in : callable, optional
        What is done to a cell for it, such as to observe something else.
    """

    name: str
    unit: str
    metric: Metric
    seen_in: Callable[[Cell], Cell] = lambda cell: cell

    def of(self, cell: Cell, called: str = "") -> Quantity:
        """Measure it of a cell, which may be called otherwise than by its name."""
        return Quantity(f"{self.name}, {called or cell.name}", self.seen_in(cell), self.metric, self.unit)


def element(outcome: Outcome, name: str) -> Mapping[str, Any]:
    """What the first element reports whose name begins so."""
    report: Mapping[str, Any] = next(e for e in outcome.results["elements"] if e["element"].startswith(name))
    return report


def bearer(outcome: Outcome, direction: str) -> Mapping[str, Any]:
    """What the radio cell reports of the first terminal, ``downlink`` or ``uplink``."""
    report: Mapping[str, Any] = element(outcome, "radio.")["ues"][0][direction]
    return report


def of_flow(name: str) -> Metric:
    """What the first flow reports under a name."""
    return lambda outcome: float(outcome.results["flows"][0][name])


def observed(name: str) -> Metric:
    """What the cell's observation has under a name."""
    return lambda outcome: float(getattr(outcome.observed, name))


def tables(
    head: str,
    columns: Mapping[str, Callable[[Any], Cell]],
    rows: Mapping[str, Any],
    measures: Iterable[Measure],
    marks: Callable[[str, Measure], tuple[str, ...]] = lambda row, measure: (),
    title: str = "",
) -> tuple[Grid, ...]:
    """Set cells side by side, in a table for each measure: what a column makes of what a row stands for.

    `marks` gives what the paper prints in a row.
    """
    cells = {name: tuple(cell_of(row) for cell_of in columns.values()) for name, row in rows.items()}
    return tuple(
        Grid(
            tuple(columns),
            measure.unit,
            tuple(
                GridRow((name,), tuple(map(measure.of, of)), marks(name, measure))
                for name, of in cells.items()
            ),
            f"{title}: {measure.name}" if title else measure.name,
            (head,),
        )
        for measure in measures
    )


def chart(
    title: str,
    parameter: str,
    values: tuple[float, ...],
    measure: Measure,
    lines: Mapping[str, Callable[[Any], Cell]],
    marks: tuple[tuple[float, float], ...] = (),
) -> Chart:
    """Chart a measure over a parameter; a line has the cell of each of its values."""
    drawn = tuple(
        Line(label, tuple(measure.of(cell_of(value)) for value in values)) for label, cell_of in lines.items()
    )
    return Chart(title, parameter, values, measure.name, measure.unit, drawn, marks)
