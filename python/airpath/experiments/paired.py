"""Comparison of two variants of a scenario on common random numbers.

Both run with the same seeds. Random events affect both in part alike, so the difference varies less
than either: the interval is the difference's, run by run (Law and Kelton,
Simulation Modeling and Analysis, 11.2). The gain depends on how long the two use the same random numbers for
the same events. A random stream is chosen by the name and place of its component: a box that only one variant
has comes last.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from airpath.experiments.replicate import Metric, read_metrics, reporting_runs, simulation_of
from airpath.runner.threads import run_here
from airpath.stats.estimate import CONFIDENCE, Estimate, by_seed, estimate
from airpath.stats.replication import MAX_RUNS, Replication, Results, Rule, without_seed

_Pair = tuple[Results, Results]


@dataclass(frozen=True, repr=False)
class PairedComparison:
    """How far a variant is above another, from runs with the same seeds."""

    a: Estimate
    """The metric of the first variant; the values are in the order of the seeds, as those of `b`."""
    b: Estimate
    difference: Estimate
    """a - b, in the unit of the metric."""
    relative: Estimate | None
    """The ratio of the means less 1: 0.1 if `a` is 10 % above `b`. Its values are those of the ratio made
    linear around the means (delta method). None where the mean of `b` is 0."""
    correlation: float
    """Correlation of the two variants' values over the seeds, -1 to 1; NaN if one of them never varies."""

    @property
    def runs(self) -> int:
        """Number of runs of each variant."""
        return self.difference.n

    @property
    def variance_ratio(self) -> float:
        """Variance of the difference with independent seeds over that with common ones.

        Above 1 where common seeds help; so many times the runs would give the same interval unpaired.
        Infinite if the difference never varies, NaN if nothing does.
        """
        unpaired, paired = self.a.sd**2 + self.b.sd**2, self.difference.sd**2
        return unpaired / paired if paired > 0 else math.inf if unpaired > 0 else math.nan

    @property
    def unpaired_runs(self) -> float:
        """Runs of each variant that the same half-width would take with independent seeds.

        Infinite or NaN as the ratio of the variances.
        """
        needed = self.runs * self.variance_ratio
        return math.ceil(needed) if math.isfinite(needed) else needed

    @property
    def is_different(self) -> bool:
        """Whether the interval of the difference leaves 0 out."""
        return self.difference.ci_low > 0 or self.difference.ci_high < 0

    def __repr__(self) -> str:
        return f"PairedComparison(a={self.a}, b={self.b}, difference={self.difference})"

    def _repr_html_(self) -> str:
        from airpath.notebook import interval, number, table

        rows = [("a", self.a, 1.0), ("b", self.b, 1.0), ("a - b", self.difference, 1.0)]
        if self.relative is not None:
            rows.append(("a / b - 1, %", self.relative, 100.0))
        verdict = "is different" if self.is_different else "may be the same"
        return table(
            f"{self.runs} runs of each, same seeds",
            ("", "mean", f"{100 * self.difference.confidence:g} % interval"),
            [
                (name, number(scale * one.mean), interval(one.ci_low, one.ci_high, scale))
                for name, one, scale in rows
            ],
            f"a {verdict}: the interval of a - b {'leaves' if self.is_different else 'does not leave'} 0 out",
        )


class _Pairs(Replication[_Pair]):
    """Runs in pairs, until the difference is known as a share of the second variant's mean."""

    def __init__(self, metric: Callable[[Results], float], rule: Rule) -> None:
        super().__init__(
            lambda pair: metric(pair[0]) - metric(pair[1]),
            rule,
            lambda pair: (without_seed(pair[0]), without_seed(pair[1])),
        )
        self._metric = metric

    def _scale(self, now: Estimate) -> float:
        return statistics.fmean(self._metric(pair[1]) for pair in self.outcomes)

    def _with_unseen(self, known: Estimate) -> Estimate:
        """Leave a difference that is always the same as it is: it is no count."""
        return known

    def values(self, variant: int) -> list[float]:
        """The metric of one variant in every run."""
        return [self._metric(pair[variant]) for pair in self.outcomes]


def compare_paired(
    a: Any,
    b: Any,
    metric: Metric,
    precision: float = 0.05,
    confidence: float = CONFIDENCE,
    *,
    min_runs: int | None = None,
    max_runs: int = MAX_RUNS,
    first_seed: int = 1,
    workers: int | None = None,
    on_run: Callable[[int, int], None] | None = None,
    progress: bool = False,
) -> PairedComparison:
    """Compare two scenarios on common random numbers until their difference is known well enough.

    Parameters
    ----------
    a, b : str or object with an attribute `text`
        Scenarios as TOML; `b` is what `a` is compared with.
    metric : callable or str
        A number from the results of a run, or its name in them, as for :func:`airpath.replicate`.
    precision, confidence : float
        The half-width of the interval of the difference shall be at most `precision` times the mean of `b`.
    min_runs, max_runs, first_seed, workers, on_run, progress
        As for :func:`airpath.replicate`; a run here is one of each.

    Raises
    ------
    ScenarioError
        If a scenario is not valid.
    ValueError
        If the metric is not finite or not there, or the stopping rule makes no sense.
    """
    (read,) = read_metrics(metric).values()
    pairs = _Pairs(read, Rule.guarded(precision, confidence, min_runs, max_runs, first_seed))
    first, second = simulation_of(a), simulation_of(b)
    with reporting_runs(pairs, on_run, progress) as report:
        run_here([pairs], lambda _job, seed: (first(seed), second(seed)), workers, report)
    known = paired(estimate(pairs.values(0), confidence), estimate(pairs.values(1), confidence))
    return replace(known, difference=pairs.estimate())


def paired(a: Estimate, b: Estimate) -> PairedComparison:
    """Compare the values of two variants that belong to the same seeds, in their order.

    Raises
    ------
    ValueError
        If they have not the same number of runs or not the same confidence level.
    """
    if a.n != b.n or a.confidence != b.confidence:
        raise ValueError(
            f"{a.n} runs at {a.confidence} and {b.n} at {b.confidence} are no pairs: estimate both from the "
            "same seeds at one level"
        )
    difference = by_seed(lambda one, other: one - other, a, b, confidence=a.confidence)
    return PairedComparison(a, b, difference, _relative(a, b), _correlation(a, b))


def _relative(a: Estimate, b: Estimate) -> Estimate | None:
    if b.mean == 0:
        return None
    ratio = a.mean / b.mean
    return by_seed(
        lambda one, other: ratio - 1 + (one - ratio * other) / b.mean, a, b, confidence=a.confidence
    )


def _correlation(a: Estimate, b: Estimate) -> float:
    if not (a.sd > 0 and b.sd > 0):
        return math.nan
    return statistics.correlation(a.values, b.values)
