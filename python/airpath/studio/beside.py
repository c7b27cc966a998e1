"""The studio's server during a live run, in a thread of the session's process.

The packets are carried by other processes: what happens here holds none of them up.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from pathlib import Path
from typing import Any

from airpath.errors import LiveError
from airpath.scenario import Scenario
from airpath.studio.attach import Attached
from airpath.studio.serve import Studio
from airpath.studio.sources import Sources

STARTS_WITHIN_S = 10
LAST_WORDS_S = 3
"""Most time at the end for a browser to fetch the remaining events."""


class Beside:
    """A server that shows one live run, and changes it through the socket `control`, if any.

    Raises
    ------
    LiveError
        If it cannot listen.
    """

    def __init__(self, scenario: Scenario, seed: int, control: Path | None = None) -> None:
        self.attached = Attached(scenario, seed, control)
        self.address = ""
        self._started = threading.Event()
        self._error: OSError | None = None
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), daemon=True)
        self._thread.start()
        self._started.wait(STARTS_WITHIN_S)
        if not self.address:
            why = self._error.strerror if self._error else "it has not started"
            raise LiveError("--studio", f"its server cannot listen: {why}", "leave --studio out")

    async def _serve(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()

        def start(address: str) -> None:
            self.address = address
            self._started.set()

        try:
            await Studio(Sources(attached=self.attached)).serve(0, start, self._stop)
        except OSError as error:
            self._error = error
            self._started.set()

    def end(self, results: dict[str, Any] | None) -> None:
        """Send the final results, if any, and stop once all browsers have them or after `LAST_WORDS_S`."""
        self.attached.end(results)
        self.attached.wait_for_readers(LAST_WORDS_S)
        with contextlib.suppress(RuntimeError):  # It has ended already.
            self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(LAST_WORDS_S)
