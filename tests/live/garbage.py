"""Sends garbage into a link, from the namespace that it runs in.

    python garbage.py PACKETS PER_SECOND SEED [KIND...]

KINDs are the keys of `MAKERS`, each a classification of a packet by the standards; all if none is named.
PACKETS may be 0: until SIGTERM. Prints as JSON how many of each kind were sent, and how many the
kernel did not let us send.
"""

from __future__ import annotations

import json
import random
import signal
import socket
import struct
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

INTERFACE, MTU = "airpath0", 1500
ETH_P_IP, ETH_P_IPV6 = 0x0800, 0x86DD
ICMP, TCP, UDP, ESP, AH, ICMPV6 = 1, 6, 17, 50, 51, 58
HOP_BY_HOP, ROUTING, FRAGMENT, DESTINATION = 0, 43, 44, 60
# Protocols that are unused here, or unassigned.
UNKNOWN = (2, 4, 41, 47, 89, 132, 140, 200, 253, 254)
# Addresses of both ends.
IPV4 = [bytes([10, 77, 0, end]) for end in (1, 2)]
IPV6 = [bytes.fromhex("fd616972706100000000000000000000")[:15] + bytes([end]) for end in (1, 2)]
# Maximum packets queued in the kernel before waiting.
MOST_WAITING = 500

rng = random.Random()


def ipv4(protocol: int, payload: bytes, *, total: int | None = None, words: int = 5, flags: int = 0) -> bytes:
    """A packet of IPv4 with a right checksum."""
    source, destination = rng.sample(IPV4, 2)
    options = rng.randbytes(4 * (words - 5)) if words > 5 else b""
    length = 20 + len(options) + len(payload) if total is None else total
    head = struct.pack(">BBHHHBBH", 0x40 | words, 0, length, rng.getrandbits(16), flags, 64, protocol, 0)
    head += source + destination
    check = checksum(head + options)
    return head[:10] + struct.pack(">H", check) + head[12:] + options + payload


def ipv6(following: int, payload: bytes, *, length: int | None = None) -> bytes:
    """A packet of IPv6."""
    source, destination = rng.sample(IPV6, 2)
    claimed = len(payload) if length is None else length
    return struct.pack(">IHBB", 0x60000000, claimed, following, 64) + source + destination + payload


def checksum(words: bytes) -> int:
    """RFC 1071."""
    total = sum(struct.unpack(f">{len(words) // 2}H", words))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def some_bytes(least: int = 0, most: int = 200) -> bytes:
    """Random bytes, now and then nearly as many as fit behind all headers."""
    size = MTU - 120 if rng.random() < 0.05 else rng.randint(least, most)
    return rng.randbytes(size)


def either(protocol: int, payload: bytes) -> bytes:
    """A packet of either version of IP, that of version 6 perhaps with extension headers."""
    if rng.random() < 0.5:
        return ipv4(protocol, payload, words=rng.choice((5, 5, 6, 15)))
    following, extensions = extended(protocol)
    return ipv6(following, extensions + payload)


def extended(protocol: int) -> tuple[int, bytes]:
    """Extension headers that can be skipped, before a protocol."""
    following, headers = protocol, b""
    for _ in range(rng.choice((0, 0, 1, 3))):
        headers = bytes([following, 0, 1, 4, 0, 0, 0, 0]) + headers
        following = rng.choice((HOP_BY_HOP, ROUTING, DESTINATION))
    return following, headers


def other_protocol() -> bytes:
    """UDP, ICMP and unknown protocols; checksums are mostly wrong."""
    kind = rng.random()
    if kind < 0.4:
        payload = some_bytes()
        length = rng.choice((8 + len(payload), rng.getrandbits(16)))
        # Ports below 1024: no program listens there.
        ports = (rng.randrange(1024), rng.randrange(1024))
        return either(UDP, struct.pack(">HHHH", *ports, length, rng.getrandbits(16)) + payload)
    if kind < 0.6:
        return either(rng.choice((ICMP, ICMPV6)), some_bytes())
    return either(rng.choice(UNKNOWN), some_bytes())


def encrypted() -> bytes:
    """ESP and AH."""
    return either(rng.choice((ESP, AH)), some_bytes())


def fragment() -> bytes:
    """First, middle and last fragments of packets that never become whole."""
    if rng.random() < 0.5:
        flags = rng.choice((0x2000, 0x2000 | rng.randrange(1, 0x1FFF), rng.randrange(1, 0x1FFF)))
        return ipv4(rng.choice((TCP, UDP, ESP)), some_bytes(), flags=flags)
    head = struct.pack(">BBHI", rng.choice((TCP, UDP)), 0, rng.getrandbits(16), rng.getrandbits(32))
    following, extensions = extended(FRAGMENT)
    return ipv6(following, extensions + head + some_bytes())


def malformed() -> bytes:
    """Headers that contradict themselves or the packet that they head."""
    payload = some_bytes(20)
    return rng.choice(
        (
            lambda: ipv4(UDP, payload, total=20 + len(payload) + rng.randint(1, 5000)),
            lambda: ipv4(UDP, payload, total=rng.randrange(20)),
            lambda: ipv4(UDP, payload, words=rng.randrange(5)),
            lambda: ipv4(TCP, payload)[: rng.randrange(1, 20)],
            lambda: ipv6(UDP, payload, length=len(payload) + rng.randint(1, 5000)),
            lambda: ipv6(UDP, payload)[: rng.randrange(1, 40)],
            # An extension header longer than the packet.
            lambda: ipv6(HOP_BY_HOP, bytes([UDP, 255]) + rng.randbytes(30)),
            lambda: ipv6(FRAGMENT, rng.randbytes(7)),
            # TCP headers shorter than any, and longer than the packet.
            lambda: either(TCP, segment(words=rng.randrange(5))),
            lambda: either(TCP, segment(words=15)),
            lambda: either(TCP, rng.randbytes(19)),
            # Options of no length, of length one and beyond their end.
            lambda: either(
                TCP, segment(words=6, rest=bytes([rng.choice((3, 8, 99)), rng.choice((0, 1, 9))]))
            ),
        )
    )()


def no_version() -> bytes:
    """What is neither version of IP: the kernel does not take it from a TUN device."""
    first = rng.choice([version for version in range(16) if version not in (4, 6)]) << 4
    return bytes([first | rng.getrandbits(4)]) + some_bytes()


def segment(*, words: int, rest: bytes = b"") -> bytes:
    """A TCP header between ports without listener, without data."""
    ports = (rng.randrange(1024), rng.randrange(1024))
    numbers = (rng.getrandbits(32), rng.getrandbits(32))
    head = struct.pack(
        ">HHIIBBHHH", *ports, *numbers, words << 4, rng.getrandbits(8), 1000, rng.getrandbits(16), 0
    )
    return head + rest.ljust(4 if words == 6 else 0, b"\0")


def tcp() -> bytes:
    """Segments of connections that there are not, with any flags."""
    return either(TCP, segment(words=5) + some_bytes())


def fuzzed() -> bytes:
    """Any of the others with some bytes changed, or something at random. Never of a port that is in use."""
    packet = bytearray(rng.choice((other_protocol, encrypted, fragment, malformed, tcp))())
    for _ in range(rng.randint(1, 8)):
        # Not where ports may be: nothing shall reach a connection of others by chance.
        packet[rng.randrange(min(len(packet), 20))] = rng.getrandbits(8)
    return bytes(packet) if rng.random() < 0.8 else rng.randbytes(rng.randint(1, MTU))


def largest() -> bytes:
    """As long as the device lets pass, to the byte."""
    return rng.choice((ipv4(UDP, bytes(MTU - 20)), ipv6(UNKNOWN[-1], bytes(MTU - 40))))


MAKERS: dict[str, Callable[[], bytes]] = {
    "other_protocol": other_protocol,
    "encrypted": encrypted,
    "fragment": fragment,
    "malformed": malformed,
    "no_version": no_version,
    "tcp": tcp,
    "fuzzed": fuzzed,
    "largest": largest,
    "nothing": lambda: b"",
    "too_long": lambda: ipv4(UDP, bytes(MTU - 19)),
}


class Pace:
    """Waits so that packets neither exceed the requested rate nor are dropped by a full device."""

    def __init__(self, per_second: float) -> None:
        self._per_second, self._sent = per_second, 0
        self._start = time.monotonic()
        self._taken_before = taken()

    def wait(self) -> None:
        """Wait until the next packet may be sent."""
        self._sent += 1
        if self._sent % 50 == 0:
            while self._sent - (taken() - self._taken_before) > MOST_WAITING:
                time.sleep(0.001)
        if (early := self._start + self._sent / self._per_second - time.monotonic()) > 0.001:
            time.sleep(early)


def taken() -> int:
    """Packets that have left the device, or were dropped there."""
    line = next(line for line in Path("/proc/self/net/dev").read_text().splitlines() if INTERFACE in line)
    columns = line.partition(":")[2].split()
    return int(columns[9]) + int(columns[11])


def main() -> None:
    """Send."""
    packets, per_second, seed = int(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3])
    kinds = sys.argv[4:] or list(MAKERS)
    rng.seed(seed)
    counts, refused = Counter[str](), Counter[str]()
    stopped = []
    signal.signal(signal.SIGTERM, lambda *_: stopped.append(True))
    pace = Pace(per_second)
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as raw:
        while not stopped and (not packets or counts.total() + refused.total() < packets):
            kind = rng.choice(kinds)
            packet = MAKERS[kind]()
            protocol = ETH_P_IPV6 if packet[:1] >= b"\x60" else ETH_P_IP
            try:
                raw.sendto(packet, (INTERFACE, protocol))
            except OSError:
                refused[kind] += 1
            else:
                counts[kind] += 1
                pace.wait()
    print(json.dumps({"sent": counts, "refused": refused}))


if __name__ == "__main__":
    main()
