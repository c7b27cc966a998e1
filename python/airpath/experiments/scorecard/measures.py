"""What a scorecard measures: numbers of some flows of a run, and when two of them differ enough to matter."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from airpath.runs.metrics import retransmission_share

Flow = dict[str, Any]
Read = Callable[[Sequence[Flow], float], float]
"""Makes a number of flows, as in `results.json`, and of the simulated time in seconds."""

TOLERANCE = 0.05
"""Differences up to this share of CUBIC's mean do not count."""


@dataclass(frozen=True)
class Measure:
    """A number of some flows of a run.

    Attributes
    ----------
    title, unit : str
        What it is called.
    read : callable
        Reads it from flows, in its unit.
    more_is_better : bool
        Whether more of it is better.
    tolerance : float
        Differences up to this do not count: a share of CUBIC's mean; of shares, 0.01 for a point.
    is_share : bool
        Whether it is a share in percent, whose differences are in points and not in percent of CUBIC's.
    digits : int
        Decimals that are shown.
    """

    title: str
    unit: str
    read: Read
    more_is_better: bool = False
    tolerance: float = TOLERANCE
    is_share: bool = False
    digits: int = 1


def _transfer_s(flow: Flow, simulated_s: float) -> float:
    """Time of a transfer; one that has not ended counts as ending with the run."""
    ended: float | None = flow["transfer_s"]
    return simulated_s - flow["start_s"] if ended is None else ended


def _mean_ms(means: Iterable[float | None], simulated_s: float) -> float:
    """Mean over flows; a flow without arrivals counts as late by the whole run."""
    return fmean(1000 * simulated_s if mean is None else mean for mean in means)


def _retransmitted(flows: Sequence[Flow]) -> float:
    weights = [flow["segments_sent"] for flow in flows]
    again = sum(retransmission_share(flow) * weight for flow, weight in zip(flows, weights, strict=True))
    return 100 * again / sum(weights) if sum(weights) else 0.0


def _jain(flows: Sequence[Flow]) -> float:
    """Jain's index of the goodputs, in percent: 100 if all have the same, 100 / n if one has all."""
    rates = [flow["goodput_bps"] for flow in flows]
    squares = sum(rate * rate for rate in rates)
    return 100 * sum(rates) ** 2 / (len(rates) * squares) if squares else 100.0


def _lost(flows: Sequence[Flow]) -> float:
    sent = sum(flow["datagrams"]["sent"] for flow in flows)
    return 100 * sum(flow["datagrams"]["lost"] for flow in flows) / sent if sent else 0.0


GOODPUT = Measure(
    "goodput",
    "kbit/s",
    lambda flows, _: sum(flow["goodput_bps"] for flow in flows) / 1e3,
    more_is_better=True,
    digits=0,
)
RTT = Measure(
    "round trip", "ms", lambda flows, end_s: _mean_ms((flow["rtt_ms"]["mean"] for flow in flows), end_s)
)
TRANSFER = Measure(
    "transfer", "s", lambda flows, end_s: fmean(_transfer_s(flow, end_s) for flow in flows), digits=3
)
RETRANSMITTED = Measure(
    "retransmitted", "%", lambda flows, _: _retransmitted(flows), tolerance=0.01, is_share=True, digits=2
)
JAIN = Measure("Jain's index", "%", lambda flows, _: _jain(flows), more_is_better=True, is_share=True)
DELAY = Measure(
    "one-way delay",
    "ms",
    lambda flows, end_s: _mean_ms((flow["datagrams"]["delay_ms"]["mean"] for flow in flows), end_s),
)
LOST = Measure("lost", "%", lambda flows, _: _lost(flows), tolerance=0.01, is_share=True, digits=2)
SENDING = Measure(
    "segments sent", "1/s", lambda flows, end_s: sum(flow["segments_sent"] for flow in flows) / end_s
)


def share_of(rate_bps: float) -> Measure:
    """Goodput as a percentage of the fair share `rate_bps`, capped at 100 %."""
    return Measure(
        "of its fair part",
        "%",
        lambda flows, _: 100 * min(1.0, sum(flow["goodput_bps"] for flow in flows) / rate_bps),
        more_is_better=True,
        is_share=True,
    )
