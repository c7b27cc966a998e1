"""One live run, watched: frames from the driver, signals to COMMAND, the terminal lent and taken back.

A single thread waits for the socket, for signals and for COMMAND's output, and does nothing in between.
None of the signals that are passed on ends this process while the driver is there.
"""

from __future__ import annotations

import selectors
import signal
from collections.abc import Sequence
from typing import Any, Protocol

from airpath.errors import LiveError
from airpath.live.driver import Driver
from airpath.live.frames import Frame, decode_events
from airpath.live.terminal import (
    OutputTerminal,
    SignalPipe,
    Terminal,
    stop_with_group,
    terminal_output_allowed,
)
from airpath.trace import Events

# More pieces than a pseudo-terminal holds.
MOST_PIECES = 64


class Listener(Protocol):
    """Who is told what happens."""

    def handle_status(self, status: dict[str, Any]) -> None:
        """Take a status of the driver: "up", "running", "notice" or "ended"."""

    def handle_record(self, events: Events, capture: bytes) -> None:
        """Take events of the trace and a part of the pcapng file."""

    def handle_output(self, output: bytes) -> None:
        """Take what COMMAND wrote, if that passes through us."""

    def handle_resize(self) -> None:
        """Heed that the terminal has another size."""

    def pause(self) -> None:
        """Leave the terminal to others until the next status."""


class Session:
    """One live run.

    Parameters
    ----------
    configuration : dict
        The driver's, without "terminal".
    listener : Listener
        Who is told what happens.
    driver : sequence of str
        The command that becomes the driver.
    output : OutputTerminal, optional
        What COMMAND's standard error goes to; ours if absent.
    stdout_too : bool
        Whether its standard output goes there as well.
    """

    def __init__(
        self,
        configuration: dict[str, Any],
        listener: Listener,
        *,
        driver: Sequence[str],
        output: OutputTerminal | None = None,
        stdout_too: bool = False,
    ) -> None:
        self._configuration, self._listener, self._command = configuration, listener, driver
        self._output, self._stdout_too = output, stdout_too
        self._terminal = Terminal()
        self._results: dict[str, Any] | None = None
        self._failure: dict[str, Any] | None = None
        # Whether COMMAND runs, and whether it is stopped.
        self._up = self._stopped = False
        # Whether the driver has said all that it has to say.
        self._over = False

    def run(self) -> dict[str, Any]:
        """Run it.

        Returns
        -------
        dict
            The results.

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
            raise LiveError(*(str(self._failure[part]) for part in ("stage", "message", "hint")))
        if self._results is None:
            what = f"the process that carries the packets {how} and left no results"
            raise LiveError("driver", what, "see what 'airpath doctor' says, and report it if that is all ok")
        return self._results

    def _watch(self) -> None:
        self._selector.register(self._driver, selectors.EVENT_READ, self._handle_frames)
        self._selector.register(self._signals, selectors.EVENT_READ, self._handle_signals)
        if self._output:
            self._selector.register(self._output, selectors.EVENT_READ, self._handle_output)
        # The end of the driver is a signal too, so that none goes unnoticed.
        while not self._over and self._driver.running:
            for key, _ in self._selector.select():
                key.data()
        while not self._over and self._handle_frames():
            pass

    def _handle_frames(self) -> bool:
        """Take a piece of what has arrived; return whether there was any."""
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
            case "ended":
                self._up = False
                self._drain_output()
                self._terminal.take_back()
        self._listener.handle_status(status)
        if status["state"] == "up":
            # What the user is told of the link stands before COMMAND's first words.
            self._driver.send("K", {"start": True})

    def _handle_output(self) -> bool:
        """Take a piece of what COMMAND wrote; return whether there was any."""
        piece = self._output.read() if self._output else b""
        if piece:
            self._listener.handle_output(piece)
        return bool(piece)

    def _drain_output(self) -> None:
        """Take what COMMAND, which is stopped or over, has written; others may go on writing."""
        for _ in range(MOST_PIECES):
            if not self._handle_output():
                break

    def _handle_signals(self) -> None:
        for number in self._signals.read():
            match number:
                case signal.SIGCHLD:
                    pass  # The loop looks itself.
                case signal.SIGWINCH:
                    self._listener.handle_resize()
                case signal.SIGCONT:
                    self._go_on()
                case _:
                    self._driver.send("K", {"signal": number})

    def _stop(self) -> None:
        """COMMAND was stopped: stop as well, so that the shell above us takes over; then go on."""
        self._stopped = True
        self._drain_output()
        self._listener.pause()
        self._terminal.take_back()
        stop_with_group()
        self._go_on()

    def _go_on(self) -> None:
        """We were continued. COMMAND has the terminal again if we have it to lend."""
        if self._up and self._terminal.ours and not self._terminal.lent:
            self._terminal.lent = True
            self._driver.send("K", {"continue": True})
        elif self._stopped:
            in_background = self._terminal.there
            self._driver.send("K", {"signal": signal.SIGCONT} if in_background else {"continue": True})
        self._stopped = False
