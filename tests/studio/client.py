"""Clients of the studio's server: raw, or like an admitted browser."""

from __future__ import annotations

import contextlib
import json
import re
import socket
from collections.abc import Callable
from typing import Any

from websockets.sync.client import ClientConnection, connect

from airpath.scenario import bundled

from .test_chunks import decoded

LONG = ("duration=1000 h", "flow.app.bulk={}")


class Answer:
    """An answer to a request that was written by hand."""

    def __init__(self, octets: bytes) -> None:
        head, _, self.body = octets.partition(b"\r\n\r\n")
        line, *fields = head.decode().split("\r\n")
        self.status = int(line.split()[1]) if line else None
        self.headers = {name.lower(): value for name, _, value in (field.partition(": ") for field in fields)}


def ask(server, target: str = "/", method: str = "GET", body: str = "", **headers: str | None) -> Answer:
    """Ask by hand; headers as they would be right, unless they are given. None leaves one out."""
    fields = {
        "Host": f"127.0.0.1:{server.port}",
        **{name.replace("_", "-"): own for name, own in headers.items()},
    }
    lines = [f"{name}: {value}" for name, value in fields.items() if value is not None]
    return exchange(server, "\r\n".join([f"{method} {target} HTTP/1.1", *lines, "", body]).encode())


def exchange(server, octets: bytes) -> Answer:
    with socket.create_connection(("127.0.0.1", server.port), 10) as own:
        with contextlib.suppress(ConnectionError):
            own.sendall(octets)
        received = b""
        with contextlib.suppress(ConnectionError):
            while part := own.recv(65536):
                received += part
        return Answer(received)


def cookie_of(server) -> str:
    """Open the first page: the cookie; the key of the page opens a `Client` that has this cookie."""
    answer = ask(server, server.address.removeprefix(server.origin))
    assert answer.status == 200
    cookie = answer.headers["set-cookie"].split(";")[0]
    PAGE_KEYS[cookie] = re.search(rb'<meta name="airpath-key" content="([^"]*)">', answer.body)[1].decode()
    return cookie


# Keys of first pages by the cookie that came with each.
PAGE_KEYS: dict[str, str] = {}


class Client:
    """A client that is let in."""

    def __init__(self, server, cookie: str, **more: Any) -> None:
        self._opened = connect(
            f"ws://127.0.0.1:{server.port}/socket?key={PAGE_KEYS[cookie]}",
            origin=server.origin,
            additional_headers={"Cookie": cookie},
            compression=None,
            max_size=None,
            **more,
        )

    def __enter__(self) -> Client:
        self.socket: ClientConnection = self._opened.__enter__()
        return self

    def __exit__(self, *raised: Any) -> None:
        self._opened.__exit__(*raised)

    def say(self, do: str, id: int = 1, **fields: Any) -> None:
        self.socket.send(json.dumps({"do": do, "id": id, **fields}))

    def hear(self) -> Any:
        """The next message; of a chunk its number and the events."""
        data = self.socket.recv(30)
        if isinstance(data, str):
            return json.loads(data)
        return int.from_bytes(data[-4:], "little"), decoded(data[:-4])

    def until(self, is_it: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """Wait for a message that is no chunk."""
        while not isinstance(heard := self.hear(), dict) or not is_it(heard):
            pass
        return heard

    def ask(self, do: str, id: int = 1, **fields: Any) -> Any:
        self.say(do, id, **fields)
        return self.hear()

    def run(self, do: str = "run", id: int = 1, **fields: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        """Wait for a run; return its facts, and its events by kind and column."""
        self.say(do, id, **fields)
        events: dict[str, Any] = {}
        run: dict[str, Any] = {}
        while True:
            heard = self.hear()
            if isinstance(heard, tuple):
                assert heard[0] == id
                for kind, columns in heard[1].items():
                    own = events.setdefault(kind, {name: [] for name in columns})
                    for name, values in columns.items():
                        own[name] += values
            elif "again" in heard:
                events = {}
            elif "run" in heard:
                run = heard["run"]
            elif "progress" not in heard:
                assert heard == {"id": id, "ended": True}, heard
                return run, events


def goes_on(server, cookie: str) -> bool:
    """Whether the server still answers."""
    with Client(server, cookie) as own:
        return len(own.ask("scenarios")["answer"]) == len(bundled())
