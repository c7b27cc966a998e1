"""The claims of Lundsten's thesis about large files; those about small files are in `small_files`.

In own words; the rules that turn words into conditions are in `conditions`.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations, starmap
from typing import Any

from airpath_studies.base.cell import Cell, Metric
from airpath_studies.base.claims import claims_of
from airpath_studies.base.conditions import (
    About,
    AtLeast,
    AtMost,
    Condition,
    Less,
    Never,
    NotLess,
    Tie,
    WithinPoints,
    between,
    rising,
)
from airpath_studies.base.observe import RTO_PER_RTT
from airpath_studies.base.quantity import Minus, Quantity, Times
from airpath_studies.lundsten.small_files import SMALL_FILE_CLAIMS
from airpath_studies.lundsten.studies import STUDY_CLAIMS
from airpath_studies.shared import downloads
from airpath_studies.shared.downloads import Key, fast_retransmits_of
from airpath_studies.shared.lundsten import (
    CELLS,
    EIFEL,
    FAST,
    MIDDLE,
    SIX,
    SMALL_PDUS,
    SPLIT_DELAY_MS,
    THREE,
    WESTWOOD,
    WORST,
    beside_reno,
    make_download,
)

SLOW = ((128, 1500), (64, 576), (64, 1500))

_claim = claims_of("lundsten")


def _named(key: Key, cell: Cell, metric: Metric, what: str = "", **more: Any) -> Quantity:
    return Quantity(f"{key[0]}/{key[1]} {what}".strip(), cell, metric, **more)


def _reno(key: Key, what: str = "", **differs: Any) -> Quantity:
    """The increase with Reno."""
    return _named(key, make_download(*key, **differs).against_no_errors(), downloads.increase, what)


def _eifel(key: Key, **differs: Any) -> Quantity:
    return _named(key, beside_reno(*key, EIFEL, **differs), downloads.increase, "Eifel")


def _westwood(key: Key, **differs: Any) -> Quantity:
    return _named(key, beside_reno(*key, WESTWOOD, **differs), downloads.increase, "Westwood")


def _split(key: Key, **differs: Any) -> Quantity:
    return _reno(key, "split", delay_ms=SPLIT_DELAY_MS, **differs)


_OF_THE_WINDOW: dict[str, tuple[Metric, str]] = {
    "largest window": (downloads.largest_window, "segments"),
    "lowest window": (downloads.lowest_window, "segments"),
    "time at the limit": (downloads.window_at_limit, "percent"),
    "variation of the window": (downloads.window_variation, "percent"),
}


def _window(key: Key, what: str) -> Quantity:
    metric, unit = _OF_THE_WINDOW[what]
    return _named(key, CELLS[key], metric, what, unit=unit, traced=True)


def _timeouts(quantity: Quantity) -> Quantity:
    """The timeouts in the same runs."""
    return Quantity(f"timeouts {quantity.name}", quantity.cell, downloads.timeouts, unit="1")


RENO = {key: _reno(key, "Reno") for key in SIX}
IN_SEQUENCE = {key: _reno(key, "in sequence", in_sequence=True) for key in THREE}
SMALL = {key: _reno(key, "40 B", small_pdus=True) for key in SIX}
SMALL_IN_SEQUENCE = {key: _reno(key, "40 B in sequence", **SMALL_PDUS) for key in SIX}
SMALL_EIFEL, SMALL_WESTWOOD = _eifel(WORST, **SMALL_PDUS), _westwood(WORST, **SMALL_PDUS)
SMALL_SPLIT = _split(WORST, **SMALL_PDUS)


def _remedies(key: Key) -> tuple[Quantity, ...]:
    return _westwood(key), _eifel(key), IN_SEQUENCE[key], _split(key)


def _all_ranges(key: Key, low: float, high: float, reno: float) -> tuple[Condition, ...]:
    ranges = (limit for remedy in _remedies(key) for limit in between(remedy, low, high))
    return (*ranges, About(RENO[key], reno))


def _floor(*quantities: Quantity, points: float = 0.3) -> tuple[Condition, ...]:
    return tuple(WithinPoints(quantity, downloads.FLOOR, points) for quantity in quantities)


def _net(key: Key) -> Quantity:
    return _named(key, CELLS[key], downloads.increase_without_retransmissions, "without the link's")


def _error_free(key: Key) -> Quantity:
    """The speed without block errors, percent of the bearer's."""
    download = make_download(*key)
    return _named(key, download.alone(errors=False), download.share_of_bearer, "share of the bearer")


def _speed(quantity: Quantity, **differs: Any) -> Quantity:
    """The mean slope of a curve of Figure 17."""
    return Quantity(quantity.name, quantity.cell, make_download(*WORST, **differs).speed, unit="kbit/s")


def _rto(what: str, **differs: Any) -> Quantity:
    cell = make_download(*WORST, **{**SMALL_PDUS, **differs}).watched(RTO_PER_RTT)
    return _named(WORST, cell, downloads.observed, f"timeout over round trip, {what}", unit="1")


def _gains(variant: Callable[[Key], Quantity]) -> tuple[Condition, ...]:
    worst, fast, middle = (Minus(RENO[key], variant(key)) for key in THREE)
    return rising(middle, fast, worst)


def _needless(variant: Quantity) -> tuple[Condition, ...]:
    """Often: a tenth of what Reno does and more. Mostly: more than half of what is left above the floor."""
    often = Less(Times(0.1, fast_retransmits_of(RENO[WORST])), fast_retransmits_of(variant))
    # Every retransmitted segment also costs the link's retransmissions.
    again = Quantity(f"segments retransmitted, {variant.name}", variant.cell, downloads.retransmitted)
    left = Quantity(f"above the floor, {variant.name}", variant.cell, _above_floor)
    return (often, Less(Times(0.5, left), again))


def _above_floor(outcome: Any) -> float:
    return downloads.increase(outcome) - downloads.FLOOR


CLAIMS = (
    _claim(
        1,
        "Table 3, Sections 5.3.1, 7.1",
        "384 kbit/s with 576 bytes suffers by far the most: at least five times as much as any other case.",
        *(Less(Times(5, RENO[key]), RENO[WORST]) for key in SIX[1:]),
    ),
    _claim(
        2,
        "Table 3",
        "The increases fall in the order 384/576, 384/1500, 128/576, then the other three.",
        *rising(RENO[MIDDLE], RENO[FAST], RENO[WORST]),
        *(Less(RENO[key], RENO[MIDDLE]) for key in SLOW),
    ),
    _claim(
        3,
        "Table 3, Section 5.3.1",
        "128/1500, 64/576 and 64/1500 pay for the link's retransmissions only: 11.1 % within 0.3 points.",
        *_floor(*(RENO[key] for key in SLOW)),
    ),
    _claim(
        4,
        "Section 5.3.1",
        "No large file is cheaper than about 11 %.",
        *(
            AtLeast(quantity, downloads.FLOOR, slack=0.3)
            for quantity in (
                *(q for of in (RENO, IN_SEQUENCE, SMALL, SMALL_IN_SEQUENCE) for q in of.values()),
                *(remedy(key) for key in THREE for remedy in (_split, _eifel)),
                *map(_westwood, THREE),
            )
        ),
    ),
    _claim(
        5,
        "Table 4",
        "Without the link's retransmissions 128/1500 loses nothing, 128/576 about 7 %, 384/1500 12 to 13 %.",
        About(_net((128, 1500)), 0),
        About(_net(MIDDLE), 7),
        *between(_net(FAST), 12, 13),
    ),
    _claim(
        6,
        "Figure 13",
        "384/576: the window swings over its whole range and reaches the limit of 25 now and then "
        "(at most a tenth of the time, but again after the first slow start).",
        AtLeast(_window(WORST, "largest window"), 25, slack=0),
        AtMost(_window(WORST, "lowest window"), 3, slack=0),
        AtMost(_window(WORST, "time at the limit"), 10, slack=0),
        AtLeast(_window(WORST, "time at the limit"), 0.5, slack=0),
    ),
    _claim(
        7,
        "Figure 14",
        "384/1500: between dips the window stays at the limit (at least a tenth of the time).",
        AtLeast(_window(FAST, "time at the limit"), 10, slack=0),
        Less(_window(FAST, "lowest window"), _window(FAST, "largest window")),
    ),
    _claim(
        8,
        "Figure 15",
        "128/576: now and then a fast retransmit halves the window "
        "(fewer than one in a hundred segments, and the window stays at the limit between).",
        AtLeast(fast_retransmits_of(RENO[MIDDLE]), 1, slack=0),
        AtMost(Quantity("128/576 retransmitted", RENO[MIDDLE].cell, downloads.retransmitted), 1, slack=0),
        AtLeast(_window(MIDDLE, "time at the limit"), 10, slack=0),
    ),
    _claim(
        9,
        "Figure 16",
        "128/1500: no fast retransmit; after the first slow start the window never leaves its limit of 7.",
        AtLeast(_window((128, 1500), "lowest window"), 7, slack=0),
        Never(fast_retransmits_of(RENO[128, 1500])),
    ),
    _claim(
        10,
        "Section 5.3.2",
        "The window varies most for small packets on the fast bearer, and variation ranks like the increase.",
        *rising(*(_window(key, "variation of the window") for key in ((128, 1500), MIDDLE, FAST, WORST))),
        *rising(RENO[128, 1500], RENO[MIDDLE], RENO[FAST], RENO[WORST]),
    ),
    _claim(
        11,
        "Sections 5.3, 5.3.2",
        "Without block errors the window limits fill the link.",
        *(AtLeast(_error_free(key), 100) for key in SIX),
    ),
    _claim(
        12,
        "Tables 3, 5 to 8, Sections 5.3.3, 5.3.5",
        "384/576: Westwood and Eifel tie, then in-sequence delivery, then split TCP, then Reno.",
        Tie(_westwood(WORST), _eifel(WORST)),
        *rising(_westwood(WORST), IN_SEQUENCE[WORST], _split(WORST), RENO[WORST]),
        *rising(_eifel(WORST), IN_SEQUENCE[WORST]),
    ),
    _claim(
        13,
        "Section 5.3.3",
        "384/576: Eifel and Westwood still retransmit often; spurious retransmissions, and not a small "
        "window, make most of what is left above the floor.",
        *_needless(_eifel(WORST)),
        *_needless(_westwood(WORST)),
    ),
    _claim(
        14,
        "Tables 3, 5 to 8",
        "384/1500: every remedy leaves 12 to 14 %, in a tie, against 25 % with Reno.",
        *_all_ranges(FAST, 12, 14, 25),
        *starmap(Tie, combinations(_remedies(FAST), 2)),
    ),
    _claim(
        15,
        "Tables 3, 5 to 8",
        "128/576: every remedy leaves 11 to 14 % against 19 % with Reno; in sequence it is the floor.",
        *_all_ranges(MIDDLE, 11, 14, 19),
        *_floor(IN_SEQUENCE[MIDDLE]),
    ),
    _claim(
        16,
        "Section 6.2",
        "Eifel and Westwood gain most where Reno is worst.",
        *_gains(_eifel),
        *_gains(_westwood),
    ),
    _claim(
        17,
        "Section 5.3.3",
        "384/576: split TCP is clearly better than Reno, and worse than Eifel and Westwood.",
        Less(_split(WORST), RENO[WORST]),
        Less(_eifel(WORST), _split(WORST)),
        Less(_westwood(WORST), _split(WORST)),
    ),
    _claim(
        18,
        "Figure 17, Section 5.3.5",
        "384/576: data comes fastest, and alike, with Eifel and Westwood, then in sequence, then with split "
        "TCP, and by far slowest with Reno.",
        Tie(_speed(_eifel(WORST)), _speed(_westwood(WORST))),
        *rising(
            *(_speed(q) for q in (RENO[WORST], _split(WORST), IN_SEQUENCE[WORST], _westwood(WORST))),
        ),
        Less(_speed(IN_SEQUENCE[WORST]), _speed(_eifel(WORST))),
    ),
    _claim(
        19,
        "Sections 5.3.4, 5.5.1, 6.2",
        "In-sequence delivery ends fast retransmits but brings timeouts.",
        Never(fast_retransmits_of(IN_SEQUENCE[WORST])),
        AtLeast(_timeouts(IN_SEQUENCE[WORST]), 1, slack=0),
    ),
    _claim(
        20,
        "Table 14",
        "PDUs of 40 bytes, out of sequence: 384/576, 384/1500, 128/576, 128/1500, 64 kbit/s in this order, "
        "the first three above 180 %.",
        *rising(SMALL[128, 1500], SMALL[MIDDLE], SMALL[FAST], SMALL[WORST]),
        *(Less(SMALL[64, packet], SMALL[128, 1500]) for packet in (576, 1500)),
        *(AtLeast(SMALL[key], 180) for key in THREE),
    ),
    _claim(
        21,
        "Tables 3, 14",
        "Out of sequence, PDUs of 40 bytes are worse than one per TTI at 384 and at 128 kbit/s.",
        *(Less(RENO[key], SMALL[key]) for key in SIX[:4]),
    ),
    _claim(
        22,
        "Tables 3, 14, 15",
        "64 kbit/s pays for the link's retransmissions only, whatever the PDUs and the order of delivery "
        "(11.1 % within 0.5 points).",
        *_floor(*(of[key] for of in (RENO, SMALL, SMALL_IN_SEQUENCE) for key in SIX[4:]), points=0.5),
    ),
    _claim(
        23,
        "Tables 3, 8, 14, 15, Section 7.1",
        "In sequence gives better results at all speeds, and with PDUs of 40 bytes at least halves the three "
        "largest increases.",
        *(Less(IN_SEQUENCE[key], RENO[key]) for key in IN_SEQUENCE),
        *(Less(SMALL_IN_SEQUENCE[key], SMALL[key]) for key in SIX),
        *(Less(SMALL_IN_SEQUENCE[key], Times(0.5, SMALL[key])) for key in THREE),
    ),
    _claim(
        24,
        "Table 15",
        "PDUs of 40 bytes in sequence: only 384/576 keeps a large increase, about 300 %; 384/1500 has "
        "about 14 %.",
        About(SMALL_IN_SEQUENCE[WORST], 300),
        About(SMALL_IN_SEQUENCE[FAST], 14),
        *(Less(Times(2, SMALL_IN_SEQUENCE[key]), SMALL_IN_SEQUENCE[WORST]) for key in SIX[1:]),
    ),
    _claim(
        25,
        "Section 5.5.1",
        "PDUs of 40 bytes in sequence: no fast retransmits, but timeouts, most at 384 kbit/s.",
        Never(fast_retransmits_of(SMALL_IN_SEQUENCE[WORST])),
        AtLeast(_timeouts(SMALL_IN_SEQUENCE[WORST]), 1, slack=0),
    ),
    _claim(
        26,
        "Section 5.5.2, Figure 20",
        "PDUs of 40 bytes in sequence, 384/576: split TCP, Eifel (50 %), Westwood (120 %), Reno (305 %).",
        *rising(SMALL_SPLIT, SMALL_EIFEL, SMALL_WESTWOOD, SMALL_IN_SEQUENCE[WORST]),
    ),
    _claim(
        27,
        "Sections 5.5.2, 6.2",
        "There, split TCP comes close to the floor.",
        About(SMALL_SPLIT, downloads.FLOOR),
    ),
    _claim(
        28,
        "Table 7, Figure 20",
        "384/576: split TCP is worse than Eifel and Westwood with one PDU per TTI out of sequence, and "
        "better than both with PDUs of 40 bytes in sequence.",
        Less(_eifel(WORST), _split(WORST)),
        Less(_westwood(WORST), _split(WORST)),
        Less(SMALL_SPLIT, SMALL_EIFEL),
        Less(SMALL_SPLIT, SMALL_WESTWOOD),
    ),
    _claim(
        29,
        "Section 5.5.2",
        "Split TCP evades the timeouts: its retransmission timeout is longer in relation to its round trip.",
        Less(_timeouts(SMALL_SPLIT), _timeouts(SMALL_IN_SEQUENCE[WORST])),
        Less(_rto("end to end"), _rto("split", delay_ms=SPLIT_DELAY_MS)),
    ),
    _claim(
        30,
        "Sections 5.5.2, 6.2, 7.1",
        "Eifel beats Westwood where timeouts rule (in sequence) and ties where fast retransmits do.",
        Less(SMALL_EIFEL, SMALL_WESTWOOD),
        Tie(_eifel(WORST), _westwood(WORST)),
    ),
    _claim(
        31,
        "Section 7.1",
        "One PDU per TTI is preferable to PDUs of 40 bytes.",
        *(NotLess(SMALL[key], RENO[key]) for key in SIX),
        *(NotLess(SMALL_IN_SEQUENCE[key], IN_SEQUENCE[key]) for key in IN_SEQUENCE),
    ),
    *SMALL_FILE_CLAIMS,
    *STUDY_CLAIMS,
)
"""All claims, by number."""
