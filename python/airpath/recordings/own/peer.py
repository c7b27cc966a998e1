"""One end of a recording while a phase runs: sends data or trains, logs what arrives, and reports it."""

from __future__ import annotations

import contextlib
import select
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from airpath.recordings.own.packets import IP_BYTES, Kind, Packet, parse
from airpath.recordings.own.saturator import Saturator

REPORT_S = 0.01
CLOCK_S = 1.0
QUIET_S = 0.3
"""A phase begins without data and trains: packets that ask for the clock then wait in no queue."""
QUIET_CLOCK_S = 0.02
"""Time between two questions while this end sends nothing else."""
CHECK_S = 1.0
"""How often an end looks whether the other one is still there."""
TRAIN_S = 0.5
TRAIN_PACKETS = 10
BURST = 32
"""Packets that are sent at most before arrivals are looked at."""
DRAIN_S = 1.0
"""How long a phase lasts after its sender stopped, and after the last packet of data."""
LONGEST_DRAIN_S = 10.0
"""How long it lasts after its sender stopped at most."""
BUFFER_BYTES = 4_000_000
IDLE_S = 0.005


@dataclass
class Log:
    """What an end saw in a phase; times in nanoseconds of its own clock.

    Parameters
    ----------
    data : list of (int, int, int)
        Number, time of sending by the other clock, time of arrival, of each packet of data.
    trains : list of (int, int, int, int)
        Train, number in it, time of sending, time of arrival.
    clocks : list of (int, int, int)
        Time of a question, of its arrival by the other clock, of the answer's arrival.
    sent, trains_sent : int
        Packets of data, and of trains, that this end sent.
    is_cut : bool
        Whether the volume came to its limit.
    """

    data: list[tuple[int, int, int]] = field(default_factory=list)
    trains: list[tuple[int, int, int, int]] = field(default_factory=list)
    clocks: list[tuple[int, int, int]] = field(default_factory=list)
    sent: int = 0
    trains_sent: int = 0
    is_cut: bool = False


@dataclass
class Phase:
    """A part of a recording, as one end has it.

    Parameters
    ----------
    number : int
    seconds : float
    sends_data, sends_trains : bool
        What this end does.
    most_packets : int
        Data it may send.
    """

    number: int
    seconds: float
    sends_data: bool
    sends_trains: bool
    most_packets: int


class Peer:
    """One end of a session: a UDP socket, and the address of the other end once that is known."""

    def __init__(
        self, sock: socket.socket, session: int, address: tuple[str, int] | None, asks_clock: bool
    ) -> None:
        self.socket, self.session, self.address = sock, session, address
        self.asks_clock = asks_clock
        sock.setblocking(False)
        for option in (socket.SO_SNDBUF, socket.SO_RCVBUF):
            sock.setsockopt(socket.SOL_SOCKET, option, BUFFER_BYTES)

    def send(self, kind: Kind, seq: int, **more: int) -> bool:
        """Send a packet; returns whether the socket took it."""
        packet = Packet(kind, self.session, seq, time.monotonic_ns(), **more)
        if self.address is None:
            return False
        with contextlib.suppress(OSError):  # A full buffer, or an ICMP error of an earlier packet.
            self.socket.sendto(packet.octets(), self.address)
            return True
        return False

    def receive(self, handle: Callable[[Packet, int], None], wait_s: float) -> None:
        """Wait for packets of the session, and handle those that are there."""
        if not select.select([self.socket], [], [], max(0.0, wait_s))[0]:
            return
        for _ in range(10 * BURST):
            try:
                octets, address = self.socket.recvfrom(2048)
            except BlockingIOError:
                return
            except OSError:
                continue
            seen_ns = time.monotonic_ns()
            packet = parse(octets)
            if packet is not None and packet.session == self.session:
                if packet.kind == Kind.HELLO:
                    self.address = address
                handle(packet, seen_ns)

    def run(self, phase: Phase, check: Callable[[], None]) -> Log:
        """Run a phase to its end; `check` raises if the other end is gone."""
        log, saturator = Log(), Saturator()
        highest = (-1, 0, 0)
        reported = -1
        clock_s = report_s = check_s = arrived_s = start_s = time.monotonic()
        begin_s, end_s = start_s + QUIET_S, start_s + phase.seconds
        train_s = begin_s

        def handle(packet: Packet, seen_ns: int) -> None:
            nonlocal highest, arrived_s
            if packet.kind == Kind.HELLO or packet.stream != phase.number:
                return
            if packet.kind == Kind.DATA:
                arrived_s = seen_ns / 1e9
                log.data.append((packet.seq, packet.sent_ns, seen_ns))
                highest = max(highest, (packet.seq, packet.sent_ns, seen_ns))
            elif packet.kind == Kind.TRAIN:
                log.trains.append((packet.seen_seq, packet.seq, packet.sent_ns, seen_ns))
            elif packet.kind == Kind.REPORT:
                delay_s = (packet.seen_ns - packet.data_sent_ns) / 1e9
                saturator.on_report(seen_ns / 1e9, packet.seen_seq, packet.count, delay_s)
            elif packet.kind == Kind.CLOCK:
                self.send(Kind.CLOCK_ANSWER, packet.sent_ns, seen_ns=seen_ns, stream=phase.number)
            elif packet.kind == Kind.CLOCK_ANSWER:
                log.clocks.append((packet.seq, packet.seen_ns, seen_ns))

        while (now_s := time.monotonic()) < max(end_s, min(arrived_s, end_s + LONGEST_DRAIN_S)) + DRAIN_S:
            is_sending = begin_s <= now_s < end_s
            if now_s >= check_s:
                check_s = now_s + CHECK_S
                check()
            if is_sending and phase.sends_data:
                self._fill(saturator, phase, log)
            if is_sending and phase.sends_trains and now_s >= train_s:
                train_s += TRAIN_S
                train = log.trains_sent // TRAIN_PACKETS
                for place in range(TRAIN_PACKETS):
                    self.send(Kind.TRAIN, place, seen_seq=train, stream=phase.number)
                log.trains_sent += TRAIN_PACKETS
            if self.asks_clock and now_s >= clock_s:
                clock_s = now_s + (CLOCK_S if is_sending else QUIET_CLOCK_S)
                self.send(Kind.CLOCK, 0, stream=phase.number)
            if now_s >= report_s and highest[0] > reported:
                report_s = now_s + REPORT_S
                reported, data_sent_ns, data_seen_ns = highest
                self.send(
                    Kind.REPORT,
                    len(log.data),
                    seen_seq=reported,
                    seen_ns=data_seen_ns,
                    count=len(log.data),
                    data_sent_ns=data_sent_ns,
                    stream=phase.number,
                )
            may_send = is_sending and phase.sends_data and not log.is_cut and saturator.may_send(now_s)
            self.receive(handle, 0.0 if may_send else IDLE_S)
        log.sent = saturator.sent
        return log

    def _fill(self, saturator: Saturator, phase: Phase, log: Log) -> None:
        for _ in range(BURST):
            now_s = time.monotonic()
            if saturator.sent >= phase.most_packets:
                log.is_cut = True
                return
            if not saturator.may_send(now_s) or not self.send(Kind.DATA, saturator.sent, stream=phase.number):
                return
            saturator.on_sent(now_s)


def packets_of(volume_bytes: int) -> int:
    """How many packets of data a volume allows."""
    return volume_bytes // IP_BYTES
