"""Workers: what they are given and give back, and what they do; they write no file.

It loads little, as every worker process loads it.
"""

from __future__ import annotations

import contextlib
import functools
import json
import math
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Hashable, Iterator, Sequence, Sized
from dataclasses import dataclass
from multiprocessing import connection
from queue import SimpleQueue
from typing import Any, Protocol

from airpath import _core
from airpath.errors import SweepError

if sys.platform == "win32":
    Connection = connection.PipeConnection
else:
    Connection = connection.Connection

Row = tuple[int, int, Any]
"""Job, seed, and what the run gave."""
Rows = tuple[int, Sequence[int], Any]
"""Job, seeds, and what the run of each seed gave: runs travel and are counted many at a time."""
Runs = tuple[int, Any, tuple[int, ...]]
"""Job, what its runs are made from, and the seeds to run."""
MakeRuns = Callable[[Any, Sequence[int]], Iterator[Sized]]
"""Makes the runs of a job from what it is made from and the seeds; gives outcomes in turn, some at a time."""


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


Failure = tuple[int, int, str]
"""Job and seed of a run that failed, and why."""


@dataclass(frozen=True)
class Answer:
    """What became of a task: rows, the seconds they took, and what ended it early.

    `failed` are runs of `rows` that have no numbers because they failed; they end nothing.
    """

    rows: list[Rows]
    seconds: float
    failure: Failure | None = None
    failed: Sequence[Failure] = ()


def versions() -> tuple[str, str]:
    """Versions of airpath and of its random streams: what runs here belongs to them."""
    return _core.version(), _core.RNG_VERSION


def carry_out(runs: Sequence[Runs], make_runs: MakeRuns) -> Answer:
    """Make runs, up to the first that fails with a `ValueError`.

    An outcome with a `failure` is that of a run that failed.
    """
    rows: list[Rows] = []
    failed: list[Failure] = []
    started = time.perf_counter()
    for job, made_from, seeds in runs:
        made = 0
        try:
            for outcomes in make_runs(made_from, seeds):
                if reason := getattr(outcomes, "failure", ""):
                    failed.append((job, seeds[made], reason))
                rows.append((job, seeds[made : made + len(outcomes)], outcomes))
                made += len(outcomes)
        except ValueError as error:
            cause = ": ".join(filter(None, error.args[:2]))  # A ScenarioError without its remedy.
            return Answer(rows, time.perf_counter() - started, (job, seeds[made], cause), failed)
    return Answer(rows, time.perf_counter() - started, failed=failed)


def carry_out_as(wanted: tuple[str, str], runs: Sequence[Runs], work: Work) -> bytes:
    """Make runs for a driver elsewhere, whose versions must equal the local ones: bytes for `answer_of`.

    With other versions it makes none and says so: the rows would be entered under what they are not.
    """
    if versions() != wanted:
        here, there = (
            f"airpath {airpath} with random streams {rng}" for airpath, rng in (versions(), wanted)
        )
        what = f"a worker on {socket.gethostname()} runs {here}, and the driver {there}"
        return json.dumps({"refused": what}).encode()
    try:
        answer = carry_out(runs, _opened(work))
    except BaseException as error:  # As words: the driver opens no pickles.
        (job, _, seeds), *_ = runs
        answer = Answer([], 0.0, (job, seeds[0], f"it or one soon after: {type(error).__name__}: {error}"))
    return _octets_of(answer)


def _octets_of(answer: Answer) -> bytes:
    """Write an answer as a line of JSON followed by the bytes of the tables."""
    rows, tables = [], []
    for job, seeds, outcomes in answer.rows:
        if octets := getattr(outcomes, "octets", None):
            tables.append(octets)
            outcomes = len(octets)
        rows.append((job, seeds, outcomes))
    told = {"rows": rows, "seconds": answer.seconds, "failure": answer.failure, "failed": answer.failed}
    return b"\n".join([json.dumps(told).encode(), b"".join(tables)])


def answer_of(octets: bytes) -> Answer:
    """Read what `carry_out_as` gave; tables as arrays (runs × metrics).

    Raises
    ------
    SweepError
        If the worker refused to make the runs.
    ValueError
        If it is no answer.
    """
    import numpy as np

    try:
        line, _, tables = octets.partition(b"\n")
        told = json.loads(line)
        if "refused" in told:
            remedy = "install the same airpath where 'dask worker' is started"
            raise SweepError("workers", str(told["refused"])[:500], remedy)
        rows: list[Rows] = []
        begin = 0
        for job, seeds, outcomes in told["rows"]:
            if isinstance(outcomes, int):
                table = np.frombuffer(tables[begin : begin + outcomes], "<f8")
                rows.append((job, seeds, table.reshape(len(seeds), -1)))
                begin += outcomes
            else:
                rows.append((job, seeds, [(tuple(values), common) for values, common in outcomes]))
        failure = told["failure"]
        failed = [(int(job), int(seed), str(reason)) for job, seed, reason in told["failed"]]
        seconds = float(told["seconds"])
        return Answer(rows, seconds, failure and (failure[0], failure[1], failure[2]), failed)
    except (TypeError, KeyError, AttributeError, IndexError) as error:
        raise ValueError(f"it is no answer of a worker: {error}") from error


def check(answer: Answer, runs: Sequence[Runs], width: Callable[[int], int]) -> None:
    """Raise `ValueError` if an answer of a worker elsewhere is not about the runs of its task.

    `width` says how many numbers a run of a job has. Numbers themselves are not judged.
    """
    wanted = [(job, seed) for job, _, seeds in runs for seed in seeds]
    there = [(job, seed) for job, seeds, _ in answer.rows for seed in seeds]
    if there != wanted[: len(there)]:
        raise ValueError("it is no answer of a worker: it has runs that it was not to make")
    if [failure[:2] for failure in filter(None, [answer.failure])] != wanted[len(there) :][:1]:
        raise ValueError("it is no answer of a worker: it lacks runs")
    if not {failure[:2] for failure in answer.failed} <= set(there):
        raise ValueError("it is no answer of a worker: a run failed that it did not make")
    if not 0 <= answer.seconds < math.inf:
        raise ValueError(f"it is no answer of a worker: it took {answer.seconds} s")
    for job, seeds, outcomes in answer.rows:
        if not _fits(outcomes, len(seeds), width(job)):
            raise ValueError(f"it is no answer of a worker: a run of job {job} has other metrics")


def _fits(outcomes: Any, runs: int, width: int) -> bool:
    """Whether it is a table of so many runs with so many numbers each, or a list of them."""
    if hasattr(outcomes, "shape"):
        return bool(outcomes.shape == (runs, width))
    return len(outcomes) == runs and all(
        isinstance(common, str)
        and len(values) == width
        and all(type(one) in (int, float) and math.isfinite(one) for one in values)
        for values, common in outcomes
    )


@functools.lru_cache(8)
def _opened(work: Work) -> MakeRuns:
    return work.open()


def main(fd: int) -> None:
    """Work off tasks that come through a socket until its other end is closed; end with the driver."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group; the driver sees to it.
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    if sys.platform != "win32":  # So does the end of the terminal.
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
    driver: Connection[Any, Any] = Connection(fd)
    with contextlib.suppress(EOFError, OSError):
        make_runs = driver.recv().open()
        tasks: SimpleQueue[Sequence[Runs]] = SimpleQueue()
        threading.Thread(target=_receive, args=(driver, tasks), daemon=True).start()
        while True:
            driver.send(carry_out(tasks.get(), make_runs))


def _receive(driver: Connection[Any, Any], tasks: SimpleQueue[Sequence[Runs]]) -> None:
    """Take tasks in at once, so that the driver never waits; when it is gone, end in the middle of a run."""
    while True:
        try:
            tasks.put(driver.recv())
        except (EOFError, OSError):
            os._exit(1)
