"""Figures 11 to 15 of Chan and Ramjee's paper: four flows over a parameter of the link or the buffer."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial

from airpath_studies.base.cell import Cell
from airpath_studies.base.measure import Measure, chart
from airpath_studies.base.paired import Pick, gain, least, most, reduction, share
from airpath_studies.base.panel import Chart
from airpath_studies.base.paper import Row, figure
from airpath_studies.chan import measured
from airpath_studies.chan.measured import FIRST, LAST, found
from airpath_studies.chan.model import (
    CASES,
    FLOWS,
    REGULATED,
    RENO,
    RENO_AR,
    SACK,
    SACK_AR,
    Flow,
    hdr_cell,
    make_cell,
    make_link,
)
from airpath_studies.chan.tables import PUBLISHED, row

CellOf = Callable[[Flow, float], Cell]
"""The cell of a flow at a value of a chart's parameter."""

DELAY_MEANS_MS = (20, 40, 60, 80, 100)
RATE_SDS_KBPS = (20, 35, 50, 65, 75)
BUFFERS = (4, 5, 6, 8, 10, 15, 20)
BUFFERS_OF_BOTH = (6, 7, 9, 12, 15, 18, 20)
HDR_BUFFERS = {1: (5, 10, 15, 20, 40), 4: (3, 5, 10, 15), 8: (2, 3, 6, 9)}
"""Buffers where HDR is measured, per number of users."""
ONE_BDP = {4: 5, 8: 3}
"""Buffers of one bandwidth-delay product per flow, per number of users."""


def over_delay(flow: Flow, mean_ms: float) -> Cell:
    """Figure 11a: e(mean) at a buffer of 10."""
    return make_cell(flow, make_link(mean_ms))


def over_buffer_delay(flow: Flow, buffer: float) -> Cell:
    """Figure 11b: e(50)."""
    cell = make_cell(flow, CASES[3], int(buffer))
    if buffer == BUFFERS[-1] and flow in (RENO, RENO_AR):
        # The gain is so small here that it takes many runs to tell whether it is "about 4 %".
        return replace(cell, runs=240, most_runs=240)
    return cell


def over_rate(flow: Flow, sd_kbps: float) -> Cell:
    """Figure 12a: u(200, sd) at a buffer of 10."""
    return make_cell(flow, make_link(rate_sd_kbps=sd_kbps))


def over_buffer_rate(flow: Flow, buffer: float) -> Cell:
    """Figure 12b: u(200, 75); the paper does not say which."""
    return make_cell(flow, CASES[7], int(buffer))


def over_buffer_both(flow: Flow, buffer: float) -> Cell:
    """Figure 13: u(200, 50) and e(50)."""
    return make_cell(flow, CASES[8], int(buffer))


def over_hdr_buffer(users: int) -> CellOf:
    """Figures 14 and 15."""
    return lambda flow, buffer: hdr_cell(flow, users, int(buffer))


def _chart(
    title: str,
    parameter: str,
    values: tuple[float, ...],
    cell_of: CellOf,
    measure: Measure = measured.GOODPUT,
    published: Iterable[tuple[float, str]] = (),
) -> Chart:
    """Chart the four flows; `published` has values of the parameter and ids of what tables print there."""
    marks = tuple((value, PUBLISHED[name].value) for value, name in published)
    return chart(title, parameter, values, measure, {f.name: partial(cell_of, f) for f in FLOWS}, marks)


def pairs(cell_of: CellOf, values: Iterable[float], one: Flow, other: Flow) -> tuple[Cell, ...]:
    """Pair two flows at each value of a parameter, in order."""
    return tuple(cell_of(flow, value) for value in values for flow in (one, other))


def gains(name: str, what: str, cell_of: CellOf, *values: float, pick: Pick = gain) -> tuple[Row, ...]:
    """Compare regulated flows with Reno and SACK, whose name fills the braces of ID and label."""
    return tuple(
        row(
            name.format(flow.name.lower()),
            what.format(flow.name),
            pairs(cell_of, values, regulated, flow),
            pick=pick,
        )
        for flow, regulated in REGULATED.items()
    )


def _drop(name: str, what: str, *flows: Flow) -> Row:
    cells = (over_delay(flow, mean_ms) for flow in flows for mean_ms in (100, 20))
    return row(f"s61-{name}-drop", what, cells, pick=most(reduction))


_BUFFER = "buffer, packets"
_UNTIL_18 = tuple(buffer for buffer in BUFFERS_OF_BOTH if 6 < buffer < 18)


_both = partial(pairs, over_buffer_both)


def hdr_range(name: str) -> tuple[Row, ...]:
    """Make the rows of the ranges of gains over all buffers, which two sections print."""
    ends = (("low", "least", least), ("high", "most", most))
    known = [
        gains(
            f"{name}-{end}",
            f"one HDR flow: gain over {{}}, {what} of all buffers",
            over_hdr_buffer(1),
            *HDR_BUFFERS[1],
            pick=pick(gain),
        )
        for end, what, pick in ends
    ]
    return tuple(of_flow for of_both in zip(*known, strict=True) for of_flow in of_both)


CURVES = (
    figure(
        11,
        "Throughput where the delay varies, e(x) + 400 - x",
        _drop("reno", "loss of Reno from e(20) to e(100)", RENO),
        _drop("sack", "loss of SACK from e(20) to e(100)", SACK),
        _drop("ar", "loss of regulated flows, the larger of both", RENO_AR, SACK_AR),
        *gains("s61-ar-{}", "gain over {} at e(100)", over_delay, 100),
        row(
            "s61-80",
            "share of 200 kbit/s, regulated, buffer 5",
            over_buffer_delay(RENO_AR, 5),
            lambda outcome: measured.goodput_kbps(outcome) / 2,
        ),
        *gains("s61-b4-{}", "gain over {}, buffer 4", over_buffer_delay, 4),
        gains("s61-b20-{}", "gain over {}, buffer 20", over_buffer_delay, 20)[0],
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
    ),
    figure(
        12,
        "Throughput where the rate varies, u(200, x)",
        gains(
            "s62-ar-{}", "gain over {}, the most of all spreads", over_rate, *RATE_SDS_KBPS, pick=most(gain)
        )[0],
        gains("s62-b5-{}", "gain over {}, buffer 5, u(200,75)", over_buffer_rate, 5)[1],
        row("s62-bdp", "bandwidth-delay product at u(200,75)", over_rate(RENO, 75), measured.pipe_packets),
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
    ),
    figure(
        13,
        "Throughput and round-trip time, u(200, 50) and 350 + e(50)",
        *(
            row(
                f"s63-b6-{end}",
                f"Reno, share of regulated, buffer 6, {what}",
                _both((6,), RENO, RENO_AR),
                pick=share,
            )
            for end, what in (("lo", "at least"), ("hi", "at most"))
        ),
        row("s63-b18", "Reno below regulated, buffer 18", _both((18,), RENO, RENO_AR), pick=reduction),
        *(
            row(
                f"s63-sack-{end}",
                f"SACK below regulated, buffers 7 to 15, {what}",
                _both(_UNTIL_18, SACK, SACK_AR),
                pick=pick(reduction),
            )
            for end, what, pick in (("lo", "least", least), ("hi", "most", most))
        ),
        *(
            row(
                f"s63-rtt{buffer}",
                f"rtt above SACK's, buffer {buffer}",
                _both((buffer,), RENO_AR, SACK),
                measured.rtt_ms,
                gain,
            )
            for buffer in (9, 18)
        ),
        row(
            "s63-rttx",
            "largest buffer with an rtt at most 15 % above SACK's",
            _both(BUFFERS_OF_BOTH, RENO_AR, SACK),
            measured.rtt_ms,
            found(LAST, BUFFERS_OF_BOTH, lambda regulated, sack: regulated <= 1.15 * sack),
        ),
        row(
            "s63-2bdp",
            "smallest buffer at which SACK is less than 5 % below regulated",
            _both(BUFFERS_OF_BOTH, SACK, SACK_AR),
            pick=found(FIRST, BUFFERS_OF_BOTH, lambda sack, regulated: sack > 0.95 * regulated),
        ),
        charts=(
            _chart("(a)", _BUFFER, BUFFERS_OF_BOTH, over_buffer_both),
            _chart("(b)", _BUFFER, BUFFERS_OF_BOTH, over_buffer_both, measured.RTT),
        ),
    ),
    figure(
        14,
        "Throughput and round-trip time with HDR, one flow",
        *hdr_range("s64-{}"),
        row(
            "s64-sack-to20",
            "largest buffer at which SACK is more than 0.5 % below regulated",
            pairs(over_hdr_buffer(1), HDR_BUFFERS[1], SACK, SACK_AR),
            pick=found(LAST, HDR_BUFFERS[1], lambda sack, regulated: regulated > 1.005 * sack),
        ),
        charts=(
            _chart("(a)", _BUFFER, HDR_BUFFERS[1], over_hdr_buffer(1)),
            _chart("(b)", _BUFFER, HDR_BUFFERS[1], over_hdr_buffer(1), measured.RTT),
        ),
    ),
    figure(
        15,
        "Throughput with HDR, several flows",
        *(
            of_flow
            for users, buffer in ONE_BDP.items()
            for of_flow in gains(
                f"s65-{users}-{{}}",
                f"gain over {{}}, {users} flows, buffer {buffer}",
                over_hdr_buffer(users),
                buffer,
            )
        ),
        charts=(
            _chart(
                f"({letter}) {users} flows",
                "buffer of each flow, packets",
                HDR_BUFFERS[users],
                over_hdr_buffer(users),
            )
            for letter, users in (("a", 4), ("b", 8))
        ),
    ),
)
