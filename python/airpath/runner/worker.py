"""A worker: makes the runs that it is given and says what came of them; it writes no file."""

from __future__ import annotations

import contextlib
import functools
import os
import signal
import socket
import threading
from collections.abc import Sequence
from multiprocessing.connection import Connection
from queue import SimpleQueue
from typing import Any

from airpath.errors import SweepError
from airpath.runner.work import Answer, MakeRuns, Runs, Work, carry_out, versions


def carry_out_as(wanted: tuple[str, str], runs: Sequence[Runs], work: Work) -> Answer:
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
        what = f"a worker on {socket.gethostname()} runs {here}, and the driver {there}"
        raise SweepError("workers", what, "install the same airpath where 'dask worker' is started")
    try:
        return carry_out(runs, _opened(work))
    except BaseException as error:  # As words: what Dask cannot pickle, it never delivers.
        (job, _, seeds), *_ = runs
        return Answer([], 0.0, (job, seeds[0], f"it or one soon after: {type(error).__name__}: {error}"))


@functools.lru_cache(8)
def _opened(work: Work) -> MakeRuns:
    return work.open()


def main(fd: int) -> None:
    """Work off tasks that come through a socket until its other end is closed; end with the driver."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group; the driver sees to it.
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
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
