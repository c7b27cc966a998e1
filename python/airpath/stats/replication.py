"""Independent replications of a scenario until averages are known well enough.

A :class:`Replication` says which seeds to run next and when to stop; it runs nothing itself. The
stopping rule is checked at fixed numbers of runs only, so that an estimate does not depend on the number of
workers.

Stopping at the first narrow interval sometimes stops by chance, and a 95 % interval then covers less often
(Chow and Robbins 1965 prove coverage only as the precision goes to zero; Law and Kelton, Simulation Modeling
and Analysis, 9.4). Few runs also miss what is rare. :meth:`Rule.guarded` prevents both, by measurements in
docs/statistics.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from airpath.stats.estimate import CONFIDENCE, Estimate, check_confidence, estimate, with_unseen

DETERMINISTIC_AFTER = 2
"""A scenario is deterministic if this many first runs are equal in everything but the seed."""

GUARDED_MIN_RUNS, GUARDED_LOOKS, GUARDED_BATCH = 120, 2, 10
"""Fewest runs, consecutive checks, and runs between checks: measured in docs/statistics.md."""

GUARDED_EQUAL_RUNS = 20
"""Runs that must be equal in everything but the seed for a scenario to count as deterministic."""

MAX_RUNS = 1000
"""Default limit of the number of runs."""

_MORE = 1.05
"""Excess of a metric whose interval is narrow but not to be trusted yet."""

Results = dict[str, Any]
"""Results of a run: the content of `results.json`."""
T = TypeVar("T")


@dataclass(frozen=True)
class Rule:
    """When to stop.

    Attributes
    ----------
    precision : float
        Sufficient half-width of the interval, as a fraction of the mean; infinite if any is.
    min_runs, max_runs : int
        Limits of the number of runs; fewer if the scenario is deterministic.
    first_seed : int
        Seed of the first run; the others follow it.
    batch : int
        The rule is checked after `min_runs` and then every `batch` runs.
    confidence : float
        Confidence level of the interval.
    looks : int
        Consecutive checks that must meet the precision.
    equal_runs : int
        Number of runs, equal in everything but the seed, that make a scenario deterministic.
    doubts_rare_values : bool
        Whether a metric counts as known only when rare values have had their chance. Where few runs make
        most of the spread, it is not known (`Estimate.remark`). Where all runs are equal, though not in
        everything, it is known after ln(1 - `confidence`) / ln(1 - `precision`) runs: with that confidence,
        at most the share `precision` of all runs then has another value.
    """

    precision: float = 0.02
    min_runs: int = 5
    max_runs: int = 100
    first_seed: int = 1
    batch: int = 5
    confidence: float = CONFIDENCE
    looks: int = 1
    equal_runs: int = DETERMINISTIC_AFTER
    doubts_rare_values: bool = False

    def __post_init__(self) -> None:
        """Check the values."""
        check_confidence(self.confidence)
        if not self.precision > 0:
            raise ValueError(f"precision is {self.precision}, and must be above 0, such as 0.05 for 5 %")
        if not 1 <= self.min_runs <= self.max_runs:
            wrong = f"min_runs is {self.min_runs} and max_runs {self.max_runs}"
            raise ValueError(f"{wrong}: write 1 or more, and max_runs no smaller than min_runs")
        if not 0 <= self.first_seed <= 2**64 - self.max_runs:
            raise ValueError(f"first_seed is {self.first_seed}: write one so that all are from 0 to 2^64 - 1")
        if not (self.batch >= 1 and self.looks >= 1 and self.equal_runs >= 2):
            raise ValueError(f"no sensible stopping rule: {self}")

    @classmethod
    def exactly(cls, runs: int, first_seed: int = 1) -> Rule:
        """Make this number of runs, whatever the precision."""
        return cls(precision=math.inf, min_runs=runs, max_runs=runs, first_seed=first_seed)

    @classmethod
    def guarded(
        cls,
        precision: float = 0.05,
        confidence: float = CONFIDENCE,
        min_runs: int | None = None,
        max_runs: int = MAX_RUNS,
        first_seed: int = 1,
    ) -> Rule:
        """Guard against stopping by chance: at least 120 runs, and precise at two consecutive checks.

        `min_runs` is 120 if absent, or `max_runs` if that is less.
        """
        least = min(GUARDED_MIN_RUNS, max_runs) if min_runs is None else min_runs
        equal_runs = min(GUARDED_EQUAL_RUNS, max_runs) if min_runs is None else min_runs
        return cls(
            precision,
            least,
            max_runs,
            first_seed,
            batch=GUARDED_BATCH,
            confidence=confidence,
            looks=GUARDED_LOOKS,
            equal_runs=max(equal_runs, DETERMINISTIC_AFTER),
            doubts_rare_values=True,
        )

    @property
    def runs_for_constants(self) -> int:
        """Number of equal values after which a metric counts as constant."""
        if not self.doubts_rare_values or self.precision >= 1:
            return 1
        return math.ceil(math.log(1 - self.confidence) / math.log1p(-self.precision))


class Replication(Generic[T]):
    """The runs of one scenario: the next seeds, and the estimates so far.

    `metric` reads a number from the outcome of a run; it and the metrics in `also` must all be precise
    enough. Two runs count as equal if `fingerprint` of their outcomes is equal; the whole outcome if absent.
    """

    def __init__(
        self,
        metric: Callable[[T], float],
        rule: Rule,
        fingerprint: Callable[[T], object] | None = None,
        also: Sequence[Callable[[T], float]] = (),
    ) -> None:
        self._metrics = (metric, *also)
        self._rule = rule
        self._fingerprint = fingerprint or (lambda outcome: outcome)
        self._outcomes: dict[int, T] = {}
        self._target = 0
        self._narrow_looks = 0
        self.finished = False
        self.is_deterministic = False

    def next_seeds(self) -> range:
        """Seeds to run now; empty while some are still running and when it is finished."""
        if self.finished or len(self._outcomes) < self._target:
            return range(0)
        old = self._target
        self._target = self._next_target()
        self.finished = self._target == old
        return range(self._rule.first_seed + old, self._rule.first_seed + self._target)

    def add(self, seeds: Sequence[int], outcomes: Sequence[T]) -> None:
        """Add the outcome of each seed's run."""
        self._outcomes.update(zip(seeds, outcomes, strict=True))

    @property
    def outcomes(self) -> list[T]:
        """Outcomes so far, in the order of the seeds."""
        return [self._outcomes[seed] for seed in sorted(self._outcomes)]

    @property
    def runs(self) -> int:
        """Number of runs so far."""
        return len(self._outcomes)

    def estimate(self, metric: Callable[[T], float] | None = None) -> Estimate:
        """Estimate the mean of `metric`; of the first metric if absent."""
        known = replace(self._estimate(metric or self._metrics[0]), is_exact=self.is_deterministic)
        if self._rule.doubts_rare_values and not self.is_deterministic:
            known = self._with_unseen(known)
        if math.isinf(self._rule.precision):
            return known
        return replace(known, is_precise=self._excess_of(known) <= 1)

    def expected_runs(self) -> int:
        """Total number of runs expected, from the spread so far."""
        rule = self._rule
        if self.finished:
            return self.runs
        if self.runs < max(rule.min_runs, 2):
            return rule.min_runs
        needed = self.runs * max(self._excess(metric) for metric in self._metrics) ** 2
        if needed > rule.max_runs:
            return rule.max_runs
        more_looks = max(rule.looks - 1 - self._narrow_looks, 0)
        expected = max(math.ceil(needed), self.runs, rule.min_runs) + more_looks * rule.batch
        return min(expected, rule.max_runs)

    def _estimate(self, metric: Callable[[T], float]) -> Estimate:
        return estimate([metric(outcome) for outcome in self.outcomes], self._rule.confidence)

    def _with_unseen(self, known: Estimate) -> Estimate:
        return with_unseen(known)

    def _excess(self, metric: Callable[[T], float]) -> float:
        """Half-width of a metric's interval, relative to the sufficient one."""
        return self._excess_of(self._estimate(metric))

    def _excess_of(self, now: Estimate) -> float:
        if now.sd == 0 and not self.is_deterministic:
            # The excess falls with the root of the number of runs, like a width.
            return math.sqrt((self._rule.runs_for_constants - 1) / (now.n - 1))
        if self._rule.doubts_rare_values and now.remark:
            # More runs are needed, and the mean may still move.
            return max(self._excess_of_width(now), _MORE)
        return self._excess_of_width(now)

    def _excess_of_width(self, now: Estimate) -> float:
        enough = self._rule.precision * abs(self._scale(now))
        return now.half_width / enough if enough > 0 else 0.0 if now.half_width == 0 else math.inf

    def _scale(self, now: Estimate) -> float:
        """The value that the relative precision refers to."""
        return now.mean

    def _next_target(self) -> int:
        rule, n = self._rule, self._target
        if n == 0:
            return min(rule.equal_runs, rule.max_runs)
        if n == rule.equal_runs and self._equal_so_far():
            self.is_deterministic = True
            return n
        if n < rule.min_runs:
            return rule.min_runs
        if n >= rule.max_runs:
            return n
        is_narrow = all(self._excess(metric) <= 1 for metric in self._metrics)
        self._narrow_looks = self._narrow_looks + 1 if is_narrow else 0
        return n if self._narrow_looks >= rule.looks else min(n + rule.batch, rule.max_runs)

    def _equal_so_far(self) -> bool:
        first, *others = (self._fingerprint(outcome) for outcome in self.outcomes)
        return all(other == first for other in others)


def without_seed(results: Results) -> Results:
    """Results without the seed: equal for all runs of a deterministic scenario."""
    return {key: value for key, value in results.items() if key != "seed"}
