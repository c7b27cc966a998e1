"""Turns a live run's frames into files, the view while it runs, and lines for the user."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable
from typing import Any

from airpath.live.screen import Screen
from airpath.live.terminal import OutputTerminal
from airpath.live.view import View
from airpath.runs.recorder import Recorder
from airpath.runs.trace import Events

STDERR = 2


class Watcher:
    """Listens to a session.

    Parameters
    ----------
    name : str
        Name of the run.
    record : callable, optional
        Opens the files; called when the link works, so that a run that failed to start leaves no file.
    output : OutputTerminal, optional
        COMMAND's output; with it, there is a view.
    greet : bool
        Whether to print the addresses, for the user of a shell.
    """

    def __init__(
        self,
        name: str,
        *,
        record: Callable[[], Recorder] | None = None,
        output: OutputTerminal | None = None,
        greet: bool = False,
    ) -> None:
        self._record, self._output, self._greet = record, output, greet
        self.recorder: Recorder | None = None
        self._screen = Screen(STDERR) if output else None
        self._view = View(name, plain="utf" not in sys.stderr.encoding.lower())
        self.handle_resize()

    def handle_status(self, status: dict[str, Any]) -> None:
        """See `Listener`."""
        match status["state"]:
            case "up":
                if self._record:
                    self.recorder = self._record()
                for notice in status["notices"]:
                    self._tell(notice)
                if self._greet:
                    server, ue = status["server_addr"], status["ue_addr"]
                    if status.get("command_at") == "server":
                        self._tell(f"this shell is the server, {server}; the UE is {ue} ($AIRPATH_UE)")
                    else:
                        self._tell(f"this shell is the UE, {ue}; the server is {server} ($AIRPATH_SERVER)")
            case "notice":
                self._tell(status["text"])
            case "running" if self._screen:
                self.handle_resize()
                self._screen.show(self._view.table(status))
            case "ended":
                self.pause()

    def handle_record(self, events: Events, capture: bytes) -> None:
        """See `Listener`."""
        if self.recorder:
            self.recorder.write(events, capture)

    def handle_output(self, output: bytes) -> None:
        """See `Listener`."""
        if self._screen:
            self._screen.print_above(output)

    def handle_resize(self) -> None:
        """See `Listener`. While COMMAND owns the terminal, the next status brings a new size."""
        if self._output:
            self._output.take_size(STDERR)

    def pause(self) -> None:
        """See `Listener`."""
        if self._screen:
            self._screen.clear()

    def close(self) -> None:
        """Restore the terminal and close the files, however the run ended."""
        self.pause()
        if self.recorder:
            self.recorder.close()

    def _tell(self, text: str) -> None:
        line = f"airpath: {text}"
        if self._screen:
            self._screen.print_line(line)
        else:
            with contextlib.suppress(OSError):
                print(line, file=sys.stderr, flush=True)
