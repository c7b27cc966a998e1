"""Cells: scenarios that are replicated, with an error-free twin where the paper compares with one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from airpath.scenario import inline
from airpath.stats.replication import Results
from airpath_studies.base.observe import Observation
from airpath_studies.base.send_window import SendWindow

Overrides = tuple[tuple[str, str], ...]
"""Changes to a scenario: dotted path and TOML value, applied in order."""


def buffer(kind: str, discipline: Mapping[str, Any]) -> Overrides:
    """Make `discipline`, such as ``{"droptail": {"packets": 30}}``, that of the downlink of `radio.<kind>`.

    Its table is written whole: nothing is left of the limits that the scenario has.
    """
    ((name, keys),) = discipline.items()
    return ((f"radio.{kind}.downlink.queue.{name}", inline(keys)),)


@dataclass(frozen=True)
class Outcome:
    """One run of a cell: its results, and those of the cell's error-free twin if it has one."""

    results: Results
    reference: Results | None = None
    window: SendWindow | None = None
    """The send window over time, if it was traced."""
    observed: Any = None
    """What the cell's observation made of the trace; None if it has none."""

    @property
    def flow(self) -> dict[str, Any]:
        """Results of the first flow."""
        flow: dict[str, Any] = self.results["flows"][0]
        return flow

    def element(self, name: str) -> dict[str, Any]:
        """Results of the first element of the path with this name."""
        element: dict[str, Any] = next(e for e in self.results["elements"] if e["element"] == name)
        return element

    @property
    def twin(self) -> Outcome:
        """The run of the error-free twin; a `ValueError` if the cell has none."""
        if self.reference is None:
            raise ValueError("this cell has no error-free twin")
        return Outcome(self.reference)

    @property
    def traced_window(self) -> SendWindow:
        """The send window over time; a `ValueError` if it was not traced."""
        if self.window is None:
            raise ValueError("the send window of this cell was not traced")
        return self.window


Metric = Callable[[Outcome], float]


@dataclass(frozen=True)
class Cell:
    """A scenario to replicate: a base scenario with changes."""

    name: str
    """What it is, for progress and captions."""
    overrides: Overrides
    """Changes to the base scenario."""
    reference: Overrides | None
    """Changes to the base scenario that make the twin that it is compared with; None if there is none."""
    precise: Metric
    """Metric whose precision decides how many runs there are."""
    paired: bool = False
    """Whether chance acts on the twin, too: then it has the seed of each run. Else it is run once."""
    observe: Observation | None = None
    """What is kept of the trace of a run, for metrics that counters do not tell."""
    scenario: str | None = None
    """Name of the bundled base scenario; the paper's if absent."""
    is_read: bool = True
    """Whether the paper's readings apply to it; they may be about what its base scenario does not have."""
    runs: int = 1
    """Runs that it takes at least, whatever the precision, where what is measured scatters widely."""
    most_runs: int | None = None
    """Runs that are enough, whatever the precision; with ``--quick`` a third."""
    precision: float | None = None
    """Sufficient half-width of that interval over its mean; as for every cell if absent."""
    also_precise: tuple[Metric, ...] = ()
    """Further metrics that must be as precise."""
