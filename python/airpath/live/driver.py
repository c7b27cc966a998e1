"""The driver: the process that makes the namespaces, carries the packets and runs COMMAND.

It is a bare interpreter with one thread (see `driver_main.py`) at the other end of a socket. It leads a
process group of its own: signals of the terminal, such as Ctrl-C, reach it as frames only. When our end of
the socket closes, it ends everything.

Both sides speak in frames: length (u32, little-endian; it counts what follows), type (one letter), payload.
A chunk of trace is the length of a JSON header (u32), the header,
`{kind: {"rows": n, "columns": [[name, type], ...]}}`, and the columns one after the other: type "u64" takes
eight bytes a row, a list of words one byte, an index into the list.
"""

from __future__ import annotations

import contextlib
import json
import signal
import socket
import struct
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from airpath import _core
from airpath.errors import LiveError

if TYPE_CHECKING:
    from airpath.runs.trace import Events, RawColumn

LENGTH = struct.Struct("<I")

# Time for the driver to clean up after its last frame, in seconds.
GRACE_S = 10.0
# Bytes read at most before other events are handled.
MOST_BYTES = 1 << 20


class Frame(NamedTuple):
    """One frame: its letter and its payload."""

    kind: str
    payload: bytes

    def json(self) -> dict[str, Any]:
        """Payload of a JSON frame."""
        content: dict[str, Any] = json.loads(self.payload)
        return content


class FrameReader:
    """Assembles frames from pieces of a stream."""

    def __init__(self) -> None:
        self._pending = bytearray()

    def feed(self, piece: bytes) -> Iterator[Frame]:
        """Take a piece of the stream; return the frames that it completes."""
        self._pending += piece
        start = 0
        while len(self._pending) >= start + LENGTH.size:
            (length,) = LENGTH.unpack_from(self._pending, start)
            end = start + LENGTH.size + length
            if len(self._pending) < end:
                break
            body = bytes(self._pending[start + LENGTH.size : end])
            start = end
            yield Frame(body[:1].decode("ascii"), body[1:])
        del self._pending[:start]


def encode(kind: str, content: dict[str, Any]) -> bytes:
    """Make a frame of JSON."""
    payload = json.dumps(content).encode()
    return LENGTH.pack(len(payload) + 1) + kind.encode("ascii") + payload


def decode_events(payload: bytes) -> Events:
    """Read a chunk of trace, as `Simulation.take_trace` returns it.

    Columns are copies: rows of a rare kind wait long to be written, and a view would keep all of `payload`.
    """
    import numpy as np

    (length,) = LENGTH.unpack_from(payload)
    place = LENGTH.size + length
    events: Events = {}
    for kind, table in json.loads(payload[LENGTH.size : place]).items():
        columns: dict[str, RawColumn] = {}
        for name, values in table["columns"]:
            if values == "u64":
                columns[name] = np.frombuffer(payload, "<u8", table["rows"], place).copy()
                place += 8 * table["rows"]
            else:
                columns[name] = (np.frombuffer(payload, np.uint8, table["rows"], place).copy(), values)
                place += table["rows"]
        events[kind] = columns
    return events


def driver_command() -> list[str]:
    """The command of the driver process; its last argument is to be the number of a socket.

    Raises
    ------
    LiveError
        If this build has no driver.
    """
    if not hasattr(_core, "live_driver"):
        raise LiveError("live", f"there is no driver for {sys.platform}", "airpath live needs Linux")
    script = Path(__file__).resolve().with_name("driver_main.py")
    return [sys.executable, "-I", "-S", str(script)]


class Driver:
    """A running driver.

    `command` is as `driver_command` gives it, `configuration` the content of the first frame; `stdout` and
    `stderr` become COMMAND's, which has ours if absent.

    Raises
    ------
    LiveError
        If it cannot be started.
    """

    def __init__(
        self,
        command: Sequence[str],
        configuration: dict[str, Any],
        *,
        stdout: int | None = None,
        stderr: int | None = None,
    ) -> None:
        self._socket, theirs = socket.socketpair()
        with theirs:
            fd = theirs.fileno()
            try:
                self._process = subprocess.Popen(
                    [*command, str(fd)], pass_fds=[fd], stdout=stdout, stderr=stderr, process_group=0
                )
            except OSError as error:
                self._socket.close()
                what = f"'{command[0]}' cannot be started: {error.strerror or error}"
                raise LiveError("driver", what, "check the Python that airpath runs in") from error
        self._reader = FrameReader()
        self.send("C", configuration)

    def fileno(self) -> int:
        """Our end of the socket, for selectors."""
        return self._socket.fileno()

    def send(self, kind: str, content: dict[str, Any]) -> None:
        """Send a frame; it is lost if the driver has ended."""
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self._socket.sendall(encode(kind, content))

    def receive(self, *, wait: bool = False) -> list[Frame] | None:
        """Receive a piece of the stream: the frames that it completes; None if nothing has arrived.

        Raises
        ------
        EOFError
            At the end of the stream.
        """
        try:
            piece = self._socket.recv(MOST_BYTES, 0 if wait else socket.MSG_DONTWAIT)
        except BlockingIOError:
            return None
        except ConnectionResetError:  # It closed with unread data of ours.
            piece = b""
        if not piece:
            raise EOFError
        return list(self._reader.feed(piece))

    @property
    def running(self) -> bool:
        """Whether the process is running; reaps it once it has ended."""
        return self._process.poll() is None

    def end(self) -> str:
        """Close the socket, make sure that the process ends, and say how it ended."""
        self._socket.close()
        try:
            status = self._process.wait(GRACE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            status = self._process.wait()
        if status < 0:
            return f"was killed by {signal.Signals(-status).name}"
        return f"ended with status {status}"
