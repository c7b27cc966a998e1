"""Figures 11 to 15 of Chan and Ramjee's paper: four flows over a parameter of the link or the buffer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache

from airpath.experiments.papers.base.cell import Cell
from airpath.experiments.papers.base.paired import gain, reduction, share
from airpath.experiments.papers.base.panel import Chart, Line
from airpath.experiments.papers.base.paper import Experiment, Row
from airpath.experiments.papers.base.published import load_published
from airpath.experiments.papers.base.quantity import Quantity
from airpath.experiments.papers.chan import measured
from airpath.experiments.papers.chan.hdr import hdr_cell
from airpath.experiments.papers.chan.measured import Pick, first_where, last_where, least, most
from airpath.experiments.papers.chan.model import (
    CASES,
    FLOWS,
    RENO,
    RENO_AR,
    SACK,
    SACK_AR,
    Flow,
    make_cell,
    variable_delay,
    variable_rate,
)

CellOf = Callable[[Flow, float], Cell]
"""The cell of a flow at a value of a chart's parameter."""

DELAY_MEANS_MS = (20, 40, 60, 80, 100)
RATE_SDS_KBPS = (20, 35, 50, 65, 75)
BUFFERS = (4, 5, 6, 8, 10, 15, 20)
BUFFERS_OF_BOTH = (6, 7, 9, 12, 15, 18, 20)
HDR_BUFFERS = {1: (5, 10, 15, 20, 40), 4: (3, 5, 10, 15), 8: (2, 3, 6, 9)}
"""Buffers at which HDR is measured, by the number of users."""


def over_delay(flow: Flow, mean_ms: float) -> Cell:
    """Figure 11a: e(mean) at a buffer of 10."""
    return make_cell(flow, variable_delay(mean_ms))


def over_buffer_delay(flow: Flow, buffer: float) -> Cell:
    """Figure 11b: e(50)."""
    cell = make_cell(flow, variable_delay(50), int(buffer))
    if buffer == BUFFERS[-1] and flow in (RENO, RENO_AR):
        # The gain is so small here that it takes many runs to tell whether it is "about 4 %".
        return replace(cell, runs=240, most_runs=240)
    return cell


def over_rate(flow: Flow, sd_kbps: float) -> Cell:
    """Figure 12a: u(200, sd) at a buffer of 10."""
    return make_cell(flow, variable_rate(sd_kbps))


def over_buffer_rate(flow: Flow, buffer: float) -> Cell:
    """Figure 12b: u(200, 75); the paper does not say which."""
    return make_cell(flow, variable_rate(75), int(buffer))


def over_buffer_both(flow: Flow, buffer: float) -> Cell:
    """Figure 13: u(200, 50) and e(50)."""
    return make_cell(flow, CASES[8], int(buffer))


def over_hdr_buffer(users: int) -> CellOf:
    """Figures 14 and 15."""
    return lambda flow, buffer: hdr_cell(flow, users, int(buffer))


@cache
def goodput(cell: Cell) -> Quantity:
    """Throughput of a cell, all flows together."""
    return Quantity(cell.name, cell, measured.goodput_kbps, "kbit/s")


@cache
def round_trip(cell: Cell) -> Quantity:
    """Mean round-trip time of a cell."""
    return Quantity(f"rtt, {cell.name}", cell, measured.rtt_ms, "ms")


def _chart(
    title: str,
    parameter: str,
    values: tuple[float, ...],
    cell_of: CellOf,
    *,
    quantity: Callable[[Cell], Quantity] = goodput,
    what: str = "throughput",
    unit: str = "kbit/s",
    published: tuple[tuple[float, str], ...] = (),
) -> Chart:
    """Chart the four flows; `published` has values of the parameter and ids of what tables print there."""
    lines = tuple(
        Line(flow.name, tuple(quantity(cell_of(flow, value)) for value in values)) for flow in FLOWS
    )
    known = load_published("chan")
    marks = tuple((value, known[f"chan-{name}"].value) for value, name in published)
    return Chart(title, parameter, values, what, unit, lines, marks)


def _row(name: str, what: str, cells: tuple[Cell, ...], pick: Pick, remark: str = "") -> Row:
    return Row(f"chan-{name}", (what,), cells, measured.goodput_kbps, pick=pick, remark=remark)


def _rtt_row(name: str, what: str, buffer: int) -> Row:
    cells = over_buffer_both(RENO_AR, buffer), over_buffer_both(SACK, buffer)
    return Row(f"chan-{name}", (what,), cells, measured.rtt_ms, pick=gain)


def _buffer_row(name: str, what: str, cells: tuple[Cell, ...], pick: Pick, remark: str = "") -> Row:
    """Find a buffer from the throughput or the round-trip time at each of those that are measured."""
    metric = measured.rtt_ms if name == "s63-rttx" else measured.goodput_kbps
    return Row(f"chan-{name}", (what,), cells, metric, pick=pick, remark=remark)


def pairs(cell_of: CellOf, values: tuple[float, ...], first: Flow, second: Flow) -> tuple[Cell, ...]:
    """Set two flows beside each other at each value of a parameter, in order."""
    return tuple(cell_of(flow, value) for value in values for flow in (first, second))


_BUFFER = "buffer, packets"
_UNTIL_18 = tuple(buffer for buffer in BUFFERS_OF_BOTH if 6 < buffer < 18)
HDR_REMARK = (
    "the paper gives neither the terminal's speed nor how packets share slots; the gain falls with the "
    "Doppler frequency, and with it the total throughput of several users"
)
NOT_STATED = (
    "the paper does not say which spread of the rate its Figure 12b has; the gain over Reno is 29 % here"
)

FIGURE_11 = Experiment(
    "figure",
    11,
    "Throughput where the delay varies, e(x) + 400 - x",
    ("quantity",),
    (
        _row(
            "s61-reno-drop",
            "loss of Reno from e(20) to e(100)",
            (over_delay(RENO, 100), over_delay(RENO, 20)),
            reduction,
        ),
        _row(
            "s61-sack-drop",
            "loss of SACK from e(20) to e(100)",
            (over_delay(SACK, 100), over_delay(SACK, 20)),
            reduction,
        ),
        _row(
            "s61-ar-drop",
            "loss of regulated flows, the larger of both",
            tuple(over_delay(flow, mean) for flow in (RENO_AR, SACK_AR) for mean in (100, 20)),
            most(reduction),
        ),
        _row(
            "s61-ar-reno",
            "gain over Reno at e(100)",
            (over_delay(RENO_AR, 100), over_delay(RENO, 100)),
            gain,
        ),
        _row(
            "s61-ar-sack",
            "gain over SACK at e(100)",
            (over_delay(SACK_AR, 100), over_delay(SACK, 100)),
            gain,
        ),
        Row(
            "chan-s61-80",
            ("share of 200 kbit/s, regulated, buffer 5",),
            (over_buffer_delay(RENO_AR, 5),),
            measured.share_of_200_kbps,
        ),
        _row("s61-b4-reno", "gain over Reno, buffer 4", pairs(over_buffer_delay, (4,), RENO_AR, RENO), gain),
        _row("s61-b4-sack", "gain over SACK, buffer 4", pairs(over_buffer_delay, (4,), SACK_AR, SACK), gain),
        _row(
            "s61-b20-reno", "gain over Reno, buffer 20", pairs(over_buffer_delay, (20,), RENO_AR, RENO), gain
        ),
    ),
    charts=(
        _chart(
            "(a) buffer of 10",
            "mean of the forward delay, ms",
            DELAY_MEANS_MS,
            over_delay,
            published=(
                (20, "t2-2-sim"),
                *((100, f"t3-{flow}-goodput") for flow in ("reno", "sack", "reno-ar")),
            ),
        ),
        _chart("(b) 350+e(50)", _BUFFER, BUFFERS, over_buffer_delay),
    ),
)

FIGURE_12 = Experiment(
    "figure",
    12,
    "Throughput where the rate varies, u(200, x)",
    ("quantity",),
    (
        _row(
            "s62-ar-reno",
            "gain over Reno, the most of all spreads",
            pairs(over_rate, RATE_SDS_KBPS, RENO_AR, RENO),
            most(gain),
        ),
        _row(
            "s62-b5-sack",
            "gain over SACK, buffer 5, u(200,75)",
            pairs(over_buffer_rate, (5,), SACK_AR, SACK),
            gain,
            NOT_STATED,
        ),
        Row(
            "chan-s62-bdp",
            ("bandwidth-delay product at u(200,75)",),
            (over_rate(RENO, 75),),
            measured.pipe_packets,
        ),
    ),
    charts=(
        _chart(
            "(a) buffer of 10",
            "standard deviation of the rate, kbit/s",
            RATE_SDS_KBPS,
            over_rate,
            published=((20, "t2-5-sim"), (50, "t2-6-sim"), (75, "t2-7-sim")),
        ),
        _chart("(b) u(200, 75)", _BUFFER, BUFFERS, over_buffer_rate),
    ),
)

FIGURE_13 = Experiment(
    "figure",
    13,
    "Throughput and round-trip time, u(200, 50) and 350 + e(50)",
    ("quantity",),
    (
        *(
            _row(
                f"s63-b6-{end}",
                f"Reno, share of regulated, buffer 6, {what}",
                pairs(over_buffer_both, (6,), RENO, RENO_AR),
                share,
            )
            for end, what in (("lo", "at least"), ("hi", "at most"))
        ),
        _row(
            "s63-b18",
            "Reno below regulated, buffer 18",
            pairs(over_buffer_both, (18,), RENO, RENO_AR),
            reduction,
        ),
        _row(
            "s63-sack-lo",
            "SACK below regulated, buffers 7 to 15, least",
            pairs(over_buffer_both, _UNTIL_18, SACK, SACK_AR),
            least(reduction),
        ),
        _row(
            "s63-sack-hi",
            "SACK below regulated, buffers 7 to 15, most",
            pairs(over_buffer_both, _UNTIL_18, SACK, SACK_AR),
            most(reduction),
        ),
        _rtt_row("s63-rtt9", "rtt above SACK's, buffer 9", 9),
        _rtt_row("s63-rtt18", "rtt above SACK's, buffer 18", 18),
        _buffer_row(
            "s63-rttx",
            "largest buffer with an rtt at most 15 % above SACK's",
            pairs(over_buffer_both, BUFFERS_OF_BOTH, RENO_AR, SACK),
            last_where(BUFFERS_OF_BOTH, lambda regulated, sack: regulated <= 1.15 * sack),
        ),
        _buffer_row(
            "s63-2bdp",
            "smallest buffer at which SACK is less than 5 % below regulated",
            pairs(over_buffer_both, BUFFERS_OF_BOTH, SACK, SACK_AR),
            first_where(BUFFERS_OF_BOTH, lambda sack, regulated: sack > 0.95 * regulated),
            "SACK's curve has the published shape, and meets the regulated one sooner",
        ),
    ),
    charts=(
        _chart("(a)", _BUFFER, BUFFERS_OF_BOTH, over_buffer_both),
        _chart(
            "(b)", _BUFFER, BUFFERS_OF_BOTH, over_buffer_both, quantity=round_trip, what="mean rtt", unit="ms"
        ),
    ),
)


def _hdr_range(section: int, prefix: str) -> tuple[Row, ...]:
    """Make the rows of the ranges of gains over all buffers, which two sections print."""
    cell_of, buffers = over_hdr_buffer(1), HDR_BUFFERS[1]
    return tuple(
        _row(
            f"s{section}-{prefix}{name}-{bound}",
            f"one HDR flow: gain over {flow.name}, {what} of all buffers",
            pairs(cell_of, buffers, regulated, flow),
            pick(gain),
            HDR_REMARK,
        )
        for name, flow, regulated in (("reno", RENO, RENO_AR), ("sack", SACK, SACK_AR))
        for bound, what, pick in (("low", "least", least), ("high", "most", most))
    )


RANGES_OF_SUMMARY = _hdr_range(67, "hdr-")
"""The ranges as Section 6.7 repeats them."""

FIGURE_14 = Experiment(
    "figure",
    14,
    "Throughput and round-trip time with HDR, one flow",
    ("quantity",),
    (
        *_hdr_range(64, ""),
        _buffer_row(
            "s64-sack-to20",
            "largest buffer at which SACK is more than 0.5 % below regulated",
            pairs(over_hdr_buffer(1), HDR_BUFFERS[1], SACK, SACK_AR),
            last_where(HDR_BUFFERS[1], lambda sack, regulated: regulated > 1.005 * sack),
            HDR_REMARK,
        ),
    ),
    charts=(
        _chart("(a)", _BUFFER, HDR_BUFFERS[1], over_hdr_buffer(1)),
        _chart(
            "(b)",
            _BUFFER,
            HDR_BUFFERS[1],
            over_hdr_buffer(1),
            quantity=round_trip,
            what="mean rtt",
            unit="ms",
        ),
    ),
)

ONE_BDP = {4: 5, 8: 3}
"""Buffers of one bandwidth-delay product per flow, by the number of users."""

FIGURE_15 = Experiment(
    "figure",
    15,
    "Throughput with HDR, several flows",
    ("quantity",),
    tuple(
        _row(
            f"s65-{users}-{flow.name.lower()}",
            f"gain over {flow.name}, {users} flows, buffer {ONE_BDP[users]}",
            pairs(over_hdr_buffer(users), (ONE_BDP[users],), regulated, flow),
            gain,
            HDR_REMARK,
        )
        for users in ONE_BDP
        for flow, regulated in ((RENO, RENO_AR), (SACK, SACK_AR))
    ),
    charts=tuple(
        _chart(
            f"({letter}) {users} flows",
            "buffer of each flow, packets",
            HDR_BUFFERS[users],
            over_hdr_buffer(users),
        )
        for letter, users in (("a", 4), ("b", 8))
    ),
)

CURVES = (FIGURE_11, FIGURE_12, FIGURE_13, FIGURE_14, FIGURE_15)
