"""A worker process of a sweep: runs what it is told and says what came out; it writes no file."""

from __future__ import annotations

import contextlib
import json
import math
import os
import signal
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from queue import SimpleQueue
from typing import Any

from airpath import _core
from airpath._core import ScenarioError
from airpath.metrics import NotMeasuredError, named

Row = tuple[int, int, tuple[float | None, ...]]
"""Point, seed, and the metrics of a run; None where it did not measure one."""
Runs = tuple[int, str, tuple[int, ...]]
"""Point, its scenario, and seeds to run."""


@dataclass(frozen=True)
class Answer:
    """What became of a task: rows, the seconds they took, and what ended it early."""

    rows: list[Row]
    seconds: float
    failure: tuple[int, int, str] | None = None


def serve(driver: Connection, metrics: Sequence[str]) -> None:
    """Work off tasks until the other end is closed; end with the driver, whatever happened to it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group; the driver sees to it.
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    readers = [named(name) for name in metrics]
    tasks: SimpleQueue[Sequence[Runs]] = SimpleQueue()
    threading.Thread(target=_receive, args=(driver, tasks), daemon=True).start()
    with contextlib.suppress(OSError):
        while True:
            driver.send(_carry_out(tasks.get(), readers))


def _receive(driver: Connection, tasks: SimpleQueue[Sequence[Runs]]) -> None:
    """Take tasks in at once, so that the driver never waits; when it is gone, end in the middle of a run."""
    while True:
        try:
            tasks.put(driver.recv())
        except (EOFError, OSError):
            os._exit(1)


def _carry_out(runs: Sequence[Runs], readers: Sequence[Callable[[dict[str, Any]], float]]) -> Answer:
    rows: list[Row] = []
    started = time.perf_counter()
    for point, text, seeds in runs:
        for seed in seeds:
            try:
                results = json.loads(_core.run(text, seed))
                rows.append((point, seed, tuple(_read(results, reader) for reader in readers)))
            except ScenarioError as error:
                what = ": ".join(part for part in error.args[:2] if part)
                return Answer(rows, time.perf_counter() - started, (point, seed, what))
            except ValueError as error:
                return Answer(rows, time.perf_counter() - started, (point, seed, str(error)))
    return Answer(rows, time.perf_counter() - started)


def _read(results: dict[str, Any], reader: Callable[[dict[str, Any]], float]) -> float | None:
    try:
        value = reader(results)
    except NotMeasuredError:
        return None
    return value if math.isfinite(value) else None
