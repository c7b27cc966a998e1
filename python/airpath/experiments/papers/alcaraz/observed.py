"""What is kept of the trace of a run: packet delays, what the buffer held and dropped, and what is drawn."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from airpath.experiments.papers.base.observe import Observation, column, times_s, words
from airpath.experiments.papers.base.panel import Layers, Series
from airpath.runs.trace import Events

EARLY_S = 10.0
"""Length of the first part of a run, in which the first slow start is over, seconds."""

SEGMENT_BYTES = 1460
WINDOW_SEGMENTS = 44
"""64 kbytes: no more of the congestion window is ever used."""

_RECOVERY = 3
"""Fast recovery, in `tcpi_ca_state`."""

_OVERFLOW, _DISCIPLINE = "queue_full", ("early_drop", "evicted")

Numbers = NDArray[np.float64]


@dataclass(frozen=True)
class Run:
    """What counters do not tell of a run.

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
        Least of the SDUs in the `EARLY_S` behind the first overflow; their largest number if there is none.
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


def transfers_s(events: Events) -> Numbers:
    """Time of every packet that arrives, from that transmission of it by TCP, seconds.

    Nothing overtakes on this path: what is received of a flow is what was sent, less what was dropped.
    """
    known = []
    for sent, received in _flows(events):
        next_sent = 0
        for packet, at_s in zip(received.y, received.x, strict=True):
            while sent.y[next_sent] != packet:
                next_sent += 1
            known.append(at_s - sent.x[next_sent])
            next_sent += 1
    return np.array(known)


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
    parts = []
    for kind in ("segment_sent", "segment_received"):
        columns = (column(events, kind, "flow"), times_s(events, kind), column(events, kind, "seq"))
        parts.append(columns)
    for flow in np.unique(parts[0][0]):
        sent, received = (Series(time_s[by == flow], seq[by == flow]) for by, time_s, seq in parts)
        yield sent, received


def occupancy(events: Events) -> Series:
    """SDUs in the downlink's buffer over time, seconds; steps at arrivals and confirmations."""
    times, counts = [], []
    for kind in ("bearer_enqueued", "rlc_confirmed"):
        mine = words(events, kind, "direction") == "downlink"
        times.append(times_s(events, kind)[mine])
        counts.append(column(events, kind, "queued_sdus")[mine])
    # At one instant SDUs leave before others arrive or not; the last of each kind stands.
    order = np.argsort(np.concatenate(times), kind="stable")
    return Series(np.concatenate(times)[order], np.concatenate(counts)[order])


def _sd_over_time(series: Series, end_s: float) -> float:
    stays_s = np.diff(series.x, append=max(end_s, float(series.x[-1])))
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
        occupancy_sd_sdus=_sd_over_time(held, float(held.x[-1])),
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
    """Every occupancy at which t_id was computed, rising, and its value in milliseconds."""
    held, first = np.unique(column(events, "ack_rate_control", "occupancy_sdus")[where], return_index=True)
    return Series(held, column(events, "ack_rate_control", "t_id_us")[where][first] / 1000)


def window_of(events: Events, mine: NDArray[np.bool_]) -> Series:
    """The congestion window at these changes of `tcp_state`, as far as it is used: packets over seconds.

    What duplicate ACKs add to it in fast recovery is left out.
    """
    recovering = column(events, "tcp_state", "tcpi_ca_state")[mine] == _RECOVERY
    threshold = column(events, "tcp_state", "tcpi_snd_ssthresh")[mine]
    window = np.where(recovering, threshold, column(events, "tcp_state", "tcpi_snd_cwnd")[mine])
    return Series(times_s(events, "tcp_state")[mine], np.minimum(window, WINDOW_SEGMENTS))


def _window(events: Events) -> Series:
    return window_of(events, np.full(times_s(events, "tcp_state").size, True))


def _packets(events: Events) -> Layers:
    """Numbers of the packets when they are sent, received and dropped; for a single flow."""
    sent = Series(times_s(events, "segment_sent"), column(events, "segment_sent", "seq") / SEGMENT_BYTES)
    got = Series(
        times_s(events, "segment_received"), column(events, "segment_received", "seq") / SEGMENT_BYTES
    )
    return Layers((("sent", sent), ("received", got), ("dropped", _dropped_packets(events))))


def _dropped_packets(events: Events) -> Series:
    """When packets were dropped, and which.

    Nothing overtakes on this path: what is received is what was sent, less what was dropped. A packet that is
    sent and is not the next one received was dropped, or is still under way at the end.
    """
    sent = column(events, "segment_sent", "seq") / SEGMENT_BYTES
    received = column(events, "segment_received", "seq") / SEGMENT_BYTES
    missing, next_received = [], 0
    for packet in sent:
        if next_received < received.size and packet == received[next_received]:
            next_received += 1
        else:
            missing.append(packet)
    at_s = times_s(events, "dropped")[column(events, "dropped", "len_bytes") > SEGMENT_BYTES]
    known = min(at_s.size, len(missing))
    return Series(at_s[:known], np.array(missing[:known]))


def _t_id(events: Events) -> Layers:
    """Time between two ACKs over the occupancy, before and after drops, milliseconds; each point once."""
    after = column(events, "ack_rate_control", "after_drop")
    names = (
        ("f1", _by_occupancy(events, after == 0)),
        ("f2, after a drop", _by_occupancy(events, after > 0)),
    )
    return Layers(tuple((name, known) for name, known in names if known.x.size))


RUN = Observation(
    (
        "segment_sent",
        "segment_received",
        "bearer_enqueued",
        "rlc_confirmed",
        "dropped",
        "ack_rate_control",
    ),
    _run,
)
"""A :class:`Run`."""

OCCUPANCY = Observation(("bearer_enqueued", "rlc_confirmed"), occupancy)
"""BO over time in seconds."""

WINDOW = Observation(("tcp_state",), _window)
"""Congestion window in packets over time in seconds, one flow."""

PACKETS = Observation(("segment_sent", "segment_received", "dropped"), _packets)
"""Packets sent, received and dropped, over time in seconds, one flow."""

T_ID = Observation(("ack_rate_control",), _t_id)
"""t_id over the occupancy, milliseconds and SDUs."""
