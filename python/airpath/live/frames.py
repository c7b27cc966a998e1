"""Frames on the socket to the driver: length (u32, little-endian), type (one letter), payload.

The length counts the payload and the letter. A chunk of trace is the length of a JSON header (u32), the
header, `{kind: {"rows": n, "columns": [[name, type], ...]}}`, and the columns one after the other: type
"u64" takes eight bytes a row, a list of words one byte, an index into the list.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from airpath.runs.trace import Events, RawColumn

LENGTH = struct.Struct("<I")


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
    """Read a chunk of trace.

    Returns
    -------
    dict of dict
        Kind -> column -> uint64 array, or (uint8 codes, words): as `Simulation.take_trace` returns them.
        The arrays are read-only views of `payload`.
    """
    (length,) = LENGTH.unpack_from(payload)
    place = LENGTH.size + length
    events: Events = {}
    for kind, table in json.loads(payload[LENGTH.size : place]).items():
        columns: dict[str, RawColumn] = {}
        for name, values in table["columns"]:
            if values == "u64":
                columns[name] = np.frombuffer(payload, "<u8", table["rows"], place)
                place += 8 * table["rows"]
            else:
                columns[name] = (np.frombuffer(payload, np.uint8, table["rows"], place), values)
                place += table["rows"]
        events[kind] = columns
    return events
