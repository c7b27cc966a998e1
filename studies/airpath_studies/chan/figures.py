"""Figures 2 to 5 of Chan and Ramjee's paper: a live system's delays, imitated, and congestion windows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from airpath_studies.base.cell import Cell, Metric, Outcome, Overrides
from airpath_studies.base.measure import bearer
from airpath_studies.base.observe import Observation
from airpath_studies.base.panel import Trace
from airpath_studies.base.paper import figure
from airpath_studies.chan.model import CASES, RENO, make_cell
from airpath_studies.chan.observed import (
    ACK_SPACING,
    PING_LATENCIES,
    ROUND_TRIPS,
    WINDOW,
    epoch_s,
    example_of,
)
from airpath_studies.chan.tables import PUBLISHED, row

LIVE = "chan-3g1x"
"""Base scenario of the live system of section 3."""

USER_BYTES = 1448
PINGS = 1000

_PINGS_ALONE: Overrides = (
    ("flow", f"[{{ ue = 0, app = {{ ping = {{ requests = {PINGS} }} }} }}]"),
    ("duration", f"{PINGS + 10} s"),
)


def download_kbps(outcome: Outcome) -> float:
    """Speed of the 2 MB file, without headers, kbit/s."""
    return float(outcome.results["flows"][0]["goodput_bps"]) / 1000


def packet_time_ms(packets: int) -> Metric:
    """How long the data of so many packets takes at the speed of the download, milliseconds."""
    return lambda outcome: packets * USER_BYTES * 8 / download_kbps(outcome)


def ack_time_ms(outcome: Outcome) -> float:
    """How long an ACK occupies the uplink, milliseconds."""
    return 1000 / float(bearer(outcome, "uplink")["service_rate_packets_per_s"])


def live_cell(observe: Observation | None = None) -> Cell:
    """Run the download over the imitated live system."""
    return Cell("3G1X, 2 MB", (), None, download_kbps, observe=observe, scenario=LIVE)


def latency_ms(of: Callable[[NDArray[np.float64]], float]) -> Metric:
    """Something of the observed latencies, or spacings, in milliseconds."""
    return lambda outcome: float(of(outcome.observed.x))


def _percent(so: Callable[[NDArray[np.float64]], NDArray[np.bool_]]) -> Metric:
    return latency_ms(lambda x: 100 * float(np.mean(so(x))))


_mean_latency_ms = latency_ms(np.mean)
PINGS_CELL = Cell(
    "3G1X, pings",
    _PINGS_ALONE,
    None,
    _mean_latency_ms,
    observe=PING_LATENCIES,
    scenario=LIVE,
    runs=20,
    most_runs=20,
)
LIVE_DOWNLOAD = live_cell()
SPACED, SAMPLED = live_cell(ACK_SPACING), live_cell(ROUND_TRIPS)
"""The download with the time between its ACKs, and with the samples of its round-trip time."""

LIVE_TEXT = (
    row("s1-ping-lo", "3G1X: shortest latency of a ping", PINGS_CELL, latency_ms(np.min)),
    row("s1-ping-hi", "3G1X: longest latency of a ping", PINGS_CELL, latency_ms(np.max)),
    row("s3-ping-mean", "3G1X: mean latency of pings", PINGS_CELL, _mean_latency_ms),
    row("s3-thr", "3G1X: throughput of 2 MB", LIVE_DOWNLOAD, download_kbps),
    row(
        "f3-30",
        "3G1X: most packets in the buffer",
        LIVE_DOWNLOAD,
        lambda outcome: float(bearer(outcome, "downlink")["peak_queued_sdus"]),
    ),
)
"""Statements of the text (not of tables) about the live system."""


def _window(title: str, case: int) -> Trace:
    cell = replace(make_cell(RENO, CASES[case]), observe=WINDOW)
    return Trace(f"{title}: {CASES[case].name}", "time [s]", "cwnd [packets]", cell)


EXAMPLE_CASE = 4
"""The paper does not name the link of its examples of loss events."""


def _example(losses: int) -> Cell:
    mu, t_hat_ms = (PUBLISHED[f"t1-{EXAMPLE_CASE}-{name}"].target for name in ("mu-hat", "t-hat"))
    return replace(make_cell(RENO, CASES[EXAMPLE_CASE]), observe=example_of(losses, mu * t_hat_ms / 1000))


EXAMPLES = {"a": ("two losses", _example(2)), "b": ("three losses", _example(3))}
_EPOCHS = (
    ("a", "tr", "retransmission", "t_r"),
    ("a", "a2", "until the pipe is full", "a"),
    ("a", "b1", "until the next loss", "b"),
    ("b", "tr", "retransmission", "t_r"),
    ("b", "to", "timeout", "timeout"),
    ("b", "ss", "slow start", "slow start"),
    ("b", "a3", "until the pipe is full", "a"),
    ("b", "b1", "until the next loss", "b"),
)

FIGURES = (
    figure(
        2,
        "Distribution of ping latencies over 3G1X, imitated",
        row("f2-75", "share below 200 ms", PINGS_CELL, _percent(lambda x: x < 200)),
        row("f2-3", "share above 500 ms", PINGS_CELL, _percent(lambda x: x > 500)),
        traces=(Trace(f"{PINGS} pings", "latency over the radio link [ms]", "share not longer", PINGS_CELL),),
    ),
    figure(
        3,
        "A download of 2 MB over 3G1X, imitated",
        row(
            "s3-ackspacing",
            "time between ACKs of two packets, if nothing varied",
            LIVE_DOWNLOAD,
            packet_time_ms(2),
        ),
        row("f3-50ms", "share of ACKs within 50 ms of the one before", SPACED, _percent(lambda x: x <= 50)),
        row("f3-rtt", "longest round-trip time", SAMPLED, lambda outcome: float(outcome.observed.y.max())),
        traces=(
            Trace("(a) distribution of the time between ACKs", "[ms]", "share not longer", SPACED),
            Trace("(b) round-trip time", "time [s]", "rtt [s]", SAMPLED, is_step=False),
        ),
    ),
    figure(
        4,
        "Congestion window of Reno over time",
        traces=(_window("(a) constant rate and delay", 1), _window("(b) variable delay", 4)),
    ),
    figure(
        5,
        "Congestion window around events of several losses",
        *(
            row(f"f5{panel}-{name}", f"{EXAMPLES[panel][0]}: {what}", EXAMPLES[panel][1], epoch_s(epoch))
            for panel, name, what, epoch in _EPOCHS
        ),
        traces=(
            Trace("(a) two losses", "time [s]", "cwnd [packets]", EXAMPLES["a"][1]),
            Trace("(b) three losses and a timeout", "time [s]", "cwnd [packets]", EXAMPLES["b"][1]),
        ),
    ),
)
