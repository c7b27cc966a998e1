"""What the paper leaves open or to the future: studies beside its figures."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from airpath.papers.conditions import Quantity
from airpath.papers.grid import Grid, GridRow
from airpath.papers.jayanathan import measured
from airpath.papers.jayanathan.model import LOSSES, SENDERS, Sender, make_cell
from airpath.papers.jayanathan.tables import quantity, throughput
from airpath.papers.paper import Cell, Experiment

Measure = tuple[str, str, Callable[[Cell], Quantity]]
"""What is measured, its unit, and how."""

Pair = Callable[[int, bool], Cell]
"""A cell by drop rate and whether there is feedback."""

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
        _with("drops of what the UE sends, too", uplink=True),
        _with("an ACK for every segment", ("tcp.ack_every", "1")),
        _with("limited transmit", ("tcp.limited_transmit", "true")),
    ),
)

STUDIES = (OTHER_SENDERS, BURSTS, OPEN)
