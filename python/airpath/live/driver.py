"""The driver: the process that makes the namespaces, carries the packets and runs COMMAND.

It is a bare interpreter with one thread (see `driver_main.py`) at the other end of a socket. It leads a
process group of its own: signals of the terminal, such as Ctrl-C, reach it as frames only. When our end of
the socket closes, it ends everything.
"""

from __future__ import annotations

import contextlib
import signal
import socket
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from airpath import _core
from airpath.errors import LiveError
from airpath.live.frames import Frame, FrameReader, encode

# Time for the driver to clean up after its last frame, in seconds.
GRACE_S = 10.0
# Bytes read at most before other events are handled.
MOST_BYTES = 1 << 20


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

    Parameters
    ----------
    command : sequence of str
        As `driver_command` gives it.
    configuration : dict
        Content of the first frame.
    stdout, stderr : int, optional
        Descriptors that become COMMAND's; ours if absent.

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
        """Receive a piece of the stream.

        Parameters
        ----------
        wait : bool
            Whether to wait until something arrives.

        Returns
        -------
        list of Frame or None
            Frames that the piece completes; None if nothing has arrived.

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
