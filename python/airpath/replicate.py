"""Independent replications of a scenario until an average is known well enough.

A :class:`Replication` says which seeds to run next and when to stop; it runs nothing itself. The
stopping rule looks at fixed numbers of runs only, so an estimate does not depend on how many workers
there are. :func:`drive` runs many replications at once on threads; :func:`replicate` runs one.
"""

from __future__ import annotations

import json
import math
import os
import statistics
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from scipy.special import stdtrit

from airpath import _core

CONFIDENCE = 0.95
"""Confidence level of every interval."""

DETERMINISTIC_AFTER = 2
"""A scenario whose first runs are equal in everything but the seed has no randomness in it."""

Results = dict[str, Any]
T = TypeVar("T")


@dataclass(frozen=True)
class Estimate:
    """Mean of a metric over independent runs, with its Student-t interval of 95 %.

    Attributes
    ----------
    mean, sd : float
        Sample mean and standard deviation, in the unit of the metric; `sd` is NaN after one run.
    n : int
        Number of runs.
    ci_low, ci_high : float
        Interval for the expected value; NaN after one run.
    values : tuple of float, length n
        The metric of every run, in the order of the seeds.
    """

    mean: float
    sd: float
    n: int
    ci_low: float
    ci_high: float
    values: tuple[float, ...]

    @property
    def half_width(self) -> float:
        """Half the width of the interval; NaN after one run."""
        return (self.ci_high - self.ci_low) / 2

    def half_width_at(self, confidence: float) -> float:
        """Half the width of the interval at another confidence level, 0 to 1; NaN after one run."""
        return _t_quantile(self.n, confidence) * self.sd / math.sqrt(self.n)

    def prediction_interval(self, m: int = 1) -> tuple[float, float]:
        """Where the mean of `m` further runs falls with 95 % probability.

        Raises
        ------
        ValueError
            If `m` is not positive.
        """
        if m < 1:
            raise ValueError(f"a prediction needs at least one further run, not {m}")
        half = _t_quantile(self.n) * self.sd * math.sqrt(1 / self.n + 1 / m)
        return self.mean - half, self.mean + half


def estimate(values: Sequence[float]) -> Estimate:
    """Estimate the mean of independent `values`.

    Raises
    ------
    ValueError
        If there are no values or one is not finite.
    """
    if not values:
        raise ValueError("no values to average")
    if not all(math.isfinite(value) for value in values):
        raise ValueError("a metric must be finite in every run")
    n = len(values)
    if min(values) == max(values):  # Summing equal numbers must not leave a rounding error.
        mean, sd = float(values[0]), 0.0 if n > 1 else math.nan
    else:
        mean, sd = statistics.fmean(values), statistics.stdev(values)
    half = _t_quantile(n) * sd / math.sqrt(n)
    return Estimate(mean, sd, n, mean - half, mean + half, tuple(float(value) for value in values))


def _t_quantile(n: int, confidence: float = CONFIDENCE) -> float:
    return float(stdtrit(n - 1, (1 + confidence) / 2)) if n > 1 else math.nan


@dataclass(frozen=True)
class Rule:
    """When to stop.

    Attributes
    ----------
    precision : float
        Half-width of the interval that is enough, as a fraction of the mean.
    min_runs, max_runs : int
        Never fewer (unless the scenario is deterministic), never more.
    first_seed : int
        Seed of the first run; the others follow it.
    batch : int
        After `min_runs` the rule is looked at every `batch` runs.
    """

    precision: float = 0.02
    min_runs: int = 5
    max_runs: int = 100
    first_seed: int = 1
    batch: int = 5

    def __post_init__(self) -> None:
        """Refuse what makes no sense."""
        if not (self.precision > 0 and 1 <= self.min_runs <= self.max_runs and self.batch >= 1):
            raise ValueError(f"no sensible stopping rule: {self}")

    @classmethod
    def exactly(cls, runs: int) -> Rule:
        """Make so many runs, whatever the precision."""
        return cls(min_runs=runs, max_runs=runs)


class Replication(Generic[T]):
    """The runs of one scenario: which seeds come next, and what is known so far.

    `metric`, a number from the outcome of a run, decides when to stop, together with the metrics in
    `also`: each must be precise enough. `fingerprint` is what of an outcome must be equal for two runs
    to count as the same: the outcome itself if absent.
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
        self.finished = False

    def next_seeds(self) -> list[int]:
        """Seeds to run now; empty while some are still running and when it is finished."""
        if self.finished or len(self._outcomes) < self._target:
            return []
        old = self._target
        self._target = self._next_target()
        self.finished = self._target == old
        return [self._rule.first_seed + i for i in range(old, self._target)]

    def add(self, seed: int, outcome: T) -> None:
        """Take in the outcome of one run."""
        self._outcomes[seed] = outcome

    @property
    def outcomes(self) -> list[T]:
        """Outcomes so far, in the order of the seeds."""
        return [self._outcomes[seed] for seed in sorted(self._outcomes)]

    @property
    def runs(self) -> int:
        """Number of runs so far."""
        return len(self._outcomes)

    def estimate(self, metric: Callable[[T], float] | None = None) -> Estimate:
        """Estimate the mean of `metric`, or of the one that decides when to stop."""
        return estimate([(metric or self._metrics[0])(outcome) for outcome in self.outcomes])

    def expected_runs(self) -> int:
        """How many runs it will take in all, as far as the spread so far tells."""
        rule = self._rule
        if self.finished:
            return self.runs
        if self.runs < max(rule.min_runs, 2):
            return rule.min_runs
        needed = self.runs * max(self._excess(metric) for metric in self._metrics) ** 2
        return rule.max_runs if needed > rule.max_runs else max(math.ceil(needed), self.runs, rule.min_runs)

    def _excess(self, metric: Callable[[T], float]) -> float:
        """Half-width of a metric's interval, in units of the one that is enough."""
        now = self.estimate(metric)
        enough = self._rule.precision * abs(now.mean)
        return now.half_width / enough if enough > 0 else 0.0 if now.half_width == 0 else math.inf

    def _next_target(self) -> int:
        rule, n = self._rule, self._target
        if n == 0:
            return min(DETERMINISTIC_AFTER, rule.max_runs)
        if n == DETERMINISTIC_AFTER and self._deterministic():
            return n
        if n < rule.min_runs:
            return rule.min_runs
        if n >= rule.max_runs:
            return n
        if all(self._excess(metric) <= 1 for metric in self._metrics):
            return n
        return min(n + rule.batch, rule.max_runs)

    def _deterministic(self) -> bool:
        first, *others = (self._fingerprint(outcome) for outcome in self.outcomes)
        return all(other == first for other in others)


@dataclass(frozen=True)
class Job(Generic[T]):
    """A replication and how to run one seed of it."""

    simulate: Callable[[int], T]
    replication: Replication[T]


def drive(
    jobs: Sequence[Job[T]], workers: int | None = None, on_run: Callable[[Job[T]], None] | None = None
) -> None:
    """Run all `jobs` to their end on threads, the first ones first.

    There are as many threads as `workers`, or as processors. `on_run` is called in the calling thread
    after every run. On an interruption no new run begins and the exception goes on; what is finished
    stays in the jobs' replications.
    """
    workers = workers or os.cpu_count() or 1
    waiting = deque(jobs)
    ready: deque[tuple[Job[T], int]] = deque()
    running: dict[Future[T], tuple[Job[T], int]] = {}
    pool = ThreadPoolExecutor(workers)
    try:
        while True:
            while len(running) < 2 * workers and (ready or waiting):
                if not ready:
                    job = waiting.popleft()
                    ready.extend((job, seed) for seed in job.replication.next_seeds())
                    continue
                job, seed = ready.popleft()
                running[pool.submit(job.simulate, seed)] = (job, seed)
            if not running:
                return
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                job, seed = running.pop(future)
                job.replication.add(seed, future.result())
                ready.extend((job, seed) for seed in job.replication.next_seeds())
                if on_run:
                    on_run(job)
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def without_seed(results: Results) -> Results:
    """Keep what two runs of a deterministic scenario have in common."""
    return {key: value for key, value in results.items() if key != "seed"}


def replicate(
    scenario: Any,
    metric: Callable[[Results], float],
    *,
    precision: float = 0.02,
    min_runs: int = 5,
    max_runs: int = 100,
    first_seed: int = 1,
    workers: int | None = None,
    on_run: Callable[[int, int], None] | None = None,
) -> Estimate:
    """Run a scenario with one seed after the other until a metric's mean is known well enough.

    Parameters
    ----------
    scenario : str or object with an attribute `text`
        Scenario as TOML.
    metric : callable
        Number to average, from the results of a run.
    precision, min_runs, max_runs, first_seed
        See :class:`Rule`.
    workers : int, optional
        Number of threads; the estimate does not depend on it.
    on_run : callable, optional
        Called after every run with the number of runs done and of runs expected.

    Raises
    ------
    ScenarioError
        If the scenario is not valid.
    ValueError
        If the metric is not finite or the stopping rule makes no sense.
    """
    text = scenario if isinstance(scenario, str) else scenario.text
    rule = Rule(precision, min_runs, max_runs, first_seed)
    replication: Replication[Results] = Replication(metric, rule, without_seed)
    job = Job(lambda seed: json.loads(_core.run(text, seed)), replication)
    report = None if on_run is None else lambda _: on_run(replication.runs, replication.expected_runs())
    drive([job], workers, report)
    return replication.estimate()
