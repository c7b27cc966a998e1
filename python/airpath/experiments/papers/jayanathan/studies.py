"""What the paper leaves open or to the future: studies beside its figures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from airpath.experiments.papers.base.cell import Cell, Metric, Overrides
from airpath.experiments.papers.base.grid import Grid, GridRow
from airpath.experiments.papers.base.paper import Experiment
from airpath.experiments.papers.base.published import load_published
from airpath.experiments.papers.base.quantity import Quantity
from airpath.experiments.papers.jayanathan import measured
from airpath.experiments.papers.jayanathan.model import (
    FIRST_FLAGGED,
    LONGER_PATH,
    LOSSES,
    SENDERS,
    Sender,
    make_cell,
)
from airpath.experiments.papers.jayanathan.tables import quantity, throughput

Measure = tuple[str, str, Callable[[Cell], Quantity]]
"""What is measured, its unit, and how."""

Pair = Callable[[int, bool], Cell]
"""A cell by drop rate and whether there is feedback."""

_PUBLISHED = load_published("jayanathan")
PUBLISHED_GAINS = tuple(f"{_PUBLISHED[f'jayanathan-t2-{loss}-improvement'].target:g}" for loss in LOSSES)
PUBLISHED_THROUGHPUTS = tuple(
    f"{_PUBLISHED[f'jayanathan-t2-{loss}-{kind}'].target:g}"
    for loss in LOSSES
    for kind in ("standard", "rncfb")
)

_COLUMNS = tuple(f"{loss} %{', RNC-FB' if feedback else ''}" for loss in LOSSES for feedback in (False, True))


def timeouts(cell: Cell) -> Quantity:
    """Timeouts of a run."""
    return quantity(cell, measured.timeouts, "timeouts", "1")


THROUGHPUT: Measure = ("throughput", "kbit/s", throughput)
TIMEOUTS: Measure = ("timeouts", "1", timeouts)


def _study(
    number: int,
    title: str,
    question: str,
    head: str,
    rows: Sequence[tuple[str, Pair]],
    measures: Sequence[Measure] = (THROUGHPUT, TIMEOUTS),
) -> Experiment:
    def line(name: str, pair: Pair, of: Callable[[Cell], Quantity]) -> GridRow:
        return GridRow((name,), tuple(of(pair(loss, back)) for loss in LOSSES for back in (False, True)))

    tables = tuple(
        Grid(_COLUMNS, unit, tuple(line(name, pair, of) for name, pair in rows), what)
        for what, unit, of in measures
    )
    return Experiment("study", number, title, (head,), (), question=question, tables=tables)


def _by_sender(sender: Sender) -> tuple[str, Pair]:
    return sender.name, lambda loss, feedback: make_cell(loss, feedback, sender)


OTHER_SENDERS = _study(
    1,
    "Other kinds of TCP",
    "The paper leaves to the future whether other kinds of TCP benefit, too.",
    "sender",
    tuple(map(_by_sender, SENDERS)),
)


def _in_bursts(burst: float) -> tuple[str, Pair]:
    said = "" if burst == 1 else f"bursts of {burst:g}"
    return f"{burst:g}", lambda loss, feedback: make_cell(loss, feedback, burst=burst, variant=said)


BURSTS = _study(
    2,
    "Drops in bursts",
    "Fading drops packets in a row. The same share of drops, in bursts of so many packets on average.",
    "mean burst, packets",
    tuple(map(_in_bursts, (1, 2, 4))),
)


def _with(name: str, *options: tuple[str, str], uplink: bool = False) -> tuple[str, Pair]:
    said = name if options or uplink else ""
    return name, lambda loss, feedback: make_cell(
        loss, feedback, uplink=loss if uplink else 0, options=options, variant=said
    )


OPEN = _study(
    3,
    "What else the paper leaves open",
    "Table 2 under other readings of the window, the bearer, the path and the sender.",
    "reading",
    (
        _with("as read"),
        _with("every segment timed", ("tcp.rtt_sampling", "every_segment")),
        _with("times in ticks of 0.5 s", ("tcp.rto.tick", "500 ms")),
        _with("window 65,535 bytes", ("tcp.receive_buffer", "65535 B")),
        _with("64 kbit/s", ("radio.dch.downlink.rate", "64 kbit/s"), ("radio.dch.uplink.rate", "64 kbit/s")),
        _with("a round trip of 0.3 s", ("wired.delay", "140 ms")),
        _with("a round trip of 1 s", ("wired.delay", "490 ms")),
        _with("drops of what the UE sends, too", uplink=True),
        _with("an ACK for every segment", ("tcp.ack_every", "1")),
        _with("limited transmit", ("tcp.limited_transmit", "true")),
    ),
)

_RATES_KBPS = (44, 46, 48, 50, 52, 56, 64)


def bearer(rate_kbps: int) -> Overrides:
    """Give the bearer another rate, both ways."""
    return tuple((f"radio.dch.{way}.rate", f"{rate_kbps} kbit/s") for way in ("downlink", "uplink"))


def _beside(loss: int, name: str, options: Overrides) -> Cell:
    """Feedback, each run beside standard TCP with the same packets dropped."""
    feedback = make_cell(loss, True, options=options, variant=name)
    standard = make_cell(loss, False, options=options, variant=name)
    return replace(feedback, reference=standard.overrides, paired=True, precise=measured.gain_percent)


def _by_loss(
    rows: Sequence[tuple[str, Overrides]], metric: Metric, what: str, marks: tuple[str, ...] = ()
) -> Grid:
    def known(loss: int, name: str, options: Overrides) -> Quantity:
        return quantity(_beside(loss, name, options), metric, what, "percent")

    return Grid(
        tuple(f"{loss} %" for loss in LOSSES),
        "percent",
        tuple(
            GridRow((name,), tuple(known(loss, name, options) for loss in LOSSES), marks)
            for name, options in rows
        ),
        f"{what}, behind the published one" if marks else what,
    )


def _gains(rows: Sequence[tuple[str, Overrides]]) -> Grid:
    return _by_loss(rows, measured.gain_percent, "gain of feedback", PUBLISHED_GAINS)


BEARER = Experiment(
    "study",
    4,
    "The rate of the bearer",
    ("bearer",),
    (),
    question=(
        "The paper does not give the rate, which is inferred from Table 2. What becomes of throughput and of "
        "the gains of feedback at others?"
    ),
    tables=(
        Grid(
            _COLUMNS,
            "kbit/s",
            tuple(
                GridRow(
                    (f"{rate} kbit/s",),
                    tuple(
                        throughput(make_cell(loss, back, options=bearer(rate), variant=f"{rate} kbit/s"))
                        for loss in LOSSES
                        for back in (False, True)
                    ),
                    PUBLISHED_THROUGHPUTS,
                )
                for rate in _RATES_KBPS
            ),
            "throughput, behind the published one",
        ),
        _gains(tuple((f"{rate} kbit/s", bearer(rate)) for rate in _RATES_KBPS)),
    ),
)

_WINDOW: Overrides = (("tcp.receive_buffer", "65535 B"),)
_SMALL: Overrides = (("tcp.mss", "536 B"),)
_FAR: Overrides = (("wired.delay", "490 ms"),)

_RULES: tuple[tuple[str, Overrides], ...] = tuple(
    (f"{said}{what}", (*rule, *options))
    for what, options in (
        ("", ()),
        (", window 65,535 bytes", _WINDOW),
        (", segments of 536 bytes", _SMALL),
        (", window 65,535 bytes, a round trip of 0.4 s", LONGER_PATH),
        (", a round trip of 1 s", _FAR),
    )
    for said, rule in (("third", ()), ("second", FIRST_FLAGGED))
)

RULE = Experiment(
    "study",
    5,
    "Which duplicate ACK acts",
    ("rule",),
    (),
    question=(
        "As printed it takes two flagged ACKs, and so the third duplicate; to be early, a retransmit would "
        "have to take the first flagged one, which is the second. What does feedback gain by either, as read "
        "and with what else is open, and how many of the drops does it repair?"
    ),
    tables=(
        _gains(_RULES),
        _by_loss(_RULES, measured.repaired_percent, "repaired because of a flag, share of the drops"),
    ),
)

STUDIES = (OTHER_SENDERS, BURSTS, OPEN, BEARER, RULE)
