"""The claims of Chan and Ramjee's paper, in own words; the rules are in `conditions`.

Those about links whose rate or delay is drawn; those about round-trip times, HDR and the regulator's
parameters are in `user_claims`.
"""

from __future__ import annotations

from functools import partial

from airpath_studies.base.claims import Conditions
from airpath_studies.base.conditions import (
    About,
    AtLeast,
    AtMost,
    Less,
    NotLess,
    Positive,
    Tie,
    WithinPoints,
    between,
    rising,
)
from airpath_studies.base.measure import Measure
from airpath_studies.base.quantity import Gain, Minus, Quantity, Times
from airpath_studies.chan import measured
from airpath_studies.chan.curves import (
    BUFFERS,
    BUFFERS_OF_BOTH,
    DELAY_MEANS_MS,
    RATE_SDS_KBPS,
    over_buffer_both,
    over_buffer_delay,
    over_buffer_rate,
    over_delay,
    over_rate,
)
from airpath_studies.chan.measured import GOODPUT, TO, WF
from airpath_studies.chan.model import CASES, RENO, RENO_AR, SACK, SACK_AR, Flow, Link, make_cell
from airpath_studies.chan.tables import ACCURACIES, CELLS, WIDEST, own_quantity
from airpath_studies.chan.user_claims import USER_CLAIMS, claim, gain, goodput

DELAY_CASES, RATE_CASES = (1, 2, 3, 4), (5, 6, 7)
"""Cases of Table 1 in the order of growing spread."""
SPREADS = (DELAY_CASES, RATE_CASES)

OTHER_DELAYS = {
    "uniform": '{ uniform = { mean = "50 ms", sd = "28 ms" } }',
    "normal": '{ normal = { mean = "50 ms", sd = "50 ms" } }',
    "lognormal": '{ lognormal = { mean = "50 ms", sd = "50 ms" } }',
    "Poisson": '{ poisson = { mean = "50 ms", unit = "50 ms" } }',
}
"""Forward delays with a mean of 50 ms, spread as e(50) is; the uniform one is never negative."""

WIDE_RATE = Link("lognormal(200,200), 400", '{ lognormal = { mean = "200 kbit/s", sd = "200 kbit/s" } }')
"""A very wide variation of the rate."""

P1 = Measure("p1", "1", measured.single_share)
P2 = Measure("p2", "1", measured.double_share)
P3 = Measure("p3", "1", measured.timeout_share)
T0 = Measure("T0", "s", measured.timeout_wait_s)
EVENTS = Measure("loss events", "1", measured.loss_events)
_TO = Measure("TO", "1", measured.timeouts)
LINK_DELAY = Measure("mean delay of the link", "ms", measured.link_delay_ms)
ACCURACY = Measure("accuracy of model 3", "1", ACCURACIES["chan_ramjee"])


def _of(measure: Measure, case: int) -> Quantity:
    return measure.of(CELLS[case], f"case {case}")


def _growing(measure: Measure, *cases: int) -> Conditions:
    return rising(*(_of(measure, case) for case in cases))


def _falling(measure: Measure) -> Conditions:
    """Make the conditions that it falls as either spread grows."""
    return [_growing(measure, *cases[::-1]) for cases in SPREADS]


def _longer(case: int) -> Minus:
    """Realised mean delay of both ways beyond that of constant delays."""
    return Minus(_of(LINK_DELAY, case), _of(LINK_DELAY, 1))


def _too_high(case: int, model: str) -> Gain:
    return Gain(own_quantity(case, model), own_quantity(case))


def _cycles(case: int) -> Conditions:
    """Throughput if all loss events were of one kind, by the model with the link and window measured."""
    kinds = ("timeout", "double", "single")
    return rising(
        *(_of(Measure(f"only {kind}", "kbit/s", measured.cycle_kbps(kind)), case) for kind in kinds)
    )


def _wide(measure: Measure, flow: Flow) -> Quantity:
    return measure.of(WIDEST[flow.name], flow.name)


def _drop(flow: Flow) -> Times:
    """Throughput lost from e(20) to e(100)."""
    return Times(-1, Gain(goodput(over_delay(flow, 100)), goodput(over_delay(flow, 20))))


def _maximum(sd_kbps: float) -> Quantity:
    cell = over_rate(RENO, sd_kbps)
    return Quantity(f"maximum at u(200,{sd_kbps:g})", cell, measured.max_throughput_kbps, "kbit/s")


def _similar(delay: str) -> Conditions:
    """The claims about exponential delays, for other ones."""
    link = Link(f"200, 350+{delay}", forward=OTHER_DELAYS[delay], reverse_ms=350)
    reno, reno_ar, sack, sack_ar = (goodput(make_cell(flow, link)) for flow in (RENO, RENO_AR, SACK, SACK_AR))
    return Less(reno, reno_ar), NotLess(sack_ar, sack), Tie(reno_ar, sack_ar)


_UNREGULATED, _REGULATED = (RENO, SACK), (RENO_AR, SACK_AR)
_at_buffer, _with_rate, _with_both = (
    partial(gain, over) for over in (over_buffer_delay, over_buffer_rate, over_buffer_both)
)

CLAIMS = (
    claim(
        1,
        "Tables 1, 2",
        "Throughput falls as the spread of the delay grows (cases 1 to 4), or that of the rate (5 to 7).",
        _falling(GOODPUT),
    ),
    claim(
        2,
        "Table 1, Section 4",
        "With the spread p1 falls, p2 begins to rise, p3 rises, and timeouts rise from 1 to over 80 in cases "
        "4, 7 and 9.",
        _falling(P1),
        _growing(P2, 1, 2),
        _growing(P2, 1, 5),
        _growing(P3, *DELAY_CASES[1:]),
        _growing(P3, *RATE_CASES),
        AtMost(_of(TO, 1), 1, slack=0),
        (AtLeast(_of(TO, case), 80, slack=0) for case in (4, 7, 9)),
    ),
    claim(3, "Table 1", "Wf falls as the spread grows.", _falling(WF)),
    claim(
        4,
        "Table 2",
        "Rate and delay that vary together are worse than either alone: case 8 than 3, 6, case 9 than 4, 7.",
        (Less(own_quantity(both), own_quantity(alone)) for both, alone in ((8, 3), (8, 6), (9, 4), (9, 7))),
    ),
    claim(
        5,
        "Table 1",
        "The mean timeout grows with the spread, the constant case aside.",
        (_growing(T0, *cases) for cases in (DELAY_CASES[1:], RATE_CASES, (8, 9))),
    ),
    claim(
        6,
        "Table 2, Section 4",
        "The model of deterministic losses is too high in all nine cases, by 12 to 14 %.",
        (between(_too_high(case, "padhye"), 12, 14) for case in CASES),
    ),
    claim(
        7,
        "Table 2, Section 4",
        "The model of Poisson losses, as printed, is within 2 % at small spreads (cases 1, 2, 3, 5) and 17 "
        "to 20 % too high at the widest (4, 7, 9).",
        (WithinPoints(_too_high(case, "misra_as_printed"), 0, 2) for case in (1, 2, 3, 5)),
        (between(_too_high(case, "misra_as_printed"), 17, 20) for case in (4, 7, 9)),
    ),
    claim(
        8,
        "Table 2, Section 4",
        "Equation 19 is within 6 % in all nine cases, and best where the spread is small.",
        (WithinPoints(_too_high(case, "chan_ramjee"), 0, 6) for case in CASES),
        (Less(_of(ACCURACY, wide), _of(ACCURACY, small)) for wide, small in ((4, 2), (9, 5))),
    ),
    claim(
        9,
        "Section 4",
        "Events of one loss bring more packets in a time than those of two, and these than of three.",
        map(_cycles, (4, 7, 9)),
    ),
    claim(
        10,
        "Table 1",
        "As no packet overtakes another, the mean delay is longer than configured, and the more so the wider "
        "the spread.",
        Positive(_longer(2)),
        rising(_longer(2), _longer(3), _longer(4)),
    ),
    claim(
        11,
        "Section 6.1, Figure 11a",
        "From e(20) to e(100) Reno loses about 30 %, SACK about 19 %, both regulated flows about 8 %.",
        (About(_drop(flow), loss) for flow, loss in ((RENO, 30), (SACK, 19), (RENO_AR, 8), (SACK_AR, 8))),
    ),
    claim(
        12,
        "Sections 6.1, 6.7, Table 3",
        "Regulated Reno and regulated SACK have the same throughput.",
        (
            Tie(goodput(over(RENO_AR, value)), goodput(over(SACK_AR, value)))
            for over, values in ((over_delay, DELAY_MEANS_MS), (over_buffer_delay, BUFFERS))
            for value in values
        ),
    ),
    claim(
        13,
        "Table 3",
        "At e(100) regulated flows are faster than SACK, and SACK than Reno.",
        (Less(goodput(WIDEST["SACK"]), goodput(WIDEST[flow.name])) for flow in _REGULATED),
        Less(goodput(WIDEST["Reno"]), goodput(WIDEST["SACK"])),
    ),
    claim(
        14,
        "Table 3",
        "Regulated flows have no double losses (p2 rounds to 0.0), p3 of at most 0.03, and fewer loss events "
        "than either unregulated flow.",
        (AtMost(_wide(P2, flow), 0.05, slack=0) for flow in _REGULATED),
        (AtMost(_wide(P3, flow), 0.03) for flow in _REGULATED),
        (Less(_wide(EVENTS, flow), _wide(EVENTS, other)) for flow in _REGULATED for other in _UNREGULATED),
    ),
    claim(
        15,
        "Section 6.1, Table 3",
        "SACK removes most timeouts of Reno but not loss events as such; regulation has fewer of these since "
        "its window grows larger.",
        Less(Times(2, _wide(_TO, SACK)), _wide(_TO, RENO)),
        NotLess(_wide(EVENTS, SACK), _wide(EVENTS, RENO)),
        Less(_wide(EVENTS, SACK_AR), _wide(EVENTS, SACK)),
        Less(_wide(WF, SACK), _wide(WF, SACK_AR)),
    ),
    claim(
        16,
        "Section 6.1, Figure 11b",
        "The gain falls with the buffer: about 50 % over Reno and 24 % over SACK at 4 packets, about 4 % and "
        "none at 20.",
        (
            About(_at_buffer(buffer, regulated, flow), percent)
            for buffer, of_reno, of_sack in ((4, 50, 24), (20, 4, 0))
            for regulated, flow, percent in ((RENO_AR, RENO, of_reno), (SACK_AR, SACK, of_sack))
        ),
    ),
    claim(
        17,
        "Section 6.1",
        "A regulated flow keeps over 80 % of 200 kbit/s with a buffer of 5 packets.",
        (AtLeast(goodput(over_buffer_delay(flow, 5)), 160, slack=0) for flow in _REGULATED),
    ),
    claim(
        18,
        "Section 6.1",
        "Uniform, normal, lognormal and Poisson delays give similar results.",
        map(_similar, OTHER_DELAYS),
    ),
    claim(
        19,
        "Section 6.2, Figure 12a",
        "A wider spread of the rate slows Reno down; regulated and SACK flows have the most there is, at a "
        "buffer of 10.",
        rising(*(goodput(over_rate(RENO, sd)) for sd in reversed(RATE_SDS_KBPS))),
        (
            Tie(goodput(over_rate(flow, sd)), _maximum(sd))
            for flow in (SACK, *_REGULATED)
            for sd in RATE_SDS_KBPS
        ),
    ),
    claim(
        20,
        "Section 6.2",
        "With a variable rate the gain over Reno is at most about 15 %.",
        (AtMost(gain(over_rate, sd, RENO_AR, RENO), 15) for sd in RATE_SDS_KBPS),
    ),
    claim(
        21,
        "Section 6.2, Figure 12b",
        "Regulation helps most at small buffers: with 5 packets the gain over SACK is 40 %.",
        rising(*(_with_rate(buffer, RENO_AR, RENO) for buffer in (20, 10, 5))),
        rising(*(_with_rate(buffer, SACK_AR, SACK) for buffer in (20, 5))),
        About(_with_rate(5, SACK_AR, SACK), 40),
    ),
    claim(
        22,
        "Section 6.2",
        "Only a very wide variation of the rate makes SACK slower than a regulated flow.",
        (Tie(goodput(over_rate(SACK, sd)), goodput(over_rate(SACK_AR, sd))) for sd in RATE_SDS_KBPS),
        Less(*(goodput(make_cell(flow, WIDE_RATE)) for flow in (SACK, SACK_AR))),
    ),
    claim(
        23,
        "Section 6.3, Figure 13a",
        "With a buffer of 6 Reno has 70 to 80 % of the throughput of a regulated flow, with 18 still more "
        "than 5 % less.",
        between(_with_both(6, RENO, RENO_AR), -30, -20),
        AtMost(_with_both(18, RENO, RENO_AR), -5),
    ),
    claim(
        24,
        "Section 6.3",
        "SACK is 5 to 10 % below regulated flows up to 18 packets.",
        (between(_with_both(b, SACK, SACK_AR), -10, -5) for b in BUFFERS_OF_BOTH if 6 < b < 18),
    ),
    *USER_CLAIMS,
)
"""All claims, in the order of the paper."""
