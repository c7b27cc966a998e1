"""The workers of a Dask cluster instead of processes on this machine, and the choice between the two.

Scheduler and workers are external processes; they come and go while runs are made. The scheduler reassigns
tasks of workers that died. It is given bytes that only workers open, so it needs no airpath; the driver never
unpickles the bytes that come back.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
import pickle
import time
import uuid
from collections import deque
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import CancelledError, Future
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, Self

from airpath.errors import SweepError
from airpath.runner.processes import AHEAD, TASK_S, Processes, lethal, processors
from airpath.runner.work import Answer, Task, Work, answer_of, carry_out_as, check, versions

CONNECT_S = 10.0
"""How long a scheduler has to answer at the start."""
SILENT_S = 60.0
"""After so long without any sign of it a scheduler is gone, even if its connection stands."""
WORKERS_S = 60.0
"""How long to wait for a first worker, and for another one when all are gone, unless told otherwise."""
LOOK_S = 0.5
"""How often to ask how many workers there are."""
TASKS_PER_S = 100
"""A scheduler is given no more than about so many, far from what it can do."""
MOST_WORDS = 500
"""Maximum characters shown of a message from another program."""
REMEDY = "what was written before is safe: the same command resumes"


@dataclass(frozen=True)
class Security:
    """PEM files of TLS: of the authority that signed all certificates, and of the driver."""

    ca: Path
    cert: Path
    key: Path

    @classmethod
    def of(cls, text: str, address: str) -> Self:
        """Read ``CA,CERT,KEY``; the scheduler's address must then be of TLS.

        Raises
        ------
        SweepError
            If these are not three files, or the address is not like ``tls://host:8786``.
        """
        files = [Path(name) for name in text.split(",")]
        if len(files) != 3:
            remedy = "write CA,CERT,KEY: three PEM files"
            raise SweepError("--dask-security", f"'{text}' does not name three files", remedy)
        for file in files:
            if not file.is_file():
                raise SweepError("--dask-security", f"there is no file '{file}'", "check the path")
        if not address.startswith("tls://"):
            what = f"'{address}' is no address of TLS"
            raise SweepError("--dask", what, "name the scheduler as it says, such as tls://HOST:8786")
        return cls(*files)


class Cluster:
    """The workers behind a Dask scheduler, as a `Pool`; a context manager that lets go of them.

    `address` is like ``tcp://host:8786``. When there is no worker, `warn` is called once, and one is waited
    for, `workers_s` seconds. `width` says how many numbers a run of a job has. `size` is the number of
    threads of all workers.
    """

    def __init__(
        self,
        address: str,
        work: Work,
        width: Callable[[int], int],
        workers_s: float,
        warn: Callable[[str], None],
        security: Security | None = None,
    ) -> None:
        self._address, self._work, self._workers_s, self._warn = address, work, workers_s, warn
        self._width = width
        self._security = security
        self._name, self._numbers = f"airpath-{uuid.uuid4().hex}", itertools.count()
        self._tasks: dict[int, Task] = {}
        # Runs of tasks over which workers died: one at a time, until it is known which run it is.
        self._suspects: deque[Task] = deque()
        self._outcomes: SimpleQueue[tuple[int | None, Any]] = SimpleQueue()
        self._error: SweepError | None = None
        self._jobs: set[Future[None]] = set()
        self.size, self.task_s = 0, TASK_S

    def __enter__(self) -> Cluster:
        """Connect to the scheduler."""
        try:
            import distributed  # noqa: F401
        except ImportError as error:
            what = f"Dask is not installed ({error})"
            raise SweepError("--dask", what, "install it: python -m pip install 'airpath[dask]'") from error
        with contextlib.ExitStack() as stack:
            stack.enter_context(_quiet())
            self._client = _connected(self._address, self._security)
            stack.callback(self._close)
            self._heard = self._staffed = time.monotonic()
            self._has_warned = False
            self._start(self._watch())
            self._ending = stack.pop_all()
        return self

    def __exit__(self, *_exception: object) -> None:
        self._ending.close()

    @property
    def room(self) -> int:
        """How many tasks it would take now; it follows the workers that there are."""
        if self._suspects or any(task.deaths for task in self._tasks.values()):
            return 0
        return AHEAD * self.size - len(self._tasks)

    def hand_in(self, task: Task) -> None:
        """Give a task to whomever the scheduler chooses."""
        number = next(self._numbers)
        self._tasks[number] = task
        order = pickle.dumps(_Order(versions(), task.runs, self._work))
        future = self._client.submit(pickle.loads, order, key=f"{self._name}-{number}", pure=False)
        self._start(self._collect(number, future))

    def answers(self, timeout: float) -> list[Answer]:
        """Wait so many seconds at most for answers.

        Raises
        ------
        SweepError
            If the scheduler is gone, there was no worker for too long, one has another airpath or cannot run
            it, or one run has killed several. All answers that came before were returned before.
        """
        if self._error is not None:
            raise self._error
        if self._suspects and not self._tasks:
            self.hand_in(self._suspects.popleft())
        answers = []
        for number, outcome in self._arrived(timeout):
            task = self._tasks.pop(number) if number is not None else None
            if isinstance(outcome, bytes) and task is not None:
                try:
                    answer = answer_of(outcome)
                    check(answer, task.runs, self._width)
                    answers.append(answer)
                    continue
                except (SweepError, ValueError) as error:
                    outcome = error
            if self._error is None:
                self._error = self._consequence(task, outcome)
        self._error = self._error or self._absence()
        return answers

    def _arrived(self, timeout: float) -> Iterator[tuple[int | None, Any]]:
        """What became of tasks, and of the cluster, since the last call."""
        with contextlib.suppress(Empty):
            yield self._outcomes.get(timeout=timeout)
            while True:
                yield self._outcomes.get_nowait()

    def _consequence(self, task: Task | None, outcome: BaseException) -> SweepError | None:
        """What a task that was not carried out means; None if it will be."""
        from distributed import KilledWorker

        if isinstance(outcome, SweepError):
            return outcome
        if task is None or isinstance(outcome, (OSError, asyncio.CancelledError, CancelledError)):
            return self._lost(_first_line(outcome))
        if isinstance(outcome, KilledWorker):
            if task.deaths:
                return lethal(task, f"{outcome.allowed_failures + 1} workers died")
            self._suspects.extend(task.singly())
            return None
        # What this airpath calls may not be there in another.
        if isinstance(outcome, (ImportError, AttributeError)):
            what = f"a worker of '{self._address}' cannot load airpath: {_first_line(outcome)}"
            remedy = "install airpath, in the version of this one, where 'dask worker' is started"
            return SweepError("workers", what, remedy)
        (job, _, seeds), *_ = task.runs
        what = f"a worker failed at point {job}, seed {seeds[0]} or soon after: {_first_line(outcome)}"
        return SweepError("run", what, f"look at the worker's log; {REMEDY}")

    def _absence(self) -> SweepError | None:
        """What is wrong with the cluster as a whole."""
        now = time.monotonic()
        if now - self._heard > SILENT_S:
            return self._lost(f"no answer for {SILENT_S:.0f} s")
        if self.size:
            self._staffed, self._has_warned = now, False
        elif now - self._staffed > self._workers_s:
            what = f"the scheduler at '{self._address}' had no worker for {self._workers_s:g} s"
            remedy = f"start some: dask worker {self._address}; or wait longer: --dask-wait SECONDS"
            return SweepError("--dask", what, remedy)
        elif now - self._staffed > 2 * LOOK_S and not self._has_warned:
            self._has_warned = True
            self._warn(f"no worker at '{self._address}': waiting for one, {self._workers_s:g} s at most")
        return None

    def _lost(self, reason: str) -> SweepError:
        what = f"the scheduler at '{self._address}' is gone ({reason})"
        return SweepError("--dask", what, f"start it and its workers again; {REMEDY}")

    def _start(self, job: Coroutine[Any, Any, None]) -> None:
        """Have something done on the client's own thread."""
        started = asyncio.run_coroutine_threadsafe(job, self._client.loop.asyncio_loop)
        self._jobs.add(started)
        started.add_done_callback(self._jobs.discard)

    async def _collect(self, number: int, future: Any) -> None:
        try:
            # Asked to skip errors, as otherwise Dask logs what it raises to itself.
            found = await self._client.gather([future], errors="skip", asynchronous=True)
            outcome = found[0] if found else await future.exception(asynchronous=True) or CancelledError()
        except BaseException as error:  # Also that it was cancelled, as all is when the scheduler goes.
            outcome = error
        self._outcomes.put((number, outcome))

    async def _watch(self) -> None:
        try:
            while True:
                threads = await self._client.nthreads(asynchronous=True)
                self.size, self._heard = sum(threads.values()), time.monotonic()
                # Longer with many workers, as one scheduler serves them all.
                self.task_s = max(TASK_S, AHEAD * self.size / TASKS_PER_S)
                await asyncio.sleep(LOOK_S)
        except Exception as error:
            self._outcomes.put((None, error))

    def _close(self) -> None:
        for job in list(self._jobs):
            job.cancel()
        with contextlib.suppress(Exception):  # Whatever it is: nothing is wanted of it any more.
            self._client.close(timeout=5)


class _Order:
    """A task as octets: who reads them carries it out."""

    def __init__(self, *arguments: Any) -> None:
        self._arguments = arguments

    def __reduce__(self) -> tuple[Callable[..., bytes], tuple[Any, ...]]:
        return carry_out_as, self._arguments


def _connected(address: str, security: Security | None) -> Any:
    from distributed import Client
    from distributed.security import Security as Files

    files = None
    if security is not None:
        files = Files(  # type: ignore[no-untyped-call]
            require_encryption=True,
            tls_ca_file=str(security.ca),
            tls_client_cert=str(security.cert),
            tls_client_key=str(security.key),
        )
    try:
        # First as itself: a `Client` connected to something other than a scheduler keeps retrying, and ends
        # badly.
        asyncio.run(asyncio.wait_for(_handshake(address, files), CONNECT_S))
        return Client(  # type: ignore[no-untyped-call]
            address,
            timeout=CONNECT_S,
            set_as_default=False,
            name="airpath",
            security=files,
            # Results of tasks are accepted as bytes; pickles are never opened.
            deserializers=["msgpack", "error"],
        )
    except Exception as error:  # What is no scheduler may say anything, and Dask fails over it in any way.
        said = _first_line(error)
    # Not within the block above: sizes that a stranger sends are no limit of this system.
    what = f"no scheduler answers at '{address}' within {CONNECT_S:.0f} s ({said})"
    remedy = "start one: dask scheduler; and name it as it says, such as tcp://HOST:8786"
    raise SweepError("--dask", what, remedy)


async def _handshake(address: str, files: Any) -> None:
    """Ask who is there, as Dask does, and close; raises whatever Dask does where there is no scheduler."""
    from distributed.comm.core import connect

    options = files.get_connection_args("client") if files else {}
    comm = await connect(address, timeout=CONNECT_S, deserialize=False, **options)  # type: ignore[no-untyped-call]
    try:
        await comm.write({"op": "identity", "reply": True})
        identity = await comm.read()
        if not isinstance(identity, dict) or identity.get("type") != "Scheduler":
            raise ValueError("another program listens there")
    finally:
        comm.abort()


def _first_line(error: BaseException) -> str:
    first = next(iter(str(error).strip().splitlines()), "")
    return first[:MOST_WORDS] or type(error).__name__


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Silence Dask's logging; failures that matter are raised as airpath errors."""
    import dask

    loggers = [logging.getLogger(name) for name in ("distributed", "distributed.client")]
    before = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL)
    try:
        # A scenario holds the files that it names: a large one is no mistake.
        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 TiB"}):
            yield
    finally:
        for logger, level in zip(loggers, before, strict=True):
            logger.setLevel(level)


def pool_of(
    work: Work,
    width: Callable[[int], int],
    workers: int | None,
    dask: str | None,
    dask_wait_s: float | None,
    warn: Callable[[str], None],
    dask_security: Security | None = None,
) -> Processes | Cluster:
    """Make a pool: so many processes on this machine, or the workers of a Dask scheduler.

    `width` says how many numbers a run of a job has. As many processes as processors if `workers` is None.
    `dask` is the scheduler's address; when it has no worker, `warn` is called, and one is waited for, a
    minute if `dask_wait_s` is None. `dask_security` has the files of TLS; if it is None, they are those of
    Dask's own configuration, if any.
    """
    if dask is None:
        return Processes(workers or processors(), work)
    wait_s = WORKERS_S if dask_wait_s is None else dask_wait_s
    return Cluster(dask, work, width, wait_s, warn, dask_security)
