"""A TCP that does what scripts say, to port 9 of an end of a live link, and writes down what that answers.

`scripted_peer.py PLAN OUT`: PLAN has the address of the other end, a file that is there once that listens,
and scripts, each a list of steps. A step is (offset, length, fin, wait in s): a segment of the stream, or
nothing where the length is negative; then the script waits. All scripts take their steps together, each on a
connection of its own. Its address is unassigned, so that no kernel responds instead.
"""

from __future__ import annotations

import json
import socket
import struct
import sys
import time
from pathlib import Path

OURS = "10.77.0.9"
PORT, FIRST_PORT = 9, 20_000
ISS = 0xFFFF_F000
FIN, SYN, ACK = 1, 2, 16
# MSS 1460, SACK permitted, two NOPs.
OPTIONS = b"\x02\x04\x05\xb4\x04\x02\x01\x01"
PACKET_OUTGOING = 4


def checksum(octets: bytes) -> int:
    octets += bytes(len(octets) % 2)
    total = sum(struct.unpack(f"!{len(octets) // 2}H", octets))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total ^ 0xFFFF


class Connection:
    """One script's connection."""

    def __init__(self, number: int, theirs: str) -> None:
        self.port, self.theirs, self.rcv_nxt = FIRST_PORT + number, theirs, 0
        self.answers: list[dict[str, object]] = []

    def segment(self, offset: int, flags: int, payload: bytes = b"", options: bytes = b"") -> bytes:
        """A segment in its IP packet; offset 0 is the first octet behind the SYN."""
        seq = (ISS + 1 + offset) % 2**32
        head = struct.pack("!HHIIBBHHH", self.port, PORT, seq, self.rcv_nxt, 5 * 16, flags, 65_535, 0, 0)
        head = bytearray(head + options)
        head[12] = len(head) // 4 * 16
        ends = socket.inet_aton(OURS) + socket.inet_aton(self.theirs)
        pseudo = ends + struct.pack("!HH", 6, len(head) + len(payload))
        head[16:18] = checksum(pseudo + bytes(head) + payload).to_bytes(2, "big")
        total = 20 + len(head) + len(payload)
        ip = struct.pack("!BBHHHBBH", 0x45, 0, total, 0, 0, 64, 6, 0) + ends
        return ip[:10] + checksum(ip).to_bytes(2, "big") + ip[12:] + bytes(head) + payload

    def take(self, packet: bytes) -> None:
        """Note what an answer says."""
        seq, ack, offset, flags, window = struct.unpack_from("!IIBBH", packet, 24)
        if flags & SYN:
            self.rcv_nxt = (seq + 1) % 2**32
        relative = (ack - ISS - 1) % 2**32
        blocks, at = [], 40
        while at < 20 + offset // 16 * 4:
            kind = packet[at]
            if kind < 2:
                at += 1
                continue
            if kind == 5:
                edges = struct.unpack_from(f"!{(packet[at + 1] - 2) // 4}I", packet, at + 2)
                own = [(edge - ISS - 1) % 2**32 for edge in edges]
                blocks = list(zip(own[::2], own[1::2], strict=True))
            at += packet[at + 1]
        self.answers.append({"ack": relative, "blocks": blocks, "flags": flags, "window": window})


def main() -> None:
    plan = json.loads(Path(sys.argv[1]).read_text())
    out = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)
    came = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(0x0800))
    came.settimeout(0.001)
    connections = [Connection(number, plan["theirs"]) for number in range(len(plan["scripts"]))]

    def listen(until: float) -> None:
        while time.monotonic() < until:
            try:
                packet, (_, _, kind, *_) = came.recvfrom(2048)
            except TimeoutError:
                continue
            number = int.from_bytes(packet[22:24], "big") - FIRST_PORT
            if kind != PACKET_OUTGOING and packet[9] == 6 and 0 <= number < len(connections):
                connections[number].take(packet)

    def send(packets: list[bytes]) -> None:
        for packet in packets:
            out.sendto(packet, (plan["theirs"], 0))
            listen(time.monotonic() + 0.001)

    while not Path(plan["ready"]).exists():
        time.sleep(0.1)
    send([one.segment(-1, SYN, options=OPTIONS) for one in connections])
    listen(time.monotonic() + 0.3)
    send([one.segment(0, ACK) for one in connections])
    listen(time.monotonic() + 0.1)
    told: list[list[list[dict[str, object]]]] = [[] for _ in connections]
    for number in range(max(map(len, plan["scripts"]))):
        packets, wait = [], 0.0
        for one, steps in zip(connections, plan["scripts"], strict=True):
            one.answers = []
            if number < len(steps):
                offset, length, fin, pause = steps[number]
                wait = max(wait, pause)
                if length >= 0:
                    octets = bytes(at % 251 for at in range(offset, offset + length))
                    packets.append(one.segment(offset, ACK | FIN * fin, octets))
        send(packets)
        listen(time.monotonic() + wait)
        for one, own in zip(connections, told, strict=True):
            own.append(one.answers)
    Path(sys.argv[2]).write_text(json.dumps(told))


if __name__ == "__main__":
    main()
