"""Round trips by ICMP echo, for `airpath ping`: no program but airpath is needed to measure a link.

The kernel of the other end answers each request (RFC 792; RFC 4443 section 4 for IPv6). A datagram socket for
ICMP needs no power where `net.ipv4.ping_group_range` has the group, as in the links of `airpath live`; the
kernel sets identifier and checksum. Where that is refused, as in containers whose `/proc/sys` is read-only, a
raw socket is tried.
"""

from __future__ import annotations

import os
import select
import socket
import struct
import time
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from airpath.errors import LiveError

ECHO = struct.Struct("!BBHHH")
"""Type, code, checksum, identifier, sequence number."""
MOST_COUNT = 65535
"""Requests have numbers of 16 bits, from 1."""
MOST_BYTES = 65507
"""An IPv4 packet of 65535 octets, less the headers of IP (20) and ICMP (8)."""
IN_LINK = "run it behind a link, as in: airpath live umts-384 -- airpath ping"
RAW_HEADER = {socket.AF_INET: True, socket.AF_INET6: False}
"""Whether a raw socket shows the header of IP, and leaves the checksum to us."""


class Answer(NamedTuple):
    """An answer: its sequence number, the time from request to answer, and the octets of ICMP."""

    number: int
    rtt_ms: float
    bytes: int


def other_end(environ: Mapping[str, str]) -> str:
    """Find the address of the other end of the link that this process is in.

    Raises
    ------
    LiveError
        If it is in none.
    """
    try:
        ends = (environ["AIRPATH_SERVER"], environ["AIRPATH_UE"])
    except KeyError:
        raise LiveError("HOST", "this is not behind a link", f"{IN_LINK}; or name a host") from None
    return ends[1] if _is_ours(ends[0]) else ends[0]


def _is_ours(address: str) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.bind((address, 0))
        except OSError:
            return False
    return True


class Pinger:
    """Sends echo requests to a host and hears the answers."""

    def __init__(self, host: str) -> None:
        try:
            found = socket.getaddrinfo(host, None, type=socket.SOCK_DGRAM)
        except (OSError, UnicodeError) as error:
            what = f"'{host}' has no address: {getattr(error, 'strerror', None) or error}"
            raise LiveError("HOST", what, "write an address, or a name that this machine knows") from error
        self._family = found[0][0]
        self._to: Any = found[0][4]
        self.address = str(self._to[0])
        is_v4 = self._family == socket.AF_INET
        self._request, self._answer = (8, 0) if is_v4 else (128, 129)
        self._protocol = socket.IPPROTO_ICMP if is_v4 else socket.IPPROTO_ICMPV6
        self._socket, self._is_raw = self._open()
        self._identifier = os.getpid() & 0xFFFF
        self.sent = 0
        """Number of requests so far."""
        self._waiting_ns: dict[int, int] = {}
        """When each request was sent that is not answered yet, by the monotonic clock."""

    def _open(self) -> tuple[socket.socket, bool]:
        for kind in (socket.SOCK_DGRAM, socket.SOCK_RAW):
            try:
                return socket.socket(self._family, kind, self._protocol), kind == socket.SOCK_RAW
            except OSError as error:
                refused = error
        raise LiveError("ping", f"no socket for ICMP: {refused.strerror}", IN_LINK) from refused

    def __enter__(self) -> Pinger:
        """Nothing is sent yet."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the socket."""
        self._socket.close()

    def answers(self, count: int, interval_s: float, size: int, timeout_s: float) -> Iterator[Answer]:
        """Send `count` requests of `size` octets, one each `interval_s`; give the answers as they come.

        Ends with the last answer, or `timeout_s` after the last request.

        Raises
        ------
        LiveError
            If a request cannot be sent.
        """
        begin = time.monotonic()
        while self.sent < count or self._waiting_ns:
            is_done = self.sent == count
            due = begin + ((count - 1) * interval_s + timeout_s if is_done else self.sent * interval_s)
            left = due - time.monotonic()
            if left > 0:
                if select.select([self._socket], [], [], left)[0] and (answer := self._receive()):
                    yield answer
            elif is_done:
                return
            else:
                self._send(self.sent + 1, size)

    def _send(self, number: int, size: int) -> None:
        content = bytes(at & 0xFF for at in range(size))
        packet = ECHO.pack(self._request, 0, 0, self._identifier, number) + content
        if self._is_raw and RAW_HEADER[self._family]:
            packet = packet[:2] + struct.pack("!H", _checksum(packet)) + packet[4:]
        begin_ns = time.monotonic_ns()
        try:
            self._socket.sendto(packet, self._to)
        except OSError as error:
            what = f"cannot send to {self.address}: {error.strerror or error}"
            raise LiveError("HOST", what, "name the other end of the link, or leave HOST out") from error
        self.sent = number
        self._waiting_ns[number] = begin_ns

    def _receive(self) -> Answer | None:
        """Read a packet; None if it answers none of our requests."""
        packet, source = self._socket.recvfrom(1 << 16)
        now_ns = time.monotonic_ns()
        if self._is_raw and RAW_HEADER[self._family]:
            packet = packet[4 * (packet[0] & 0xF) :]
        if len(packet) < ECHO.size or source[0] != self.address:
            return None
        kind, _, _, identifier, number = ECHO.unpack_from(packet)
        if kind != self._answer or (self._is_raw and identifier != self._identifier):
            return None
        sent_ns = self._waiting_ns.pop(number, None)
        return None if sent_ns is None else Answer(number, (now_ns - sent_ns) / 1e6, len(packet))


def _checksum(packet: bytes) -> int:
    """RFC 1071: the complement of the ones' complement sum of all words, a last odd octet padded with 0."""
    padded = packet + b"\0" * (len(packet) % 2)
    total: int = sum(struct.unpack(f"!{len(padded) // 2}H", padded))
    while total > 0xFFFF:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF
