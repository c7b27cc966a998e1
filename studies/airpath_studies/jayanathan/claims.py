"""The claims of Jayanathan et al., in own words; the rules are in `conditions`."""

from __future__ import annotations

from airpath_studies.base.claims import claims_of
from airpath_studies.base.conditions import AtLeast, AtMost, Less, Tie, rising
from airpath_studies.base.observe import RECEIVED
from airpath_studies.base.quantity import Gain, Quantity, Times
from airpath_studies.base.verdict import CLOSE_RELATIVE
from airpath_studies.jayanathan import measured
from airpath_studies.jayanathan.model import (
    FIRST_FLAGGED,
    LARGE_WINDOW,
    LOSSES,
    PAYLOAD_BYTES,
    SACK,
    make_cell,
    watched,
)
from airpath_studies.jayanathan.observed import WINDOW
from airpath_studies.jayanathan.tables import CELLS, quantity, throughput, timeouts

WINDOW_SEGMENTS = -(-LARGE_WINDOW // PAYLOAD_BYTES)
"""The receive window: no more can be cached."""

_claim = claims_of("jayanathan")


def _standard(loss: int) -> Quantity:
    return throughput(CELLS[loss, False])


def _feedback(loss: int) -> Quantity:
    return throughput(CELLS[loss, True])


def _gain(loss: int) -> Gain:
    return Gain(_feedback(loss), _standard(loss))


def _window(loss: int, feedback: bool) -> Quantity:
    cell = watched(make_cell(loss, feedback), WINDOW)
    return quantity(cell, measured.mean_window, "mean cwnd", "segments")


def _half_time(loss: int, feedback: bool) -> Quantity:
    cell = watched(CELLS[loss, feedback], RECEIVED)
    return quantity(cell, measured.half_time_s, "half of the file", "s")


def _sack(loss: int) -> Quantity:
    return throughput(make_cell(loss, True, SACK))


def _sooner(loss: int) -> Quantity:
    """Feedback with a sender that does not wait for a second flagged ACK."""
    return throughput(make_cell(loss, True, options=FIRST_FLAGGED, variant="first flagged"))


CLAIMS = (
    _claim(
        1,
        "Table 2",
        "RNC feedback gives more throughput at every drop rate.",
        *map(Less, map(_standard, LOSSES), map(_feedback, LOSSES)),
    ),
    _claim(
        2,
        "Table 2",
        "Throughput with feedback falls with the drop rate.",
        *rising(*map(_feedback, reversed(LOSSES))),
    ),
    _claim(
        3,
        "Table 2",
        "So does that of standard TCP (at 5 % once the misprint is mended).",
        *rising(*map(_standard, reversed(LOSSES))),
    ),
    _claim(
        4,
        "Table 2",
        "The gain is small at 2 %, largest at 5 %, and falls through 10 and 15 %.",
        *rising(*map(_gain, (2, 15, 10, 5))),
    ),
    _claim(
        5,
        "Figures 6, 7",
        "With feedback the congestion window is larger at 2 and 5 %.",
        *(Less(_window(loss, feedback=False), _window(loss, feedback=True)) for loss in (2, 5)),
    ),
    _claim(
        6,
        "Section 6.1",
        "Feedback brings fewer timeouts; most drops are repaired by the early retransmit.",
        *(Less(timeouts(CELLS[loss, True]), timeouts(CELLS[loss, False])) for loss in LOSSES),
        *(
            AtLeast(quantity(CELLS[loss, True], measured.repaired_percent, "repaired early", "percent"), 50)
            for loss in LOSSES
        ),
    ),
    _claim(
        7,
        "Figure 8",
        "With feedback the file comes faster at every drop rate: half of it is there sooner.",
        *(Less(_half_time(loss, feedback=True), _half_time(loss, feedback=False)) for loss in LOSSES),
    ),
    _claim(
        8,
        "Figures 6, 7, Section 7",
        f"Few TCP headers are cached at any time: a window, {WINDOW_SEGMENTS}.",
        *(
            AtMost(
                quantity(CELLS[loss, True], measured.peak_cached, "peak of cached headers", "1"),
                WINDOW_SEGMENTS,
                slack=0,
            )
            for loss in LOSSES
        ),
    ),
    _claim(
        9,
        "Sections 6.2, 7",
        "SACK with feedback does better than feedback alone at a moderate drop rate (5 %), and ties at 2 and "
        "10 %.",
        Less(_feedback(5), _sack(5)),
        *(Tie(_sack(loss), _feedback(loss)) for loss in (2, 10)),
    ),
    _claim(
        10,
        "Figure 9, Section 6.2",
        "SACK with feedback does much better than feedback alone at 10 %: more than a few percent.",
        Less(Times(1 + CLOSE_RELATIVE, _feedback(10)), _sack(10)),
    ),
    _claim(
        11,
        "Section 4",
        "The sooner the fast retransmit, the better: a sender that does not wait for a second flag has more.",
        *(Less(_feedback(loss), _sooner(loss)) for loss in LOSSES),
    ),
)
"""All claims, in the order of the paper."""
