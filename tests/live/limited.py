"""Both ends of a TCP connection that something is known to limit. Run as a script.

`serve` answers on port 8000: a client's first octet names a way of sending. `get HOW` is the other end. The
server prints what the kernel counted of each connection: TCP_INFO's times, in microseconds.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import struct
import sys
import time

PORT = 8000
SECONDS = 4.0
OBJECT = bytes(40_000)
# SO_MAX_PACING_RATE, which Python does not name.
MAX_PACING_RATE = 47
BULK, SLOW_SERVER, PAGE, STREAM, PACED, BBR = b"bswpcr"
# Offset of tcpi_busy_time in struct tcp_info; tcpi_rwnd_limited and tcpi_sndbuf_limited follow.
BUSY_TIME = 168


def bulk(connection: socket.socket, seconds: float = SECONDS) -> None:
    """Send for so long as fast as the connection takes it."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        connection.sendall(OBJECT)


def answer(connection: socket.socket) -> None:
    """Serve one connection."""
    how = connection.recv(1)[0]
    if how == PACED:
        connection.setsockopt(socket.SOL_SOCKET, MAX_PACING_RATE, 250_000)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"bbr" if how == BBR else b"cubic")
    with contextlib.suppress(ConnectionResetError, BrokenPipeError):
        if how == SLOW_SERVER:
            for _ in range(3):
                time.sleep(1.0)
                connection.sendall(OBJECT)
        elif how == PAGE:
            connection.sendall(OBJECT)
            while connection.recv(300, socket.MSG_WAITALL):
                connection.sendall(OBJECT)
        elif how == STREAM:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for _ in range(int(SECONDS / 0.1)):
                connection.sendall(OBJECT[:20_000])
                time.sleep(0.1)
        else:
            bulk(connection)
        connection.shutdown(socket.SHUT_WR)
        connection.recv(1)
    info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256)
    busy, window, buffer = struct.unpack_from("3Q", info, BUSY_TIME)
    print(json.dumps({"busy_us": busy, "rwnd_limited_us": window, "sndbuf_limited_us": buffer}), flush=True)


def serve() -> None:
    """Serve until killed."""
    with socket.create_server(("", PORT)) as listener:
        while True:
            connection, _ = listener.accept()
            with connection:
                answer(connection)


def get(how: str) -> None:
    """Request data in one of several ways, and read it in one of several ways."""
    connection = socket.socket()
    if how in ("small_window", "slow_reader"):
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16_000)
    connection.connect((os.environ["AIRPATH_SERVER"], PORT))
    ways = {"slow_server": SLOW_SERVER, "page": PAGE, "stream": STREAM, "paced": PACED, "bbr": BBR}
    with connection:
        connection.sendall(bytes([ways.get(how, BULK)]))
        if how == "page":
            for number in range(61):
                take(connection, len(OBJECT))
                if number < 60:
                    connection.sendall(bytes(300))
            return
        while connection.recv(1 << 12 if how == "slow_reader" else 1 << 16):
            if how == "slow_reader":
                time.sleep(0.05)


def take(connection: socket.socket, octets: int) -> None:
    """Read so many octets."""
    while octets > 0:
        octets -= len(connection.recv(octets)) or octets


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        serve()
    get(sys.argv[2])
    # The server prints what its kernel counted.
    time.sleep(0.5)
