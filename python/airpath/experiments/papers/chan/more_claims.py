"""The claims of Chan and Ramjee's paper about round-trip times, HDR and the regulator's parameters."""

from __future__ import annotations

from airpath.experiments.papers.base.cell import Cell
from airpath.experiments.papers.base.claims import Claim
from airpath.experiments.papers.base.conditions import (
    About,
    Agree,
    AtLeast,
    Condition,
    Less,
    NotLess,
    between,
    rising,
)
from airpath.experiments.papers.base.quantity import Gain, Minus, Operand, Quantity, Times
from airpath.experiments.papers.chan import measured
from airpath.experiments.papers.chan.curves import (
    BUFFERS_OF_BOTH,
    HDR_BUFFERS,
    ONE_BDP,
    goodput,
    over_buffer_both,
    over_hdr_buffer,
    round_trip,
)
from airpath.experiments.papers.chan.model import RENO, RENO_AR, SACK, SACK_AR, Flow
from airpath.experiments.papers.chan.text import ALPHA_BUFFERS, over_alpha, over_wired_delay

_REGULATED = {RENO: RENO_AR, SACK: SACK_AR}
_SMALL_BUFFER = 6


def claim(number: int, place: str, text: str, *conditions: Condition) -> Claim:
    """Make a claim of this paper."""
    return Claim(f"chan-c{number}", place, text, conditions)


def _rtt(flow: Flow, buffer: int) -> Quantity:
    return round_trip(over_buffer_both(flow, buffer))


def _rtt_above(flow: Flow, buffer: int) -> Gain:
    return Gain(_rtt(flow, buffer), _rtt(SACK, buffer))


def _growth(flow: Flow) -> Minus:
    return Minus(_rtt(flow, BUFFERS_OF_BOTH[-1]), _rtt(flow, BUFFERS_OF_BOTH[1]))


def _hdr(users: int, flow: Flow, buffer: int) -> Cell:
    return over_hdr_buffer(users)(flow, buffer)


def _hdr_rtt(flow: Flow, buffer: int) -> Quantity:
    return round_trip(_hdr(1, flow, buffer))


def _hdr_gain(users: int, buffer: int, flow: Flow) -> Gain:
    """Gain of regulation."""
    return Gain(goodput(_hdr(users, _REGULATED[flow], buffer)), goodput(_hdr(users, flow, buffer)))


def _total(users: int) -> Quantity:
    return goodput(_hdr(users, RENO_AR, HDR_BUFFERS[users][-1]))


def _fairness(users: int, flow: Flow) -> Quantity:
    cell = _hdr(users, flow, ONE_BDP[users])
    return Quantity(f"fairness, {cell.name}", cell, measured.fairness, "1")


def _wired_drop(flow: Flow) -> Operand:
    far, near = (goodput(over_wired_delay(flow, delay)) for delay in (100, 20))
    return Times(-1, Gain(far, near))


MORE_CLAIMS = (
    claim(
        25,
        "Section 6.3, Figure 13b",
        "The mean rtt is lowest with Reno, then SACK, then regulated flows; with Reno and SACK it grows at "
        "like rates with the buffer.",
        *(
            condition
            for buffer in BUFFERS_OF_BOTH
            for condition in rising(_rtt(RENO, buffer), _rtt(SACK, buffer), _rtt(RENO_AR, buffer))
        ),
        Agree(_growth(RENO), _growth(SACK)),
    ),
    claim(
        26,
        "Section 6.3",
        "The rtt of a regulated flow is comparable below 9 packets and then grows faster: 15 % above SACK's "
        "at 9, 48 % at 18.",
        *(Agree(_rtt(RENO_AR, 7), _rtt(flow, 7)) for flow in (RENO, SACK)),
        About(_rtt_above(RENO_AR, 9), 15),
        About(_rtt_above(RENO_AR, 18), 48),
        *rising(*(_rtt_above(RENO_AR, buffer) for buffer in (7, 9, 12, 18))),
    ),
    claim(
        27,
        "Sections 6.3, 6.6",
        "A lower alpha shortens the rtt.",
        *(
            condition
            for buffer in (10, 15)
            for condition in rising(*(round_trip(over_alpha(alpha, buffer)) for alpha in (1, 2, 3)))
        ),
    ),
    claim(
        28,
        "Section 6.4, Figure 14a",
        "With HDR regulated flows beat Reno at every buffer, by 4 to 25 %, and SACK up to 20 packets, by 0.5 "
        "to 18 %.",
        *(
            Less(goodput(_hdr(1, RENO, buffer)), goodput(_hdr(1, RENO_AR, buffer)))
            for buffer in HDR_BUFFERS[1]
        ),
        *(
            Less(goodput(_hdr(1, SACK, buffer)), goodput(_hdr(1, SACK_AR, buffer)))
            for buffer in HDR_BUFFERS[1]
            if buffer <= 20
        ),
        *(condition for b in HDR_BUFFERS[1] for condition in between(_hdr_gain(1, b, RENO), 4, 25)),
        *(condition for b in HDR_BUFFERS[1] for condition in between(_hdr_gain(1, b, SACK), 0.5, 18)),
    ),
    claim(
        29,
        "Section 6.4, Figure 14b",
        "With HDR, too, the rtt of a regulated flow grows faster with the buffer than that of SACK.",
        *rising(*(Gain(_hdr_rtt(RENO_AR, buffer), _hdr_rtt(SACK, buffer)) for buffer in (10, 20, 40))),
    ),
    claim(
        30,
        "Sections 6.4, 6.5",
        "The total throughput rises with the number of users: about 600, 800 and 960 kbit/s for 1, 4 and 8.",
        *rising(_total(1), _total(4), _total(8)),
        *(About(_total(users), kbps) for users, kbps in ((1, 600), (4, 800), (8, 960))),
    ),
    claim(
        31,
        "Section 6.5",
        "At one bandwidth-delay product the gain over SACK is larger with 4 and 8 flows than with one, and "
        "that over Reno is larger still.",
        *(Less(_hdr_gain(1, 15, SACK), _hdr_gain(users, buffer, SACK)) for users, buffer in ONE_BDP.items()),
        *(Less(_hdr_gain(users, b, SACK), _hdr_gain(users, b, RENO)) for users, b in ONE_BDP.items()),
    ),
    claim(
        32,
        "Section 6.5",
        "Unregulated flows need at least three times the buffer to come near the most.",
        *(
            NotLess(goodput(_hdr(users, _REGULATED[flow], buffer)), goodput(_hdr(users, flow, 3 * buffer)))
            for users, buffer in ONE_BDP.items()
            for flow in _REGULATED
        ),
    ),
    claim(
        33,
        "Section 6.5",
        "The fairness index is above 0.99 with several flows.",
        *(
            AtLeast(_fairness(users, flow), 0.99, slack=0)
            for users in ONE_BDP
            for flow in (RENO, RENO_AR, SACK, SACK_AR)
        ),
    ),
    claim(
        34,
        "Section 6.6",
        "A wired delay of 100 ms instead of 20 costs Reno 1.6 % and a regulated flow more, 2.6 %.",
        Less(_wired_drop(RENO), _wired_drop(RENO_AR)),
        About(_wired_drop(RENO), 1.63),
        About(_wired_drop(RENO_AR), 2.62),
    ),
    claim(
        35,
        "Section 6.6",
        "From alpha 1 to 3 the most is reached with smaller buffers, and the rtt rises; alpha 4 loses "
        "throughput above 15 packets, not below.",
        *rising(*(goodput(over_alpha(alpha, _SMALL_BUFFER)) for alpha in (1, 2, 3))),
        *rising(*(round_trip(over_alpha(alpha, 10)) for alpha in (1, 2, 3, 4))),
        Less(goodput(over_alpha(4, ALPHA_BUFFERS[-1])), goodput(over_alpha(3, ALPHA_BUFFERS[-1]))),
        *(NotLess(goodput(over_alpha(4, b)), goodput(over_alpha(3, b))) for b in ALPHA_BUFFERS if b < 15),
    ),
)
