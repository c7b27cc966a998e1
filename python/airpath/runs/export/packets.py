"""Flows and packets as a trace of ns-2 names them."""

from __future__ import annotations

from collections import deque
from collections.abc import Container, MutableSequence
from dataclasses import dataclass, field

DOWNLINK, UPLINK = "downlink", "uplink"
# Numbers of the nodes.
SERVER, STATION, FIRST_UE = 0, 1, 2
# IP and TCP without options: no header is shorter.
HEADER_BYTES = 40
FLAGS = "-------"
# Packets remembered on the wire, which may lose them.
ON_WIRE = 64


@dataclass(eq=False)
class Flow:
    """A flow and its packets.

    Attributes
    ----------
    fid : int
        Its number in `results.json`.
    ue : int
        Number of its UE.
    number : int
        Its number there.
    direction : str
        Direction of the data.
    segment : int
        Payload of a full segment in bytes; 0 until known.
    header : int
        Bytes of a packet beside its payload.
    sent : deque of Packet
        Data on its way to the bearer.
    on_wire : deque of Packet
        Packets on the wire towards the server.
    rcv_nxt : list of int
        Next expected byte after each segment of this instant; the last value stays.
    """

    fid: int
    ue: int
    number: int
    direction: str
    segment: int = 0
    header: int = HEADER_BYTES
    sent: deque[Packet] = field(default_factory=deque)
    on_wire: deque[Packet] = field(default_factory=lambda: deque(maxlen=ON_WIRE))
    rcv_nxt: list[int] = field(default_factory=lambda: [0])

    @property
    def against(self) -> str:
        """Direction of the ACKs."""
        return UPLINK if self.direction == DOWNLINK else DOWNLINK

    def acknowledged(self) -> int:
        """Number of the last in-order segment that the next ACK acknowledges; -1 if none."""
        offset = self.rcv_nxt.pop(0) if len(self.rcv_nxt) > 1 else self.rcv_nxt[0]
        return -(-offset // self.segment) - 1 if self.segment else -1


@dataclass
class Packet:
    """A packet on its way.

    Attributes
    ----------
    uid : int
        Its number.
    flow : Flow
        Its flow.
    towards : str
        Its direction.
    size : int
        Bytes of IP.
    seq : int
        In segments.
    since : int
        Time of sending, nanoseconds.
    kind : str
        ``"tcp"`` with data, ``"ack"`` without.
    """

    uid: int
    flow: Flow
    towards: str
    size: int
    seq: int
    since: int
    kind: str = "tcp"

    @property
    def bearer(self) -> tuple[int, int]:
        """Nodes at the ends of its radio bearer."""
        ends = STATION, FIRST_UE + self.flow.ue
        return ends if self.towards == DOWNLINK else ends[::-1]

    def line(self, event: str, time: int, source: int, target: int) -> tuple[int, str]:
        """Line of an event, with its time."""
        flow = self.flow
        ends = f"{SERVER}.{flow.number}", f"{FIRST_UE + flow.ue}.{flow.number}"
        sender, receiver = ends if self.towards == DOWNLINK else ends[::-1]
        what = f"{self.kind} {self.size} {FLAGS} {flow.fid} {sender} {receiver} {self.seq} {self.uid}"
        return time, f"{event} {time / 1e9:.15g} {source} {target} {what}\n"


def take(
    packets: MutableSequence[Packet],
    size: int,
    *,
    flow: Flow | None = None,
    since: int | None = None,
    seqs: Container[int] | None = None,
    last: bool = False,
) -> Packet | None:
    """Remove the first matching packet, or the last.

    Parameters
    ----------
    packets : list or deque of Packet
        Packets to search.
    size : int
        Bytes of IP.
    flow : Flow, optional
        Whose it is.
    since : int, optional
        When it was sent, in nanoseconds.
    seqs : container of int, optional
        Allowed sequence numbers.
    last : bool
        Whether to take the last of several.

    Returns
    -------
    Packet or None
        None if there is no such packet.
    """
    indices = range(len(packets))
    for index in reversed(indices) if last else indices:
        packet = packets[index]
        if (
            packet.size == size
            and (flow is None or packet.flow is flow)
            and (since is None or packet.since == since)
            and (seqs is None or packet.seq in seqs)
        ):
            del packets[index]
            return packet
    return None
