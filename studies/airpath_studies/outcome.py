"""The outcome of a reproduction: comparisons, claims, and the result under each interpretation."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace

from airpath.stats.estimate import Estimate, estimate
from airpath.stats.replication import Rule
from airpath_studies.base.claims import ClaimResult
from airpath_studies.base.observe import Received
from airpath_studies.base.panel import Layers, Series, Trace
from airpath_studies.base.paper import Experiment, Paper, Row
from airpath_studies.base.published import Published
from airpath_studies.base.quantity import Quantity
from airpath_studies.base.send_window import SendWindow
from airpath_studies.base.verdict import MEASURED_VERDICTS, MET, Verdict

FULL_RULE = Rule(min_runs=20, batch=10, looks=2)
"""Guarded against intervals that are narrow by chance, docs/statistics.md."""


@dataclass(frozen=True)
class Effort:
    """How much to simulate."""

    rule: Rule = FULL_RULE
    """When a cell has been replicated often enough."""
    all_readings: bool = True
    """Whether to simulate the readings that do not judge too."""
    is_full: bool = False
    """Whether cells that need more runs get them."""
    is_exact: bool = False
    """Whether the number of runs is the user's, and the same for all cells."""

    @classmethod
    def of(cls, quick: bool, runs: int | None) -> Effort:
        """Turn the options of the command line into an effort."""
        if runs:
            return cls(Rule.exactly(runs), all_readings=not quick, is_exact=True)
        return cls(Rule(max_runs=5), all_readings=False) if quick else cls(is_full=True)

    def rule_for(self, runs: int, most: int | None = None, precision: float | None = None) -> Rule:
        """Require at least so many runs, and at most `most`, if everything is simulated in full.

        If not in full, a third of `most` is enough, and two at least, and no more than for other cells.
        `precision` replaces the rule's.
        """
        if self.is_exact:
            return self.rule
        least, limit = self.rule.min_runs, self.rule.max_runs
        if self.is_full:
            least, limit = max(least, runs), most or max(limit, runs)
        elif most is not None:
            most = max(2, most // 3)
        if most is not None:
            least, limit = min(least, most), min(limit, most)
        precision = self.rule.precision if precision is None else precision
        return replace(self.rule, min_runs=least, max_runs=limit, precision=precision)


@dataclass(frozen=True)
class Comparison:
    """A published value and its measurement under the default reading; background has None."""

    row: Row | None
    published: Published
    measured: Estimate | None
    first_run: float | None
    """What the first run alone gives."""
    others: dict[str, Estimate]
    """Estimates under the other readings, by name; readings that were not simulated are missing."""
    verdict: Verdict
    reason: str
    """Why it did not come out; empty where it did, and for background."""
    readings: dict[str, tuple[Estimate, Verdict]]
    """Measurement and verdict under every reading that was simulated, the default one first."""
    link_alone: tuple[float, Verdict] | None = None
    """What a link without TCP gives, from headers and rates alone, and the verdict on that."""

    @property
    def like_the_paper(self) -> Estimate | None:
        """The estimate of the first runs, as many as the paper averaged; None if it did not."""
        if self.row is None or self.measured is None or self.row.averaged_runs == 1:
            return None
        return estimate(self.measured.values[: self.row.averaged_runs])

    @property
    def prediction(self) -> tuple[float, float] | None:
        """Where the mean of as many runs as the paper averaged falls with 95 % probability."""
        if self.row is None or self.measured is None or self.measured.n == 1:
            return None
        return self.measured.prediction_interval(self.row.averaged_runs)


@dataclass(frozen=True)
class Section:
    """An experiment with its comparisons that are complete, and what there is to draw."""

    experiment: Experiment
    comparisons: tuple[Comparison, ...]
    window: SendWindow | None
    """A send window over time."""
    round_trip_s: float | None
    """Mean round-trip time of that run, seconds, where time is drawn in round trips."""
    curves: tuple[tuple[str, float, Received], ...]
    """Labels, bytes of file per byte of payload, and data received over time."""
    grid: dict[Quantity, Estimate | None]
    """What was measured for the experiment's grids; None where that is not complete."""
    traces: tuple[tuple[Trace, Series | Layers], ...]
    """What is drawn of single runs, and its points."""

    @property
    def averaged_runs(self) -> int:
        """How many runs the paper averaged; 1 if it did not in any row."""
        return max((row.averaged_runs for row in self.experiment.rows), default=1)


@dataclass(frozen=True)
class PaperOutcome:
    """Outcome of the requested experiments; background and claims if all were requested."""

    paper: Paper
    effort: Effort
    sections: tuple[Section, ...]
    background: tuple[Comparison, ...]
    """Published values that nothing can be set against."""
    claims: tuple[ClaimResult, ...]
    incomplete: bool
    """Whether it was interrupted."""

    @property
    def comparisons(self) -> list[Comparison]:
        """All comparisons, in order."""
        return [c for section in self.sections for c in section.comparisons] + list(self.background)

    @property
    def met(self) -> tuple[int, int]:
        """How many values came out, and how many of these a link without TCP would meet, too."""
        met = [comparison for comparison in self.comparisons if comparison.verdict in MET]
        return len(met), sum(one.link_alone is not None and one.link_alone[1] in MET for one in met)

    @property
    def other_readings(self) -> list[str]:
        """Names of the readings that were simulated but do not judge."""
        names = [reading.name for reading in self.paper.readings]
        return [name for name in names if self.effort.all_readings and name != self.paper.default_reading]

    @property
    def scores(self) -> dict[str, Counter[Verdict]]:
        """How often each verdict would be given if a reading judged, by name; the default one first."""
        names = [self.paper.default_reading, *self.other_readings]
        known = [comparison.readings for comparison in self.comparisons]
        return {name: Counter(of[name][1] for of in known if name in of) for name in names}

    @property
    def scored(self) -> list[Verdict]:
        """The verdicts that any reading would give, the best first."""
        given = self.scores.values()
        return [verdict for verdict in MEASURED_VERDICTS if any(counts[verdict] for counts in given)]

    @property
    def readings_compare(self) -> bool:
        """Whether more than one reading was simulated for any value."""
        return bool(self.other_readings) and any(self.scores.values())
