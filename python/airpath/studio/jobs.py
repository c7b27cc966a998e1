"""Work for clients, each piece in a thread of its own: what it makes is sent as the client takes it.

The simulator releases the GIL. A thread waits until a part is sent before it makes the next, so that memory
stays flat however slow a client is; between parts it looks whether it was cancelled. Threads are daemons: the
end of the server does not wait for a step that takes long.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Coroutine, Iterator
from typing import Any, Generic, TypeVar

MOST_AT_ONCE = 4
"""Most threads at the same time, for all clients together; other work waits."""

T = TypeVar("T")


class Jobs:
    """Does work in threads, a bounded number at a time."""

    def __init__(self) -> None:
        self._places = asyncio.Semaphore(MOST_AT_ONCE)

    async def run(self, work: Iterator[T], send: Callable[[T], Coroutine[Any, Any, None]]) -> None:
        """Send what `work` yields, and raise what it raises; cancelled, it ends at its next part."""
        await self._places.acquire()
        job = _Job(work, send, self._places)
        job.start()
        try:
            await job.done
        finally:
            job.is_cancelled = True


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
        except BaseException as raised:  # Whoever waits for the work hears of it.
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
