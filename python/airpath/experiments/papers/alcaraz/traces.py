"""Figures 2, 4 and 12 to 14 of Alcaraz and Cerdan's paper: one run of each scheme over time."""

from __future__ import annotations

from airpath.experiments.papers.alcaraz.model import (
    ACK_RATE,
    COMBINED_1,
    CONVENTIONAL,
    PDPC,
    Scheme,
    make_cell,
    watched,
)
from airpath.experiments.papers.alcaraz.observed import OCCUPANCY, PACKETS, WINDOW
from airpath.experiments.papers.alcaraz.operation import HELD_ACKS, HELD_AND_DROPPED, T_ID_OVER_TIME
from airpath.experiments.papers.base.panel import Trace
from airpath.experiments.papers.base.paper import Experiment


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

_DRAWN = make_cell(COMBINED_1)

FIGURE_4 = Experiment(
    "figure",
    4,
    "Operation of the combined algorithm over time: Combined Scheme 1, one flow",
    ("quantity",),
    (),
    question=(
        "At a drop Counter is set to BO. While it is above zero f2 = 0 lets all held ACKs go and delays none "
        "that comes; then f1 is in force again."
    ),
    traces=(
        Trace("(a) BO, Counter and drops", "time [s]", "SDUs", watched(_DRAWN, HELD_AND_DROPPED)),
        Trace("(b) t_id", "time [s]", "t_id [ms]", watched(_DRAWN, T_ID_OVER_TIME)),
        Trace("(c) ACKs held", "time [s]", "ACKs", watched(_DRAWN, HELD_ACKS)),
    ),
)
