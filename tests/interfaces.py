"""Captures of one interface, or as another place on the path would have seen the packets."""

from __future__ import annotations

import struct

ENHANCED_PACKET = 6


def blocks(content: bytes) -> list[bytes]:
    """Take a pcapng apart."""
    found, at = [], 0
    while at < len(content):
        (length,) = struct.unpack_from("<I", content, at + 4)
        found.append(content[at : at + length])
        at += length
    return found


def is_packet(block: bytes) -> bool:
    """Whether a block is a packet."""
    return struct.unpack_from("<I", block)[0] == ENHANCED_PACKET


def interface(block: bytes) -> int:
    """Number of the interface of a packet."""
    number: int = struct.unpack_from("<I", block, 8)[0]
    return number


def of_interface(content: bytes, number: int | None) -> bytes:
    """Leave out the packets of the other interfaces."""
    return b"".join(block for block in blocks(content) if not is_packet(block) or interface(block) == number)


def between(content: bytes, server: str, delay_s: float) -> bytes:
    """Shift a capture to a point so far behind the server's interface (number 0).

    Packets of `server`, an IPv4 address, pass later than at the server, packets to it earlier. Times are in
    nanoseconds. Nothing may be lost or wait in between.
    """
    address = bytes(int(part) for part in server.split("."))
    others, moved = [], []
    for block in blocks(content):
        if not is_packet(block):
            others.append(block)
        elif interface(block) == 0:
            high, low = struct.unpack_from("<II", block, 12)
            sign = 1 if block[28 + 12 : 28 + 16] == address else -1
            at = (high << 32 | low) + sign * round(delay_s * 1e9)
            moved.append((at, block[:12] + struct.pack("<II", at >> 32, at & 0xFFFFFFFF) + block[20:]))
    moved.sort(key=lambda one: one[0])
    return b"".join(others) + b"".join(block for _, block in moved)
