"""What is kept of the trace of a run: packet delays, what the buffer held and dropped, and what is drawn."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from airpath.runs.trace import Events
from airpath_studies.base.observe import Observation, column, congestion_window, times_s, words
from airpath_studies.base.panel import Layers, Series, cut

EARLY_S = 10.0
"""Length of the first part of a run, in which the first slow start is over, seconds."""

PACKET_BYTES, PAYLOAD_BYTES = 1500, 1460
WINDOW_SEGMENTS = 44
"""64 kbytes: no more of the congestion window is ever used."""

LATE_S = 20.0
"""Start of the second flow, seconds."""

SHOWN_S = (8.0, 20.0)
"""The part of a run that Figure 4 shows, seconds."""

_OVERFLOW, _DISCIPLINE = "queue_full", ("early_drop", "evicted")

Numbers = NDArray[np.float64]


@dataclass(frozen=True)
class Run:
    """Values of a run that counters do not provide.

    Attributes
    ----------
    delay_s : float
        Mean time of a packet from its transmission by TCP to its arrival there, seconds.
    in_order_s : float
        Mean time of a packet from its first transmission until all before it has arrived, too, seconds.
    occupancy_sd_sdus : float
        Standard deviation over time of the SDUs in the downlink's buffer.
    overflow_drops, early_overflow_drops : int
        SDUs for which that buffer had no room, in all and in the first `EARLY_S`.
    deliberate_drops : int
        SDUs that the queue discipline dropped there although there was room.
    lowest_after_overflow_sdus : float
        Minimum number of SDUs within `EARLY_S` after the first overflow; the maximum if there is none.
    late_peak_sdus : float
        Most SDUs in the second half of the run.
    t_id_ms : Series
        Time between two ACKs by f1, milliseconds, by the SDUs that ACK rate control sees.
    """

    delay_s: float
    in_order_s: float
    occupancy_sd_sdus: float
    overflow_drops: int
    early_overflow_drops: int
    deliberate_drops: int
    lowest_after_overflow_sdus: float
    late_peak_sdus: float
    t_id_ms: Series


def _arrives(sent: Numbers, received: Numbers) -> NDArray[np.bool_]:
    """Which transmissions arrive: this path preserves order, so all packets that were not dropped arrive."""
    due, arrives = iter([*received.tolist(), None]), []
    expected = next(due)
    for packet in sent.tolist():
        arrives.append(packet == expected)
        expected = next(due) if arrives[-1] else expected
    return np.array(arrives, dtype=bool)


def transfers_s(events: Events) -> Numbers:
    """Time of every packet that arrives, from that transmission of it by TCP, seconds."""
    flows = _flows(events)
    return np.concatenate([received.x - sent.x[_arrives(sent.y, received.y)] for sent, received in flows])


def in_order_s(events: Events) -> Numbers:
    """Time of every packet from its first transmission until all before it has arrived, too, seconds."""
    known = []
    for sent, received in _flows(events):
        packets, first = np.unique(sent.y, return_index=True)
        # The receiver has everything below the first packet that is missing.
        arrived_s = np.full(packets.size, np.inf)
        np.minimum.at(arrived_s, np.searchsorted(packets, received.y), received.x)
        whole_s = np.maximum.accumulate(arrived_s)
        known.append((whole_s - sent.x[first])[np.isfinite(whole_s)])
    return np.concatenate(known)


def _flows(events: Events) -> Iterator[tuple[Series, Series]]:
    """Offsets of the packets of each flow as they are sent and received."""
    parts = [
        (column(events, kind, "flow"), times_s(events, kind), column(events, kind, "seq"))
        for kind in ("segment_sent", "segment_received")
    ]
    for flow in np.unique(parts[0][0]):
        sent, received = (Series(time_s[by == flow], seq[by == flow]) for by, time_s, seq in parts)
        yield sent, received


def _downlink(events: Events, kind: str, name: str) -> tuple[Numbers, Numbers]:
    mine = words(events, kind, "direction") == "downlink"
    return times_s(events, kind)[mine], column(events, kind, name)[mine]


def occupancy(events: Events) -> Series:
    """SDUs in the downlink's buffer over time, seconds; steps at arrivals and confirmations."""
    parts = (_downlink(events, kind, "queued_sdus") for kind in ("bearer_enqueued", "rlc_confirmed"))
    at_s, counts = map(np.concatenate, zip(*parts, strict=True))
    # At one instant SDUs leave before others arrive or not; the last of each kind stands.
    order = np.argsort(at_s, kind="stable")
    return Series(at_s[order], counts[order])


def _sd_over_time(series: Series) -> float:
    stays_s = np.diff(series.x, append=series.x[-1])
    mean = np.average(series.y, weights=stays_s)
    return float(np.sqrt(np.average((series.y - mean) ** 2, weights=stays_s)))


def _run(events: Events) -> Run:
    dropped_s = times_s(events, "dropped")
    reason = words(events, "dropped", "reason")
    full = reason == _OVERFLOW
    held = occupancy(events)
    return Run(
        delay_s=float(transfers_s(events).mean()),
        in_order_s=float(in_order_s(events).mean()),
        occupancy_sd_sdus=_sd_over_time(held),
        overflow_drops=int(full.sum()),
        early_overflow_drops=int((full & (dropped_s < EARLY_S)).sum()),
        deliberate_drops=int(np.isin(reason, _DISCIPLINE).sum()),
        lowest_after_overflow_sdus=_lowest_after(held, dropped_s[full]),
        late_peak_sdus=float(held.y[held.x > held.x[-1] / 2].max()),
        t_id_ms=_by_occupancy(events, column(events, "ack_rate_control", "after_drop") == 0),
    )


def _lowest_after(held: Series, overflows_s: Numbers) -> float:
    if not overflows_s.size:
        return float(held.y.max())
    behind = (held.x > overflows_s[0]) & (held.x < overflows_s[0] + EARLY_S)
    return float(held.y[behind].min(initial=held.y.max()))


def _by_occupancy(events: Events, where: NDArray[np.bool_]) -> Series:
    """Every occupancy where t_id was computed, rising, and its value in milliseconds."""
    held, first = np.unique(column(events, "ack_rate_control", "occupancy_sdus")[where], return_index=True)
    return Series(held, column(events, "ack_rate_control", "t_id_us")[where][first] / 1000)


def _window(events: Events, flow: int = 0) -> Series:
    """The used part of a flow's congestion window, packets over seconds."""
    mine = column(events, "tcp_state", "flow") == flow
    window = np.minimum(congestion_window(events)[mine], WINDOW_SEGMENTS)
    return Series(times_s(events, "tcp_state")[mine], window)


def _packets(events: Events) -> Layers:
    """Numbers of the packets when they are sent, received and dropped; for a single flow.

    A packet that is sent and does not arrive was dropped, or is still in flight at the end.
    """
    sent, got = (
        Series(times_s(events, kind), column(events, kind, "seq") / PAYLOAD_BYTES)
        for kind in ("segment_sent", "segment_received")
    )
    missing = sent.y[~_arrives(sent.y, got.y)]
    at_s = times_s(events, "dropped")[column(events, "dropped", "len_bytes") > PAYLOAD_BYTES]
    known = min(at_s.size, missing.size)
    return Layers((("sent", sent), ("received", got), ("dropped", Series(at_s[:known], missing[:known]))))


def _t_id(events: Events) -> Layers:
    """Time between two ACKs over the occupancy, before and after drops, milliseconds; each point once."""
    after = column(events, "ack_rate_control", "after_drop")
    names = (
        ("f1", _by_occupancy(events, after == 0)),
        ("f2, after a drop", _by_occupancy(events, after > 0)),
    )
    return Layers(tuple((name, known) for name, known in names if known.x.size))


def counter(events: Events) -> Series:
    """Counter of PDPC over time, seconds and packets of 1500 bytes: what the buffer took, dropped and sent.

    As in Figure 3, and with BO before the SDU that comes: it is set to BO at a drop, and less by every SDU
    that is confirmed. An SDU that the link layer gives up counts as delivered here, unlike in Counter.
    """
    in_s, in_bytes = _downlink(events, "bearer_enqueued", "queued_bytes")
    out_s, out_bytes = _downlink(events, "rlc_confirmed", "len_bytes")
    drop_s, drop_bytes = _drops(events)
    kinds = np.repeat([0, 1, 2], [out_s.size, drop_s.size, in_s.size])
    at_s, size = np.concatenate([out_s, drop_s, in_s]), np.concatenate([out_bytes, drop_bytes, in_bytes])
    held = left = 0.0
    times, counts = [0.0], [0.0]
    # At one instant SDUs leave before one is dropped, and that before the one enters for which it was.
    for index in np.lexsort((kinds, at_s)):
        if kinds[index] == 0:
            held, left = held - size[index], max(0.0, left - size[index])
        elif kinds[index] == 1:
            held, left = held - size[index], held
        else:
            held = size[index]
        times.append(float(at_s[index]))
        counts.append(left / PACKET_BYTES)
    return Series(np.array(times), np.array(counts))


def _drops(events: Events) -> tuple[Numbers, Numbers]:
    mine = words(events, "dropped", "reason") == "evicted"
    return times_s(events, "dropped")[mine], column(events, "dropped", "len_bytes")[mine]


def _shown(series: Series) -> Series:
    """The part of a step function that is drawn, up to its end."""
    part = cut(series, *SHOWN_S)
    return Series(np.append(part.x, SHOWN_S[1]), np.append(part.y, part.y[-1]))


def _held_and_dropped(events: Events) -> Layers:
    held, at_s = occupancy(events), _drops(events)[0]
    at_s = at_s[(at_s >= SHOWN_S[0]) & (at_s <= SHOWN_S[1])]
    before = held.y[np.maximum(np.searchsorted(held.x, at_s, side="left") - 1, 0)]
    return Layers(
        (("BO", _shown(held)), ("Counter", _shown(counter(events))), ("drop", Series(at_s, before)))
    )


def _of_box(name: str, unit: float) -> Observation:
    def reduce(events: Events) -> Series:
        kind = "ack_rate_control"
        return _shown(Series(times_s(events, kind), column(events, kind, name) / unit))

    return Observation(("ack_rate_control",), reduce)


def _mean_window(events: Events) -> float:
    """Mean over time of the window of a flow, packets; mean of all flows."""
    flows = column(events, "tcp_state", "flow")
    windows = [_window(events, flow) for flow in np.unique(flows)]
    return float(np.mean([np.average(w.y[:-1], weights=np.diff(w.x)) for w in windows]))


def _late_share(events: Events) -> float:
    """Share of the second flow in the packets that arrive from its start on, percent."""
    late = times_s(events, "segment_received") >= LATE_S
    return 100 * float(np.mean(column(events, "segment_received", "flow")[late] == 1))


BUFFER = ("bearer_enqueued", "rlc_confirmed", "dropped")
"""Probes of what the buffer takes, drops and delivers."""

RUN = Observation((*BUFFER, "segment_sent", "segment_received", "ack_rate_control"), _run)
"""A :class:`Run`."""

OCCUPANCY = Observation(("bearer_enqueued", "rlc_confirmed"), occupancy)
"""BO over time in seconds."""

WINDOW = Observation(("tcp_state",), _window)
"""Congestion window in packets over time in seconds, one flow."""

PACKETS = Observation(("segment_sent", "segment_received", "dropped"), _packets)
"""Packets sent, received and dropped, over time in seconds, one flow."""

T_ID = Observation(("ack_rate_control",), _t_id)
"""t_id over the occupancy, milliseconds and SDUs."""

HELD_AND_DROPPED = Observation(BUFFER, _held_and_dropped)
"""BO, Counter, and BO at the drops of PDPC, in part of a run; seconds and SDUs."""

T_ID_OVER_TIME = _of_box("t_id_us", 1000)
"""Time between two ACKs there by the function in force; seconds and milliseconds."""

HELD_ACKS = _of_box("held_acks", 1)
"""ACKs held there; seconds and segments."""

MEAN_WINDOW = Observation(("tcp_state",), _mean_window)
"""Mean window of a flow, packets, at most 44."""

MEAN_RTO = Observation(
    ("tcp_state",), lambda events: float(np.mean(column(events, "tcp_state", "tcpi_rto"))) / 1e6
)
"""Mean retransmission timeout at every ACK, seconds."""

LATE_SHARE = Observation(("segment_received",), _late_share)
"""Share of a flow that starts late, percent."""
