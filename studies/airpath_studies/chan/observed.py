"""What is kept of the trace of a run: the congestion window, examples of loss events, delays."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from airpath.runs.trace import Events
from airpath_studies.base.cell import Metric
from airpath_studies.base.observe import Observation, column, congestion_window, times_s, words
from airpath_studies.base.panel import Series, cut

FROM_S, UNTIL_S = 100.0, 200.0
"""The part of a run that is drawn, after the first slow start, seconds."""

BEFORE_S = 5.0
"""Time drawn before and after a loss event, seconds."""

_FAST, _TIMEOUT = "fast_retransmit", "timeout"

_EPOCHS = {
    (_FAST, _FAST): ("t_r", "a", "b"),
    (_FAST, _FAST, _TIMEOUT): ("t_r", "timeout", "slow start", "a", "b"),
}


@dataclass(frozen=True)
class Example(Series):
    """The congestion window around a loss event.

    Attributes
    ----------
    epochs_s : dict of str to float
        Lengths of the event's epochs, [chan2002] section 4, seconds: from the first fast retransmit to
        the second (t_r), on to the expiration of the timer (timeout), slow start, until the window fills
        the pipe (a), until the next event (b).
    """

    epochs_s: dict[str, float]


def epoch_s(name: str) -> Metric:
    """Length of an epoch of the observed example, seconds."""
    return lambda outcome: float(outcome.observed.epochs_s[name])


def _window(events: Events) -> Series:
    return Series(times_s(events, "tcp_state"), congestion_window(events))


def _loss_events(events: Events) -> list[list[tuple[float, str]]]:
    """Group window reductions: until all data sent before the first one is acknowledged.

    Returns
    -------
    list of list of (float, str)
        Of each loss event the times of its cuts in seconds, and what they were.
    """
    causes = words(events, "segment_sent", "cause")
    time_s, seq = times_s(events, "segment_sent"), column(events, "segment_sent", "seq")
    ends = np.maximum.accumulate(seq + column(events, "segment_sent", "payload_bytes"))
    known: list[list[tuple[float, str]]] = []
    end = -1.0
    # The first retransmission is the oldest unacknowledged byte.
    for index in np.flatnonzero(np.isin(causes, (_FAST, _TIMEOUT))):
        if seq[index] >= end:
            known.append([])
            end = float(ends[index])
        known[-1].append((float(time_s[index]), str(causes[index])))
    return known


def _first_s(time_s: NDArray[np.float64], so: NDArray[np.bool_], after_s: float) -> float:
    """When something is first so after a time; infinite if never."""
    found = np.flatnonzero(so & (time_s > after_s))
    return float(time_s[found[0]]) if found.size else np.inf


def _example(events: Events, kinds: tuple[str, ...], pipe_packets: float) -> Example:
    """Find the first event of a kind that goes through all of its epochs."""
    window = _window(events)
    grown = window.y >= column(events, "tcp_state", "tcpi_snd_ssthresh")
    for event, following in itertools.pairwise(_loss_events(events)):
        bounds = [at_s for at_s, _ in event]
        if tuple(kind for _, kind in event) != kinds or bounds[0] < FROM_S:
            continue
        if _TIMEOUT in kinds:
            bounds.append(_first_s(window.x, grown, bounds[-1]))
        bounds.append(_first_s(window.x, window.y >= pipe_packets, bounds[-1]))
        bounds.append(following[0][0])
        if np.all(np.diff(bounds) > 0) and np.isfinite(bounds[-2]):
            part = cut(window, bounds[0] - BEFORE_S, bounds[-1] + BEFORE_S)
            lengths = zip(_EPOCHS[kinds], np.diff(bounds).tolist(), strict=True)
            return Example(part.x, part.y, dict(lengths))
    raise ValueError(f"no loss event of {' and '.join(kinds)} in this run")


def example_of(losses: int, pipe_packets: float) -> Observation:
    """Observe an event of two losses, or of three with a timeout, and the window around it.

    `pipe_packets` is mu-hat T-hat: the window that fills the link.
    """
    kinds = (_FAST, _FAST) if losses == 2 else (_FAST, _FAST, _TIMEOUT)
    return Observation(("segment_sent", "tcp_state"), lambda events: _example(events, kinds, pipe_packets))


def _delays_ms(events: Events, direction: str) -> NDArray[np.float64]:
    """Delays over a bearer in the order of arrival, milliseconds."""
    mine = np.flatnonzero(words(events, "bearer_delivered", "direction") == direction)
    return column(events, "bearer_delivered", "delay_ns").take(mine) / 1e6


def distribution(values: NDArray[np.float64]) -> Series:
    """Make the cumulative distribution of a sample: its values, and the share that is not larger."""
    return Series(np.sort(values), np.arange(1, values.size + 1) / values.size)


def _ping_latencies(events: Events) -> Series:
    """Requests and answers keep their order: the n-th answer is that of the n-th request."""
    down, up = _delays_ms(events, "downlink"), _delays_ms(events, "uplink")
    return distribution(down[: up.size] + up)


WINDOW = Observation(("tcp_state",), lambda events: cut(_window(events), FROM_S, UNTIL_S))
"""The congestion window in segments over a part of the run, seconds."""

PING_LATENCIES = Observation(("bearer_delivered",), _ping_latencies)
"""Distribution of the time over the radio link and back, milliseconds; for a flow of pings alone."""

ACK_SPACING = Observation(
    ("tcp_state",), lambda events: distribution(np.diff(times_s(events, "tcp_state")) * 1000)
)
"""Distribution of the time between ACKs at the sender, milliseconds."""

ROUND_TRIPS = Observation(
    ("rtt_sample",),
    lambda events: Series(times_s(events, "rtt_sample"), column(events, "rtt_sample", "rtt_us") / 1e6),
)
"""Round-trip time samples over time, both in seconds."""
