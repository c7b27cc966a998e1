"""What a paper is made of: published values, readings, cells to simulate, and tables and figures of them.

A *cell* is a scenario that is replicated, with an error-free twin where the paper compares with one. A
*row* sets one published value against a metric of a cell. A *reading* is one way to understand what
the paper leaves open; one of them, the default, judges the whole paper, the others are shown beside.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Literal

from airpath.estimate import exact
from airpath.papers.observe import Observation
from airpath.papers.send_window import SendWindow
from airpath.replicate import Estimate, Results
from airpath.scenario import Scenario, load

if TYPE_CHECKING:
    from airpath.papers.claims import Claim
    from airpath.papers.conditions import Quantity
    from airpath.papers.grid import Grid
    from airpath.papers.panel import Chart, Plane, Trace

Overrides = tuple[tuple[str, str], ...]
"""Changes to a scenario: dotted path and TOML value, applied in order."""

NOT_SIMULATED = ("background", "measurement", "definition", "recommendation")
"""Classes of published value that no experiment can be set against."""


@dataclass(frozen=True)
class Published:
    """One published value, a line of `published/<paper>.csv`.

    `value`, `corrected` and `half_width`, that of the interval printed beside, are in `unit`.
    """

    id: str
    place: str
    quantity: str
    unit: str
    value: float
    corrected: float | None
    half_width: float | None
    kind: str
    bound: str | None
    background: bool

    @property
    def target(self) -> float:
        """What a measurement is compared with: the corrected value of a misprint, else the value."""
        return self.value if self.corrected is None else self.corrected


@cache
def load_published(paper: str) -> dict[str, Published]:
    """Load all published values of a paper by their id, in the order of the file.

    Raises
    ------
    ValueError
        If an id is not unique.
    """
    values: dict[str, Published] = {}
    text = files("airpath.papers").joinpath(f"published/{paper}.csv").read_text(encoding="utf-8")
    for line in csv.DictReader(text.splitlines()):
        if line["id"] in values:
            raise ValueError(f"two published values are called {line['id']}")
        context = json.loads(line["scenario"] or "{}")
        values[line["id"]] = Published(
            id=line["id"],
            place=line["place"],
            quantity=line["quantity"],
            unit=line["unit"],
            value=float(line["value"]),
            corrected=float(line["corrected"]) if line["corrected"] else None,
            half_width=float(line["ci_half_width"]) if line["ci_half_width"] else None,
            kind=line["kind"],
            bound=context.get("bound"),
            background=context.get("class") in NOT_SIMULATED,
        )
    return values


@dataclass(frozen=True)
class Reading:
    """One way to understand what a paper leaves open."""

    name: str
    description: str
    overrides: Overrides


@dataclass(frozen=True)
class Choice:
    """What a paper leaves open, and how it was settled.

    Attributes
    ----------
    place : str
        Where in the paper it is left open.
    open : str
        What it is.
    tried : str
        What was tried, with what came out.
    taken : str
        What judges.
    why : str
        How the choice was made.
    uses : tuple of str
        Ids of the published values and claims by which it was made; they test nothing.
    """

    place: str
    open: str
    tried: str
    taken: str
    why: str
    uses: tuple[str, ...] = ()


@dataclass(frozen=True)
class Outcome:
    """One run of a cell.

    Attributes
    ----------
    results : dict
        Results of the run.
    reference : dict or None
        Results of the cell's error-free twin.
    window : SendWindow or None
        The send window over time, if it was traced.
    observed : object
        What the cell's observation made of the trace; None if it has none.
    """

    results: Results
    reference: Results | None
    window: SendWindow | None
    observed: Any = None

    @property
    def reference_results(self) -> Results:
        """Results of the error-free twin.

        Raises
        ------
        ValueError
            If the cell has none.
        """
        if self.reference is None:
            raise ValueError("this cell has no error-free twin")
        return self.reference

    @property
    def traced_window(self) -> SendWindow:
        """The send window over time.

        Raises
        ------
        ValueError
            If it was not traced.
        """
        if self.window is None:
            raise ValueError("the send window of this cell was not traced")
        return self.window


Metric = Callable[[Outcome], float]


@dataclass(frozen=True)
class Cell:
    """A scenario to replicate: a base scenario with changes.

    Attributes
    ----------
    name : str
        What it is, for progress and captions.
    overrides : tuple
        Changes to the base scenario.
    reference : tuple or None
        Changes to the base scenario that make the twin that it is compared with; None if there is none.
    precise : callable
        Metric whose precision decides how many runs there are.
    paired : bool
        Whether chance acts on the twin, too: then it has the seed of each run. A twin without errors is
        the same in all of them, and run once.
    observe : Observation or None
        What is kept of the trace of a run, for metrics that counters do not tell.
    scenario : str or None
        Name of the bundled base scenario; the paper's if absent.
    is_read : bool
        Whether the paper's readings apply to it; they may be about what its base scenario does not have.
    runs : int
        Runs that it takes at least, whatever the precision, where what is measured scatters widely.
    most_runs : int or None
        Runs that are enough, whatever the precision, where one takes long; with ``--quick`` a third of them.
    """

    name: str
    overrides: Overrides
    reference: Overrides | None
    precise: Metric
    paired: bool = False
    observe: Observation | None = None
    scenario: str | None = None
    is_read: bool = True
    runs: int = 1
    most_runs: int | None = None


def first(estimates: Sequence[Estimate]) -> Estimate:
    """Pick the estimate of the first (usually the only) cell."""
    return estimates[0]


def highest(estimates: Sequence[Estimate]) -> Estimate:
    """Pick the estimate of the cell with the highest mean."""
    return max(estimates, key=lambda estimate: estimate.mean)


def lowest(estimates: Sequence[Estimate]) -> Estimate:
    """Pick the estimate of the cell with the lowest mean."""
    return min(estimates, key=lambda estimate: estimate.mean)


@dataclass(frozen=True)
class Row:
    """One published value and what is measured for it.

    Attributes
    ----------
    published_id : str
        Id of the published value.
    labels : tuple of str
        Leading columns of the table.
    cells : tuple of Cell
        What is simulated; nothing where the value is computed from other printed ones.
    metric : callable
        The measured value in the published unit, from a run of a cell.
    pick : callable
        Which cell counts if there are several, or what follows from all of them.
    traced : bool
        Whether the metric needs the send window over time.
    averaged_runs : int
        How many runs the paper averaged; 1 where it does not say.
    remark : str
        What a reader should know about this value.
    """

    published_id: str
    labels: tuple[str, ...]
    cells: tuple[Cell, ...]
    metric: Metric
    pick: Callable[[Sequence[Estimate]], Estimate] = first
    traced: bool = False
    averaged_runs: int = 1
    remark: str = ""


def computed(published_id: str, labels: tuple[str, ...], value: float, remark: str = "") -> Row:
    """Make the row of a value that follows from other printed ones: nothing is run for it."""
    return Row(published_id, labels, (), _of_no_run, pick=lambda _: exact(value), remark=remark)


def _of_no_run(outcome: Outcome) -> float:
    raise ValueError("nothing is run for a computed value")


@dataclass(frozen=True)
class Curve:
    """A line in a picture of the data received over time: one run of a cell.

    Attributes
    ----------
    label : str
        What stands beside the line.
    cell : Cell
        A cell that observes `observe.Received`.
    scale : float
        Bytes of the file, headers included, per byte of payload.
    """

    label: str
    cell: Cell
    scale: float


@dataclass(frozen=True)
class Experiment:
    """A table or figure of a paper, or what its text says.

    Attributes
    ----------
    kind : str
        ``table``, ``figure``, ``study`` or ``text``.
    number : int or None
        Number of the table, figure or study.
    title : str
        What it shows.
    columns : tuple of str
        Heads of the leading columns, as many as a row has labels.
    rows : tuple of Row
        Published values with their measurement.
    window_of : Cell or None
        Cell whose send window over time is drawn.
    in_round_trips : bool
        Whether time is drawn in round-trip times, and not in seconds.
    curves : tuple of Curve
        What is drawn of the data received over time.
    grid : Grid or None
        What is measured side by side where the paper prints no values.
    question : str
        What a study asks, and what a grid shows.
    charts : tuple of Chart
        What is drawn over a parameter.
    traces : tuple of Trace
        What is drawn of single runs.
    planes : tuple of Plane
        What is drawn of two quantities against each other.
    tables : tuple of Grid
        Further tables of what is measured, in other units than `grid`.
    """

    kind: Literal["table", "figure", "study", "text"]
    number: int | None
    title: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    window_of: Cell | None = None
    in_round_trips: bool = False
    curves: tuple[Curve, ...] = ()
    grid: Grid | None = None
    question: str = ""
    charts: tuple[Chart, ...] = ()
    traces: tuple[Trace, ...] = ()
    planes: tuple[Plane, ...] = ()
    tables: tuple[Grid, ...] = ()

    @property
    def grids(self) -> tuple[Grid, ...]:
        """Its grid, its further tables, and what its charts and planes show, as tables."""
        return (
            *((self.grid,) if self.grid else ()),
            *self.tables,
            *(chart.grid for chart in self.charts),
            *(grid for plane in self.planes for grid in plane.grids),
        )

    @property
    def quantities(self) -> tuple[Quantity, ...]:
        """What has to be measured for its grids."""
        return tuple(quantity for grid in self.grids for quantity in grid.quantities)

    @property
    def place(self) -> str:
        """How the paper calls it."""
        return "Text" if self.number is None else f"{self.kind.capitalize()} {self.number}"


@dataclass(frozen=True)
class Paper:
    """A paper that can be reproduced.

    Attributes
    ----------
    name, citation : str
        Short name, as in the command line; full reference.
    scenario : str
        Name of the bundled base scenario.
    parameters : tuple of (str, str)
        What the page says about how the paper was read.
    readings : tuple of Reading
        All readings.
    default_reading : str
        Name of the reading that judges the whole paper.
    choices : tuple of Choice
        What the paper leaves open.
    experiments : tuple of Experiment
        What can be reproduced.
    claims : tuple of Claim
        What the paper says about its figures.
    not_reproduced : mapping of str to str
        The claims that do not hold under the default reading, by id, and why.
    confidence : float or None
        Confidence level of the intervals that the paper prints; None if it prints none.
    """

    name: str
    citation: str
    scenario: str
    parameters: tuple[tuple[str, str], ...]
    readings: tuple[Reading, ...]
    default_reading: str
    experiments: tuple[Experiment, ...]
    claims: tuple[Claim, ...] = ()
    not_reproduced: Mapping[str, str] = field(default_factory=dict)
    confidence: float | None = None
    choices: tuple[Choice, ...] = ()

    @property
    def calibrated(self) -> dict[str, Choice]:
        """The values and claims, by id, that helped to choose something, with what they helped to choose."""
        return {name: choice for choice in self.choices for name in choice.uses}

    @property
    def is_own(self) -> bool:
        """Whether it is a collection of own studies, of which nothing is published."""
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
        base = load(cell.scenario) if cell.scenario else self.base
        reads = reading.overrides if cell.is_read else ()
        return Scenario(base.name, base.source, (*overrides, *reads), base.folder).text

    def not_covered(self) -> int:
        """Count the published values that no experiment covers yet; background is not counted."""
        covered = {row.published_id for experiment in self.experiments for row in experiment.rows}
        return sum(not value.background and value.id not in covered for value in self.published.values())
