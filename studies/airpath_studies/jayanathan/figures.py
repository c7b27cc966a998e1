"""Figures 6 to 10 of Jayanathan et al.: single runs over time."""

from __future__ import annotations

from collections.abc import Mapping

from airpath_studies.base.cell import Cell
from airpath_studies.base.observe import RECEIVED
from airpath_studies.base.panel import Trace
from airpath_studies.base.paper import Curve, Experiment, figure
from airpath_studies.jayanathan.model import (
    LOSSES,
    PACKET_BYTES,
    PAYLOAD_BYTES,
    RENO,
    SACK,
    make_cell,
    watched,
)
from airpath_studies.jayanathan.observed import CACHED, CWND, DROPPED


def _traces(number: int, title: str, *traces: Trace) -> Experiment:
    return figure(number, title, traces=traces)


def _cwnd(title: str, cell: Cell) -> Trace:
    return Trace(title, "time [s]", "cwnd [segments]", watched(cell, CWND))


def _over_time(letters: str, name: str, cell: Cell) -> tuple[Trace, ...]:
    """Draw what the paper draws of a run with feedback."""
    return (
        _cwnd(f"({letters[0]}) {name}", cell),
        Trace(f"({letters[1]}) {name}", "time [s]", "dropped packets", watched(cell, DROPPED)),
        Trace(f"({letters[2]}) {name}", "time [s]", "cached TCP headers", watched(cell, CACHED)),
    )


def _windows(number: int, loss: int) -> Experiment:
    return _traces(
        number,
        f"Congestion window, dropped and cached packets, {loss} %",
        *_over_time("abc", "RNC feedback", make_cell(loss, feedback=True)),
        _cwnd("(d) standard TCP", make_cell(loss, feedback=False)),
    )


def _received(number: int, title: str, cells: Mapping[str, Cell]) -> Experiment:
    """Draw the file over time."""
    scale = PACKET_BYTES / PAYLOAD_BYTES
    curves = tuple(Curve(label, watched(cell, RECEIVED), scale) for label, cell in cells.items())
    return figure(number, title, curves=curves)


FIGURES = (
    _windows(6, 2),
    _windows(7, 5),
    _received(
        8,
        "The file over time, by drop rate, with RNC feedback and without (data received in order)",
        {
            f"{loss} %{', RNC feedback' if feedback else ''}": make_cell(loss, feedback)
            for feedback in (True, False)
            for loss in LOSSES
        },
    ),
    _traces(
        9,
        "Congestion window, dropped and cached packets with SACK and without, RNC feedback, 10 %",
        *_over_time("abc", "with SACK", make_cell(10, True, SACK)),
        *_over_time("def", "without", make_cell(10, True)),
    ),
    _received(
        10,
        "The file over time with SACK and without, RNC feedback (data received in order)",
        {
            f"{loss} %{said}": make_cell(loss, True, sender)
            for sender, said in ((SACK, ", SACK"), (RENO, ""))
            for loss in (2, 5, 10)
        },
    ),
)
