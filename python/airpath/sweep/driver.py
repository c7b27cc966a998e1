"""The driver of a sweep: hands out runs, takes in rows, and writes them; the only one who writes."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from airpath.errors import SweepError
from airpath.sweep.cluster import WORKERS_S, ClusterPool
from airpath.sweep.plan import Plan, words
from airpath.sweep.pool import Pool, Task
from airpath.sweep.store import Store
from airpath.sweep.wanted import Wanted
from airpath.sweep.worker import Answer, Row

MAX_TASK_RUNS = 20_000
# Towards the end tasks become shorter, down to this share of what they should take.
SHORTEST_TASK = 0.05
# Rows wait at most so long for the disk, or this share of the time so far, up to the longest: a long sweep
# makes few files, and a short one loses little.
WRITE_S, WRITE_SHARE, LONGEST_WRITE_S = 2.0, 0.02, 60.0
WRITE_ROWS = 20_000
POLL_S = 0.2


@dataclass(frozen=True)
class Progress:
    """How far a sweep is: runs done, expected and done since it was started; points; the widest interval."""

    done: int
    expected: int
    fresh: int
    points_done: int
    points: int
    seconds: float
    worst: Callable[[], float]


@dataclass(frozen=True)
class Outcome:
    """How a sweep ended: runs in the folder, those of them made now, and whether some are missing."""

    runs: int
    fresh: int
    points: int
    seconds: float
    interrupted: bool


def run_sweep(
    plan: Plan,
    out: Path,
    workers: int | None = None,
    *,
    dask: str | None = None,
    dask_wait_s: float | None = None,
    on_progress: Callable[[Progress], None] | None = None,
    warn: Callable[[str], None] = lambda _: None,
) -> Outcome:
    """Make all runs of a sweep that its folder lacks.

    What the folder holds in the end depends on `plan` alone: neither on the workers nor on how often a sweep
    was interrupted.

    Parameters
    ----------
    plan : Plan
        What to run.
    out : Path
        The folder; made if it is not there.
    workers : int, optional
        Number of processes; the processors that this process may use if absent.
    dask : str, optional
        Address of a Dask scheduler, whose workers make the runs in place of processes on this machine.
    dask_wait_s : float, optional
        How long to wait when that scheduler has no worker; a minute if absent.
    on_progress : callable, optional
        Called several times a second.
    warn : callable, optional
        Called with each file in the folder that is damaged or not the sweep's, and when there is no worker.

    Raises
    ------
    SweepError
        If the folder is in use, holds another sweep or cannot be written, if a run failed, or if the cluster
        is not there or goes away. What was done until then is in the folder.
    """
    with Store(out, plan) as store, _signals() as stopped:
        for warning in store.warnings:
            warn(warning)
        pool: Pool | ClusterPool
        if dask is None:
            pool = Pool(workers or processors(), plan.metrics)
        else:
            wait_s = WORKERS_S if dask_wait_s is None else dask_wait_s
            pool = ClusterPool(dask, plan.metrics, wait_s, warn)
        with pool:
            return _Driver(plan, store, pool, on_progress).run(stopped)


def processors() -> int:
    """How many processors this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1


class _Driver:
    def __init__(
        self,
        plan: Plan,
        store: Store,
        pool: Pool | ClusterPool,
        on_progress: Callable[[Progress], None] | None,
    ) -> None:
        self._store, self._pool = store, pool
        self._wanted = Wanted(plan.rule, len(store.points), len(plan.metrics), store.rows)
        store.rows = []  # Nobody else reads them, and there may be many millions.
        self._on_progress = on_progress or (lambda _: None)
        self._unwritten: list[Row] = []
        self._fresh = 0
        self._task_runs = 1
        self._started = self._written_at = time.monotonic()

    def run(self, stopped: Callable[[], bool]) -> Outcome:
        try:
            while not stopped() and self._is_unfinished:
                self._hand_out()
                answers = self._pool.answers(POLL_S)
                for answer in answers:
                    self._take_in(answer)
                for answer in answers:
                    self._refuse_failure(answer)
                self._write_if_due()
                self._on_progress(self._progress())
        except SweepError as error:
            if error.args[0] != "out":  # Nothing is wrong with the folder.
                self._write()
            raise
        self._write()
        seconds = time.monotonic() - self._started
        points = len(self._store.points)
        return Outcome(self._wanted.done, self._fresh, points, seconds, self._is_unfinished)

    @property
    def _is_unfinished(self) -> bool:
        return self._wanted.points_done < len(self._store.points)

    def _hand_out(self) -> None:
        while self._pool.room > 0:
            taken = self._wanted.take(self._task_runs)
            if not taken:
                return
            points = self._store.points
            self._pool.hand_in(Task([(point, points[point].text, tuple(seeds)) for point, seeds in taken]))

    def _take_in(self, answer: Answer) -> None:
        for row in answer.rows:
            self._wanted.add(row)
        self._unwritten += answer.rows
        self._fresh += len(answer.rows)
        if answer.rows and answer.seconds > 0:
            fitting = self._pool.task_s * len(answer.rows) / answer.seconds
            most = min(fitting, 4 * self._task_runs, MAX_TASK_RUNS)
            self._task_runs = max(1, int(min(most, max(self._fair_share(), SHORTEST_TASK * fitting))))

    def _refuse_failure(self, answer: Answer) -> None:
        if answer.failure is not None:
            point, seed, what = answer.failure
            where = f"point {point} ({words(self._store.points[point].parameters)}), seed {seed}"
            raise SweepError(
                "run", f"{where}: {what}", "mend the sweep; runs that succeeded are in the folder"
            )

    def _fair_share(self) -> float:
        """Towards the end tasks become shorter, so that no worker is left alone with a long one."""
        left = self._wanted.expected - self._wanted.done
        return left / (4 * max(self._pool.size, 1))

    def _write_if_due(self) -> None:
        now = time.monotonic()
        patience = min(max(WRITE_S, WRITE_SHARE * (now - self._started)), LONGEST_WRITE_S)
        if len(self._unwritten) >= WRITE_ROWS or (self._unwritten and now - self._written_at >= patience):
            self._write()

    def _write(self) -> None:
        if self._unwritten:
            self._store.append(self._unwritten)
            self._unwritten = []
        self._written_at = time.monotonic()

    def _progress(self) -> Progress:
        wanted = self._wanted
        seconds = time.monotonic() - self._started
        points = len(self._store.points)
        return Progress(
            wanted.done,
            wanted.expected,
            self._fresh,
            wanted.points_done,
            points,
            seconds,
            lambda: wanted.worst,
        )


@contextmanager
def _signals() -> Iterator[Callable[[], bool]]:
    """Have Ctrl-C and SIGTERM end a sweep between two steps, never in the middle of a file."""
    came: list[int] = []

    def note(number: int, _frame: FrameType | None) -> None:
        came.append(number)

    wanted = (signal.SIGINT, signal.SIGTERM)
    try:
        before = {number: signal.signal(number, note) for number in wanted}
    except ValueError:  # Not in the main thread: signals are somebody else's.
        before = {}
    try:
        yield lambda: bool(came)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
