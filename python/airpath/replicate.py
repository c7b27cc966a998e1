"""Independent replications of a scenario until averages are known well enough.

A :class:`Replication` says which seeds to run next and when to stop; it runs nothing itself. The
stopping rule looks at fixed numbers of runs only, so an estimate does not depend on how many workers
there are. :func:`drive` runs many replications at once on threads; :func:`replicate` runs one.

To stop at the first look that pleases is to stop by luck now and then: an interval of 95 % then covers less
often (Chow and Robbins 1965 have it right only as the precision goes to zero; Law and Kelton, Simulation
Modeling and Analysis, 9.4). :meth:`Rule.guarded` is what measurements of the coverage recommend against it,
see docs/statistics.md.
"""

from __future__ import annotations

import contextlib
import json
import math
import numbers
import os
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar, overload

from airpath import _core
from airpath.estimate import CONFIDENCE, Estimate, check_confidence, estimate
from airpath.metrics import named
from airpath.progress import reporting

__all__ = [
    "CONFIDENCE",
    "Estimate",
    "Job",
    "Replication",
    "Results",
    "Rule",
    "drive",
    "estimate",
    "replicate",
    "without_seed",
]

DETERMINISTIC_AFTER = 2
"""A scenario whose first runs are equal in everything but the seed has no randomness in it."""

GUARDED_MIN_RUNS, GUARDED_LOOKS, GUARDED_BATCH = 20, 2, 10
"""Fewest runs, looks in a row, and runs between looks: what measurements found in docs/statistics.md."""

MAX_RUNS = 1000
"""Where :func:`replicate` gives up, unless told otherwise."""

Results = dict[str, Any]
Metric = Callable[[Results], float] | str
"""A number of a run: a function of its results, or the name of a number in them (`metrics.named`)."""
T = TypeVar("T")


@dataclass(frozen=True)
class Rule:
    """When to stop.

    Attributes
    ----------
    precision : float
        Half-width of the interval that is enough, as a fraction of the mean; infinite if any is.
    min_runs, max_runs : int
        Never fewer (unless the scenario is deterministic), never more.
    first_seed : int
        Seed of the first run; the others follow it.
    batch : int
        After `min_runs` the rule is looked at every `batch` runs.
    confidence : float
        Confidence level of the interval.
    looks : int
        At so many looks in a row the intervals must be narrow enough.
    equal_runs : int
        So many runs that are equal in everything but the seed make a scenario deterministic.
    doubts_constants : bool
        Whether a metric that was the same in all runs, though the runs differ, counts as known only after
        ln(1 - `confidence`) / ln(1 - `precision`) runs: then at most the share `precision` of all runs has
        another value, with that confidence.
    """

    precision: float = 0.02
    min_runs: int = 5
    max_runs: int = 100
    first_seed: int = 1
    batch: int = 5
    confidence: float = CONFIDENCE
    looks: int = 1
    equal_runs: int = DETERMINISTIC_AFTER
    doubts_constants: bool = False

    def __post_init__(self) -> None:
        """Refuse what makes no sense."""
        check_confidence(self.confidence)
        if not self.precision > 0:
            raise ValueError(f"precision is {self.precision}, and must be above 0, such as 0.05 for 5 %")
        if not 1 <= self.min_runs <= self.max_runs:
            wrong = f"min_runs is {self.min_runs} and max_runs {self.max_runs}"
            raise ValueError(f"{wrong}: write 1 or more, and max_runs no smaller than min_runs")
        if not (self.batch >= 1 and self.looks >= 1 and self.equal_runs >= 2):
            raise ValueError(f"no sensible stopping rule: {self}")

    @classmethod
    def exactly(cls, runs: int) -> Rule:
        """Make so many runs, whatever the precision."""
        return cls(precision=math.inf, min_runs=runs, max_runs=runs)

    @classmethod
    def guarded(
        cls,
        precision: float = 0.05,
        confidence: float = CONFIDENCE,
        min_runs: int | None = None,
        max_runs: int = MAX_RUNS,
        first_seed: int = 1,
    ) -> Rule:
        """Stop when it is no luck: not before 20 runs, at the second look in a row that is narrow enough.

        `min_runs` is 20 if absent, or `max_runs` where that is less.
        """
        least = min(GUARDED_MIN_RUNS, max_runs) if min_runs is None else min_runs
        return cls(
            precision,
            least,
            max_runs,
            first_seed,
            batch=GUARDED_BATCH,
            confidence=confidence,
            looks=GUARDED_LOOKS,
            equal_runs=max(least, DETERMINISTIC_AFTER),
            doubts_constants=True,
        )

    @property
    def runs_for_constants(self) -> int:
        """Number of equal values after which a metric counts as constant."""
        if not self.doubts_constants or self.precision >= 1:
            return 1
        return math.ceil(math.log(1 - self.confidence) / math.log1p(-self.precision))


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
        known = replace(self._estimate(metric or self._metrics[0]), is_exact=self.is_deterministic)
        if math.isinf(self._rule.precision):
            return known
        return replace(known, is_precise=self._excess_of(known) <= 1)

    def expected_runs(self) -> int:
        """How many runs it will take in all, as far as the spread so far tells."""
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

    def _excess(self, metric: Callable[[T], float]) -> float:
        """Half-width of a metric's interval, in units of the one that is enough."""
        return self._excess_of(self._estimate(metric))

    def _excess_of(self, now: Estimate) -> float:
        if now.half_width == 0 and not self.is_deterministic:
            # Seen as a share of the runs: the excess goes with the root of their number, as that of a width.
            return math.sqrt((self._rule.runs_for_constants - 1) / (now.n - 1))
        enough = self._rule.precision * abs(self._scale(now))
        return now.half_width / enough if enough > 0 else 0.0 if now.half_width == 0 else math.inf

    def _scale(self, now: Estimate) -> float:
        """What the precision is a fraction of."""
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
    # Lazily: a rule may ask for any number of runs at once.
    ready: deque[tuple[Job[T], Iterator[int]]] = deque()
    running: dict[Future[T], tuple[Job[T], int]] = {}
    pool = ThreadPoolExecutor(workers)
    try:
        while True:
            while len(running) < 2 * workers and (ready or waiting):
                if not ready:
                    job = waiting.popleft()
                    ready.append((job, iter(job.replication.next_seeds())))
                    continue
                job, seeds = ready[0]
                if (seed := next(seeds, None)) is None:
                    ready.popleft()
                    continue
                running[pool.submit(job.simulate, seed)] = (job, seed)
            if not running:
                return
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                job, seed = running.pop(future)
                job.replication.add(seed, future.result())
                ready.append((job, iter(job.replication.next_seeds())))
                if on_run:
                    on_run(job)
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def without_seed(results: Results) -> Results:
    """Keep what two runs of a deterministic scenario have in common."""
    return {key: value for key, value in results.items() if key != "seed"}


@overload
def replicate(
    scenario: Any,
    metrics: Metric,
    precision: float = ...,
    confidence: float = ...,
    *,
    min_runs: int | None = ...,
    max_runs: int = ...,
    first_seed: int = ...,
    workers: int | None = ...,
    on_run: Callable[[int, int], None] | None = ...,
) -> Estimate: ...


@overload
def replicate(
    scenario: Any,
    metrics: Mapping[str, Metric] | Sequence[str],
    precision: float = ...,
    confidence: float = ...,
    *,
    min_runs: int | None = ...,
    max_runs: int = ...,
    first_seed: int = ...,
    workers: int | None = ...,
    on_run: Callable[[int, int], None] | None = ...,
) -> dict[str, Estimate]: ...


def replicate(
    scenario: Any,
    metrics: Metric | Mapping[str, Metric] | Sequence[str],
    precision: float = 0.05,
    confidence: float = CONFIDENCE,
    *,
    min_runs: int | None = None,
    max_runs: int = MAX_RUNS,
    first_seed: int = 1,
    workers: int | None = None,
    on_run: Callable[[int, int], None] | None = None,
    progress: bool = False,
) -> Estimate | dict[str, Estimate]:
    """Run a scenario with one seed after the other until the means of metrics are known well enough.

    Parameters
    ----------
    scenario : str or object with an attribute `text`
        Scenario as TOML.
    metrics : callable or str, sequence of str, or mapping of str to callable or str
        What to average: a number from the results of a run, or its name in them, such as ``"goodput_bps"``
        (see :func:`airpath.metrics.named`). One of them gives an `Estimate`, several give one for each name.
    precision, confidence : float
        The half-width of each metric's interval at `confidence` shall be at most `precision` times its mean.
    min_runs, max_runs, first_seed
        See :meth:`Rule.guarded`. Where `max_runs` ends it, `is_precise` of an estimate is False.
    workers : int, optional
        Number of threads; the estimates do not depend on it.
    on_run : callable, optional
        Called after every run with the number of runs done and of runs expected.
    progress : bool
        Whether to show a bar, on a terminal or in a notebook.

    Raises
    ------
    ScenarioError
        If the scenario is not valid.
    ValueError
        If a metric is not finite or not there, or the stopping rule makes no sense.
    """
    read = read_metrics(metrics)
    rule = Rule.guarded(precision, confidence, min_runs, max_runs, first_seed)
    first, *others = read.values()
    replication: Replication[Results] = Replication(first, rule, without_seed, others)
    with reporting_runs(replication, on_run, progress) as report:
        drive([Job(simulation_of(scenario), replication)], workers, report)
    if callable(metrics) or isinstance(metrics, str):
        return replication.estimate()
    return {name: replication.estimate(metric) for name, metric in read.items()}


@contextlib.contextmanager
def reporting_runs(
    replication: Replication[Any], on_run: Callable[[int, int], None] | None, progress: bool
) -> Iterator[Callable[[object], None]]:
    """Make what reports a run that has ended to the caller, and to a bar if there is to be one."""
    with reporting(progress, "runs") as show:

        def report(_job: object) -> None:
            done, expected = replication.runs, replication.expected_runs()
            show(done / expected)
            if on_run is not None:
                on_run(done, expected)

        yield report


def simulation_of(scenario: Any) -> Callable[[int], Results]:
    """Make what runs one seed of a scenario, given as TOML or as an object with an attribute `text`."""
    text = scenario if isinstance(scenario, str) else scenario.text

    def simulate(seed: int) -> Results:
        results: Results = json.loads(_core.run(text, seed))
        return results

    return simulate


def read_metrics(
    metrics: Metric | Mapping[str, Metric] | Sequence[str],
) -> dict[str, Callable[[Results], float]]:
    """Make a function of each metric that says which one of which run is no finite number."""
    if callable(metrics):
        metrics = {"metric": metrics}
    elif isinstance(metrics, str):
        metrics = {metrics: metrics}
    elif not isinstance(metrics, Mapping):
        metrics = {name: name for name in metrics}
    if not metrics:
        raise ValueError("no metrics: name at least one, such as 'goodput_bps'")
    return {name: _checked(name, metric) for name, metric in metrics.items()}


def _checked(name: str, metric: Metric) -> Callable[[Results], float]:
    read = metric if callable(metric) else named(metric)

    def checked(results: Results) -> float:
        try:
            value = read(results)
        except ValueError as error:
            raise ValueError(f"run with seed {results['seed']}: {error}") from error
        if not isinstance(value, numbers.Real) or not math.isfinite(value):
            wrong = f"metric '{name}' is {value!r} in the run with seed {results['seed']}"
            raise ValueError(f"{wrong}: it must be a finite number in every run")
        return float(value)

    return checked
