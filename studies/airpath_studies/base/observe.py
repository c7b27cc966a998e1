"""What is kept of the trace of a run, for what counters do not tell."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from airpath.runs.trace import Events

_DOWNLINK = "downlink"
_RECOVERY = 3
"""Fast recovery, in `tcpi_ca_state`."""


@dataclass(frozen=True)
class Observation:
    """What to record, and what is kept of it."""

    probes: tuple[str, ...]
    """Kinds of event."""
    reduce: Callable[[Events], Any]
    """What is kept, from the recorded events as the core hands them out."""


@dataclass(frozen=True)
class Received:
    """Data received in order over time, a step function of shape (n,)."""

    time_s: NDArray[np.float64]
    """Arrivals at the receiver in seconds, increasing."""
    data_bytes: NDArray[np.float64]
    """Payload received in order from then on, bytes."""


def column(events: Events, kind: str, name: str) -> NDArray[np.float64]:
    """A column of numbers; nothing if no such event has happened."""
    return np.asarray(events[kind][name] if kind in events else ()).astype(np.float64)


def times_s(events: Events, kind: str) -> NDArray[np.float64]:
    """When events of a kind happened, seconds."""
    return column(events, kind, "time_ns") / 1e9


def words(events: Events, kind: str, name: str) -> NDArray[np.str_]:
    """A column of words; nothing if no such event has happened."""
    if kind not in events:
        return np.array([], dtype=str)
    codes, known = events[kind][name]
    found: NDArray[np.str_] = np.array(known, dtype=str)[np.asarray(codes)]
    return found


def congestion_window(events: Events) -> NDArray[np.float64]:
    """The window at each entry of `tcp_state` without what duplicate ACKs add in fast recovery, segments."""
    recovering = column(events, "tcp_state", "tcpi_ca_state") == _RECOVERY
    threshold = column(events, "tcp_state", "tcpi_snd_ssthresh")
    return np.where(recovering, threshold, column(events, "tcp_state", "tcpi_snd_cwnd"))


def _received(events: Events) -> Received:
    data = column(events, "segment_received", "rcv_nxt")
    grows = np.insert(np.diff(data) > 0, 0, True)
    return Received(times_s(events, "segment_received")[grows], data[grows])


def _first_flight(events: Events) -> int:
    first_ack_s = times_s(events, "tcp_state")[0]
    return int(np.sum(times_s(events, "segment_sent") < first_ack_s))


def _first_data_s(events: Events) -> float:
    return float(times_s(events, "segment_sent")[0])


def _lost_again(events: Events) -> float:
    mine = words(events, "slot_ended", "direction") == _DOWNLINK
    lost = column(events, "slot_ended", "pdus_lost")[mine] > 0
    after_a_loss = lost[1:][lost[:-1]]
    if after_a_loss.size == 0:
        raise ValueError("no block was retransmitted")
    return float(after_a_loss.mean())


def _rto_per_rtt(events: Events) -> float:
    rtt = column(events, "tcp_state", "tcpi_rtt")
    return float(np.mean(column(events, "tcp_state", "tcpi_rto")[rtt > 0] / rtt[rtt > 0]))


RECEIVED = Observation(("segment_received",), _received)
"""A :class:`Received`."""

FIRST_FLIGHT = Observation(("segment_sent", "tcp_state"), _first_flight)
"""Segments sent before the first ACK."""

FIRST_DATA = Observation(("segment_sent",), _first_data_s)
"""Time when the first data is sent, seconds; a run begins with the connection's first segment."""

LOST_AGAIN = Observation(("slot_ended",), _lost_again)
"""Share of the downlink's retransmissions that were lost again, where one block is in flight at a time."""

RTO_PER_RTT = Observation(("tcp_state",), _rto_per_rtt)
"""Mean of the retransmission timeout over the smoothed round-trip time, at every ACK."""
