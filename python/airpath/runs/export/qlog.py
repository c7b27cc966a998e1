"""Exports a run as qlog: JSON text sequences (RFC 7464), each record a JSON object; the suffix is `.sqlog`.

Sources: draft-ietf-quic-qlog-main-schema-14 (sections 3, 5, 6, 7) and draft-ietf-quic-qlog-quic-events-13
(sections 5.5, 5.6, 7.2, 7.4, 8.8). Version 0.3, an earlier draft of both, has other names for the same.

qlog has no events for TCP. QUIC's events are used instead: a packet is a segment with data, and its number
counts the segments of a flow. Events of a flow have the group `UE.FLOW`. Times are ms since the start.

At a sender: `packet_sent` (each segment), `packet_lost` (when data is retransmitted: the latest segment that
began there), `packet_received` (each ACK) and `recovery_metrics_updated`, with the values that have changed.
A window in segments is given in bytes, as that many of the flow's largest segment. An ACK names the segments
that it acknowledges for the first time, cumulatively or by SACK blocks (the later of two transmissions),
and a duplicate ACK also the latest segment below its ACK number, which it acknowledges again. The
trace of a live run does not tell the ends of a connection apart: data of the other end is among the segments.

At a bearer: `packet_sent` for a packet of one direction that comes to its buffer, `packet_received` for one
of the other that leaves it, `packet_lost` for a drop of the former, and the bytes in the buffer as
`bytes_in_flight`. A packet that is dropped before it comes to the buffer has no number in the log.

Next to `data` are `packet`, the packet's ID in the run as in the trace and in captures, and for a
dropped packet `node` and `reason`. `packet_lost` of a sender lacks these two if the segment was
not dropped, or not yet: the retransmission was spurious then.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from itertools import count, groupby
from types import MappingProxyType
from typing import IO, Any, NamedTuple

from airpath.errors import ExportError
from airpath.runs.export.source import LET_IN, Run
from airpath.runs.flows import by_path

CURRENT, EARLIER = "14", "0.3"
SEPARATOR = b"\x1e"
EVENT_SCHEMA = "urn:ietf:params:qlog:events:quic-13"
# Names in version 0.3.
EARLIER_NAMES = {
    "quic:packet_sent": "transport:packet_sent",
    "quic:packet_received": "transport:packet_received",
    "quic:packet_lost": "recovery:packet_lost",
    "quic:recovery_metrics_updated": "recovery:metrics_updated",
}
# While the slow start threshold is unlimited.
UNLIMITED = 2**31 - 1
# Causes of a segment that imply a loss: why it was sent, and why it was declared lost.
LOSSES = {
    "fast_retransmit": ("retransmit_reordered", "reordering_threshold"),
    "wireless_fast_retransmit": ("retransmit_reordered", "reordering_threshold"),
    "partial_ack": ("retransmit_reordered", "reordering_threshold"),
    "sack": ("retransmit_reordered", "reordering_threshold"),
    "timeout": ("retransmit_timeout", "pto_expired"),
    "go_back_n": ("retransmit_timeout", "pto_expired"),
    "retransmission": (None, None),
}
PROBE = "tail_loss_probe"
# Within an instant, ACKs precede the segments that they release, and segments their loss.
AT_A_SENDER = ("ack_received", "sack_block", "tcp_state", "rtt_sample", "tcp_path", "segment_sent", "dropped")
AT_A_BEARER = ("bearer_enqueued", "bearer_delivered", "dropped")
OPPOSITE = {"downlink": "uplink", "uplink": "downlink"}
# qlog vantage point of the sender, per direction: the UE is the client because it opens the connections.
SENDERS = {"downlink": "server", "uplink": "client"}

# Name of an event, its data, and additional fields.
Event = tuple[str, dict[str, Any], dict[str, Any]]


def write_qlog(run: Run, out: IO[bytes], *, direction: str, version: str = CURRENT) -> None:
    """Write what the senders of a direction do.

    Raises
    ------
    ExportError
        If no TCP flow has sent data in this direction, or its events were not recorded.
    """
    run.require([kind for kind in AT_A_SENDER if kind != "tcp_path"])
    segments = _largest_segments(run)
    flows = {
        key: Sender(segments[key])
        for flow in by_path(run.summary)["flows"]
        if (key := (flow["ue"], flow["flow"])) in segments and flow["direction"] == direction
    }
    if not flows:
        what = f"no TCP flow has sent data {direction}"
        hint = f"write --direction {OPPOSITE[direction]}, or --format qlog-link"
        raise ExportError(str(run.folder), what, hint)
    log = Log(run, out, version, {"type": SENDERS[direction]})
    kinds = [kind for kind in AT_A_SENDER if kind in run.kinds]
    columns = {name: None for kind in kinds for name in run.kinds[kind]}
    for time_ns, rows in groupby(run.rows(kinds, tuple(columns)), key=lambda row: row[0]):
        touched = {}
        events = [(kind, dict(zip(columns, values, strict=True))) for _, kind, *values in rows]
        blocks = defaultdict(list)
        for kind, event in events:
            if kind == "sack_block":
                blocks[event["packet"]].append((event["left"], event["right"]))
        for kind, event in events:
            key = (event["ue"], event["flow"])
            if key in flows:
                touched[key] = flows[key]
                if kind == "dropped":
                    flows[key].note_dropped(event["packet"], _where(run, event["element"], event["reason"]))
                elif kind == "ack_received":
                    acks = flows[key].acknowledge(event, blocks[event["packet"]])
                    log.write(time_ns, key, acks)
                else:
                    log.write(time_ns, key, flows[key].handle(kind, event))
        for key, sender in touched.items():
            log.write(time_ns, key, sender.metrics())


def write_qlog_link(run: Run, out: IO[bytes], *, ue: int, direction: str, version: str = CURRENT) -> None:
    """Write the packets of a bearer, from the view of the side that sends in `direction`.

    Raises
    ------
    ExportError
        If there is no such UE, or its events were not recorded.
    """
    run.require_bearer(AT_A_BEARER, ue)
    log = Log(
        run, out, version, {"name": f"bearer of UE {ue}", "type": "network", "flow": SENDERS[direction]}
    )
    columns = ("ue", "flow", "packet", "direction", "len_bytes", "queued_bytes", "element", "reason")
    numbers = {way: count() for way in OPPOSITE}
    # Log numbers of packets in the buffer, by trace number.
    held: dict[int, int] = {}
    queued_bytes = None
    for time_ns, kind, row_ue, flow, own, way, size, queued, element, reason in run.rows(
        AT_A_BEARER, columns
    ):
        if row_ue != ue:
            continue
        events: list[Event] = []
        known = {"packet": own}
        lost = known | _where(run, element, reason) if kind == "dropped" else {}
        is_refused = kind == "dropped" and element == run.cell_element and reason not in LET_IN
        if way != direction:
            if kind == "bearer_delivered":
                events.append(("quic:packet_received", _packet(next(numbers[way]), size), known))
        elif kind == "bearer_enqueued" or is_refused:
            held[own] = next(numbers[way])
            packet = _packet(held[own], size)
            events.append(("quic:packet_sent", packet, known))
            if is_refused:
                events.append(("quic:packet_lost", {"header": packet["header"]}, lost))
            elif queued != queued_bytes:
                queued_bytes = queued
                events.append(("quic:recovery_metrics_updated", {"bytes_in_flight": queued}, {}))
        elif kind == "dropped":
            header = {"header": _header(held[own])} if own in held else {}
            events.append(("quic:packet_lost", header, lost))
        else:
            held.pop(own, None)
        log.write(time_ns, (ue, flow), events)


class Log:
    """The file: a header and records."""

    def __init__(self, run: Run, out: IO[bytes], version: str, vantage_point: dict[str, str]) -> None:
        self._out, self._version = out, version
        about = {
            "title": f"{run.manifest['scenario']}, seed {run.manifest['seed']}",
            "description": "airpath: the events of QUIC stand for packets of any protocol",
        }
        if version == CURRENT:
            clock = {"clock_type": "monotonic", "epoch": "unknown"}
            common: dict[str, Any] = {"time_format": "relative_to_epoch", "reference_time": clock}
            schemas = [EVENT_SCHEMA]
            head = {
                "file_schema": "urn:ietf:params:qlog:file:sequential",
                "serialization_format": "application/qlog+json-seq",
                **about,
                "trace": {"common_fields": common, "vantage_point": vantage_point, "event_schemas": schemas},
            }
        else:
            common = {"time_format": "relative", "reference_time": 0}
            trace = {"common_fields": common, "vantage_point": vantage_point}
            head = {"qlog_version": EARLIER, "qlog_format": "JSON-SEQ", **about, "trace": trace}
        self._record(head)

    def write(self, time_ns: int, flow: tuple[int, int], events: Iterable[Event]) -> None:
        """Write events of an instant."""
        for name, data, more in events:
            if self._version != CURRENT:
                name = EARLIER_NAMES[name]
            group = f"{flow[0]}.{flow[1]}"
            self._record({"time": time_ns / 1e6, "name": name, "data": data, "group_id": group, **more})

    def _record(self, content: dict[str, Any]) -> None:
        self._out.write(SEPARATOR + json.dumps(content, separators=(",", ":")).encode() + b"\n")


class Sender:
    """A TCP sender as recorded by its events; its largest segment carries `segment` bytes."""

    def __init__(self, segment: int) -> None:
        self._segment = segment
        self._numbers, self._acks = count(), count()
        # The latest segments whose data is not acknowledged, by the start of their data.
        self._flight: dict[int, Segment] = {}
        # Number of the latest segment below the highest acknowledgment number.
        self._latest: int | None = None
        self._told: dict[str, float] = {}
        self._metrics: dict[str, float] = {}

    def handle(self, kind: str, event: dict[str, Any]) -> Iterator[Event]:
        """Handle an event of the trace."""
        match kind:
            case "segment_sent":
                yield from self._send(event["seq"], event["payload_bytes"], event["cause"], event["packet"])
            case "rtt_sample":
                rtt_ms = event["rtt_us"] / 1e3
                self._metrics["latest_rtt"] = rtt_ms
                self._metrics["min_rtt"] = min(rtt_ms, self._metrics.get("min_rtt", rtt_ms))
            case "tcp_path":
                if event["pacing_bps"]:
                    self._metrics["pacing_rate"] = event["pacing_bps"]
            case "tcp_state":
                self._metrics["congestion_window"] = event["tcpi_snd_cwnd"] * self._segment
                self._metrics["bytes_in_flight"] = event["tcpi_unacked"] * self._segment
                self._metrics["packets_in_flight"] = event["tcpi_unacked"]
                if event["tcpi_snd_ssthresh"] < UNLIMITED:
                    self._metrics["ssthresh"] = event["tcpi_snd_ssthresh"] * self._segment
                if event["tcpi_rtt"]:
                    self._metrics["smoothed_rtt"] = event["tcpi_rtt"] / 1e3
                    self._metrics["rtt_variance"] = event["tcpi_rttvar"] / 1e3

    def metrics(self) -> Iterator[Event]:
        """The metrics that have changed since the last call."""
        changed = {name: value for name, value in self._metrics.items() if self._told.get(name) != value}
        if changed:
            self._told |= changed
            yield "quic:recovery_metrics_updated", changed, {}

    def note_dropped(self, packet: int, where: dict[str, str]) -> None:
        """Keep in mind that a packet of the flow was dropped, if it is one of the segments in flight."""
        for seq, segment in self._flight.items():
            if segment.packet == packet:
                self._flight[seq] = segment._replace(dropped=where)

    def acknowledge(self, ack: dict[str, Any], blocks: list[tuple[int, int]]) -> Iterator[Event]:
        """Handle an ACK with its SACK blocks: first byte, and the byte after the last."""
        numbers = set()
        for seq, segment in self._flight.items():
            is_named = any(left <= seq and segment.end <= right for left, right in blocks)
            if (segment.end <= ack["acked"] or is_named) and not segment.is_sacked:
                numbers.add(segment.number)
                # It may be retransmitted in spite of it, after a timeout.
                self._flight[seq] = segment._replace(is_sacked=True)
        below = [seq for seq, segment in self._flight.items() if segment.end <= ack["acked"]]
        if below:
            latest = max((self._flight.pop(seq) for seq in below), key=lambda segment: segment.end)
            self._latest = latest.number
        if ack["duplicate"] and self._latest is not None:
            numbers.add(self._latest)
        ranges = {"acked_ranges": _ranges(sorted(numbers))} if numbers else {}
        data = {"header": _header(next(self._acks)), "frames": [{"frame_type": "ack"} | ranges]}
        yield "quic:packet_received", data, {"packet": ack["packet"]}

    def _send(self, seq: int, size: int, cause: str, own: int) -> Iterator[Event]:
        trigger, why = LOSSES.get(cause, ("pto_probe" if cause == PROBE else None, None))
        before = self._flight.pop(seq, None)
        if cause in LOSSES and before is not None:
            lost = {"header": _header(before.number)}
            known = {"packet": before.packet, **before.dropped}
            yield "quic:packet_lost", lost | ({"trigger": why} if why else {}), known
        number = next(self._numbers)
        # At the end, as it is the latest now.
        self._flight[seq] = Segment(seq + size, number, own)
        frame = {"frame_type": "stream", "stream_id": 0, "offset": seq, "raw": {"payload_length": size}}
        packet = {"header": _header(number), "frames": [frame], "raw": {"payload_length": size}}
        yield "quic:packet_sent", packet | ({"trigger": trigger} if trigger else {}), {"packet": own}


class Segment(NamedTuple):
    """A segment in flight: the byte after its data, its number in the log, and in the run."""

    end: int
    number: int
    packet: int
    # Where and why it was dropped.
    dropped: Mapping[str, str] = MappingProxyType({})
    is_sacked: bool = False


def _where(run: Run, element: int, reason: str) -> dict[str, str]:
    """The node that dropped a packet, and why."""
    return {"node": run.nodes[element], "reason": reason}


def _header(number: int) -> dict[str, Any]:
    # Packets of other types have no number.
    return {"packet_type": "1RTT", "packet_number": number}


def _packet(number: int, size: int) -> dict[str, Any]:
    return {"header": _header(number), "raw": {"length": size}}


def _ranges(numbers: list[int]) -> list[list[int]]:
    """Ranges of ascending numbers: first and last, or the only one."""
    ranges: list[list[int]] = []
    for number in numbers:
        if ranges and number == ranges[-1][-1] + 1:
            ranges[-1] = [ranges[-1][0], number]
        else:
            ranges.append([number])
    return ranges


def _largest_segments(run: Run) -> dict[tuple[int, int], int]:
    """Payload of the largest segment of each flow, in bytes."""
    largest: dict[tuple[int, int], int] = defaultdict(int)
    for piece in run.pieces("segment_sent", ("ue", "flow", "payload_bytes")):
        for row in zip(*(piece[name].to_pylist() for name in piece.column_names), strict=True):
            key = row[:2]
            largest[key] = max(largest[key], row[2])
    return largest
