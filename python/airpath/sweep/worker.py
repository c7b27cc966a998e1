"""A worker of a sweep: runs what it is told and says what came out; it writes no file.

It loads little, so that it is there soon: neither SciPy nor pyarrow nor matplotlib.
"""

from __future__ import annotations

import contextlib
import functools
import json
import math
import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from queue import SimpleQueue
from typing import Any

from airpath import _core
from airpath.errors import SweepError
from airpath.metrics import NotMeasuredError, named, path_of
from airpath.sweep.plan import versions

Values = tuple[float | None, ...]
"""The metrics of a run; None where it did not measure one."""
Row = tuple[int, int, Values]
"""Point, seed, and the metrics of a run."""
Runs = tuple[int, str, tuple[int, ...]]
"""Point, its scenario, and seeds to run."""


@dataclass(frozen=True)
class Answer:
    """What became of a task: rows, the seconds they took, and what ended it early."""

    rows: list[Row]
    seconds: float
    failure: tuple[int, int, str] | None = None


class Readers:
    """Runs scenarios and reads metrics off their results."""

    def __init__(self, metrics: Sequence[str]) -> None:
        self._metrics = tuple(metrics)
        self._named = [named(name) for name in metrics]
        # Where the metrics are, as the first results tell: what all results have at the top is the same.
        self._paths: list[list[str]] | None = None

    def values(self, text: str, seeds: Sequence[int]) -> Iterator[Values]:
        """Run a scenario with each seed; the metrics of one run after the other.

        Raises
        ------
        ScenarioError, ValueError
            If the scenario cannot be run, or a run's results have no such metric.
        """
        if self._paths is None:
            results = json.loads(_core.run(text, seeds[0]))
            self._paths = [path_of(name, results) for name in self._metrics]
            yield self._read(results)
            seeds = seeds[1:]
        for measured in _core.measure(text, seeds, self._paths):
            # What is no plain number, such as a mean over flows, `named` knows how to read.
            yield self._read(json.loads(measured)) if isinstance(measured, str) else tuple(measured)

    def _read(self, results: dict[str, Any]) -> Values:
        return tuple(_read(results, reader) for reader in self._named)


def carry_out(runs: Sequence[Runs], readers: Readers) -> Answer:
    """Make runs, up to the first that fails."""
    rows: list[Row] = []
    started = time.perf_counter()
    for point, text, seeds in runs:
        before = len(rows)
        try:
            for values in readers.values(text, seeds):
                rows.append((point, seeds[len(rows) - before], values))
        except ValueError as error:
            what = ": ".join(part for part in error.args[:2] if part)  # Of a ScenarioError, all but the hint.
            failure = point, seeds[len(rows) - before], what
            return Answer(rows, time.perf_counter() - started, failure)
    return Answer(rows, time.perf_counter() - started)


def carry_out_as(wanted: tuple[str, str], runs: Sequence[Runs], metrics: tuple[str, ...]) -> Answer:
    """Make runs for a driver elsewhere, whose versions must be those that are here.

    Raises
    ------
    SweepError
        If they are others: the rows would be entered under what they are not.
    """
    if versions() != wanted:
        here, there = (
            f"airpath {airpath} with random streams {rng}" for airpath, rng in (versions(), wanted)
        )
        what = f"a worker on {socket.gethostname()} runs {here}, and the sweep is of {there}"
        raise SweepError("workers", what, "install the same airpath where 'dask worker' is started")
    try:
        return carry_out(runs, _readers_of(metrics))
    except BaseException as error:  # As words: what Dask cannot pickle, it never delivers.
        (point, _, seeds), *_ = runs
        return Answer([], 0.0, (point, seeds[0], f"it or one soon after: {type(error).__name__}: {error}"))


@functools.lru_cache(8)
def _readers_of(metrics: tuple[str, ...]) -> Readers:
    return Readers(metrics)


def main(fd: int) -> None:
    """Work off tasks that come through a socket until its other end is closed; end with the driver."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group; the driver sees to it.
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    driver: Connection[Any, Any] = Connection(fd)
    with contextlib.suppress(EOFError, OSError):
        readers = Readers(driver.recv())
        tasks: SimpleQueue[Sequence[Runs]] = SimpleQueue()
        threading.Thread(target=_receive, args=(driver, tasks), daemon=True).start()
        while True:
            driver.send(carry_out(tasks.get(), readers))


def _receive(driver: Connection[Any, Any], tasks: SimpleQueue[Sequence[Runs]]) -> None:
    """Take tasks in at once, so that the driver never waits; when it is gone, end in the middle of a run."""
    while True:
        try:
            tasks.put(driver.recv())
        except (EOFError, OSError):
            os._exit(1)


def _read(results: dict[str, Any], reader: Callable[[dict[str, Any]], float]) -> float | None:
    try:
        value = reader(results)
    except NotMeasuredError:
        return None
    return value if math.isfinite(value) else None
