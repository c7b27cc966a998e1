"""A program with the kernel's TCP, the peer of airpath's TCP in tests; prints its observations as JSON.

    python peer.py get|put|echo|... HOST PORT [OPTIONS...]

It ends when all of its connections are closed or in TIME-WAIT. No wait is unbounded.
"""

from __future__ import annotations

import contextlib
import json
import random
import socket
import struct
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

# Nothing takes longer, in seconds.
PATIENCE_S = 100
PERIOD = 65_521
BLOCK = bytes((at * 31 + (at >> 7)) & 0xFF for at in range(PERIOD))
ECHO, DISCARD, CLOSED = 7, 9, 10
# States of /proc/net/tcp that count as settled: TIME-WAIT, LISTEN.
SETTLED = {"06", "0A"}


def pattern(size: int) -> bytes:
    """The first bytes that airpath's endpoint sends."""
    return (BLOCK * (size // PERIOD + 1))[:size]


def fnv1a(octets: bytes) -> str:
    """The digest that airpath's endpoint reports for the data it has read."""
    value = 0xCBF29CE484222325
    for octet in octets:
        value = (value ^ octet) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return f"{value:016x}"


def connect(host: str, port: int, **options: Any) -> socket.socket:
    """A connection, with its congestion control and receive buffer if asked for."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    stream = socket.socket(family, socket.SOCK_STREAM)
    stream.settimeout(PATIENCE_S)
    prepare(stream, **options)
    stream.connect((host, port))
    return stream


def prepare(stream: socket.socket, control: str | None = None, buffer: int | None = None) -> None:
    """Set options."""
    if control:
        stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, control.encode())
    if buffer:
        stream.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)


def read_all(stream: socket.socket) -> bytes:
    """Everything until the other end closes."""
    pieces = []
    while piece := stream.recv(1 << 16):
        pieces.append(piece)
    return b"".join(pieces)


def seen(octets: bytes) -> dict[str, Any]:
    """Whether the data read matches the pattern of airpath's endpoint."""
    return {"octets": len(octets), "right": octets == pattern(len(octets))}


def get(host: str, port: int, *, pause_s: float = 0, half_close: bool = False, **options: Any) -> Any:
    """Read data from airpath's endpoint, optionally after a pause or after closing the sending direction."""
    with connect(host, port, **options) as stream:
        if half_close:
            stream.shutdown(socket.SHUT_WR)
        time.sleep(pause_s)
        return seen(read_all(stream))


def put(host: str, port: int, size: int, seed: int = 1, **options: Any) -> Any:
    """Send bytes, close, and wait for airpath's endpoint to close."""
    octets = random.Random(seed).randbytes(size)
    with connect(host, port, **options) as stream:
        local = stream.getsockname()[1]
        stream.sendall(octets)
        stream.shutdown(socket.SHUT_WR)
        return {"octets": size, "fnv1a": fnv1a(octets), "port": local, "back": len(read_all(stream))}


def echo(host: str, port: int, size: int, seed: int = 1, **options: Any) -> Any:
    """Send octets and read them again."""
    octets = random.Random(seed).randbytes(size)
    with connect(host, port, **options) as stream:

        def send() -> None:
            stream.sendall(octets)
            stream.shutdown(socket.SHUT_WR)

        sender = threading.Thread(target=send)
        sender.start()
        back = read_all(stream)
        sender.join()
        return {"octets": len(back), "right": back == octets}


def reset(host: str, port: int) -> Any:
    """Read a little and reset the connection."""
    with connect(host, port) as stream:
        octets = stream.recv(1000)
        stream.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    return seen(octets)


def insist(host: str, port: int) -> Any:
    """Read until airpath's endpoint closes, and keep sending until there is an error."""
    with connect(host, port) as stream:
        octets = read_all(stream)
        error = None
        deadline = time.monotonic() + PATIENCE_S
        while error is None and time.monotonic() < deadline:
            try:
                stream.sendall(bytes(100))
            except OSError as problem:
                error = type(problem).__name__
            time.sleep(0.01)
    return {**seen(octets), "error": error}


def knock(host: str, port: int) -> Any:
    """Connect to a port without listener."""
    try:
        connect(host, port).close()
    except OSError as problem:
        return {"error": type(problem).__name__}
    return {"error": None}


def both_open(host: str, port: int, local: int) -> Any:
    """Connect from a port that airpath's endpoint connects to."""
    stream = socket.socket()
    stream.settimeout(PATIENCE_S)
    stream.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    stream.bind(("", local))
    stream.connect((host, port))
    with stream:
        stream.shutdown(socket.SHUT_WR)
        return seen(read_all(stream))


def listen(port: int, count: int, *, most: int = 0, seed: int = 1, sends: bool = True, **options: Any) -> Any:
    """Accept connections sequentially; send random bytes on each, and read the data of airpath's endpoint.

    Some close first, some let airpath's endpoint close first.
    """
    chance = random.Random(seed)
    found = []
    with socket.create_server(("", port)) as server:
        server.settimeout(PATIENCE_S)
        prepare(server, **options)
        for _ in range(count):
            stream, address = server.accept()
            octets = chance.randbytes(chance.randint(1, most)) if sends and most else b""
            stream.settimeout(PATIENCE_S)
            with stream:
                waits = chance.random() < 0.5
                back = read_all(stream) if waits else b""
                stream.sendall(octets)
                stream.shutdown(socket.SHUT_WR)
                back += read_all(stream)
            found.append({**seen(back), "fnv1a": fnv1a(octets), "port": address[1]})
    return found


def take(port: int, size: int) -> Any:
    """Accept one connection, read so many bytes, close, and read the data in flight."""
    with socket.create_server(("", port)) as server:
        server.settimeout(PATIENCE_S)
        stream, _ = server.accept()
    with stream:
        stream.settimeout(PATIENCE_S)
        octets = b""
        while len(octets) < size and (piece := stream.recv(1 << 16)):
            octets += piece
        stream.shutdown(socket.SHUT_WR)
        return seen(octets + read_all(stream))


def many(host: str, port: int, count: int, *, most: int, seed: int, control: str | None = None) -> Any:
    """Transfers of every kind and of random sizes, some at a time."""
    chance = random.Random(seed)
    plans = [(chance.choice(("get", "put", "echo")), chance.randint(1, most), seed + n) for n in range(count)]

    def carry_out(plan: tuple[str, int, int]) -> Any:
        kind, size, its_seed = plan
        try:
            match kind:
                case "get":
                    done = get(host, port, half_close=size % 2 == 0, control=control)
                case "put":
                    done = put(host, DISCARD, size, its_seed, control=control)
                case _:
                    done = echo(host, ECHO, size, its_seed, control=control)
        except OSError as problem:
            return {"kind": kind, "size": size, "error": repr(problem)}
        return {"kind": kind, "size": size, **done}

    with ThreadPoolExecutor(4) as pool:
        return list(pool.map(carry_out, plans))


def unsettled() -> list[str]:
    """States of this network's TCP sockets that are still to end."""
    states = []
    for name in ("/proc/net/tcp", "/proc/net/tcp6"):
        with contextlib.suppress(OSError):
            lines = Path(name).read_text().splitlines()[1:]
            states += [line.split()[3] for line in lines]
    return [state for state in states if state not in SETTLED]


def main() -> None:
    """Do what the arguments say."""
    name, *arguments = sys.argv[1:]
    positional: list[Any] = []
    options = {}
    for argument in arguments:
        key, equals, value = argument.partition("=")
        parsed: Any = value if equals else argument
        with contextlib.suppress(ValueError):
            parsed = json.loads(parsed)
        if equals:
            options[key] = parsed
        else:
            positional.append(parsed)
    done = globals()[name](*positional, **options)
    deadline = time.monotonic() + PATIENCE_S
    while (left := unsettled()) and time.monotonic() < deadline:
        time.sleep(0.01)
    print(json.dumps({"done": done, "left": left}))


if __name__ == "__main__":
    main()
