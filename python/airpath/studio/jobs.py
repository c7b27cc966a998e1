"""Work for clients, each piece in a thread of its own: what it makes is sent as the client takes it.

The simulator releases the GIL. A thread waits until a part is sent before it makes the next, so that memory
stays flat however slow a client is; between parts it looks whether it was cancelled. Threads are daemons: the
end of the server does not wait for a step that takes long. When there is nothing to do, the memory that work
has used is given back.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import threading
from collections.abc import Callable, Coroutine, Iterator
from typing import Any, Generic, TypeVar

MOST_AT_ONCE = 4
"""Most threads at the same time, for all clients together; other work waits."""

REST_S = 2
"""Memory is given back after this time without work: while values change quickly, it would be taken again."""
ARENA_MAX = -8
"""A parameter of glibc's `mallopt`."""

T = TypeVar("T")


class Jobs:
    """Does work in threads, a bounded number at a time."""

    def __init__(self) -> None:
        self._places = asyncio.Semaphore(MOST_AT_ONCE)
        self._count = 0
        self._rest: asyncio.TimerHandle | None = None
        _of_glibc("mallopt", ARENA_MAX, 1)  # Else each thread has a heap, whose free memory no other uses.

    async def run(self, work: Iterator[T], send: Callable[[T], Coroutine[Any, Any, None]]) -> None:
        """Send what `work` yields, and raise what it raises; cancelled, it ends at its next part."""
        await self._places.acquire()
        job = _Job(work, send, self._places)
        self._count += 1
        if self._rest is not None:
            self._rest.cancel()
        job.start()
        try:
            await job.done
        finally:
            job.is_cancelled = True
            self._count -= 1
            if not self._count:
                self._rest = asyncio.get_running_loop().call_later(REST_S, _of_glibc, "malloc_trim", 0)


class _Job(threading.Thread, Generic[T]):
    def __init__(
        self, work: Iterator[T], send: Callable[[T], Coroutine[Any, Any, None]], places: asyncio.Semaphore
    ) -> None:
        super().__init__(daemon=True)
        self._work, self._send, self._places = work, send, places
        self._loop = asyncio.get_running_loop()
        self.done: asyncio.Future[None] = self._loop.create_future()
        self.is_cancelled = False

    def run(self) -> None:
        error: BaseException | None = None
        try:
            for part in self._work:
                if self.is_cancelled:
                    break
                asyncio.run_coroutine_threadsafe(self._send(part), self._loop).result()
        except BaseException as raised:  # Passed on to the coroutine that awaits this job.
            error = raised
        with contextlib.suppress(RuntimeError):  # The server has ended.
            self._loop.call_soon_threadsafe(self._end, error)

    def _end(self, error: BaseException | None) -> None:
        self._places.release()
        if self.done.done():
            return
        if error is None:
            self.done.set_result(None)
        else:
            self.done.set_exception(error)


def _of_glibc(name: str, *values: int) -> None:
    """Call a function that glibc alone has."""
    with contextlib.suppress(AttributeError, OSError, TypeError):
        getattr(ctypes.CDLL(None), name)(*values)
