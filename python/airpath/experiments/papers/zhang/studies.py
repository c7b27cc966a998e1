"""How much Zhang's figures depend on the delay of the network, which the paper does not give."""

from __future__ import annotations

from airpath.experiments.papers.base.cell import Cell
from airpath.experiments.papers.base.grid import Grid, GridRow
from airpath.experiments.papers.base.paper import Experiment
from airpath.experiments.papers.base.quantity import Quantity
from airpath.experiments.papers.downloads import increase
from airpath.experiments.papers.zhang.model import CELLS, WINDOWS, make_download

ASSUMED_MS = 75
"""That of the base scenario."""


def _delayed(key: tuple[int, int], delay_ms: int) -> Cell:
    if delay_ms == ASSUMED_MS:
        return CELLS[key]
    return make_download(*key, delay_ms=delay_ms).against_no_errors()


def _line(delay_ms: int) -> GridRow:
    entries = tuple(
        Quantity(f"{rate}/{packet}, {delay_ms} ms", _delayed((rate, packet), delay_ms), increase)
        for rate, packet in WINDOWS
    )
    return GridRow((f"{delay_ms} ms",), entries)


DELAY = Experiment(
    "study",
    1,
    "Delay of the network",
    ("one way",),
    (),
    grid=Grid(
        tuple(f"{rate}/{packet}" for rate, packet in WINDOWS),
        "percent",
        tuple(map(_line, (20, 50, 60, 75, 100, 135))),
    ),
    question=(
        "The paper gives no delay (Section 2.2 speaks of an effective one). Increase at 10 % block errors "
        "with the one-way delay between server and cell that the line says; published are 24, 226, 11.8, "
        "20.3, 11.4 and 11.1 %."
    ),
)
