"""Figures 2 and 12 to 14 of Alcaraz and Cerdan's paper: one run of each scheme over time."""

from __future__ import annotations

from airpath.papers.alcaraz.model import ACK_RATE, COMBINED_1, CONVENTIONAL, PDPC, Scheme, make_cell, watched
from airpath.papers.alcaraz.observed import OCCUPANCY, PACKETS, WINDOW
from airpath.papers.panel import Trace
from airpath.papers.paper import Experiment


def _figure(number: int, scheme: Scheme) -> Experiment:
    cell = make_cell(scheme)
    return Experiment(
        "figure",
        number,
        f"{scheme.name}, one flow over time",
        ("quantity",),
        (),
        traces=(
            Trace("(a) RLC buffer occupancy", "time [s]", "BO [SDUs]", watched(cell, OCCUPANCY)),
            Trace("(b) congestion window", "time [s]", "cwnd [packets]", watched(cell, WINDOW)),
            Trace("(c) sequence numbers", "time [s]", "packet", watched(cell, PACKETS)),
        ),
    )


FIGURE_2 = _figure(2, CONVENTIONAL)
FIGURE_12 = _figure(12, PDPC)
FIGURE_13 = _figure(13, ACK_RATE)
FIGURE_14 = _figure(14, COMBINED_1)
