"""Open questions and future work of the paper: studies in addition to its figures."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial

from airpath_studies.base.cell import Cell, Metric, Overrides
from airpath_studies.base.grid import Grid, make_grid
from airpath_studies.base.paper import Experiment, study
from airpath_studies.base.published import load_published
from airpath_studies.base.quantity import Quantity
from airpath_studies.jayanathan import measured
from airpath_studies.jayanathan.model import (
    FIRST_FLAGGED,
    LOSSES,
    SENDERS,
    SHORT,
    A,
    bearer,
    make_cell,
)
from airpath_studies.jayanathan.tables import quantity, throughput, timeouts

Pair = Callable[[int, bool], Cell]
"""A cell by drop rate and whether there is feedback."""

_PUBLISHED = load_published("jayanathan")
PUBLISHED_GAINS = tuple(f"{_PUBLISHED[f'jayanathan-t2-{loss}-improvement'].target:g}" for loss in LOSSES)
PUBLISHED_THROUGHPUTS = tuple(
    f"{_PUBLISHED[f'jayanathan-t2-{loss}-{kind}'].target:g}"
    for loss in LOSSES
    for kind in ("standard", "rncfb")
)

_COLUMNS = {
    f"{loss} %{', RNC-FB' if feedback else ''}": (loss, feedback)
    for loss in LOSSES
    for feedback in (False, True)
}


def _table(
    title: str,
    unit: str,
    of: Callable[[Cell], Quantity],
    rows: Iterable[tuple[str, Pair]],
    marks: tuple[str, ...] = (),
) -> Grid:
    return make_grid(unit, _COLUMNS, rows, lambda pair, column: of(pair(*column)), title, marks=marks)


def _study(number: int, title: str, question: str, head: str, *rows: tuple[str, Pair]) -> Experiment:
    return study(
        number,
        title,
        question,
        _table("throughput", "kbit/s", throughput, rows),
        _table("timeouts", "1", timeouts, rows),
        heads=head,
    )


OTHER_SENDERS = _study(
    1,
    "Other kinds of TCP",
    "The paper leaves to the future whether other kinds of TCP benefit, too.",
    "sender",
    *((sender.name, partial(make_cell, sender=sender)) for sender in SENDERS),
)

BURSTS = _study(
    2,
    "Drops in bursts",
    "Fading drops packets in a row. The same share of drops, in bursts of so many packets on average.",
    "mean burst, packets",
    ("1", make_cell),
    *((f"{burst}", partial(make_cell, burst=burst, variant=f"bursts of {burst}")) for burst in (2, 4)),
)

_BOTH_WAYS = "drops of what the UE sends, too"


def _with(name: str, *options: tuple[str, str]) -> tuple[str, Pair]:
    return name, partial(make_cell, options=options, variant=name)


OPEN = _study(
    3,
    "What else the paper leaves open",
    "Table 2 under other readings of the window, the bearer, the path and the sender.",
    "reading",
    ("as read", make_cell),
    _with("every segment timed", ("tcp.rtt_sampling", "every_segment")),
    _with("times in ticks of 0.5 s", ("tcp.rto.tick", "500 ms")),
    _with("window 8760 bytes", ("tcp.receive_buffer", "8760 B")),
    _with("64 kbit/s", *bearer(64)),
    _with("a round trip of 0.1 s", ("wired.delay", "40 ms")),
    _with("a round trip of 0.3 s", ("wired.delay", "140 ms")),
    _with("a round trip of 1 s", ("wired.delay", "490 ms")),
    (_BOTH_WAYS, lambda loss, feedback: make_cell(loss, feedback, uplink=loss, variant=_BOTH_WAYS)),
    _with("an ACK for every segment", ("tcp.ack_every", "1")),
    _with("limited transmit", ("tcp.limited_transmit", "true")),
)


def _beside(loss: int, name: str, options: Overrides) -> Cell:
    """Feedback, each run compared with standard TCP with the same packets dropped."""
    standard, feedback = (make_cell(loss, heeds, options=options, variant=name) for heeds in (False, True))
    return replace(feedback, reference=standard.overrides, paired=True, precise=measured.gain_percent)


def _by_loss(
    rows: Iterable[tuple[str, Overrides]], metric: Metric, what: str, marks: tuple[str, ...] = ()
) -> Grid:
    return make_grid(
        "percent",
        {f"{loss} %": loss for loss in LOSSES},
        [(name, (name, options)) for name, options in rows],
        lambda known, loss: quantity(_beside(loss, *known), metric, what, "percent"),
        f"{what}, behind the published one" if marks else what,
        marks=marks,
    )


def _gains(rows: Iterable[tuple[str, Overrides]]) -> Grid:
    return _by_loss(rows, measured.gain_percent, "gain of feedback", PUBLISHED_GAINS)


_BEARERS = [(f"{rate} kbit/s", bearer(rate)) for rate in (44, 46, 48, 50, 52, 56, 64)]

BEARER = study(
    4,
    "The rate of the bearer",
    "The paper does not give the rate, which is inferred from Table 2. What becomes of throughput and of "
    "the gains of feedback at others?",
    _table(
        "throughput, behind the published one",
        "kbit/s",
        throughput,
        [_with(name, *options) for name, options in _BEARERS],
        PUBLISHED_THROUGHPUTS,
    ),
    _gains(_BEARERS),
    heads="bearer",
)

_RULES = tuple(
    (f"{said}{what}", (*rule, *options))
    for what, options in (
        ("", ()),
        (", window 8760 bytes", (("tcp.receive_buffer", "8760 B"),)),
        (", window 8760 bytes, 0.1 s, 46 kbit/s", SHORT),
        (", segments of 536 bytes", (("tcp.mss", "536 B"),)),
        (", a round trip of 0.3 s, 50 kbit/s", A),
        (", a round trip of 1 s", (("wired.delay", "490 ms"),)),
    )
    for said, rule in (("third", ()), ("second", FIRST_FLAGGED))
)

RULE = study(
    5,
    "Which duplicate ACK acts",
    "As printed it takes two flagged ACKs, and so the third duplicate; to be early, a retransmit would "
    "have to take the first flagged one, which is the second. What does feedback gain by either, as read "
    "and with what else is open, and how many of the drops does it repair?",
    _gains(_RULES),
    _by_loss(_RULES, measured.repaired_percent, "repaired because of a flag, share of the drops"),
    heads="rule",
)

STUDIES = (OTHER_SENDERS, BURSTS, OPEN, BEARER, RULE)
