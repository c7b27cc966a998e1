"""What is kept of a run over time: Counter and `t_id`, windows and timeouts of flows, and their shares."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from airpath.experiments.papers.alcaraz.observed import occupancy, window_of
from airpath.experiments.papers.base.observe import Observation, column, times_s, words
from airpath.experiments.papers.base.panel import Layers, Series
from airpath.runs.trace import Events

LATE_S = 20.0
"""When a second flow starts beside a first one, seconds."""

SHOWN_S = (8.0, 20.0)
"""The part of a run that Figure 4 shows, seconds."""

_PACKET_BYTES = 1500.0


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
        counts.append(left / _PACKET_BYTES)
    return Series(np.array(times), np.array(counts))


def _downlink(events: Events, kind: str, name: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    mine = words(events, kind, "direction") == "downlink"
    return times_s(events, kind)[mine], column(events, kind, name)[mine]


def _drops(events: Events) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    mine = words(events, "dropped", "reason") == "evicted"
    return times_s(events, "dropped")[mine], column(events, "dropped", "len_bytes")[mine]


def _shown(series: Series) -> Series:
    """The part of a step function that is drawn, with the value at its beginning."""
    from_s, until_s = SHOWN_S
    first = max(0, int(np.searchsorted(series.x, from_s, side="right")) - 1)
    end = int(np.searchsorted(series.x, until_s, side="right"))
    x, y = np.maximum(series.x[first:end], from_s), series.y[first:end]
    return Series(np.append(x, until_s), np.append(y, y[-1]))


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
    windows = [window_of(events, flows == flow) for flow in np.unique(flows)]
    return float(np.mean([np.average(w.y[:-1], weights=np.diff(w.x)) for w in windows]))


def _mean_rto_s(events: Events) -> float:
    """Mean retransmission timeout at every ACK, seconds."""
    return float(np.mean(column(events, "tcp_state", "tcpi_rto"))) / 1e6


def _late_share(events: Events) -> float:
    """Share of the second flow in what arrives from its start on, percent."""
    late = times_s(events, "segment_received") >= LATE_S
    return 100 * float(np.mean(column(events, "segment_received", "flow")[late] == 1))


BUFFER = ("bearer_enqueued", "rlc_confirmed", "dropped")
"""Probes of what the buffer takes, drops and delivers."""

HELD_AND_DROPPED = Observation(BUFFER, _held_and_dropped)
"""BO, Counter, and BO at the drops of PDPC, in part of a run; seconds and SDUs."""

T_ID_OVER_TIME = _of_box("t_id_us", 1000)
"""Time between two ACKs there by the function in force; seconds and milliseconds."""

HELD_ACKS = _of_box("held_acks", 1)
"""ACKs held there; seconds and segments."""

MEAN_WINDOW = Observation(("tcp_state",), _mean_window)
"""Mean window of a flow, packets, at most 44."""

MEAN_RTO = Observation(("tcp_state",), _mean_rto_s)
"""Mean retransmission timeout, seconds."""

LATE_SHARE = Observation(("segment_received",), _late_share)
"""Share of a flow that starts late, percent."""
