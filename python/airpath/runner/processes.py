"""Worker processes on this machine: a task at a time for each, and what is done when one dies."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from multiprocessing.connection import Pipe, wait
from typing import Any, Self

from airpath.errors import SweepError
from airpath.runner.work import Answer, Connection, Task, Work

MAX_DEATHS = 3
"""A run during which so many workers died in turn is what kills them."""

AHEAD = 2
"""Tasks that a worker has at once, so that it need not wait for the driver between them."""

TASK_S = 0.5
"""How long a task should take a worker: short enough to lose, long enough that handing out is nothing."""

HUGE_PAGES = {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}
"""Environment of a worker: a run with many UEs spends a third of its time in page walks (docs/scale.md)."""


def lethal(task: Task, deaths: str) -> SweepError:
    """Say that a run kills workers."""
    (job, _, seeds), *_ = task.runs
    remedy = "look at memory and at that run alone; what was written before is safe"
    return SweepError("workers", f"{deaths} at point {job}, seed {seeds[0]}", remedy)


@dataclass(eq=False)
class _Worker:
    process: subprocess.Popen[bytes]
    connection: Connection[Any, Any]
    tasks: deque[Task] = field(default_factory=deque)


def processors() -> int:
    """How many processors this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1


class Processes:
    """So many worker processes, as a `Pool`; a context manager that ends them."""

    task_s = TASK_S

    def __init__(self, workers: int, work: Work) -> None:
        self._work = work
        self._workers: list[_Worker] = []
        self.size = workers
        self._again: deque[Task] = deque()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        for worker in self._workers:
            worker.connection.close()
            worker.process.kill()
        for worker in self._workers:
            worker.process.wait()

    @property
    def room(self) -> int:
        """How many tasks it would take now."""
        held = sum(len(worker.tasks) for worker in self._workers) + len(self._again)
        return AHEAD * self.size - held

    def hand_in(self, task: Task) -> None:
        """Give a task to the least loaded worker."""
        if len(self._workers) < self.size and all(worker.tasks for worker in self._workers):
            self._workers.append(self._start())
        worker = min(self._workers, key=lambda worker: len(worker.tasks))
        worker.tasks.append(task)
        with contextlib.suppress(OSError):  # It has died: `answers` will find out.
            worker.connection.send(task.runs)

    def answers(self, timeout: float) -> list[Answer]:
        """Wait so many seconds at most for answers; replace workers that died, and have their work redone.

        Raises
        ------
        SweepError
            If one run has killed several workers.
        """
        by_connection = {worker.connection: worker for worker in self._workers}
        found = []
        for ready in wait(list(by_connection), timeout):
            worker = by_connection[ready]  # type: ignore[index]
            try:
                answer: Answer = worker.connection.recv()
            except Exception:  # The end of the pipe, or half an answer from one that was killed.
                self._bury(worker)
            else:
                worker.tasks.popleft()
                found.append(answer)
        for _ in range(len(self._again)):
            self.hand_in(self._again.popleft())
        return found

    def _start(self) -> _Worker:
        # A program of its own: a fork would take threads, locks and the sweep's memory along, and the "spawn"
        # of multiprocessing loads the main program again.
        here, there = Pipe()
        begin = f"import sys; sys.path[:] = {sys.path!r}; from airpath.runner.work import main"
        command = [sys.executable, "-c", f"{begin}; main({there.fileno()})"]
        with _ignored_interrupts():
            process = _popen(command, there.fileno())
        there.close()
        with contextlib.suppress(OSError):
            here.send(self._work)
        return _Worker(process, here)

    def _bury(self, worker: _Worker) -> None:
        self._workers.remove(worker)
        worker.connection.close()
        worker.process.kill()
        worker.process.wait()
        if worker.tasks:  # Only the first of them was being worked on.
            task = worker.tasks.popleft()
            if task.deaths + 1 >= MAX_DEATHS:
                raise lethal(task, f"{MAX_DEATHS} workers died (code {worker.process.returncode})")
            self._again.extend([*task.singly(), *worker.tasks])


def _popen(command: list[str], passed: int) -> subprocess.Popen[bytes]:
    """Start a program that inherits a descriptor, or on Windows a handle, under the same number."""
    if sys.platform == "win32":
        os.set_handle_inheritable(passed, True)
        startup = subprocess.STARTUPINFO()
        startup.lpAttributeList = {"handle_list": [passed]}
        return subprocess.Popen(command, stdin=subprocess.DEVNULL, startupinfo=startup)
    environment = HUGE_PAGES | os.environ
    return subprocess.Popen(command, stdin=subprocess.DEVNULL, pass_fds=[passed], env=environment)


@contextlib.contextmanager
def _ignored_interrupts() -> Iterator[None]:
    """Have a process that is started here ignore Ctrl-C from its first moment.

    It inherits that the signal is blocked. Here it waits until the end and is not lost.
    """
    if sys.platform == "win32":  # Its processes ignore it once they run.
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
