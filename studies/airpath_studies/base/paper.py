"""The parts of a paper: rows that compare published values with cells, experiments of them, and claims.

A *row* compares one published value with a metric of a cell. A *reading* is one interpretation of the
paper's open choices; the default reading judges the whole paper, the others are shown for comparison.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from typing import Any, Literal

from airpath.scenario import Scenario, load, read
from airpath.stats.estimate import Estimate, exact
from airpath_studies.base.cell import Cell, Metric, Outcome, Overrides
from airpath_studies.base.choices import Choice, Reading
from airpath_studies.base.claims import Claim
from airpath_studies.base.description import Description, description
from airpath_studies.base.grid import Grid
from airpath_studies.base.paired import Pick, first
from airpath_studies.base.panel import Chart, Map, Plane, Trace
from airpath_studies.base.published import Published, load_published
from airpath_studies.base.quantity import Quantity


@dataclass(frozen=True)
class Row:
    """One published value and what is measured for it."""

    published_id: str
    labels: tuple[str, ...]
    """Leading columns of the table."""
    cells: tuple[Cell, ...]
    """What is simulated; nothing where the value is computed from other printed ones."""
    metric: Metric
    """The measured value in the published unit, from a run of a cell."""
    pick: Pick = first
    """Selects the cell that counts if there are several, or combines them."""
    traced: bool = False
    """Whether the metric needs the send window over time."""
    averaged_runs: int = 1
    """How many runs the paper averaged; 1 where it does not say."""
    remark: str = ""
    """What a reader should know about this value."""


def row_of(paper: str, usual: Metric | None = None, averaged: int = 1) -> Callable[..., Row]:
    """Make what makes the rows of a paper, each with the remark that `paper.toml` has for it.

    `usual` is what is measured, and `averaged` the runs that the paper averaged, where a row does not say.
    """
    remarks = description(paper).remarks

    def row(
        name: str,
        labels: str | tuple[str, ...],
        cells: Cell | Iterable[Cell],
        metric: Metric | None = usual,
        pick: Pick = first,
        *,
        traced: bool = False,
        averaged_runs: int = averaged,
    ) -> Row:
        """Compare the published value of this name, behind that of the paper, with one or several cells."""
        name = f"{paper}-{name}"
        labels = (labels,) if isinstance(labels, str) else labels
        cells = (cells,) if isinstance(cells, Cell) else tuple(cells)
        assert metric is not None, name
        return Row(name, labels, cells, metric, pick, traced, averaged_runs, remarks.get(name, ""))

    return row


def computed(published_id: str, labels: tuple[str, ...], value: float) -> Row:
    """Make the row of a value that follows from other printed ones: nothing is run for it."""
    return Row(published_id, labels, (), _of_no_run, pick=lambda _: exact(value))


def _of_no_run(outcome: Outcome) -> float:
    raise ValueError("nothing is run for a computed value")


@dataclass(frozen=True)
class Curve:
    """A line in a picture of the data received over time: one run of a cell."""

    label: str
    cell: Cell
    """A cell that observes `observe.Received`."""
    scale: float
    """Bytes of the file, headers included, per byte of payload."""


@dataclass(frozen=True)
class Experiment:
    """A table or figure of a paper, or what its text says."""

    kind: Literal["table", "figure", "study", "text"]
    number: int | None
    title: str
    columns: tuple[str, ...]
    """Heads of the leading columns, as many as a row has labels."""
    rows: tuple[Row, ...]
    window_of: Cell | None = None
    """Cell whose send window over time is drawn."""
    in_round_trips: bool = False
    """Whether time is drawn in round-trip times, and not in seconds."""
    curves: tuple[Curve, ...] = ()
    """What is drawn of the data received over time."""
    grid: Grid | None = None
    """What is measured side by side where the paper prints no values."""
    question: str = ""
    """What a study asks, and what a grid shows."""
    charts: tuple[Chart, ...] = ()
    traces: tuple[Trace, ...] = ()
    planes: tuple[Plane, ...] = ()
    maps: tuple[Map, ...] = ()
    tables: tuple[Grid, ...] = ()
    """Further tables of what is measured, in other units than `grid`."""

    @property
    def grids(self) -> tuple[Grid, ...]:
        """Its grid, its further tables, and what its charts, planes and maps show, as tables; none twice."""
        grids = (
            *((self.grid,) if self.grid else ()),
            *self.tables,
            *(chart.grid for chart in self.charts),
            *(grid for plane in self.planes for grid in plane.grids),
            *(of.grid for of in self.maps),
        )
        return tuple(dict.fromkeys(grids))

    @property
    def single_runs(self) -> tuple[Cell, ...]:
        """The cells of its curves, then of its traces: one run each is drawn."""
        return (*(curve.cell for curve in self.curves), *(trace.cell for trace in self.traces))

    @property
    def quantities(self) -> tuple[Quantity, ...]:
        """What has to be measured for its grids, and for what its maps compare with."""
        over = (of.over for of in self.maps if of.over is not None)
        return tuple(quantity for grid in (*self.grids, *over) for quantity in grid.quantities)

    @property
    def place(self) -> str:
        """How the paper calls it."""
        return "Text" if self.number is None else f"{self.kind.capitalize()} {self.number}"


def _heads(heads: str | tuple[str, ...]) -> tuple[str, ...]:
    return (heads,) if isinstance(heads, str) else heads


def table(
    number: int,
    title: str,
    heads: str | tuple[str, ...],
    *rows: Row,
    question: str = "",
    grid: Grid | None = None,
) -> Experiment:
    """Make a table, with these heads of the leading columns."""
    return Experiment("table", number, title, _heads(heads), rows, grid=grid, question=question)


def figure(
    number: int,
    title: str,
    *rows: Row,
    heads: str | tuple[str, ...] = "quantity",
    question: str = "",
    charts: Iterable[Chart] = (),
    traces: Iterable[Trace] = (),
    planes: Iterable[Plane] = (),
    curves: Iterable[Curve] = (),
    window_of: Cell | None = None,
    in_round_trips: bool = False,
) -> Experiment:
    """Make a figure: values that are printed of it, and what is drawn."""
    return Experiment(
        "figure",
        number,
        title,
        _heads(heads),
        rows,
        window_of,
        in_round_trips,
        tuple(curves),
        question=question,
        charts=tuple(charts),
        traces=tuple(traces),
        planes=tuple(planes),
    )


def text(*rows: Row, title: str = "What the text says about these simulations") -> Experiment:
    """Make the experiment of what the text says in numbers."""
    return Experiment("text", None, title, ("quantity",), rows)


def study(
    number: int,
    title: str,
    question: str,
    *tables: Grid,
    heads: str | tuple[str, ...] = "quantity",
    charts: Iterable[Chart] = (),
    planes: Iterable[Plane] = (),
    maps: Iterable[Map] = (),
) -> Experiment:
    """Make a study of what the paper does not print: a question, tables below these heads, and pictures."""
    return Experiment(
        "study",
        number,
        title,
        _heads(heads),
        (),
        question=question,
        charts=tuple(charts),
        planes=tuple(planes),
        maps=tuple(maps),
        tables=tables,
    )


@dataclass(frozen=True)
class Paper(Description):
    """A paper that can be reproduced."""

    experiments: tuple[Experiment, ...]
    claims: tuple[Claim, ...]
    link_alone: Callable[[Row, Estimate], float | None] = lambda _row, _measured: None
    """What a link that is never idle would give for a row, from headers and rates alone, in the published
    unit; None where it is not meaningful. Equals the measurement if TCP has no part in it."""

    @classmethod
    def of(cls, told: Description, **more: Any) -> Paper:
        """Make a paper of what is said about it, its experiments, claims and so on."""
        return cls(**{field.name: getattr(told, field.name) for field in fields(Description)}, **more)

    @property
    def calibrated(self) -> dict[str, Choice]:
        """The values and claims, by id, that helped to choose something, with what they helped to choose."""
        return {name: choice for choice in self.choices for name in choice.uses}

    @property
    def is_own(self) -> bool:
        """Whether it is a collection of airpath's own studies, without published values."""
        return not any(experiment.rows for experiment in self.experiments)

    @property
    def published(self) -> dict[str, Published]:
        """All published values by id; none of own studies."""
        return {} if self.is_own else load_published(self.name)

    @property
    def base(self) -> Scenario:
        """The base scenario."""
        return load(self.scenario)

    def text(self, cell: Cell, overrides: Overrides, reading: Reading) -> str:
        """Write a cell's scenario with these changes, under a reading, every default written out."""
        name, source, folder = read(cell.scenario or self.scenario)
        return Scenario(name, source, (*overrides, *reading.changes(cell)), folder).text

    def settings(self, cell: Cell, overrides: Overrides) -> dict[str, str]:
        """What these changes of a cell set under the reading that judges; what is said again comes last."""
        found: dict[str, str] = {}
        for key, value in (*overrides, *(self.judging.overrides if cell.is_read else ())):
            found.pop(key, None)
            found[key] = value
        return found

    def not_covered(self) -> int:
        """Count the published values that no experiment covers yet; background is not counted."""
        covered = {row.published_id for experiment in self.experiments for row in experiment.rows}
        return sum(not value.background and value.id not in covered for value in self.published.values())
