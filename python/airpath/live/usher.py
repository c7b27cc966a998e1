"""Lends one end of a live link to a process outside of it: makes sockets there and starts programs there.

A program of the standard library alone, run as `python -I -S usher.py DOOR END` in each namespace; END is
"server" or "ue". It listens at the unix socket DOOR. Its first line of standard output says that it does so:
`{"end": END, "door": DOOR, "addresses": [IPv4, IPv6]}`. Each connection is one request, a line of JSON:

* `{"socket": [family, type, protocol]}`: answered by `{}` with the socket, or `{"error": [number, text]}`.
* `{"program": [...], "cwd": folder, "environment": {...}}`, with descriptors for standard input, output and
  error: answered by `{}` or `{"error": ...}`, and at the program's end by `{"status": n}`, -n if by signal n.
  Meanwhile `{"signal": n}` is passed on to the program. It is killed, with its group, if the connection ends.
* `{"end": true}`: the usher ends.

The UE's usher, which is COMMAND, ends with its standard input too: whoever holds the other end has gone.
"""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import socket
import subprocess
import sys
from typing import Any

STDIN, STDOUT = 0, 1
LINK = ("AIRPATH_SERVER", "AIRPATH_UE", "MAHIMAHI_BASE")
"""Prefixes of the names in the environment that tell of the link."""


def tell(connection: socket.socket, answer: dict[str, Any]) -> None:
    """Send a line of JSON; it is lost if nobody reads any more."""
    with contextlib.suppress(OSError):
        connection.sendall(json.dumps(answer).encode() + b"\n")


def error_of(error: OSError) -> dict[str, Any]:
    """Write an error as an answer."""
    return {"error": [error.errno, error.strerror or str(error)]}


class Lines:
    """The lines of JSON on a connection, and the descriptors that came with them."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection, self._pending = connection, b""
        self.descriptors: list[int] = []

    def read(self) -> list[dict[str, Any]] | None:
        """Wait for a piece: the lines that it completes; None at the end."""
        try:
            piece, fds, _, _ = socket.recv_fds(self._connection, 1 << 16, 3, socket.MSG_CMSG_CLOEXEC)
        except ConnectionResetError:
            return None
        self.descriptors += fds
        if not piece:
            return None
        *lines, self._pending = (self._pending + piece).split(b"\n")
        return [json.loads(line) for line in lines]


class Usher:
    """Serves requests until it is told to end."""

    def __init__(self, door: str, end: str) -> None:
        self._door, self._end = door, end
        self._over = False
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(door)
        self._listener.listen()
        # The driver starts COMMAND when it sees a socket at the server's end.
        self._sign = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._sign.bind(("127.0.0.1", 0))

    def run(self) -> None:
        """Say that it is ready, and serve."""
        end = "SERVER" if self._end == "server" else "UE"
        addresses = [os.environ[f"AIRPATH_{end}"], os.environ[f"AIRPATH_{end}6"]]
        ready = {"end": self._end, "door": self._door, "addresses": addresses}
        os.write(STDOUT, json.dumps(ready).encode() + b"\n")
        # Whoever reads it learns of the end of the run by the end of the stream.
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, STDOUT)
        os.close(nowhere)
        with selectors.DefaultSelector() as self._selector:
            self._selector.register(self._listener, selectors.EVENT_READ, self._greet)
            if self._end == "ue":
                self._selector.register(STDIN, selectors.EVENT_READ, self._handle_stdin)
            while not self._over:
                for key, _ in self._selector.select():
                    key.data()

    def _handle_stdin(self) -> None:
        self._over |= not os.read(STDIN, 4096)

    def _greet(self) -> None:
        """Accept a connection and serve its request."""
        self._sign.close()
        connection, _ = self._listener.accept()
        lines = Lines(connection)
        requests: list[dict[str, Any]] | None = []
        while requests == []:
            requests = lines.read()
        match requests:
            case [{"socket": [int(family), int(kind), int(protocol)]}]:
                self._make_socket(connection, family, kind, protocol)
            case [{"program": list(words), "cwd": str(cwd), "environment": dict(environment)}]:
                Program(self._selector, connection, lines, words, cwd, environment)
            case [{"end": True}]:
                self._over = True
            case _:
                connection.close()

    def _make_socket(self, connection: socket.socket, family: int, kind: int, protocol: int) -> None:
        try:
            with socket.socket(family, kind, protocol) as made, contextlib.suppress(BrokenPipeError):
                socket.send_fds(connection, [b"{}\n"], [made.fileno()])
        except OSError as error:
            tell(connection, error_of(error))
        connection.close()


class Program:
    """A program at this end, for as long as the connection of who asked for it."""

    def __init__(
        self,
        selector: selectors.BaseSelector,
        connection: socket.socket,
        lines: Lines,
        words: list[str],
        cwd: str,
        environment: dict[str, str],
    ) -> None:
        self._selector, self._connection, self._lines = selector, connection, lines
        stdin, stdout, stderr = lines.descriptors
        environment |= {name: value for name, value in os.environ.items() if name.startswith(LINK)}
        try:
            self._process = subprocess.Popen(
                words,
                stdin=stdin,
                stdout=stdout,
                stderr=stderr,
                cwd=cwd,
                env=environment,
                process_group=0,
            )
        except OSError as error:
            tell(connection, error_of(error))
            connection.close()
            return
        finally:
            for fd in lines.descriptors:
                os.close(fd)
        tell(connection, {})
        self._ended = os.pidfd_open(self._process.pid)
        selector.register(self._ended, selectors.EVENT_READ, self._handle_end)
        selector.register(connection, selectors.EVENT_READ, self._handle_request)

    def _handle_request(self) -> None:
        requests = self._lines.read()
        if requests is None:
            self._selector.unregister(self._connection)
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            return
        for request in requests:
            self._process.send_signal(request["signal"])

    def _handle_end(self) -> None:
        self._selector.unregister(self._ended)
        os.close(self._ended)
        tell(self._connection, {"status": self._process.wait()})
        with contextlib.suppress(KeyError):
            self._selector.unregister(self._connection)
        self._connection.close()


if __name__ == "__main__":
    Usher(*sys.argv[1:]).run()
