"""Exports a run's capture with comments: the number of each packet, and where and why it was dropped.

Source: draft-ietf-opsawg-pcapng (3.5 Options, 4.3 Enhanced Packet). A packet that a host sends or receives
has its number in the run in the option `epb_packetid`; that number is `packet` in the trace. The comment is
written on every record of the packet. A packet without a record, e.g. a copy made by a box, has no comment.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import IO

from airpath.errors import ExportError
from airpath.runs.export.source import Run
from airpath.runs.recorder import CAPTURE

HINT = "export a run of 'airpath run --out', or of 'airpath live' without --no-capture"
ENHANCED_PACKET = 6
END, COMMENT, PACKET_ID = 0, 1, 5
# Enhanced Packet Block: header of the block, and fields before the bytes of the packet.
BLOCK, FIELDS = struct.Struct("<II"), struct.Struct("<IIIII")
OPTION = struct.Struct("<HH")


def write_pcapng(run: Run, out: IO[bytes]) -> None:
    """Write the capture of a run with a comment on each packet that has a number.

    Raises
    ------
    ExportError
        If the run has no capture, its capture is damaged, or its drops were not recorded.
    """
    run.require(["dropped"])
    file = run.folder / CAPTURE
    if not file.is_file():
        raise ExportError(
            str(run.folder),
            f"holds no {CAPTURE}",
            "export a run of 'airpath run --out', or of 'airpath live' without --no-capture",
        )
    drops = {
        packet: f"dropped at {run.nodes[element]} after {time_ns / 1e9:.6f} s, {direction}: {reason}"
        for time_ns, _, packet, direction, element, reason in run.rows(
            ["dropped"], ("packet", "direction", "element", "reason")
        )
    }
    with file.open("rb") as capture:
        try:
            for kind, body in _blocks(capture):
                out.write(_block(kind, _commented(body, drops) if kind == ENHANCED_PACKET else body))
        except (struct.error, EOFError) as error:
            raise run.unreadable(CAPTURE, error or "it ends within a block") from error


def _blocks(capture: IO[bytes]) -> Iterator[tuple[int, bytes]]:
    """Read the blocks of a capture that a run wrote: type and body."""
    while head := capture.read(BLOCK.size):
        kind, total = BLOCK.unpack(head)
        rest = capture.read(total - BLOCK.size)
        if total < 12 or len(rest) != total - BLOCK.size:
            raise EOFError
        yield kind, rest[:-4]


def _block(kind: int, body: bytes) -> bytes:
    total = len(body) + 12
    return BLOCK.pack(kind, total) + body + struct.pack("<I", total)


def _commented(body: bytes, drops: dict[int, str]) -> bytes:
    """Put the comment in front of the options of a packet that has a number."""
    captured = FIELDS.unpack_from(body)[3]
    at = FIELDS.size + -(-captured // 4) * 4
    number = _number(body[at:])
    if number is None:
        return body
    comment = f"packet {number}" + (f", {drops[number]}" if number in drops else "")
    return body[:at] + _option(COMMENT, comment.encode()) + body[at:]


def _number(options: bytes) -> int | None:
    """The packet's number in the run, if it has one."""
    at = 0
    while at < len(options):
        code, length = OPTION.unpack_from(options, at)
        if code == PACKET_ID:
            (number,) = struct.unpack_from("<Q", options, at + OPTION.size)
            return int(number)
        if code == END:
            break
        at += OPTION.size + -(-length // 4) * 4
    return None


def _option(code: int, value: bytes) -> bytes:
    return OPTION.pack(code, len(value)) + value + bytes(-len(value) % 4)
