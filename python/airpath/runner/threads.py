"""Runs on threads of this process: any function, and its own exceptions."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Any, Self

from airpath.runner.driver import run
from airpath.runner.wanted import Seeds, Wanted
from airpath.runner.work import Answer, Row, Rows, Task


class Threads:
    """So many threads, as a `Pool`; a context manager that ends them.

    `simulate` makes a run from a job's number and a seed; `end` tells runs to end when an exception leaves
    the pool.
    """

    task_s = 0.0
    """A task is one run."""

    def __init__(
        self, size: int, simulate: Callable[[int, int], Any], end: Callable[[], None] = lambda: None
    ) -> None:
        self.size = size
        self._simulate, self._end = simulate, end
        self._threads = ThreadPoolExecutor(size)
        self._running: set[Future[Answer]] = set()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _kind: object, error: BaseException | None, _traceback: object) -> None:
        if error is not None:
            self._end()
        self._threads.shutdown(wait=True, cancel_futures=True)

    @property
    def room(self) -> int:
        """How many tasks it would take now."""
        return 2 * self.size - len(self._running)

    def hand_in(self, task: Task) -> None:
        """Give a task to the next thread that is free."""
        self._running.add(self._threads.submit(self._carry_out, task))

    def answers(self, timeout: float) -> list[Answer]:
        """Wait so many seconds at most for answers; raises what a run raised."""
        done, self._running = wait(self._running, timeout, FIRST_COMPLETED)
        return [future.result() for future in done]

    def _carry_out(self, task: Task) -> Answer:
        return Answer(
            [(job, seeds, [self._simulate(job, seed) for seed in seeds]) for job, _, seeds in task.runs], 0.0
        )


def run_here(
    jobs: Sequence[Seeds],
    simulate: Callable[[int, int], Any],
    workers: int | None = None,
    on_run: Callable[[Row], None] = lambda _: None,
    *,
    end: Callable[[], None] = lambda: None,
) -> None:
    """Make all runs of `jobs` on threads, the first jobs first.

    As many threads as processors, unless `workers` says otherwise. `on_run` is called in this thread with
    every run that has ended. After a failure or Ctrl-C no new run begins, `end` tells the others to end, and
    none is left when the exception leaves this function; what has ended stays in the jobs.
    """

    def on_rows(rows: Rows) -> None:
        job, seeds, outcomes = rows
        for seed, outcome in zip(seeds, outcomes, strict=True):
            on_run((job, seed, outcome))

    with Threads(workers or os.cpu_count() or 1, simulate, end) as pool:
        run(Wanted(jobs), pool, on_rows=on_rows)
