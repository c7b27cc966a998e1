"""HDR over what the paper does not state: the mean SINR, and how fast the channel fades."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial

from airpath.experiments.papers.base.cell import Cell, Outcome, Overrides
from airpath.experiments.papers.base.measure import Measure, chart, study
from airpath.experiments.papers.base.panel import Chart
from airpath.experiments.papers.chan import measured
from airpath.experiments.papers.chan.curves import ONE_BDP
from airpath.experiments.papers.chan.measured import RATES, rate_share
from airpath.experiments.papers.chan.model import HDR_RUNS, REGULATED, RENO, Flow, hdr_cell
from airpath.experiments.papers.chan.tables import PUBLISHED, rate_id

DURATION = "20 min"
"""Of a run here; the figures' last an hour."""

SINRS_DB = (0.4, 1.4, 2.4, 3.4, 4.4, 5.4)
DOPPLERS_HZ = (10, 20, 35, 70, 150, 300)
BUFFERS = {1: 15, **ONE_BDP}
"""Buffers of one bandwidth-delay product, by the number of users."""

Change = Callable[[float], Overrides]
"""What sets a parameter."""


def _sinr(db: float) -> Overrides:
    return (("radio.evdo.downlink.mean_sinr", f"{db:g} dB"),)


def _doppler(hz: float) -> Overrides:
    return (("radio.evdo.downlink.fading.jakes.doppler", f"{hz:g} Hz"),)


def _cell(flow: Flow, users: int, changes: Overrides) -> Cell:
    cell = hdr_cell(flow, users, BUFFERS[users])
    name = ", ".join([cell.name, *(value for _, value in changes)])
    overrides = (*cell.overrides, ("duration", DURATION), *changes)
    return replace(cell, name=name, overrides=overrides, runs=HDR_RUNS, most_runs=HDR_RUNS)


@cache
def _beside(flow: Flow, users: int, change: Change, value: float) -> Cell:
    """Set regulated flows beside others, run by run."""
    changes = change(value)
    twin = _cell(flow, users, changes)
    return replace(_cell(REGULATED[flow], users, changes), reference=twin.overrides, paired=True)


def off_table_4(outcome: Outcome) -> float:
    """Largest distance of a rate's share of the slots from that of Table 4, percent of the slots."""
    return 100 * max(abs(rate_share(rate)(outcome) - PUBLISHED[rate_id(rate)].value) for rate in RATES)


TOTAL = Measure("regulated Reno, throughput in all", "kbit/s", measured.goodput_kbps)
GAIN = Measure("gain of regulation", "percent", measured.gain_on_twin)


def _charts(parameter: str, values: tuple[float, ...], change: Change) -> tuple[Chart, ...]:
    """Chart the total throughput of regulated flows, and what regulation gains."""
    title = "One bandwidth-delay product"
    said = {users: f"{users} user{'s' if users > 1 else ''}" for users in BUFFERS}
    totals = {name: partial(_beside, RENO, users, change) for users, name in said.items()}
    gains = {
        f"{name}, over {flow.name}": partial(_beside, flow, users, change)
        for users, name in said.items()
        for flow in REGULATED
    }
    return (
        chart(title, parameter, values, TOTAL, totals),
        chart(title, parameter, values, GAIN, gains),
    )


SENSITIVITY = (
    study(
        9,
        "HDR over the mean SINR",
        "The paper does not state the mean SINR; 2.4 dB is that with which Table 4 comes out. Buffers "
        "of one bandwidth-delay product (15, 5 and 3 packets), a Doppler frequency of 35 Hz, 20 minutes.",
        charts=(
            *(
                chart(title, "mean SINR, dB", SINRS_DB, measure, {"1 user": partial(_beside, RENO, 1, _sinr)})
                for title, measure in (
                    ("Table 4", Measure("largest distance from Table 4", "percent", off_table_4)),
                    (
                        "Link of one user",
                        Measure("throughput if never idle", "kbit/s", measured.max_throughput_kbps),
                    ),
                )
            ),
            *_charts("mean SINR, dB", SINRS_DB, _sinr),
        ),
    ),
    study(
        10,
        "HDR over the Doppler frequency",
        "The paper does not state how fast the channel fades; 35 Hz is what brings its totals of 4 and "
        "8 users. Buffers of one bandwidth-delay product (15, 5, 3 packets), a mean SINR of 2.4 dB, "
        "20 minutes.",
        charts=_charts("Doppler frequency, Hz", DOPPLERS_HZ, _doppler),
    ),
)
