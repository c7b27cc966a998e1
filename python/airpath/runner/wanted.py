"""Which runs are still wanted."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Protocol

from airpath.runner.work import Rows


class Seeds(Protocol):
    """A job's rule, such as an `airpath.stats.replication.Replication`."""

    @property
    def runs(self) -> int:
        """Number of runs so far."""
        ...

    def next_seeds(self) -> range:
        """Seeds to run now; empty while some are still running, and in the end."""
        ...

    def add(self, seeds: Sequence[int], outcomes: Sequence[Any]) -> None:
        """Take in what the run of each seed gave."""
        ...

    def expected_runs(self) -> int:
        """Expected total number of runs."""
        ...


class Once:
    """The rule of a job that has one run, or one with each of `seeds`.

    It keeps no outcome, and little else, as a sweep may have a million points.
    """

    __slots__ = ("_asked", "_seeds", "runs")

    def __init__(self, seed: int = 1, seeds: range | None = None) -> None:
        self._seeds, self._asked, self.runs = seeds or range(seed, seed + 1), False, 0

    def next_seeds(self) -> range:
        """The seeds, the first time."""
        if self._asked:
            return range(0)
        self._asked = True
        return self._seeds

    def add(self, seeds: Sequence[int], _outcomes: Sequence[Any]) -> None:
        """Count the runs."""
        self.runs += len(seeds)

    def expected_runs(self) -> int:
        """As many as there are seeds."""
        return len(self._seeds)


class Wanted:
    """Runs that are to be made, job by job in the order of the seeds.

    Which they are in the end depends on the jobs alone, not on the order in which runs end. `rows` are runs
    that were made before; `on_counted` is called with all runs that count, made before or now.
    """

    def __init__(
        self,
        jobs: Sequence[Seeds],
        rows: Iterable[Rows] = (),
        on_counted: Callable[[Rows], None] = lambda _: None,
    ) -> None:
        self.done, self.jobs_done, self.expected, self.jobs = 0, 0, 0, len(jobs)
        self._jobs, self._on_counted = jobs, on_counted
        self._there: dict[int, dict[int, Any]] = {}
        for job, seeds, outcomes in rows:
            self._there.setdefault(job, {}).update(zip(seeds, outcomes, strict=True))
        self._ready: deque[tuple[int, range]] = deque()
        self._missing = [0] * len(jobs)
        # Kept, not summed when asked for: with many jobs each answer of a worker would cost the sum.
        self._expected = [0] * len(jobs)
        for job in range(len(jobs)):
            self._ask(job)

    @property
    def is_finished(self) -> bool:
        """Whether no run is missing."""
        return self.jobs_done == self.jobs

    def take(self, most: int) -> list[tuple[int, list[int]]]:
        """Take up to so many runs to make, as jobs and seeds."""
        taken: list[tuple[int, list[int]]] = []
        while most > 0 and self._ready:
            job, seeds = self._ready.popleft()
            if taken and taken[-1][0] == job:
                taken[-1][1].extend(seeds[:most])
            else:
                taken.append((job, list(seeds[:most])))
            if len(seeds) > most:
                self._ready.appendleft((job, seeds[most:]))
            most -= len(seeds)
        return taken

    def add(self, rows: Rows) -> None:
        """Take in runs that were made."""
        job, seeds, _ = rows
        self._count(rows)
        self._missing[job] -= len(seeds)
        if self._missing[job] == 0:
            self._ask(job)

    def _count(self, rows: Rows) -> None:
        job, seeds, outcomes = rows
        self.done += len(seeds)
        self._jobs[job].add(seeds, outcomes)
        self._on_counted(rows)

    def _ask(self, job: int) -> None:
        """Request a job's next seeds, until some are missing or none is needed."""
        rule, before = self._jobs[job], self._there.get(job, {})
        while True:
            seeds = rule.next_seeds()
            if not seeds:
                self._expect(job, rule.runs)
                self.jobs_done += 1
                self._there.pop(job, None)
                return
            there = sorted(seed for seed in before if seed in seeds)
            if there:
                self._count((job, there, [before[seed] for seed in there]))
            if len(there) < len(seeds):
                self._missing[job] = len(seeds) - len(there)
                self._ready.extend((job, gap) for gap in _gaps(seeds, there))
                self._expect(job, rule.expected_runs())
                return

    def _expect(self, job: int, runs: int) -> None:
        self.expected += runs - self._expected[job]
        self._expected[job] = runs


def _gaps(seeds: range, there: Sequence[int]) -> Iterator[range]:
    """Parts of a range between those of its seeds that are there, in ascending order."""
    start = seeds.start
    for seed in (*there, seeds.stop):
        if start < seed:
            yield range(start, seed)
        start = seed + 1
