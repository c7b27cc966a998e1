"""What workers are given and give back; it loads little, as every worker process loads it."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from airpath import _core

Row = tuple[int, int, Any]
"""Job, seed, and what the run gave."""
Runs = tuple[int, Any, tuple[int, ...]]
"""Job, what its runs are made from, and the seeds to run."""
MakeRuns = Callable[[Any, Sequence[int]], Iterator[Any]]
"""Makes the runs of a job from what it is made from and the seeds; gives the outcome of each in turn."""


class Work(Hashable, Protocol):
    """How runs are made; sent to workers as a pickle."""

    def open(self) -> MakeRuns:
        """Prepare for many runs, in the worker."""
        ...


@dataclass(frozen=True)
class Task:
    """Runs for a worker, and how many workers died over them."""

    runs: Sequence[Runs]
    deaths: int = 0

    def singly(self) -> list[Task]:
        """The same runs as tasks of one run each, one death later."""
        return [
            Task([(job, made_from, (seed,))], self.deaths + 1)
            for job, made_from, seeds in self.runs
            for seed in seeds
        ]


@dataclass(frozen=True)
class Answer:
    """What became of a task: rows, the seconds they took, and what ended it early (job, seed, cause)."""

    rows: list[Row]
    seconds: float
    failure: tuple[int, int, str] | None = None


def versions() -> tuple[str, str]:
    """Versions of airpath and of its random streams: what runs here belongs to them."""
    return _core.version(), _core.RNG_VERSION


def carry_out(runs: Sequence[Runs], make_runs: MakeRuns) -> Answer:
    """Make runs, up to the first that fails with a `ValueError`."""
    rows: list[Row] = []
    started = time.perf_counter()
    for job, made_from, seeds in runs:
        before = len(rows)
        try:
            for outcome in make_runs(made_from, seeds):
                rows.append((job, seeds[len(rows) - before], outcome))
        except ValueError as error:
            cause = ": ".join(
                part for part in error.args[:2] if part
            )  # Of a ScenarioError, all but the remedy.
            return Answer(rows, time.perf_counter() - started, (job, seeds[len(rows) - before], cause))
    return Answer(rows, time.perf_counter() - started)
