"""The claims of Chan and Ramjee's paper about round-trip times, HDR and the regulator's parameters."""

from __future__ import annotations

from airpath_studies.base.cell import Cell
from airpath_studies.base.claims import Conditions, claims_of
from airpath_studies.base.conditions import About, Agree, AtLeast, Less, NotLess, between, rising
from airpath_studies.base.measure import Measure
from airpath_studies.base.quantity import Gain, Minus, Operand, Quantity, Times
from airpath_studies.chan import measured
from airpath_studies.chan.curves import (
    BUFFERS_OF_BOTH,
    HDR_BUFFERS,
    ONE_BDP,
    CellOf,
    over_buffer_both,
    over_hdr_buffer,
)
from airpath_studies.chan.model import FLOWS, REGULATED, RENO, RENO_AR, SACK, Flow
from airpath_studies.chan.text import ALPHA_BUFFERS, over_alpha, over_wired_delay

claim = claims_of("chan")

_RTT = Measure("rtt", "ms", measured.rtt_ms)
_FAIRNESS = Measure("fairness", "1", measured.fairness)


def goodput(cell: Cell) -> Quantity:
    """Throughput of a cell, all flows together."""
    return Quantity(cell.name, cell, measured.goodput_kbps, "kbit/s")


def gain(cell_of: CellOf, value: float, flow: Flow, other: Flow) -> Gain:
    """Gain in throughput of a flow over another one at a value of a parameter."""
    return Gain(goodput(cell_of(flow, value)), goodput(cell_of(other, value)))


def _rtt(flow: Flow, buffer: int) -> Quantity:
    return _RTT.of(over_buffer_both(flow, buffer))


def _rtt_above(buffer: int) -> Gain:
    return Gain(_rtt(RENO_AR, buffer), _rtt(SACK, buffer))


def _growth(flow: Flow) -> Minus:
    return Minus(_rtt(flow, BUFFERS_OF_BOTH[-1]), _rtt(flow, BUFFERS_OF_BOTH[1]))


def _hdr(users: int, flow: Flow, buffer: int) -> Quantity:
    return goodput(over_hdr_buffer(users)(flow, buffer))


def _hdr_gain(users: int, buffer: int, flow: Flow) -> Gain:
    """Gain of regulation."""
    return gain(over_hdr_buffer(users), buffer, REGULATED[flow], flow)


def _faster(flow: Flow, buffers: tuple[int, ...]) -> Conditions:
    return (Less(_hdr(1, flow, buffer), _hdr(1, REGULATED[flow], buffer)) for buffer in buffers)


def _wired_drop(flow: Flow) -> Operand:
    far, near = (goodput(over_wired_delay(flow, delay)) for delay in (100, 20))
    return Times(-1, Gain(far, near))


_TOTALS = {users: _hdr(users, RENO_AR, buffers[-1]) for users, buffers in HDR_BUFFERS.items()}

USER_CLAIMS = (
    claim(
        25,
        "Section 6.3, Figure 13b",
        "The mean rtt is lowest with Reno, then SACK, then regulated flows; with Reno and SACK it grows at "
        "like rates with the buffer.",
        (rising(*(_rtt(flow, buffer) for flow in (RENO, SACK, RENO_AR))) for buffer in BUFFERS_OF_BOTH),
        Agree(_growth(RENO), _growth(SACK)),
    ),
    claim(
        26,
        "Section 6.3",
        "The rtt of a regulated flow is comparable below 9 packets and then grows faster: 15 % above SACK's "
        "at 9, 48 % at 18.",
        (Agree(_rtt(RENO_AR, 7), _rtt(flow, 7)) for flow in (RENO, SACK)),
        About(_rtt_above(9), 15),
        About(_rtt_above(18), 48),
        rising(*map(_rtt_above, (7, 9, 12, 18))),
    ),
    claim(
        27,
        "Sections 6.3, 6.6",
        "A lower alpha shortens the rtt.",
        (rising(*(_RTT.of(over_alpha(alpha, buffer)) for alpha in (1, 2, 3))) for buffer in (10, 15)),
    ),
    claim(
        28,
        "Section 6.4, Figure 14a",
        "With HDR regulated flows beat Reno at every buffer, by 4 to 25 %, and SACK up to 20 packets, by 0.5 "
        "to 18 %.",
        _faster(RENO, HDR_BUFFERS[1]),
        _faster(SACK, HDR_BUFFERS[1][:-1]),
        (between(_hdr_gain(1, buffer, RENO), 4, 25) for buffer in HDR_BUFFERS[1]),
        (between(_hdr_gain(1, buffer, SACK), 0.5, 18) for buffer in HDR_BUFFERS[1]),
    ),
    claim(
        29,
        "Section 6.4, Figure 14b",
        "With HDR, too, the rtt of a regulated flow grows faster with the buffer than that of SACK.",
        rising(
            *(
                Gain(*(_RTT.of(over_hdr_buffer(1)(flow, buffer)) for flow in (RENO_AR, SACK)))
                for buffer in (10, 20, 40)
            )
        ),
    ),
    claim(
        30,
        "Sections 6.4, 6.5",
        "The total throughput rises with the number of users: about 600, 800 and 960 kbit/s for 1, 4 and 8.",
        rising(*_TOTALS.values()),
        (About(_TOTALS[users], kbps) for users, kbps in ((1, 600), (4, 800), (8, 960))),
    ),
    claim(
        31,
        "Section 6.5",
        "At one bandwidth-delay product the gain over SACK is larger with 4 and 8 flows than with one, and "
        "that over Reno is larger still.",
        (Less(_hdr_gain(1, 15, SACK), _hdr_gain(users, buffer, SACK)) for users, buffer in ONE_BDP.items()),
        (Less(_hdr_gain(users, b, SACK), _hdr_gain(users, b, RENO)) for users, b in ONE_BDP.items()),
    ),
    claim(
        32,
        "Section 6.5",
        "Unregulated flows need at least three times the buffer to come near the most.",
        (
            NotLess(_hdr(users, regulated, buffer), _hdr(users, flow, 3 * buffer))
            for users, buffer in ONE_BDP.items()
            for flow, regulated in REGULATED.items()
        ),
    ),
    claim(
        33,
        "Section 6.5",
        "The fairness index is above 0.99 with several flows.",
        (
            AtLeast(_FAIRNESS.of(over_hdr_buffer(users)(flow, buffer)), 0.99, slack=0)
            for users, buffer in ONE_BDP.items()
            for flow in FLOWS
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
        rising(*(goodput(over_alpha(alpha, 6)) for alpha in (1, 2, 3))),
        rising(*(_RTT.of(over_alpha(alpha, 10)) for alpha in (1, 2, 3, 4))),
        Less(*(goodput(over_alpha(alpha, ALPHA_BUFFERS[-1])) for alpha in (4, 3))),
        (NotLess(*(goodput(over_alpha(alpha, b)) for alpha in (4, 3))) for b in ALPHA_BUFFERS if b < 15),
    ),
)
