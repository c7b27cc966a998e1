"""Exports a run as a trace of ns-2: a line for each event of a packet.

```text
r 0.534048 1 2 tcp 576 ------- 0 0.0 2.0 3 6
```

Event (`+` into a buffer, `-` out of it, `r` received, `d` dropped), time in seconds, the nodes at the ends
of the link, type (`tcp` with the flow's data, `ack` for all else, handshakes and requests of web pages
included), bytes of IP, flags (always none), flow as in `results.json`, sending and receiving node and
port, sequence number in segments from 0, each as long as the first (for an ACK: the last in order; -1 if
unknown), number of the packet.

Node 0 is the server, 1 the base station (all between wire and radio), 2 and above the UEs. Ports are a flow's
number at its UE.

Exported: data put on the wire at the server (`+ 0 1`), and what the wire or a box
loses (`d`); arrival at the base station (`r 0 1`); at each bearer `+`, `-`, `r` and `d`, in both directions;
what the base station puts on the wire (`+ 1 0`). `-` marks the end of a packet's
transmission by the bearer, in ns-2 its beginning. Missing, since airpath's trace lacks them: ACKs that
the server sends until they reach the base station, `-` on the wire, and what the server receives.

Bearer events have no sequence numbers. They are inferred: the server's, in order, minus the dropped ones.
Within one instant they may be swapped: if the wire loses one of several packets sent at once, the last is
assumed lost; of several packets that entered a bearer at once, the first is assumed to leave first, unless
the UE's receptions at that instant show otherwise (without a delay behind the bearer they do).
Source: the trace formats in ns-2's manual, and its output.
"""

from __future__ import annotations

import heapq
from collections import defaultdict, deque
from collections.abc import Container, Iterator, MutableSequence
from dataclasses import dataclass, field
from itertools import count, groupby
from operator import attrgetter
from typing import IO, NamedTuple

from airpath.runs.export.source import Run
from airpath.runs.flows import by_path

KINDS = ("segment_sent", "segment_received", "bearer_enqueued", "bearer_delivered", "dropped")

DOWNLINK, UPLINK = "downlink", "uplink"
# Numbers of the nodes.
SERVER, STATION, FIRST_UE = 0, 1, 2
# IP and TCP without options: no header is shorter.
HEADER_BYTES = 40
FLAGS = "-------"
# Packets remembered on the wire, which may lose them.
ON_WIRE = 64

# Time and line.
Line = tuple[int, str]


class Event(NamedTuple):
    """A row of the trace; columns that its kind lacks are None."""

    time: int
    kind: str
    ue: int
    flow: int
    seq: int
    payload_bytes: int
    rcv_nxt: int
    direction: str
    len_bytes: int
    delay_ns: int
    element: int
    reason: str


@dataclass(eq=False)
class Flow:
    """A flow and its packets: its number in `results.json`, that of its UE, and its number there.

    `direction` is that of the data, `segment` the payload of a full segment in bytes (0 until known),
    `header` the bytes of a packet in addition to its payload. Data in transit to the bearer is `sent`;
    packets on the wire towards the server are `on_wire`. `rcv_nxt` are the next expected bytes after each
    segment of this instant; the last value stays.
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
    """A packet in transit: bytes of IP, sequence number in segments, time of sending in ns.

    `kind` is ``"tcp"`` with data, ``"ack"`` without.
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
    """Remove the first packet, or the last, of a size, and of a flow, time or one of the numbers if given."""
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


def write_ns2(run: Run, out: IO[bytes]) -> None:
    """Write a run as a trace of ns-2.

    Raises
    ------
    ExportError
        If the trace lacks a kind of event, or the folder a file.
    """
    run.require(KINDS)
    follower = _Follower(run)
    # Lines of arrivals behind a delay wait here until their time.
    later: list[tuple[int, int, str]] = []
    order = count()
    rows = map(Event._make, run.rows(KINDS, Event._fields[2:]))
    for now, events in groupby(rows, attrgetter("time")):
        while later and later[0][0] < now:
            out.write(heapq.heappop(later)[2].encode())
        for time, line in follower.instant(list(events)):
            heapq.heappush(later, (time, next(order), line))
    while later:
        out.write(heapq.heappop(later)[2].encode())


class _Follower:
    """Follows the packets of a run, instant by instant."""

    def __init__(self, run: Run) -> None:
        self._cell = run.cell_element
        self._behind_ns = {towards: run.delay_ns(towards) for towards in (DOWNLINK, UPLINK)}
        self._flows = {
            (flow["ue"], flow["flow"]): Flow(fid, flow["ue"], flow["flow"], flow["direction"])
            for fid, flow in enumerate(by_path(run.summary)["flows"])
        }
        self._uids = count()
        # Bearer -> time of entering -> packets.
        self._buffers: dict[tuple[int, str], dict[int, list[Packet]]] = defaultdict(dict)
        # Segments that arrive at this instant.
        self._arriving_seqs: dict[Flow, set[int]] = {}
        self._measure(run)

    def _measure(self, run: Run) -> None:
        """Take the lengths of each flow's segments and headers from its first packets."""
        unknown = dict(self._flows)
        columns = ("ue", "flow", "payload_bytes", "len_bytes", "direction")
        for _, kind, *key, payload, size, towards in run.rows(("segment_sent", "bearer_enqueued"), columns):
            if not unknown:
                return
            flow = unknown.get((key[0], key[1]))
            if flow is None:
                continue
            if kind == "segment_sent":
                flow.segment = flow.segment or payload
            elif flow.segment and towards == flow.direction and size >= flow.segment + HEADER_BYTES:
                flow.header = size - flow.segment
                del unknown[key[0], key[1]]

    def instant(self, events: list[Event]) -> Iterator[Line]:
        """Lines of the events of one instant, causes before effects."""
        kinds: dict[str, list[Event]] = defaultdict(list)
        for event in events:
            if (event.ue, event.flow) in self._flows:
                kinds[event.kind].append(event)
        self._note_received(kinds)
        at_once: list[Event] = []
        for event in kinds["bearer_delivered"]:
            if self._entered(event) == event.time:
                at_once.append(event)
            else:
                yield from self._leave(event)
        for event in kinds["segment_sent"]:
            yield from self._send(event)
        for event in kinds["dropped"]:
            if event.element < self._cell:
                yield from self._lose(event)
        for event in kinds["bearer_enqueued"]:
            yield from self._enter(event)
        for event in kinds["dropped"]:
            if event.element == self._cell:
                yield from self._refuse(event)
        for event in at_once:
            yield from self._leave(event)

    def _note_received(self, kinds: dict[str, list[Event]]) -> None:
        """Note what this instant's ACKs acknowledge: a segment each, or all the last if some are delayed."""
        received: dict[Flow, list[int]] = defaultdict(list)
        self._arriving_seqs = defaultdict(set)
        for event in kinds["segment_received"]:
            flow = self._flow(event)
            received[flow].append(event.rcv_nxt)
            self._arriving_seqs[flow].add(event.seq // flow.segment)
        for flow, offsets in received.items():
            acks = [event for event in kinds["bearer_enqueued"] if self._flow(event) is flow]
            acks = [event for event in acks if event.direction == UPLINK]
            flow.rcv_nxt = offsets if len(acks) == len(offsets) else offsets[-1:]

    def _send(self, event: Event) -> Iterator[Line]:
        flow = self._flow(event)
        size = event.payload_bytes + flow.header
        packet = Packet(next(self._uids), flow, flow.direction, size, event.seq // flow.segment, event.time)
        flow.sent.append(packet)
        if flow.direction == DOWNLINK:
            yield packet.line("+", event.time, SERVER, STATION)

    def _enter(self, event: Event) -> Iterator[Line]:
        packet = self._arriving(event, event.direction)
        if event.direction == DOWNLINK:
            yield packet.line("r", event.time, SERVER, STATION)
        yield packet.line("+", event.time, *packet.bearer)
        self._buffers[event.ue, event.direction].setdefault(event.time, []).append(packet)

    def _leave(self, event: Event) -> Iterator[Line]:
        packet = self._out_of_buffer(event, event.direction, self._entered(event))
        if packet is None:
            return
        arrival = event.time + self._behind_ns[event.direction]
        yield packet.line("-", event.time, *packet.bearer)
        yield packet.line("r", arrival, *packet.bearer)
        if event.direction == UPLINK:
            yield packet.line("+", arrival, STATION, SERVER)
            packet.since = arrival
            packet.flow.on_wire.append(packet)

    def _lose(self, event: Event) -> Iterator[Line]:
        """The wire, or a box, drops a packet."""
        flow = self._flow(event)
        wires = [(flow.on_wire, STATION, SERVER)]
        if flow.direction == DOWNLINK:
            wires.insert(0, (flow.sent, SERVER, STATION))
        for packets, *link in wires:
            packet = take(packets, event.len_bytes, since=event.time, last=True)
            if packet is not None:
                yield packet.line("d", event.time, *link)
                return
        # A box had held it back, or it is an ACK of the server, which the trace does not show.
        yield self._arriving(event, DOWNLINK).line("d", event.time, SERVER, STATION)

    def _refuse(self, event: Event) -> Iterator[Line]:
        """The cell drops a packet, on arrival or from its buffer."""
        flow = self._flow(event)
        if event.reason == "max_transmissions":
            for towards in (flow.direction, flow.against):
                packet = self._out_of_buffer(event, towards, None)
                if packet is not None:
                    yield packet.line("d", event.time, *packet.bearer)
                    return
        is_data = any(packet.size == event.len_bytes for packet in flow.sent)
        packet = self._arriving(event, flow.direction if is_data else flow.against)
        if packet.towards == DOWNLINK:
            yield packet.line("r", event.time, SERVER, STATION)
        yield packet.line("d", event.time, *packet.bearer)

    def _arriving(self, event: Event, towards: str) -> Packet:
        """The packet that reaches the cell or is lost before: data, or an ACK."""
        flow = self._flow(event)
        data = take(flow.sent, event.len_bytes) if towards == flow.direction else None
        if data is not None:
            return data
        seq = flow.acknowledged() if towards == UPLINK and flow.direction == DOWNLINK else -1
        return Packet(next(self._uids), flow, towards, event.len_bytes, seq, event.time, "ack")

    def _out_of_buffer(self, event: Event, towards: str, entered: int | None) -> Packet | None:
        """Remove a packet of the event's flow and size; the oldest if its arrival is not known."""
        times = self._buffers[event.ue, towards]
        flow = self._flow(event)
        for time in [entered] if entered is not None else list(times):
            waiting = times.get(time, [])
            packet = None
            if towards == flow.direction == DOWNLINK and flow in self._arriving_seqs:
                packet = take(waiting, event.len_bytes, flow=flow, seqs=self._arriving_seqs[flow])
            packet = packet or take(waiting, event.len_bytes, flow=flow)
            if packet is not None:
                if not waiting:
                    del times[time]
                return packet
        return None

    def _entered(self, event: Event) -> int:
        """When a leaving packet entered the buffer."""
        return event.time + self._behind_ns[event.direction] - event.delay_ns

    def _flow(self, event: Event) -> Flow:
        return self._flows[event.ue, event.flow]
