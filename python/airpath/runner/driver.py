"""The driver: hands out runs, receives their results, and has them stored."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

from airpath.errors import SweepError
from airpath.runner.wanted import Wanted
from airpath.runner.work import Answer, Failure, Rows, Task
from airpath.runs.recorder import CtrlC

MAX_TASK_RUNS = 20_000
# Towards the end tasks become shorter, down to this share of what they should take.
SHORTEST_TASK = 0.05
# Rows are kept after this time, or this share of the time so far, up to the longest: many runs make few
# files, and few runs lose little.
WRITE_S, WRITE_SHARE, LONGEST_WRITE_S = 2.0, 0.02, 60.0
WRITE_ROWS = 20_000
POLL_S = 0.2


class Pool(Protocol):
    """Workers, as the driver sees them.

    They make `size` runs at once, and a task should take `task_s` seconds.
    """

    size: int
    task_s: float

    @property
    def room(self) -> int:
        """How many tasks it would take now."""
        ...

    def hand_in(self, task: Task) -> None:
        """Give a task to a worker."""
        ...

    def answers(self, timeout: float) -> list[Answer]:
        """Wait so many seconds at most for answers."""
        ...


@dataclass(frozen=True)
class Progress:
    """How far the runs are: done, expected, and done since the start; jobs done and in all; seconds."""

    done: int
    expected: int
    fresh: int
    jobs_done: int
    jobs: int
    seconds: float


def run(
    wanted: Wanted,
    pool: Pool,
    made_from: Callable[[int], Any] = lambda job: job,
    *,
    name: Callable[[int], str] = str,
    keep: Callable[[Sequence[Rows]], None] = lambda _: None,
    on_rows: Callable[[Rows], None] = lambda _: None,
    on_failure: Callable[[Failure], None] = lambda _: None,
    on_progress: Callable[[Progress], None] = lambda _: None,
    stopped: Callable[[], bool] = lambda: False,
) -> int:
    """Make all runs that are wanted, unless `stopped`, and say how many were made.

    The workers make the runs of a job from what `made_from` gives, and `name` says what it is called in an
    error. `keep` writes rows, every few seconds and in the end, after a failure too, unless it failed itself.
    `on_rows` is called with runs that ended, `on_failure` with each that failed on its own, before its row is
    kept, `on_progress` several times a second.

    Raises
    ------
    SweepError
        If runs cannot be made from a job, or the pool can make no more.
    """
    return _Driver(wanted, pool, made_from, name, keep, on_rows, on_failure).run(on_progress, stopped)


@dataclass
class _Driver:
    _wanted: Wanted
    _pool: Pool
    _made_from: Callable[[int], Any]
    _name: Callable[[int], str]
    _keep: Callable[[Sequence[Rows]], None]
    _on_rows: Callable[[Rows], None]
    _on_failure: Callable[[Failure], None]
    _unwritten: list[Rows] = field(default_factory=list)
    _fresh: int = 0
    _written: int = 0
    _task_runs: int = 1

    def __post_init__(self) -> None:
        self._started = self._written_at = time.monotonic()

    def run(self, on_progress: Callable[[Progress], None], stopped: Callable[[], bool]) -> int:
        try:
            while not stopped() and not self._wanted.is_finished:
                self._hand_out()
                answers = self._pool.answers(POLL_S)
                for answer in answers:
                    self._take_in(answer)
                for answer in answers:
                    self._refuse_failure(answer)
                self._write_if_due()
                on_progress(self._progress())
        finally:
            self._write()
        return self._fresh

    def _hand_out(self) -> None:
        while self._pool.room > 0:
            taken = self._wanted.take(self._task_runs)
            if not taken:
                return
            self._pool.hand_in(Task([(job, self._made_from(job), tuple(seeds)) for job, seeds in taken]))

    def _take_in(self, answer: Answer) -> None:
        for failure in answer.failed:
            self._on_failure(failure)
        self._unwritten += answer.rows
        made = 0
        for rows in answer.rows:
            self._wanted.add(rows)
            self._on_rows(rows)
            made += len(rows[1])
        self._fresh += made
        if made and answer.seconds > 0:
            fitting = self._pool.task_s * made / answer.seconds
            most = min(fitting, 4 * self._task_runs, MAX_TASK_RUNS)
            # Towards the end tasks become shorter, so that no worker is left alone with a long one.
            fair = (self._wanted.expected - self._wanted.done) / (4 * max(self._pool.size, 1))
            self._task_runs = max(1, int(min(most, max(fair, SHORTEST_TASK * fitting))))

    def _refuse_failure(self, answer: Answer) -> None:
        if answer.failure is not None:
            job, seed, what = answer.failure
            remedy = "correct it and give the same command; runs that succeeded are kept"
            raise SweepError("run", f"{self._name(job)}, seed {seed}: {what}", remedy)

    def _write_if_due(self) -> None:
        now = time.monotonic()
        patience = min(max(WRITE_S, WRITE_SHARE * (now - self._started)), LONGEST_WRITE_S)
        unwritten = self._fresh - self._written
        if unwritten >= WRITE_ROWS or (unwritten and now - self._written_at >= patience):
            self._write()

    def _write(self) -> None:
        # Clear the buffer first: if writing fails, shutdown must not try to write the same rows again.
        rows, self._unwritten, self._written = self._unwritten, [], self._fresh
        if rows:
            self._keep(rows)
        self._written_at = time.monotonic()

    def _progress(self) -> Progress:
        wanted, seconds = self._wanted, time.monotonic() - self._started
        return Progress(wanted.done, wanted.expected, self._fresh, wanted.jobs_done, wanted.jobs, seconds)


@contextmanager
def signals() -> Iterator[Callable[[], bool]]:
    """Have Ctrl-C, SIGTERM and SIGHUP end the runs between two steps, never in the middle of a file."""
    with CtrlC() as ctrl_c:
        yield lambda: ctrl_c.pressed
