"""Requests and results of `airpath record` over TCP: a line of JSON each, and compressed logs."""

from __future__ import annotations

import contextlib
import json
import select
import socket
import time
import zlib
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, BinaryIO, cast

from airpath.recordings.own.peer import Log, Phase

PORT = 4747
GREETING = "airpath record 1"
LONGEST_LINE = 10_000
LARGEST_LOG = 1_000_000_000
PATIENCE_S = 30.0
"""How long an end waits for the other beyond the length of a phase."""
LONGEST_S = 3600.0


class ControlError(Exception):
    """The other end said something that does not belong to the protocol, or nothing."""


class Control:
    """A connection for requests and results."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self.wait_for(PATIENCE_S)
        self._file = cast(BinaryIO, connection.makefile("rwb"))

    def wait_for(self, seconds: float) -> None:
        """Set how long the other end may take for a message."""
        self._patience_s = seconds
        self._connection.settimeout(seconds)

    def send(self, message: Mapping[str, Any]) -> None:
        """Send a message."""
        self._file.write(json.dumps(message).encode() + b"\n")
        self._file.flush()

    def receive(self) -> dict[str, Any]:
        """Receive a message.

        Raises
        ------
        ControlError
            If it is none, or says that something is wrong.
        OSError
            If it does not come in time.
        """
        line = self._line()
        if not line.endswith(b"\n"):
            raise ControlError("the other end closed the connection")
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            raise ControlError("the other end speaks another protocol") from None
        if not isinstance(message, dict):
            raise ControlError("the other end speaks another protocol")
        if "error" in message:
            raise ControlError(str(message["error"]))
        return message

    def _line(self) -> bytes:
        """Read a line; one that comes octet by octet has no more time than another."""
        end_s, line = time.monotonic() + self._patience_s, bytearray()
        while not line.endswith(b"\n") and len(line) < LONGEST_LINE:
            self._connection.settimeout(max(0.001, end_s - time.monotonic()))
            octet = self._file.read(1)
            if not octet:
                break
            line += octet
        self._connection.settimeout(self._patience_s)
        return bytes(line)

    def send_log(self, log: Log) -> None:
        """Send what this end saw in a phase."""
        octets = zlib.compress(json.dumps(asdict(log)).encode())
        self.send({"log": len(octets)})
        self._file.write(octets)
        self._file.flush()

    def receive_log(self) -> Log:
        """Receive what the other end saw."""
        size = self.receive().get("log")
        if not isinstance(size, int) or not 0 < size <= LARGEST_LOG:
            raise ControlError("the other end sent no log")
        octets = self._file.read(size)
        try:
            return log_of(json.loads(zlib.decompress(octets)))
        except (zlib.error, KeyError, OverflowError, RecursionError, TypeError, ValueError):
            raise ControlError("the other end sent a damaged log") from None

    def check(self) -> None:
        """Look whether the other end is still there, without waiting.

        Raises
        ------
        ControlError
            If it has closed the connection.
        OSError
            If it has reset it.
        """
        is_readable = select.select([self._connection], [], [], 0)[0]
        if is_readable and not self._connection.recv(1, socket.MSG_PEEK):
            raise ControlError("the other end closed the connection")

    def close(self) -> None:
        """Close the connection, which the file would keep open."""
        with contextlib.suppress(OSError):  # What is still to be written has no reader.
            self._file.close()
        self._connection.close()


def log_of(said: Mapping[str, Any]) -> Log:
    """Read a log from JSON."""
    own = dict(said)
    for name, length in (("data", 3), ("trains", 4), ("clocks", 3)):
        own[name] = [tuple(map(int, row)) for row in own[name]]
        if any(len(row) != length for row in own[name]):
            raise ValueError(name)
    own["sent"], own["trains_sent"] = int(own["sent"]), int(own["trains_sent"])
    return Log(**own)


def phase_of(said: Any) -> Phase:
    """Read a phase as the client asks for it.

    Raises
    ------
    ControlError
        If it is none, or too long.
    """
    try:
        phase = Phase(
            int(said["number"]),
            float(said["seconds"]),
            bool(said["sends_data"]),
            bool(said["sends_trains"]),
            int(said["most_packets"]),
        )
    except (KeyError, OverflowError, TypeError, ValueError):
        raise ControlError("the client asked for no phase") from None
    if not (0 < phase.seconds <= LONGEST_S and 0 <= phase.number < 1 << 16 and phase.most_packets >= 0):
        raise ControlError(f"a phase has at most {LONGEST_S:g} s")
    return phase
