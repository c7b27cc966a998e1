"""Packets of `airpath record`: a header of 48 octets in UDP, big-endian, and padding."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from enum import IntEnum

MAGIC = 0x41505243  # "APRC"
VERSION = 1
HEADER = struct.Struct(">IBBHQQQQQ")
REPORT = struct.Struct(">QQ")
IP_BYTES = 1500
"""Size of data and trains at IP level: an opportunity."""
IP_UDP_BYTES = 28
PADDED = IP_BYTES - IP_UDP_BYTES
"""Octets of a packet of data in UDP over IPv4; over IPv6 its IP packet has 20 more."""


class Kind(IntEnum):
    """What a packet is."""

    DATA = 1
    """Fills the link."""
    REPORT = 2
    """What the receiver of data has seen."""
    TRAIN = 3
    """One of a few packets back to back into an idle direction."""
    CLOCK = 4
    """Asks for the other end's clock; the answer has `seen_ns`."""
    CLOCK_ANSWER = 5
    HELLO = 6
    """Says from which address a session sends; the answer is the same."""


@dataclass(frozen=True)
class Packet:
    """A packet.

    Parameters
    ----------
    kind : Kind
    session : int
        Random number that the server gave over TCP; packets of others are ignored.
    seq : int
        Number within its kind, from 0.
    sent_ns : int
        Clock of the sender.
    seen_seq, seen_ns : int
        Of a report: the highest number seen, and when, by the receiver's clock. Of a clock's answer: the
        number and time of arrival of what it answers. Of a train: its number in `seen_seq`.
    stream : int
        Phase of the recording.
    count, data_sent_ns : int
        Of a report: packets of data received so far, and when the one with the highest number was sent.
    """

    kind: Kind
    session: int
    seq: int
    sent_ns: int
    seen_seq: int = 0
    seen_ns: int = 0
    stream: int = 0
    count: int = 0
    data_sent_ns: int = 0

    def octets(self) -> bytes:
        """Write the packet."""
        head = HEADER.pack(
            *(MAGIC, VERSION, self.kind, self.stream, self.session),
            *(self.seq, self.sent_ns, self.seen_seq, self.seen_ns),
        )
        if self.kind == Kind.REPORT:
            return head + REPORT.pack(self.count, self.data_sent_ns)
        return head.ljust(PADDED, b"\0") if self.kind in (Kind.DATA, Kind.TRAIN) else head


def parse(octets: bytes) -> Packet | None:
    """Read a packet; None of anything else."""
    if len(octets) < HEADER.size:
        return None
    magic, version, kind, stream, session, seq, sent_ns, seen_seq, seen_ns = HEADER.unpack_from(octets)
    if magic != MAGIC or version != VERSION or kind not in Kind.__members__.values():
        return None
    count = data_sent_ns = 0
    if kind == Kind.REPORT:
        if len(octets) < HEADER.size + REPORT.size:
            return None
        count, data_sent_ns = REPORT.unpack_from(octets, HEADER.size)
    return Packet(Kind(kind), session, seq, sent_ns, seen_seq, seen_ns, stream, count, data_sent_ns)
