"""The claims of Chan and Ramjee's paper, in own words; the rules are in `conditions`.

Those about links whose rate or delay is drawn; those about round-trip times, HDR and the regulator's
parameters are in `more_claims`.
"""

from __future__ import annotations

from airpath.experiments.papers.base.cell import Metric
from airpath.experiments.papers.base.conditions import (
    About,
    AtLeast,
    AtMost,
    Condition,
    Less,
    NotLess,
    Positive,
    Tie,
    WithinPoints,
    between,
    rising,
)
from airpath.experiments.papers.base.quantity import Gain, Minus, Quantity, Times
from airpath.experiments.papers.chan import measured
from airpath.experiments.papers.chan.curves import (
    BUFFERS,
    BUFFERS_OF_BOTH,
    DELAY_MEANS_MS,
    RATE_SDS_KBPS,
    CellOf,
    goodput,
    over_buffer_both,
    over_buffer_delay,
    over_buffer_rate,
    over_delay,
    over_rate,
)
from airpath.experiments.papers.chan.model import CASES, RENO, RENO_AR, SACK, SACK_AR, Flow, Link, make_cell
from airpath.experiments.papers.chan.more_claims import MORE_CLAIMS, claim
from airpath.experiments.papers.chan.tables import ACCURACIES, CELLS, CYCLES, WIDEST, own_quantity

DELAY_CASES, RATE_CASES = (1, 2, 3, 4), (5, 6, 7)
"""Cases of Table 1 in the order of growing spread."""

OTHER_DELAYS = {
    "uniform": '{ uniform = { mean = "50 ms", sd = "28 ms" } }',
    "normal": '{ normal = { mean = "50 ms", sd = "50 ms" } }',
    "lognormal": '{ lognormal = { mean = "50 ms", sd = "50 ms" } }',
    "Poisson": '{ poisson = { mean = "50 ms", unit = "50 ms" } }',
}
"""Forward delays with a mean of 50 ms, spread as e(50) is; the uniform one as far as it is never negative."""

WIDE_RATE = Link("lognormal(200,200), 400", '{ lognormal = { mean = "200 kbit/s", sd = "200 kbit/s" } }')
"""A very wide variation of the rate."""


def _of(case: int, metric: Metric, what: str, unit: str = "1") -> Quantity:
    return Quantity(f"{what}, case {case}", CELLS[case], metric, unit)


def _growing(cases: tuple[int, ...], metric: Metric, what: str, unit: str = "1") -> tuple[Condition, ...]:
    return rising(*(_of(case, metric, what, unit) for case in cases))


def _falling(cases: tuple[int, ...], metric: Metric, what: str, unit: str = "1") -> tuple[Condition, ...]:
    return _growing(cases[::-1], metric, what, unit)


def _longer(case: int) -> Minus:
    """Realised mean delay of both ways beyond that of constant delays."""
    what = "mean delay of the link"
    return Minus(_of(case, measured.link_delay_ms, what, "ms"), _of(1, measured.link_delay_ms, what, "ms"))


def _too_high(case: int, model: str) -> Gain:
    return Gain(own_quantity(case, model), own_quantity(case))


def _accuracy(case: int) -> Quantity:
    return _of(case, ACCURACIES["chan_ramjee"], "accuracy of model 3")


def _cycles(case: int) -> tuple[Condition, ...]:
    """Throughput if all loss events were of one kind, by the model with the link and window measured."""
    kinds = ("timeout", "double", "single")
    return rising(*(_of(case, CYCLES[kind], f"only {kind}", "kbit/s") for kind in kinds))


def _wide(flow: Flow, metric: Metric, what: str, unit: str = "1") -> Quantity:
    return Quantity(f"{what}, {flow.name}", WIDEST[flow.name], metric, unit)


def _events(flow: Flow) -> Quantity:
    return _wide(flow, measured.loss_events, "loss events")


def _window(flow: Flow) -> Quantity:
    return _wide(flow, measured.max_window, "Wf", "packets")


def over(cell_of: CellOf, value: float, flow: Flow, other: Flow) -> Gain:
    """Gain in throughput of a flow over another one at a value of a parameter."""
    return Gain(goodput(cell_of(flow, value)), goodput(cell_of(other, value)))


def _drop(flow: Flow) -> Times:
    """Throughput lost from e(20) to e(100)."""
    return Times(-1, Gain(goodput(over_delay(flow, 100)), goodput(over_delay(flow, 20))))


def _maximum(sd_kbps: float) -> Quantity:
    cell = over_rate(RENO, sd_kbps)
    return Quantity(f"maximum at u(200,{sd_kbps:g})", cell, measured.max_throughput_kbps, "kbit/s")


def _other(delay: str, flow: Flow) -> Quantity:
    link = Link(f"200, 350+{delay}", forward=OTHER_DELAYS[delay], reverse_ms=350)
    return goodput(make_cell(flow, link))


def _similar(delay: str) -> tuple[Condition, ...]:
    """What is said of exponential delays, of other ones."""
    return (
        Less(_other(delay, RENO), _other(delay, RENO_AR)),
        NotLess(_other(delay, SACK_AR), _other(delay, SACK)),
        Tie(_other(delay, RENO_AR), _other(delay, SACK_AR)),
    )


_UNREGULATED, _REGULATED = (RENO, SACK), (RENO_AR, SACK_AR)
_WIDE_RATES = {flow: goodput(make_cell(flow, WIDE_RATE)) for flow in _UNREGULATED + _REGULATED}

CLAIMS = (
    claim(
        1,
        "Tables 1, 2",
        "Throughput falls as the spread of the delay grows (cases 1 to 4), or that of the rate (5 to 7).",
        *_falling(DELAY_CASES, measured.goodput_kbps, "throughput", "kbit/s"),
        *_falling(RATE_CASES, measured.goodput_kbps, "throughput", "kbit/s"),
    ),
    claim(
        2,
        "Table 1, Section 4",
        "With the spread p1 falls, p2 begins to rise, p3 rises, and timeouts rise from 1 to over 80 in cases "
        "4, 7 and 9.",
        *_falling(DELAY_CASES, measured.single_share, "p1"),
        *_falling(RATE_CASES, measured.single_share, "p1"),
        *_growing((1, 2), measured.double_share, "p2"),
        *_growing((1, 5), measured.double_share, "p2"),
        *_growing(DELAY_CASES[1:], measured.timeout_share, "p3"),
        *_growing(RATE_CASES, measured.timeout_share, "p3"),
        AtMost(_of(1, measured.timeouts, "timeouts"), 1, slack=0),
        *(AtLeast(_of(case, measured.timeouts, "timeouts"), 80, slack=0) for case in (4, 7, 9)),
    ),
    claim(
        3,
        "Table 1",
        "Wf falls as the spread grows.",
        *_falling(DELAY_CASES, measured.max_window, "Wf", "packets"),
        *_falling(RATE_CASES, measured.max_window, "Wf", "packets"),
    ),
    claim(
        4,
        "Table 2",
        "Rate and delay that vary together are worse than either alone: case 8 than 3, 6, case 9 than 4, 7.",
        *(Less(own_quantity(both), own_quantity(alone)) for both, alone in ((8, 3), (8, 6), (9, 4), (9, 7))),
    ),
    claim(
        5,
        "Table 1",
        "The mean timeout grows with the spread, the constant case aside.",
        *_growing(DELAY_CASES[1:], measured.timeout_wait_s, "T0", "s"),
        *_growing(RATE_CASES, measured.timeout_wait_s, "T0", "s"),
        *_growing((8, 9), measured.timeout_wait_s, "T0", "s"),
    ),
    claim(
        6,
        "Table 2, Section 4",
        "The model of deterministic losses is too high in all nine cases, by 12 to 14 %.",
        *(condition for case in CASES for condition in between(_too_high(case, "padhye"), 12, 14)),
    ),
    claim(
        7,
        "Table 2, Section 4",
        "The model of Poisson losses, as printed, is within 2 % at small spreads (cases 1, 2, 3, 5) and 17 "
        "to 20 % too high at the widest (4, 7, 9).",
        *(WithinPoints(_too_high(case, "misra_as_printed"), 0, 2) for case in (1, 2, 3, 5)),
        *(
            condition
            for case in (4, 7, 9)
            for condition in between(_too_high(case, "misra_as_printed"), 17, 20)
        ),
    ),
    claim(
        8,
        "Table 2, Section 4",
        "Equation 19 is within 6 % in all nine cases, and best where the spread is small.",
        *(WithinPoints(_too_high(case, "chan_ramjee"), 0, 6) for case in CASES),
        *(Less(_accuracy(wide), _accuracy(small)) for wide, small in ((4, 2), (9, 5))),
    ),
    claim(
        9,
        "Section 4",
        "Events of one loss bring more packets in a time than those of two, and these than of three.",
        *(condition for case in (4, 7, 9) for condition in _cycles(case)),
    ),
    claim(
        10,
        "Table 1",
        "As no packet overtakes another, the mean delay is longer than configured, and the more so the wider "
        "the spread (2, 21 and 77 ms).",
        Positive(_longer(2)),
        *rising(_longer(2), _longer(3), _longer(4)),
    ),
    claim(
        11,
        "Section 6.1, Figure 11a",
        "From e(20) to e(100) Reno loses about 30 %, SACK about 19 %, both regulated flows about 8 %.",
        About(_drop(RENO), 30),
        About(_drop(SACK), 19),
        *(About(_drop(flow), 8) for flow in _REGULATED),
    ),
    claim(
        12,
        "Sections 6.1, 6.7, Table 3",
        "Regulated Reno and regulated SACK have the same throughput.",
        *(
            Tie(goodput(over_delay(RENO_AR, mean)), goodput(over_delay(SACK_AR, mean)))
            for mean in DELAY_MEANS_MS
        ),
        *(
            Tie(goodput(over_buffer_delay(RENO_AR, b)), goodput(over_buffer_delay(SACK_AR, b)))
            for b in BUFFERS
        ),
    ),
    claim(
        13,
        "Table 3",
        "At e(100) regulated flows are faster than SACK, and SACK than Reno.",
        *(Less(goodput(WIDEST["SACK"]), goodput(WIDEST[flow.name])) for flow in _REGULATED),
        Less(goodput(WIDEST["Reno"]), goodput(WIDEST["SACK"])),
    ),
    claim(
        14,
        "Table 3",
        "Regulated flows have no double losses (p2 rounds to 0.0), p3 of at most 0.03, and fewer loss events "
        "than either unregulated flow.",
        *(AtMost(_wide(flow, measured.double_share, "p2"), 0.05, slack=0) for flow in _REGULATED),
        *(AtMost(_wide(flow, measured.timeout_share, "p3"), 0.03) for flow in _REGULATED),
        *(Less(_events(flow), _events(other)) for flow in _REGULATED for other in _UNREGULATED),
    ),
    claim(
        15,
        "Section 6.1, Table 3",
        "SACK removes most timeouts of Reno but not loss events as such; regulation has fewer of these since "
        "its window grows larger.",
        Less(Times(2, _wide(SACK, measured.timeouts, "TO")), _wide(RENO, measured.timeouts, "TO")),
        NotLess(_events(SACK), _events(RENO)),
        Less(_events(SACK_AR), _events(SACK)),
        Less(_window(SACK), _window(SACK_AR)),
    ),
    claim(
        16,
        "Section 6.1, Figure 11b",
        "The gain falls with the buffer: about 50 % over Reno and 24 % over SACK at 4 packets, about 4 % and "
        "none at 20.",
        About(over(over_buffer_delay, 4, RENO_AR, RENO), 50),
        About(over(over_buffer_delay, 4, SACK_AR, SACK), 24),
        About(over(over_buffer_delay, 20, RENO_AR, RENO), 4),
        About(over(over_buffer_delay, 20, SACK_AR, SACK), 0),
    ),
    claim(
        17,
        "Section 6.1",
        "A regulated flow keeps over 80 % of 200 kbit/s with a buffer of 5 packets.",
        *(AtLeast(goodput(over_buffer_delay(flow, 5)), 160, slack=0) for flow in _REGULATED),
    ),
    claim(
        18,
        "Section 6.1",
        "Uniform, normal, lognormal and Poisson delays give similar results.",
        *(condition for delay in OTHER_DELAYS for condition in _similar(delay)),
    ),
    claim(
        19,
        "Section 6.2, Figure 12a",
        "A wider spread of the rate slows Reno down; regulated and SACK flows have the most there is, at a "
        "buffer of 10.",
        *rising(*(goodput(over_rate(RENO, sd)) for sd in reversed(RATE_SDS_KBPS))),
        *(
            Tie(goodput(over_rate(flow, sd)), _maximum(sd))
            for flow in (SACK, *_REGULATED)
            for sd in RATE_SDS_KBPS
        ),
    ),
    claim(
        20,
        "Section 6.2",
        "With a variable rate the gain over Reno is at most about 15 %.",
        *(AtMost(over(over_rate, sd, RENO_AR, RENO), 15) for sd in RATE_SDS_KBPS),
    ),
    claim(
        21,
        "Section 6.2, Figure 12b",
        "Regulation helps most at small buffers: with 5 packets the gain over SACK is 40 %.",
        *rising(*(over(over_buffer_rate, buffer, RENO_AR, RENO) for buffer in (20, 10, 5))),
        *rising(*(over(over_buffer_rate, buffer, SACK_AR, SACK) for buffer in (20, 5))),
        About(over(over_buffer_rate, 5, SACK_AR, SACK), 40),
    ),
    claim(
        22,
        "Section 6.2",
        "Only a very wide variation of the rate makes SACK slower than a regulated flow.",
        *(Tie(goodput(over_rate(SACK, sd)), goodput(over_rate(SACK_AR, sd))) for sd in RATE_SDS_KBPS),
        Less(_WIDE_RATES[SACK], _WIDE_RATES[SACK_AR]),
    ),
    claim(
        23,
        "Section 6.3, Figure 13a",
        "With a buffer of 6 Reno has 70 to 80 % of the throughput of a regulated flow, with 18 still more "
        "than 5 % less.",
        *between(over(over_buffer_both, 6, RENO, RENO_AR), -30, -20),
        AtMost(over(over_buffer_both, 18, RENO, RENO_AR), -5),
    ),
    claim(
        24,
        "Section 6.3",
        "SACK is 5 to 10 % below regulated flows up to 18 packets.",
        *(
            condition
            for buffer in BUFFERS_OF_BOTH
            if 6 < buffer < 18
            for condition in between(over(over_buffer_both, buffer, SACK, SACK_AR), -10, -5)
        ),
    ),
    *MORE_CLAIMS,
)
"""All claims, in the order of the paper."""
