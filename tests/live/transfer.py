"""Both ends of a transfer over a live link: TCP, with datagrams at the same time. Run as a script.

`serve FILE FOLDER` serves FILE on port 8000 and writes uploads to FOLDER; it echoes datagrams to port
8001. `get OUT` and `put FILE` are the other end, which prints what it did;
`reset OUT` aborts in the middle, and `refused OUT` connects to a port without listener.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import socket
import struct
import threading
import time
from pathlib import Path

PORT, ECHO_PORT, CLOSED_PORT = 8000, 8001, 8002
PATIENCE_S = 40


def echo(sock: socket.socket) -> None:
    """Send every datagram back."""
    while True:
        octets, sender = sock.recvfrom(65536)
        sock.sendto(octets, sender)


def answer(connection: socket.socket, file: Path, folder: Path, congestion_control: str) -> None:
    """Serve one connection: the first octet says what is wanted."""
    with connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, congestion_control.encode())
        if connection.recv(1) == b"G":
            try:
                connection.sendall(file.read_bytes())
                connection.shutdown(socket.SHUT_WR)
                connection.recv(1)
            except ConnectionResetError:
                (folder / f"reset-{connection.getpeername()[1]}").touch()
            return
        got = take(connection)
        (folder / f"from-{connection.getpeername()[1]}").write_bytes(got)
        connection.sendall(b"!")


def take(connection: socket.socket) -> bytes:
    """All octets until the other end has no more."""
    parts = []
    while part := connection.recv(1 << 16):
        parts.append(part)
    return b"".join(parts)


def serve(options: argparse.Namespace) -> None:
    """Serve until killed."""
    datagrams = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
    datagrams.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
    datagrams.bind(("::", ECHO_PORT))
    threading.Thread(target=echo, args=(datagrams,), daemon=True).start()
    listener = socket.create_server(("::", PORT), family=socket.AF_INET6, dualstack_ipv6=True, backlog=64)
    while True:
        connection, _ = listener.accept()
        arguments = (connection, options.file, options.folder, options.congestion_control)
        threading.Thread(target=answer, args=arguments, daemon=True).start()


def send_datagrams(number: int, host: str, counts: dict[str, int]) -> None:
    """Send datagrams of random bytes and count unchanged echoes."""
    draw = random.Random(number)
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as sock:
        sock.settimeout(0.02)
        sent: set[bytes] = set()
        counts |= {"sent": number, "came_back": 0, "spoiled": 0}
        for step in range(number + 50):
            if step < number:
                octets = draw.randbytes(draw.randrange(1, 600))
                sent.add(octets)
                sock.sendto(octets, (host, ECHO_PORT))
            try:
                counts["came_back" if sock.recv(65536) in sent else "spoiled"] += 1
            except TimeoutError:
                if step >= number:
                    break


def client(options: argparse.Namespace) -> None:
    """Transfer a file over each of the connections wanted."""
    host = os.environ["AIRPATH_SERVER6" if options.ipv6 else "AIRPATH_SERVER"]
    counts: dict[str, int] = {}
    side = threading.Thread(target=send_datagrams, args=(options.datagrams, host, counts))
    side.start()
    took, was_reset = [], False
    port = CLOSED_PORT if options.what == "refused" else PORT
    control = options.congestion_control.encode()
    for _ in range(options.times):
        began = time.monotonic()
        with socket.create_connection((host, port), timeout=PATIENCE_S) as connection:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, control)
            if options.what == "refused":
                try:
                    connection.recv(1)
                except ConnectionResetError:
                    was_reset = True
            elif options.what == "reset":
                connection.sendall(b"G")
                connection.recv(1000)
                # Nothing is waited for: a close is a reset.
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            elif options.what == "get":
                connection.sendall(b"G")
                options.file.write_bytes(take(connection))
            else:
                connection.sendall(b"P" + options.file.read_bytes())
                connection.shutdown(socket.SHUT_WR)
                # Until the server's FIN is there: its retransmissions would be left to the kernel.
                take(connection)
        took.append(time.monotonic() - began)
    side.join()
    print(json.dumps({"took_s": took, "was_reset": was_reset, "datagrams": counts}))


def main() -> None:
    """Read the command line and do what it says."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("serve", "get", "put", "reset", "refused"))
    parser.add_argument("file", type=Path)
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--congestion-control", default="reno")
    parser.add_argument("--datagrams", type=int, default=0)
    parser.add_argument("--times", type=int, default=1)
    parser.add_argument("--ipv6", action="store_true")
    options = parser.parse_args()
    (serve if options.what == "serve" else client)(options)


if __name__ == "__main__":
    main()
