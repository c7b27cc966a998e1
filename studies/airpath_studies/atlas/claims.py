"""What the atlas shows, as claims that are checked like those of a paper."""

from __future__ import annotations

from collections.abc import Iterable

from airpath_studies.atlas.cells import CURES
from airpath_studies.atlas.places import PLACES
from airpath_studies.atlas.studies import (
    CURE_STUDIES,
    CURED,
    FAIRNESS,
    GOODPUT_AND_DELAY,
    GOODPUTS,
    P95S,
    PAGE_LOAD,
    PAGES,
    SHARES,
)
from airpath_studies.base.claims import claims_of
from airpath_studies.base.conditions import AtLeast, AtMost, Condition, Less, NotLess, Tie
from airpath_studies.base.quantity import Quantity, Times
from airpath_studies.shared.today import DISCIPLINES, SENDERS

_claim = claims_of("atlas")

_CHANNELS = ("Lundsten", "Zhang", "Chan", "Alcaraz", "Jayanathan")
"""The channels of the papers."""
_CELLS = ("HSDPA", "LTE")
_REGULATOR, _ACK_RATE, _FEEDBACK, _SPLIT, _SNOOP = (study.place for study in CURE_STUDIES)


def _goodput(place: str, sender: str, discipline: str, cure: str | None = None) -> Quantity:
    grid = GOODPUTS[place] if cure is None else CURED[cure][place][0].grid
    return grid.entry(sender, discipline)


def _wait(place: str, sender: str, discipline: str, cure: str | None = None) -> Quantity:
    """What 95 % of the packets stay below."""
    grid = P95S[place] if cure is None else CURED[cure][place][1].grid
    return grid.entry(sender, discipline)


def _share(place: str, sender: str, discipline: str) -> Quantity:
    return SHARES[place].entry(sender, discipline)


def _page(place: str, sender: str, discipline: str) -> Quantity:
    return PAGES[place].entry(sender, discipline)


def _between(of: Iterable[Quantity], low: float, high: float) -> Iterable[Condition]:
    return (limit for one in of for limit in (AtLeast(one, low, slack=0), AtMost(one, high, slack=0)))


_ONE_QUEUE = ("CoDel", "PIE", "DualPI2")
"""Disciplines of today that do not know flows."""

CLAIMS = (
    _claim(
        1,
        GOODPUT_AND_DELAY.place,
        "The buffers of the papers were sized for a window of 16 to 64 kB. Today's CUBIC fills them: on each "
        "of their channels a packet in twenty waits for longer than a second.",
        (AtLeast(_wait(place, "CUBIC", "drop-tail"), 1000, slack=0) for place in _CHANNELS),
    ),
    _claim(
        2,
        GOODPUT_AND_DELAY.place,
        "CoDel takes two fifths or more off that wait at every place.",
        (
            Less(_wait(place, "CUBIC", "CoDel"), Times(0.6, _wait(place, "CUBIC", "drop-tail")))
            for place in PLACES
        ),
    ),
    _claim(
        3,
        GOODPUT_AND_DELAY.place,
        "It costs CUBIC at most 14 % of its goodput on the papers' channels, but more than an eighth on "
        "HSDPA and more than a quarter on LTE, where one drop empties the pipe.",
        (
            Less(Times(0.86, _goodput(place, "CUBIC", "drop-tail")), _goodput(place, "CUBIC", "CoDel"))
            for place in _CHANNELS
        ),
        Less(_goodput("HSDPA", "CUBIC", "CoDel"), Times(0.875, _goodput("HSDPA", "CUBIC", "drop-tail"))),
        Less(_goodput("LTE", "CUBIC", "CoDel"), Times(0.75, _goodput("LTE", "CUBIC", "drop-tail"))),
    ),
    _claim(
        4,
        GOODPUT_AND_DELAY.place,
        "BBR pays less for CoDel: with CoDel it carries more than CUBIC where the rate varies, on channels "
        "that fade and in both cells.",
        (
            Less(_goodput(place, "CUBIC", "CoDel"), _goodput(place, "BBR", "CoDel"))
            for place in ("Chan", "Alcaraz", *_CELLS)
        ),
    ),
    _claim(
        5,
        GOODPUT_AND_DELAY.place,
        "But BBR is no cure for a deep buffer: alone in it, its packets wait longer than those of CUBIC "
        "behind CoDel, at every place.",
        (Less(_wait(place, "CUBIC", "CoDel"), _wait(place, "BBR", "drop-tail")) for place in PLACES),
    ),
    _claim(
        6,
        GOODPUT_AND_DELAY.place,
        "PDPC still does what its authors say: it shortens the wait of CUBIC at every place, and costs no "
        "goodput. CoDel shortens it further everywhere.",
        (Less(_wait(place, "CUBIC", "PDPC"), _wait(place, "CUBIC", "drop-tail")) for place in PLACES),
        (Tie(_goodput(place, "CUBIC", "PDPC"), _goodput(place, "CUBIC", "drop-tail")) for place in PLACES),
        (Less(_wait(place, "CUBIC", "CoDel"), _wait(place, "CUBIC", "PDPC")) for place in PLACES),
    ),
    _claim(
        7,
        FAIRNESS.place,
        "Behind CoDel, PIE and DualPI2 a flow of BBR takes more than two thirds from one of CUBIC, but on "
        "the two slowest channels.",
        (
            AtLeast(_share(place, "BBR", discipline), 200 / 3, slack=0)
            for place in ("Lundsten", "Chan", "Alcaraz", *_CELLS)
            for discipline in _ONE_QUEUE
        ),
    ),
    _claim(
        8,
        FAIRNESS.place,
        "BBRv3 does not: on the papers' channels it gets 45 to 60 %.",
        _between(
            (_share(place, "BBRv3", discipline) for place in _CHANNELS for discipline in _ONE_QUEUE), 45, 60
        ),
    ),
    _claim(
        9,
        FAIRNESS.place,
        "FQ-CoDel gives each flow its half on the papers' channels, whatever the sender: 48 to 52 %.",
        _between((_share(place, sender, "FQ-CoDel") for place in _CHANNELS for sender in SENDERS), 48, 52),
    ),
    _claim(
        10,
        FAIRNESS.place,
        "In a drop-tail buffer Reno gets less than two fifths against CUBIC on the channels of Lundsten, "
        "Zhang, Chan and Alcaraz.",
        (
            AtMost(_share(place, "Reno", "drop-tail"), 40, slack=0)
            for place in ("Lundsten", "Zhang", "Chan", "Alcaraz")
        ),
    ),
    _claim(
        11,
        PAGE_LOAD.place,
        "During a download of CUBIC a page loads in less than half the time with FQ-CoDel, except on "
        "Jayanathan's channel and HSDPA, where it is still faster.",
        (
            Less(_page(place, "CUBIC", "FQ-CoDel"), Times(0.5, _page(place, "CUBIC", "drop-tail")))
            for place in ("Lundsten", "Zhang", "Chan", "Alcaraz", "LTE")
        ),
        (
            Less(_page(place, "CUBIC", "FQ-CoDel"), _page(place, "CUBIC", "drop-tail"))
            for place in ("Jayanathan", "HSDPA")
        ),
    ),
    _claim(
        12,
        PAGE_LOAD.place,
        "During a download of BBR, pages take longer with PIE than with FQ-CoDel, everywhere.",
        (Less(_page(place, "BBR", "FQ-CoDel"), _page(place, "BBR", "PIE")) for place in PLACES),
    ),
    _claim(
        13,
        _REGULATOR,
        "The Ack Regulator has no loss to save any more: with the loss recovery of today no sender carries "
        "more with it, at any place.",
        (
            NotLess(
                _goodput(place, sender, "drop-tail"),
                _goodput(place, sender, "drop-tail", "Ack Regulator"),
            )
            for place in PLACES
            for sender in SENDERS
        ),
    ),
    _claim(
        14,
        _ACK_RATE,
        "ACK rate control shortens CUBIC's wait on all channels of the papers, but less than CoDel does "
        "without it, and it halves what HSDPA and LTE carry or worse, where many packets are in the air.",
        (
            Less(_wait(place, "CUBIC", "drop-tail", "ACK rate control"), _wait(place, "CUBIC", "drop-tail"))
            for place in _CHANNELS
        ),
        (
            Less(_wait(place, "CUBIC", "CoDel"), _wait(place, "CUBIC", "drop-tail", "ACK rate control"))
            for place in _CHANNELS
        ),
        (
            Less(
                _goodput(place, "CUBIC", "drop-tail", "ACK rate control"),
                Times(0.6, _goodput(place, "CUBIC", "drop-tail")),
            )
            for place in _CELLS
        ),
    ),
    _claim(
        15,
        _FEEDBACK,
        "RNC feedback needs a Reno without SACK, and brings it no further than Linux's Reno is without: on "
        "Jayanathan's channel, which loses a packet in twenty, that carries more.",
        (
            Less(
                _goodput("Jayanathan", "Reno", discipline, "RNC feedback"),
                _goodput("Jayanathan", "Reno", discipline),
            )
            for discipline in ("drop-tail", *_ONE_QUEUE)
        ),
    ),
    _claim(
        16,
        _SNOOP,
        "Snoop has nothing left to repair either: no sender carries more with it on Jayanathan's channel, "
        "behind any discipline; and where blocks overtake each other it takes order for loss, and costs.",
        (
            NotLess(
                _goodput("Jayanathan", sender, discipline),
                _goodput("Jayanathan", sender, discipline, "snoop"),
            )
            for sender in SENDERS
            for discipline in DISCIPLINES
        ),
        (
            Less(
                _goodput("Lundsten", sender, "drop-tail", "snoop"), _goodput("Lundsten", sender, "drop-tail")
            )
            for sender in ("Reno", "CUBIC")
        ),
    ),
    _claim(
        17,
        _SPLIT,
        "Split TCP adds no goodput to a full buffer. It is worth it in the cells of today behind CoDel: "
        "CUBIC carries more on HSDPA, and a fifth more on LTE, as the loop that has to refill the pipe is "
        "shorter.",
        (
            Tie(_goodput(place, "CUBIC", "drop-tail", "split"), _goodput(place, "CUBIC", "drop-tail"))
            for place in PLACES
        ),
        Less(_goodput("HSDPA", "CUBIC", "CoDel"), _goodput("HSDPA", "CUBIC", "CoDel", "split")),
        Less(Times(1.2, _goodput("LTE", "CUBIC", "CoDel")), _goodput("LTE", "CUBIC", "CoDel", "split")),
    ),
    _claim(
        18,
        _SPLIT,
        "On LTE BBR replaces it: behind CoDel and without a box it carries more than CUBIC does with one.",
        Less(_goodput("LTE", "CUBIC", "CoDel", "split"), _goodput("LTE", "BBR", "CoDel")),
    ),
    _claim(
        19,
        GOODPUT_AND_DELAY.place,
        "What replaces the cures on the papers' channels is a queue of today: CUBIC behind FQ-CoDel waits "
        "less than Reno does in a drop-tail buffer with any of them.",
        (
            Less(_wait(place, "CUBIC", "FQ-CoDel"), _wait(place, "Reno", "drop-tail", cure))
            for place in _CHANNELS
            for cure in CURES
        ),
    ),
    _claim(
        20,
        GOODPUT_AND_DELAY.place,
        "Prague's short queue needs a fast cell: behind DualPI2 on LTE it waits three fifths of what CUBIC "
        "does there or less. On the papers' channels it is never a sixth shorter: blocks and packets last "
        "too long.",
        Less(_wait("LTE", "Prague", "DualPI2"), Times(0.6, _wait("LTE", "CUBIC", "DualPI2"))),
        (
            Less(Times(5 / 6, _wait(place, "CUBIC", "DualPI2")), _wait(place, "Prague", "DualPI2"))
            for place in _CHANNELS
        ),
    ),
    _claim(
        21,
        GOODPUT_AND_DELAY.place,
        "It pays for that on LTE, whose rate swings faster than marks come back: it carries less than half "
        "of what it does with a full buffer.",
        Less(_goodput("LTE", "Prague", "DualPI2"), Times(0.5, _goodput("LTE", "Prague", "drop-tail"))),
    ),
    _claim(
        22,
        PAGE_LOAD.place,
        "Prague's pages take longer behind DualPI2 than behind FQ-CoDel, at every place.",
        (Less(_page(place, "Prague", "FQ-CoDel"), _page(place, "Prague", "DualPI2")) for place in PLACES),
    ),
)
"""What the studies show."""
