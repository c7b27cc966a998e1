"""Figures 6 to 10 of Jayanathan et al.: single runs over time."""

from __future__ import annotations

from airpath.experiments.papers.base.cell import Cell
from airpath.experiments.papers.base.observe import RECEIVED
from airpath.experiments.papers.base.panel import Trace
from airpath.experiments.papers.base.paper import Curve, Experiment
from airpath.experiments.papers.jayanathan.model import RENO, SACK, make_cell, watched
from airpath.experiments.papers.jayanathan.observed import CACHED, CWND, DROPPED

PACKET_BYTES, PAYLOAD_BYTES = 1500, 1460


def _over_time(letters: tuple[str, str, str], name: str, cell: Cell) -> tuple[Trace, ...]:
    """Draw what the paper draws of a run with feedback."""
    first, second, third = letters
    return (
        Trace(f"({first}) {name}", "time [s]", "cwnd [segments]", watched(cell, CWND)),
        Trace(f"({second}) {name}", "time [s]", "dropped packets", watched(cell, DROPPED)),
        Trace(f"({third}) {name}", "time [s]", "cached TCP headers", watched(cell, CACHED)),
    )


def _windows(number: int, loss: int) -> Experiment:
    standard = watched(make_cell(loss, feedback=False), CWND)
    return Experiment(
        "figure",
        number,
        f"Congestion window, dropped and cached packets, {loss} %",
        ("quantity",),
        (),
        traces=(
            *_over_time(("a", "b", "c"), "RNC feedback", make_cell(loss, feedback=True)),
            Trace("(d) standard TCP", "time [s]", "cwnd [segments]", standard),
        ),
    )


def _curve(label: str, cell: Cell) -> Curve:
    return Curve(label, watched(cell, RECEIVED), PACKET_BYTES / PAYLOAD_BYTES)


FIGURE_6 = _windows(6, 2)
FIGURE_7 = _windows(7, 5)

FIGURE_8 = Experiment(
    "figure",
    8,
    "The file over time, by drop rate, with RNC feedback and without (data received in order)",
    ("quantity",),
    (),
    curves=tuple(
        _curve(f"{loss} %{', RNC feedback' if feedback else ''}", make_cell(loss, feedback))
        for feedback in (True, False)
        for loss in (2, 5, 10, 15)
    ),
)

FIGURE_9 = Experiment(
    "figure",
    9,
    "Congestion window, dropped and cached packets with SACK and without, RNC feedback, 10 %",
    ("quantity",),
    (),
    traces=(
        *_over_time(("a", "b", "c"), "with SACK", make_cell(10, True, SACK)),
        *_over_time(("d", "e", "f"), "without", make_cell(10, True)),
    ),
)

FIGURE_10 = Experiment(
    "figure",
    10,
    "The file over time with SACK and without, RNC feedback (data received in order)",
    ("quantity",),
    (),
    curves=tuple(
        _curve(f"{loss} %{said}", make_cell(loss, True, sender))
        for sender, said in ((SACK, ", SACK"), (RENO, ""))
        for loss in (2, 5, 10)
    ),
)

FIGURES = (FIGURE_6, FIGURE_7, FIGURE_8, FIGURE_9, FIGURE_10)
