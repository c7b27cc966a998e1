"""HDR over what the paper does not state: the mean SINR, and how fast the channel fades."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache

from airpath.experiments.papers.base.cell import Cell, Metric, Outcome, Overrides
from airpath.experiments.papers.base.panel import Chart, Line
from airpath.experiments.papers.base.paper import Experiment
from airpath.experiments.papers.base.published import load_published
from airpath.experiments.papers.base.quantity import Quantity
from airpath.experiments.papers.chan import measured
from airpath.experiments.papers.chan.curves import ONE_BDP
from airpath.experiments.papers.chan.hdr import RATES, RUNS, hdr_cell, rate_share
from airpath.experiments.papers.chan.model import RENO, RENO_AR, SACK, SACK_AR, Flow

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
    return replace(cell, name=name, overrides=overrides, runs=RUNS, most_runs=RUNS)


def _throughput(users: int, changes: Overrides) -> Quantity:
    cell = _beside(RENO_AR, RENO, users, changes)
    return Quantity(f"throughput, {cell.name}", cell, measured.goodput_kbps, "kbit/s")


@cache
def _beside(regulated: Flow, flow: Flow, users: int, changes: Overrides) -> Cell:
    """Set regulated flows beside others, run by run."""
    twin = _cell(flow, users, changes)
    return replace(_cell(regulated, users, changes), reference=twin.overrides, paired=True)


def _gain(regulated: Flow, flow: Flow, users: int, changes: Overrides) -> Quantity:
    cell = _beside(regulated, flow, users, changes)
    return Quantity(f"gain over {flow.name}, {cell.name}", cell, measured.gain_on_twin, "percent")


def off_table_4(outcome: Outcome) -> float:
    """Largest distance of a rate's share of the slots from that of Table 4, percent of the slots."""
    printed = load_published("chan")
    distances = (
        abs(rate_share(rate)(outcome) - printed[f"chan-t4-{rate.replace('.', '_')}"].value) for rate in RATES
    )
    return 100 * max(distances)


def _users(count: int) -> str:
    return f"{count} user{'s' if count > 1 else ''}"


def _charts(title: str, parameter: str, values: tuple[float, ...], change: Change) -> tuple[Chart, ...]:
    """Chart the total throughput of regulated flows, and what regulation gains."""
    totals = tuple(
        Line(_users(users), tuple(_throughput(users, change(value)) for value in values)) for users in BUFFERS
    )
    gains = tuple(
        Line(
            f"{_users(users)}, over {flow.name}",
            tuple(_gain(regulated, flow, users, change(value)) for value in values),
        )
        for users in BUFFERS
        for regulated, flow in ((RENO_AR, RENO), (SACK_AR, SACK))
    )
    return (
        Chart(title, parameter, values, "regulated Reno, throughput in all", "kbit/s", totals),
        Chart(title, parameter, values, "gain of regulation", "percent", gains),
    )


def _of_one_user(name: str, unit: str, metric: Metric) -> Line:
    cells = (_beside(RENO_AR, RENO, 1, _sinr(db)) for db in SINRS_DB)
    return Line(name, tuple(Quantity(f"{name}, {cell.name}", cell, metric, unit) for cell in cells))


_ABSCISSA = "mean SINR, dB"

MEAN_SINR = Experiment(
    "study",
    9,
    "HDR over the mean SINR",
    ("quantity",),
    (),
    question="The paper does not state the mean SINR; 2.4 dB is that with which Table 4 comes out. Buffers "
    "of one bandwidth-delay product (15, 5 and 3 packets), a Doppler frequency of 35 Hz, 20 minutes.",
    charts=(
        Chart(
            "Table 4",
            _ABSCISSA,
            SINRS_DB,
            "largest distance from Table 4",
            "percent",
            (_of_one_user("1 user", "percent", off_table_4),),
        ),
        Chart(
            "Link of one user",
            _ABSCISSA,
            SINRS_DB,
            "throughput if never idle",
            "kbit/s",
            (_of_one_user("1 user", "kbit/s", measured.max_throughput_kbps),),
        ),
        *_charts("One bandwidth-delay product", _ABSCISSA, SINRS_DB, _sinr),
    ),
)

DOPPLER = Experiment(
    "study",
    10,
    "HDR over the Doppler frequency",
    ("quantity",),
    (),
    question="The paper does not state how fast the channel fades; 35 Hz is what brings its totals of 4 and "
    "8 users. Buffers of one bandwidth-delay product (15, 5, 3 packets), a mean SINR of 2.4 dB, 20 minutes.",
    charts=_charts("One bandwidth-delay product", "Doppler frequency, Hz", DOPPLERS_HZ, _doppler),
)

SENSITIVITY = (MEAN_SINR, DOPPLER)
