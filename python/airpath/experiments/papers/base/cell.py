"""Cells: scenarios that are replicated, with an error-free twin where the paper compares with one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from airpath.experiments.papers.base.observe import Observation
from airpath.experiments.papers.base.send_window import SendWindow
from airpath.stats.replication import Results

Overrides = tuple[tuple[str, str], ...]
"""Changes to a scenario: dotted path and TOML value, applied in order."""


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
