"""The packets in the capture of a live run, octet by octet, and what became of each between the two ends.

Reads pcapng by itself and sums checksums up by itself, so that it does not rest on what it is to judge.
"""

from __future__ import annotations

import struct
from collections import defaultdict, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

FIN, SYN, RST, PSH, ACK, ECE, AE = 0x01, 0x02, 0x04, 0x08, 0x10, 0x40, 0x100
TCP, UDP = 6, 17
END, NOP, MSS, WINDOW_SCALE, SACK, TIMESTAMPS = 0, 1, 2, 3, 5, 8
SERVER = {bytes([10, 77, 0, 1]), bytes.fromhex("fd616972706100000000000000000001")}


@dataclass(frozen=True)
class Captured:
    """An IP packet as it passed one end of the link.

    Attributes
    ----------
    end : str
        "server" or "ue".
    at_s : float
        When, in seconds.
    octets : bytes
        All of it, from the IP header on.
    """

    end: str
    at_s: float
    octets: bytes

    @property
    def is_v4(self) -> bool:
        """Whether it is IPv4; otherwise it is IPv6."""
        return self.octets[0] >> 4 == 4

    @cached_property
    def tcp_at(self) -> int:
        """Where TCP begins."""
        return 4 * (self.octets[0] & 15) if self.is_v4 else 40

    @property
    def protocol(self) -> int:
        """The protocol above IP."""
        return self.octets[9] if self.is_v4 else self.octets[6]

    @cached_property
    def addresses(self) -> tuple[bytes, bytes]:
        """Source and destination."""
        return (
            (self.octets[12:16], self.octets[16:20])
            if self.is_v4
            else (self.octets[8:24], self.octets[24:40])
        )

    @property
    def is_downlink(self) -> bool:
        """Whether the server sent it."""
        return self.addresses[0] in SERVER

    @property
    def is_tcp(self) -> bool:
        """Whether it is TCP."""
        return self.protocol == TCP

    @property
    def ports(self) -> tuple[int, int]:
        """Ports of source and destination."""
        found: tuple[int, int] = struct.unpack_from("!HH", self.octets, self.tcp_at)
        return found

    @property
    def connection(self) -> tuple[bytes, int, int]:
        """A key shared by both directions of a connection: an address of the server, and both ports."""
        (source, sink), (here, there) = self.addresses, self.ports
        return (source, here, there) if self.is_downlink else (sink, there, here)

    def _word(self, at: int) -> int:
        return int.from_bytes(self.octets[self.tcp_at + at : self.tcp_at + at + 4])

    @property
    def seq(self) -> int:
        """Sequence number."""
        return self._word(4)

    @property
    def ack(self) -> int:
        """Acknowledgment number."""
        return self._word(8)

    @property
    def flags(self) -> int:
        """The nine flags."""
        return (self.octets[self.tcp_at + 12] & 1) << 8 | self.octets[self.tcp_at + 13]

    @property
    def window(self) -> int:
        """The window field."""
        return int.from_bytes(self.octets[self.tcp_at + 14 : self.tcp_at + 16])

    @property
    def header_end(self) -> int:
        """Where the payload of TCP begins."""
        return self.tcp_at + 4 * (self.octets[self.tcp_at + 12] >> 4)

    @property
    def payload(self) -> bytes:
        """What TCP carries."""
        return self.octets[self.header_end :]

    @property
    def end_seq(self) -> int:
        """The number behind its payload."""
        return (self.seq + len(self.payload)) % 2**32

    @property
    def is_data(self) -> bool:
        """Whether it carries data."""
        return self.is_tcp and len(self.payload) > 0

    @property
    def is_pure_ack(self) -> bool:
        """Whether it acknowledges and does nothing else."""
        return self.is_tcp and not self.payload and self.flags & (ACK | SYN | FIN | RST) == ACK

    def options(self) -> Iterator[tuple[int, int, bytes]]:
        """Kind, place and value of each option of TCP."""
        at = self.tcp_at + 20
        while at < self.header_end and (kind := self.octets[at]) != END:
            length = 1 if kind == NOP else self.octets[at + 1]
            yield kind, at, self.octets[at + 2 : at + length]
            at += length

    @property
    def sack(self) -> list[tuple[int, int]]:
        """Blocks of the SACK option."""
        for kind, _, value in self.options():
            if kind == SACK:
                words = struct.unpack(f"!{len(value) // 4}I", value)
                return list(zip(words[::2], words[1::2], strict=True))
        return []

    def has_right_checksums(self) -> bool:
        """Whether IPv4's checksum is right, and that of TCP or UDP if it is one."""
        if self.is_v4 and _sum(self.octets[: self.tcp_at]) != 0xFFFF:
            return False
        if self.protocol not in (TCP, UDP):
            return True
        segment = self.octets[self.tcp_at :]
        pseudo = b"".join(self.addresses) + struct.pack("!II", len(segment), self.protocol)
        return _sum(pseudo + segment) == 0xFFFF


def _sum(octets: bytes) -> int:
    """Sum up as RFC 1071 does."""
    padded = octets + bytes(len(octets) % 2)
    total = sum(struct.unpack(f"!{len(padded) // 2}H", padded))
    while total > 0xFFFF:
        total = (total & 0xFFFF) + (total >> 16)
    return total


def read(file: Path) -> list[Captured]:
    """Read all packets at both ends, in the order in which they passed."""
    data, at, names, found = file.read_bytes(), 0, [], []
    while at < len(data):
        kind, length = struct.unpack_from("<II", data, at)
        body = data[at + 8 : at + length - 4]
        if kind == 1:  # Interface Description Block: the name is its first option.
            code, size = struct.unpack_from("<HH", body, 8)
            assert code == 2, "an interface without name"
            names.append(body[12 : 12 + size].decode())
        elif kind == 6:  # Enhanced Packet Block, in nanoseconds.
            interface, high, low, kept, whole = struct.unpack_from("<IIIII", body)
            assert kept == whole, "the capture has no whole packets: raise --snaplen"
            found.append(Captured(names[interface], (high << 32 | low) / 1e9, body[20 : 20 + kept]))
        at += length
    return found


# Blanks the fields of a packet that a middlebox may rewrite.
Blank = Callable[[Captured], bytes]


def nothing(packet: Captured) -> bytes:
    """A box that delays or drops."""
    return packet.octets


def _blank(packet: Captured, *fields: tuple[int, bytes]) -> bytes:
    octets = bytearray(packet.octets)
    for at, mask in (*fields, (packet.tcp_at + 16, b"\0\0")):
        for number, keep in enumerate(mask):
            octets[at + number] &= keep
    return bytes(octets)


def radio_flag(packet: Captured) -> bytes:
    """A box that marks ACKs: bit 0x100, with the checksum."""
    return _blank(packet, (packet.tcp_at + 12, b"\xfe")) if packet.is_pure_ack else packet.octets


def ack_and_window(packet: Captured) -> bytes:
    """A box that freezes senders: acknowledgment number and window of what acknowledges data."""
    if not packet.is_tcp or packet.flags & (ACK | SYN | RST) != ACK:
        return packet.octets
    return _blank(packet, (packet.tcp_at + 8, bytes(4)), (packet.tcp_at + 14, bytes(2)))


def window(packet: Captured) -> bytes:
    """A box that writes smaller windows."""
    if not packet.is_tcp or not packet.flags & (ACK | SYN):
        return packet.octets
    return _blank(packet, (packet.tcp_at + 14, bytes(2)))


def sack_blocks(packet: Captured) -> bytes:
    """A box that takes SACK blocks out of ACKs: NOPs take their place."""
    if not packet.is_pure_ack:
        return packet.octets
    octets = bytearray(_blank(packet))
    for kind, at, value in packet.options():
        if kind == SACK:
            octets[at : at + 2 + len(value)] = bytes([NOP]) * (2 + len(value))
    return bytes(octets)


@dataclass
class Passage:
    """What became of the packets that one end sent.

    Attributes
    ----------
    as_sent : int
        Packets that arrived octet by octet as they were sent.
    changed : list of (Captured, Captured)
        Packets that differ in fields that the middlebox may rewrite: as sent, as received.
    lost : list of Captured
        Packets that never arrived.
    made : list of Captured
        Packets that arrived but were not sent, or not as often.
    overtaken : int
        Packets that arrived before one of their connection that had been sent earlier.
    """

    as_sent: int
    changed: list[tuple[Captured, Captured]]
    lost: list[Captured]
    made: list[Captured]
    overtaken: int


def passage(packets: list[Captured], downlink: bool, may_write: Blank = nothing) -> Passage:
    """Match each packet that arrived to a sent one, ignoring fields that a middlebox may rewrite."""
    source, sink = ("server", "ue") if downlink else ("ue", "server")
    mine = [packet for packet in packets if packet.is_downlink == downlink]
    sent: dict[bytes, deque[tuple[int, Captured]]] = defaultdict(deque)
    for number, packet in enumerate(mine):
        if packet.end == source:
            sent[may_write(packet)].append((number, packet))
    found = Passage(0, [], [], [], 0)
    latest: defaultdict[object, int] = defaultdict(lambda: -1)
    for packet in mine:
        if packet.end != sink:
            continue
        flow = packet.connection if packet.is_tcp else packet.protocol
        waiting = sent[may_write(packet)]
        # Among identical packets, one that preserves the order.
        chosen = next((one for one in waiting if one[0] > latest[flow]), waiting[0] if waiting else None)
        if chosen is None:
            found.made.append(packet)
            continue
        waiting.remove(chosen)
        number, before = chosen
        if before.octets == packet.octets:
            found.as_sent += 1
        else:
            found.changed.append((before, packet))
        found.overtaken += number < latest[flow]
        latest[flow] = max(latest[flow], number)
    found.lost = [packet for waiting in sent.values() for _, packet in waiting]
    return found
