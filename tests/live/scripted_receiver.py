"""A receiver that acknowledges what scripts say, and writes down what the sender at the other end sends.

`scripted_receiver.py PLAN OUT`: PLAN has the address and port of the sender, a file that is there once that
listens, the MSS and the first window in segments of it, whether SACK is offered, and scripts, each a list of
steps. A step is executed at once; packets received until the next one, `STEP_S` later, are the response. Each
script has its own connection and pace:

* `["ack", n]` acknowledges n segments more;
* `["sack", i, n]` reports n segments that start i segments beyond the ACK number;
* `["dup"]` repeats the last ACK, `["old", n]` the one n before it;
* `["window", n]` offers n segments from here on, and never takes back what was offered;
* `["silence"]` waits for what the sender does on its own, and not for ever.

Segments are those of the MSS. What has not been sent is never acknowledged.
"""

from __future__ import annotations

import json
import socket
import struct
import sys
import time
from pathlib import Path
from typing import Any

from scripted_peer import ACK, ISS, OPTIONS, OURS, PACKET_OUTGOING, SYN, checksum

RST = 4
FIRST_PORT = 20_000
STEP_S, APART_S, SILENCE_S = 0.12, 0.01, 15.0


class Connection:
    """One script's connection."""

    def __init__(self, number: int, plan: dict[str, Any]) -> None:
        self.port, self.plan, self.mss = FIRST_PORT + number, plan, plan["mss"]
        self.left = list(plan["scripts"][number])
        self.irs: int | None = None
        self.una = self.high = 0
        self.edge = plan["window"] * self.mss
        self.window = self.edge
        self.blocks: list[tuple[int, int]] = []
        self.acks: list[bytes] = []
        self.told: list[list[tuple[int, int]]] = []
        self.is_silent = False
        self.next_s = time.monotonic() + number * APART_S

    def packet(self, flags: int, seq: int, ack: int, window: int, options: bytes = b"") -> bytes:
        head = bytearray(
            struct.pack("!HHIIBBHHH", self.port, self.plan["port"], seq, ack, 0, flags, window, 0, 0)
            + options
        )
        head[12] = len(head) // 4 * 16
        ends = socket.inet_aton(OURS) + socket.inet_aton(self.plan["theirs"])
        head[16:18] = checksum(ends + struct.pack("!HH", 6, len(head)) + bytes(head)).to_bytes(2, "big")
        ip = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(head), 0, 0, 64, 6, 0) + ends
        return ip[:10] + checksum(ip).to_bytes(2, "big") + ip[12:] + bytes(head)

    def acknowledge(self) -> bytes:
        """An ACK of what has come, the newest blocks first."""
        assert self.irs is not None
        options = b""
        if self.plan["sack"] and self.blocks:
            edges = [edge for block in self.blocks[:3] for edge in block]
            wire = [(self.irs + 1 + edge) % 2**32 for edge in edges]
            options = struct.pack(f"!BBBB{len(wire)}I", 1, 1, 5, 2 + 4 * len(wire), *wire)
        self.edge = max(self.edge, self.una + self.window)
        ack = (self.irs + 1 + self.una) % 2**32
        self.acks.append(self.packet(ACK, (ISS + 1) % 2**32, ack, self.edge - self.una, options))
        return self.acks[-1]

    def advance(self, to: int) -> None:
        """Everything up to here has arrived, and the data that follows without a gap."""
        self.una = max(self.una, to)
        for start, end in sorted(self.blocks):
            if start <= self.una:
                self.una = max(self.una, end)
        self.blocks = [block for block in self.blocks if block[0] > self.una]

    def sack(self, start: int, end: int) -> None:
        """These octets have come."""
        for other in [block for block in self.blocks if block[0] <= end and start <= block[1]]:
            self.blocks.remove(other)
            start, end = min(start, other[0]), max(end, other[1])
        self.blocks.insert(0, (start, end))

    def step(self, now_s: float) -> bytes | None:
        """The packet to send now, if any; the script is over once `next_s` is infinite."""
        self.next_s = now_s + STEP_S
        self.is_silent = False
        if self.irs is None:
            options = OPTIONS[:2] + self.mss.to_bytes(2, "big") + (OPTIONS[4:] if self.plan["sack"] else b"")
            self.next_s = now_s + 1
            return self.packet(SYN, ISS, 0, 65_535, options)
        if not self.told:
            # The minimum RTT, which no retransmission undercuts by chance.
            self.next_s, self.is_silent = now_s + SILENCE_S, True
            self.told.append([])
            return self.acknowledge()
        if not self.left:
            self.next_s = float("inf")
            return self.packet(RST | ACK, (ISS + 1) % 2**32, (self.irs + 1 + self.una) % 2**32, 0)
        kind, *numbers = self.left.pop(0)
        self.told.append([])
        match kind, numbers:
            case "silence", []:
                self.next_s, self.is_silent = now_s + SILENCE_S, True
                return None
            case "dup", []:
                return self.acks[-1]
            case "old", [back]:
                return self.acks[max(0, len(self.acks) - 1 - back)]
            case "ack", [more]:
                self.advance(min(self.high, self.una + more * self.mss))
            case "window", [segments]:
                self.window = segments * self.mss
            case "sack", [behind, count]:
                start = self.una + behind * self.mss
                end = min(self.high, start + count * self.mss)
                if start < end:
                    self.sack(start, end)
        return self.acknowledge()

    def take(self, segment: bytes) -> bytes | None:
        """Record a segment; return the response, if it is a SYN."""
        seq, _, offset, flags, _ = struct.unpack_from("!IIBBH", segment, 4)
        length = len(segment) - offset // 16 * 4
        if flags & SYN:
            if self.irs is not None:
                return None
            self.irs = seq
            self.next_s = time.monotonic() + STEP_S / 2
            return None
        if self.irs is None or not length:
            return None
        start = (seq - self.irs - 1) % 2**32
        self.high = max(self.high, start + length)
        # The link hands over several at once where it is late.
        for at in range(start, start + length, self.mss):
            self.told[-1].append((at, min(self.mss, start + length - at)))
        if self.is_silent:
            self.is_silent = False
            self.next_s = time.monotonic() + (STEP_S if len(self.told) > 1 else STEP_S / 2)
        return None


def main() -> None:
    plan = json.loads(Path(sys.argv[1]).read_text())
    out = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)
    came = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(0x0800))
    came.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
    while not Path(plan["ready"]).exists():
        time.sleep(0.05)
    connections = [Connection(number, plan) for number in range(len(plan["scripts"]))]

    def send(packet: bytes | None) -> None:
        if packet:
            out.sendto(packet, (plan["theirs"], 0))

    while (due_s := min(one.next_s for one in connections)) < float("inf"):
        now_s = time.monotonic()
        if due_s <= now_s:
            for one in connections:
                if one.next_s <= now_s:
                    send(one.step(now_s))
            continue
        came.settimeout(due_s - now_s)
        try:
            packet, (_, _, kind, *_) = came.recvfrom(65_536)
        except TimeoutError:
            continue
        total = int.from_bytes(packet[2:4], "big")
        number = int.from_bytes(packet[22:24], "big") - FIRST_PORT
        if kind != PACKET_OUTGOING and packet[9] == 6 and 0 <= number < len(connections):
            send(connections[number].take(packet[20:total]))
    Path(sys.argv[2]).write_text(json.dumps([one.told for one in connections]))


if __name__ == "__main__":
    main()
