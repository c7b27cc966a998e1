"""Watches one live run: frames of the driver, signals for COMMAND, and who has the terminal.

A single thread waits for the socket, for signals and for COMMAND's output. Signals that are passed on do not
end this process while the driver runs.
"""

from __future__ import annotations

import os
import selectors
import signal
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from airpath.errors import LiveError
from airpath.live.driver import Driver, Frame, decode_events
from airpath.live.terminal import (
    OutputTerminal,
    SignalPipe,
    Terminal,
    stop_with_group,
    terminal_output_allowed,
)

if TYPE_CHECKING:
    from airpath.live.control import Control
    from airpath.runs.trace import Events

# More pieces than a pseudo-terminal buffers.
MOST_PIECES = 64


class Listener:
    """Receives the events of a session; by default it ignores them."""

    def handle_status(self, status: dict[str, Any]) -> None:
        """Receive a status of the driver: "up", "running", "notice" or "ended"."""

    def handle_record(self, events: Events, capture: bytes) -> None:
        """Receive events of the trace and a part of the pcapng file."""

    def handle_output(self, output: bytes) -> None:
        """Receive COMMAND's output, if it passes through this process."""

    def handle_resize(self) -> None:
        """Handle a new size of the terminal."""

    def pause(self) -> None:
        """Leave the terminal to other processes until the next status."""


class Session:
    """One live run.

    `configuration` is the driver's, without "terminal", and `driver` the command that becomes it. `output`,
    if there is one, receives COMMAND's standard error, and with `stdout_too` its standard output. Requests of
    `control`, if there is one, change the link.
    """

    def __init__(
        self,
        configuration: dict[str, Any],
        listener: Listener,
        *,
        driver: Sequence[str],
        output: OutputTerminal | None = None,
        stdout_too: bool = False,
        control: Control | None = None,
    ) -> None:
        self._configuration, self._listener, self._command = configuration, listener, driver
        self._output, self._stdout_too = output, stdout_too
        self._control = control
        self._terminal = Terminal()
        self._results: dict[str, Any] | None = None
        self._failure: dict[str, Any] | None = None
        # Whether COMMAND runs, and whether it is stopped.
        self._up = self._stopped = False
        # Whether the driver has sent its last frame.
        self._over = False

    def run(self) -> dict[str, Any]:
        """Run it, and return the results.

        Raises
        ------
        LiveError
            If the link could not be made, in which case COMMAND did not run, or the driver broke down.
        """
        lent = self._terminal.ours
        inner = self._output.inner if self._output else None
        with SignalPipe() as self._signals, selectors.DefaultSelector() as self._selector:
            self._driver = Driver(
                self._command,
                {**self._configuration, "terminal": lent},
                stdout=inner if self._stdout_too else None,
                stderr=inner,
            )
            self._terminal.lent = lent
            try:
                with terminal_output_allowed():
                    self._watch()
            finally:
                how = self._driver.end()
                self._terminal.take_back()
            self._drain_output()
        if self._failure is not None:
            stage, message, hint = (str(self._failure[part]) for part in ("stage", "message", "hint"))
            if stage == "user namespace" and "AIRPATH_SERVER" in os.environ:
                message = "this is behind a link already, where COMMAND may make no other"
                hint = "start the other link from outside of it"
            raise LiveError(stage, message, hint)
        if self._results is None:
            what = f"the process that carries the packets {how} and left no results"
            raise LiveError("driver", what, "see what 'airpath doctor' says, and report it if that is all ok")
        return self._results

    def _watch(self) -> None:
        self._selector.register(self._driver, selectors.EVENT_READ, self._handle_frames)
        self._selector.register(self._signals, selectors.EVENT_READ, self._handle_signals)
        if self._output:
            self._selector.register(self._output, selectors.EVENT_READ, self._handle_output)
        if self._control:
            self._control.connect(lambda request: self._driver.send("K", request))
            self._selector.register(self._control, selectors.EVENT_READ, self._control.handle)
        # The end of the driver comes as a signal too.
        while not self._over and self._driver.running:
            for key, _ in self._selector.select():
                key.data()
        while not self._over and self._handle_frames():
            pass

    def _handle_frames(self) -> bool:
        """Handle a piece of the stream; return whether there was one."""
        try:
            frames = self._driver.receive()
        except EOFError:
            self._over = True
            return False
        for frame in frames or ():
            self._handle_frame(frame)
        return frames is not None

    def _handle_frame(self, frame: Frame) -> None:
        match frame.kind:
            case "S":
                self._handle_status(frame.json())
            case "T":
                self._listener.handle_record(decode_events(frame.payload), b"")
            case "P":
                self._listener.handle_record({}, frame.payload)
            case "R":
                self._results, self._over = frame.json(), True
            case "E":
                self._failure, self._over = frame.json(), True

    def _handle_status(self, status: dict[str, Any]) -> None:
        match status["state"]:
            case "up":
                self._up = True
            case "stopped":
                self._stop()
                return
            case "changed":
                if self._control:
                    self._control.answer(status)
            case "ended":
                self._up = False
                self._drain_output()
                self._terminal.take_back()
        self._listener.handle_status(status)
        if status["state"] == "up":
            # Lines about the link come before COMMAND's first output.
            self._driver.send("K", {"start": True})

    def _handle_output(self) -> bool:
        """Handle a piece of COMMAND's output; return whether there was one."""
        piece = self._output.read() if self._output else b""
        if piece:
            self._listener.handle_output(piece)
        return bool(piece)

    def _drain_output(self) -> None:
        """Handle the output of COMMAND, stopped or ended; other processes may still write."""
        for _ in range(MOST_PIECES):
            if not self._handle_output():
                break

    def _handle_signals(self) -> None:
        for number in self._signals.read():
            match number:
                case signal.SIGCHLD:
                    pass  # The loop checks itself.
                case signal.SIGWINCH:
                    self._listener.handle_resize()
                case signal.SIGCONT:
                    self._go_on()
                case _:
                    self._driver.send("K", {"signal": number})

    def _stop(self) -> None:
        """COMMAND was stopped: stop too, so that the calling shell takes over; then continue."""
        self._stopped = True
        self._drain_output()
        self._listener.pause()
        self._terminal.take_back()
        stop_with_group()
        self._go_on()

    def _go_on(self) -> None:
        """Lend COMMAND the terminal again, if it is ours, after this process was continued."""
        if self._up and self._terminal.ours and not self._terminal.lent:
            self._terminal.lent = True
            self._driver.send("K", {"continue": True})
        elif self._stopped:
            in_background = self._terminal.there
            self._driver.send("K", {"signal": signal.SIGCONT} if in_background else {"continue": True})
        self._stopped = False
