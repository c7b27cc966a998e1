"""How much Zhang's figures depend on the delay of the network, which the paper does not give."""

from __future__ import annotations

from functools import partial

from airpath.experiments.papers.base.cell import Cell
from airpath.experiments.papers.lundsten.model import Key
from airpath.experiments.papers.lundsten.study import make_study
from airpath.experiments.papers.zhang.model import CELLS, WINDOWS, make_download

ASSUMED_MS = 75
"""That of the base scenario."""


def _delayed(delay_ms: int, key: Key) -> Cell:
    if delay_ms == ASSUMED_MS:
        return CELLS[key]
    return make_download(*key, delay_ms=delay_ms).against_no_errors()


DELAY = make_study(
    1,
    "Delay of the network",
    "The paper gives no delay (Section 2.2 speaks of an effective one). Increase at 10 % block errors "
    "with the one-way delay between server and cell that the line says; published are 24, 226, 11.8, "
    "20.3, 11.4 and 11.1 %.",
    "one way",
    WINDOWS,
    {f"{delay_ms} ms": partial(_delayed, delay_ms) for delay_ms in (20, 50, 60, 75, 100, 135)},
)
