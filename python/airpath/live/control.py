"""Changes of a live link by other programs: lines of JSON on a unix socket.

A request is one line, an object with any of these keys:

* `"set"`: new values by dotted key, such as `{"wired.rate": "1 Mbit/s"}`. Keys that may change are marked
  with `x-changes` in the schema of scenarios.
* `"outage"`: a time such as `"3 s"`, during which neither direction of the UE starts a transmission;
  `"ue"` is the UE, 0 if absent. With `"to"`, the name of a cell, the UE is in that cell afterwards.
* `"pause"`: `true` for an outage of the UE that lasts until `false`.
* `"seed"`: a number; channels, fading, losses and queues draw from new random streams from then on.
* `"rebind"`, alone: `"port"` or `"address"`. The address translator between the bearer and the server loses
  its state: the next packet of each flow from the UE has another source port, or another address too.
* `"id"`: any value, which the answer repeats.

Without any of them nothing changes, and the answer has the present values. The answer is one
line:

* `{"at_s": time, "what": words, "elements": n, "values": {key: value}}`: the change holds from `at_s` on, a
  time of the trace. `elements` is the number of elements that changed; 0 if the values were so already, if
  the UE is in an outage, or if there is no pause to end.
* `{"error": what is wrong, "key": where, "hint": what would be right}`: nothing has changed.

What is refused at once is answered at once; all others in their order. The socket belongs to the user who
started the link.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import selectors
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

from airpath import _core
from airpath.errors import LiveError
from airpath.files.text import parse_json

DOOR = "control"
"""Name of the socket of a `RadioLink`, beside the doors of its ushers."""
LONGEST_PATH = 107
"""Bytes of the path of a unix socket, unix(7)."""
LONGEST_LINE = 1 << 20
"""Most bytes of a request."""
PATIENCE_S = 10.0
"""How long a client waits for an answer."""
KNOWN = {"id", "set", "outage", "to", "pause", "seed", "rebind", "ue"}
REBIND = ("port", "address")
LARGEST_SEED = 2**64 - 1
LARGEST_INTEGER = 2**63 - 1
MOST_LEVELS = 80
"""Most levels of a value."""


class Control:
    """Listens at `path` until `close`, and hands requests to the link.

    Raises
    ------
    LiveError
        If there can be no socket.
    """

    def __init__(self, path: Path) -> None:
        if len(os.fsencode(path)) > LONGEST_PATH:
            what = f"'{path}' is longer than {LONGEST_PATH} bytes"
            raise LiveError("--control", what, "choose a shorter path, such as /tmp/link")
        self._path = path
        self._listener = socket.socket(socket.AF_UNIX)
        umask = os.umask(0o177)
        try:
            self._listener.bind(os.fspath(path))
        except OSError as error:
            self._listener.close()
            what = f"no socket at '{path}': {error.strerror or error}"
            hint = "choose a path at which nothing is, in a folder that exists"
            raise LiveError("--control", what, hint) from error
        finally:
            os.umask(umask)
        self._listener.listen()
        self._listener.setblocking(False)
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._listener, selectors.EVENT_READ)
        self._pending: dict[socket.socket, bytes] = {}
        # By number of the request: who asked, and the id that the answer repeats.
        self._asked: dict[int, tuple[socket.socket, Any]] = {}
        self._number = 0
        self._send: Callable[[dict[str, Any]], None] | None = None

    def fileno(self) -> int:
        """A descriptor that is readable when `handle` has something to do."""
        number: int = self._selector.fileno()
        return number

    def connect(self, send: Callable[[dict[str, Any]], None]) -> None:
        """Hand requests to `send` from now on, as the driver takes them."""
        self._send = send

    def handle(self) -> None:
        """Handle what has arrived."""
        for key, _ in self._selector.select(0):
            if key.fileobj is self._listener:
                with contextlib.suppress(OSError):
                    connection, _ = self._listener.accept()
                    connection.setblocking(False)
                    self._pending[connection] = b""
                    self._selector.register(connection, selectors.EVENT_READ)
            else:
                assert isinstance(key.fileobj, socket.socket)
                self._read(key.fileobj)

    def answer(self, status: dict[str, Any]) -> None:
        """Pass on an answer of the driver."""
        asked = self._asked.pop(status.get("id", -1), None)
        if asked:
            content = {key: value for key, value in status.items() if key not in {"state", "id"}}
            self._tell(asked[0], asked[1], content)

    def close(self) -> None:
        """End all connections and remove the socket. May be called again."""
        for connection in list(self._pending):
            self._drop(connection)
        with contextlib.suppress(FileNotFoundError):
            if self._listener.fileno() >= 0:
                self._path.unlink()
        self._listener.close()
        self._selector.close()

    def _read(self, connection: socket.socket) -> None:
        try:
            piece = connection.recv(1 << 16)
        except BlockingIOError:
            return
        except OSError:
            piece = b""
        if not piece:
            return self._drop(connection)
        *lines, rest = (self._pending[connection] + piece).split(b"\n")
        self._pending[connection] = rest
        for line in lines:
            if line.strip():
                self._ask(connection, line)
        if len(rest) > LONGEST_LINE:
            self._refuse(connection, None, "", f"a line of more than {LONGEST_LINE} bytes", "end it earlier")
            self._drop(connection)

    def _ask(self, connection: socket.socket, line: bytes) -> None:
        try:
            request = parse_json(line.decode())
        except ValueError as error:
            return self._refuse(connection, None, "", f"no JSON: {error}", "write an object on one line")
        if not isinstance(request, dict):
            return self._refuse(
                connection, None, "", "no object", 'write {"set": {"wired.rate": "1 Mbit/s"}}'
            )
        named = request.pop("id", None)
        if unknown := [key for key in request if key not in KNOWN]:
            hint = f"known: {', '.join(sorted(KNOWN))}"
            return self._refuse(connection, named, unknown[0], "is not known", hint)
        values = request.get("set", {})
        if not isinstance(values, dict) or not _is_readable(values):
            hint = 'write {"wired.rate": "1 Mbit/s"}'
            return self._refuse(connection, named, "set", "is no object of keys and values", hint)
        if "outage" in request and (what := _no_time(request["outage"])):
            return self._refuse(connection, named, "outage", what, 'write a time such as "3 s"')
        if not isinstance(request.get("to", ""), str):
            return self._refuse(connection, named, "to", "is no name", "write the name of a cell")
        if not isinstance(request.get("pause", True), bool):
            return self._refuse(
                connection, named, "pause", "is neither true nor false", "write true, or false"
            )
        seed = request.get("seed", 0)
        if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed <= LARGEST_SEED:
            hint = f"write a whole number from 0 to {LARGEST_SEED}"
            return self._refuse(connection, named, "seed", "is no seed", hint)
        if (rebind := request.pop("rebind", None)) is not None and (rebind not in REBIND or request):
            what = "stands with other changes" if request else "is unknown"
            return self._refuse(connection, named, "rebind", what, 'write {"rebind": "port"}, or "address"')
        ue = request.get("ue", 0)
        if isinstance(ue, bool) or not isinstance(ue, int) or not 0 <= ue < 1 << 16:
            return self._refuse(connection, named, "ue", "is no number of a UE", "write 0 for the first")
        self._number += 1
        self._asked[self._number] = (connection, named)
        assert self._send is not None
        change = {"id": self._number, "change": request} | ({"rebind": rebind} if rebind else {})
        self._send({"change": change})
        return None

    def _refuse(self, connection: socket.socket, named: Any, key: str, what: str, hint: str) -> None:
        self._tell(connection, named, {"error": what, "key": key, "hint": hint})

    def _tell(self, connection: socket.socket, named: Any, content: dict[str, Any]) -> None:
        if connection not in self._pending:
            return
        line = json.dumps(content if named is None else {"id": named, **content}).encode() + b"\n"
        try:
            if connection.send(line) < len(line):
                # It does not read its answers.
                self._drop(connection)
        except OSError:
            self._drop(connection)

    def _drop(self, connection: socket.socket) -> None:
        if self._pending.pop(connection, None) is not None:
            self._selector.unregister(connection)
            connection.close()


def _is_readable(value: Any, levels: int = MOST_LEVELS) -> bool:
    """Whether the driver can read a value: it answers no request that has another."""
    if isinstance(value, dict | list):
        items = value.values() if isinstance(value, dict) else value
        return levels > 0 and all(_is_readable(item, levels - 1) for item in items)
    if isinstance(value, float):
        return math.isfinite(value)
    return value is not None and (not isinstance(value, int) or abs(value) <= LARGEST_INTEGER)


def _no_time(value: Any) -> str:
    """Say why a value is no time; empty if it is one."""
    if not isinstance(value, str):
        return "is no time"
    try:
        _core.seconds(value)
    except ValueError as error:
        return str(error).partition("; ")[0]
    return ""


def ask(path: str | os.PathLike[str], request: dict[str, Any]) -> dict[str, Any]:
    """Send a request to the link at a socket; return the answer.

    Raises
    ------
    LiveError
        If there is no link, or the change is refused.
    """
    answer = b""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(PATIENCE_S)
        try:
            connection.connect(os.fspath(path))
            connection.sendall(json.dumps(request).encode() + b"\n")
            while not answer.endswith(b"\n"):
                piece = connection.recv(1 << 16)
                if not piece:
                    raise LiveError("control", "the link ended before it answered", "start it again")
                answer += piece
        except TimeoutError as error:
            what = f"the link at '{os.fspath(path)}' did not answer within {PATIENCE_S:.0f} s"
            raise LiveError("control", what, "see what it printed, and try again") from error
        except OSError as error:
            what = f"no link at '{os.fspath(path)}': {error.strerror or error}"
            raise LiveError("control", what, "start one: airpath live --control SOCKET ...") from error
    content: dict[str, Any] = json.loads(answer)
    if "error" in content:
        raise LiveError(content["key"] or "control", content["error"], content["hint"])
    return content
