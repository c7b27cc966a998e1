"""What is kept of the trace of a run: windows, drops and cached headers over time, and when feedback acts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from airpath.runs.trace import Events
from airpath_studies.base.observe import Observation, column, times_s, words
from airpath_studies.base.panel import Series

_LINK_LOSS, _EARLY = "link_loss", "wireless_fast_retransmit"


@dataclass(frozen=True)
class Window:
    """What the sender's state tells."""

    mean_window: float
    """Mean of the congestion window over time, segments."""
    acting_dupack: float
    """Mean number of the duplicate ACK that triggers a retransmission because of a flag; NaN if none does."""


def _cwnd(events: Events) -> Series:
    """Congestion window at each ACK and timeout, segments."""
    return Series(times_s(events, "tcp_state"), column(events, "tcp_state", "tcpi_snd_cwnd"))


def _window(events: Events) -> Window:
    cwnd = _cwnd(events)
    stays_s = np.diff(cwnd.x, append=cwnd.x[-1])
    return Window(float(np.average(cwnd.y, weights=stays_s)), acting_dupack(events))


def acting_dupack(events: Events) -> float:
    """Mean index of the duplicate ACK that triggers a wireless fast retransmit.

    `tcp_state` has one row per ACK. The rows in which `snd_una` is the retransmitted segment are the ACK that
    advanced to it, followed by its duplicates.
    """
    una, at_s = column(events, "tcp_state", "snd_una"), times_s(events, "tcp_state")
    early = words(events, "segment_sent", "cause") == _EARLY
    again = zip(
        times_s(events, "segment_sent")[early], column(events, "segment_sent", "seq")[early], strict=True
    )
    counts = [int(((una == seq) & (at_s <= sent_s)).sum()) - 1 for sent_s, seq in again]
    return float(np.mean(counts)) if counts else float("nan")


def _dropped(events: Events) -> Series:
    """Packets dropped at the UE so far."""
    at_s = times_s(events, "dropped")[words(events, "dropped", "reason") == _LINK_LOSS]
    return Series(at_s, np.arange(1, at_s.size + 1, dtype=np.float64))


def _cached(events: Events) -> Series:
    """TCP headers that the RNC has cached."""
    return Series(times_s(events, "rnc_feedback"), column(events, "rnc_feedback", "cached_segments"))


WINDOW = Observation(("tcp_state", "segment_sent"), _window)
"""A :class:`Window`."""

CWND = Observation(("tcp_state",), _cwnd)
"""Congestion window over time, segments and seconds."""

DROPPED = Observation(("dropped",), _dropped)
"""Packets dropped so far over time in seconds."""

CACHED = Observation(("rnc_feedback",), _cached)
"""TCP headers cached over time in seconds."""
