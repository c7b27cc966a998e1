"""Zhang's paper: New-Reno over the dedicated channel that Lundsten's thesis uses, with delayed ACKs.

How the paper is read where it leaves things open is in `paper.toml`, its downloads are in `shared/`.
"""

from __future__ import annotations

from functools import partial

from airpath_studies.base.cell import Cell
from airpath_studies.base.description import description
from airpath_studies.base.paper import Experiment, Paper, Row, figure, row_of, study, text
from airpath_studies.shared.downloads import (
    Key,
    by_key,
    increase,
    increase_without_retransmissions,
    largest_window,
    link_alone,
    lowest_window,
    make_table,
    retransmission_share,
)
from airpath_studies.shared.zhang import (
    CELLS,
    WINDOWS,
    make_download,
)
from airpath_studies.zhang.claims import CLAIMS

_row = row_of("zhang")


def _table() -> tuple[Row, ...]:
    """Make the rows of the table that the paper calls Figure 5."""
    columns = ((10, increase), (0, increase_without_retransmissions))
    return tuple(
        _row(
            f"f5-{rate}-{packet}-bler{column}",
            (str(rate), str(packet), str(window), f"{column} %"),
            CELLS[rate, packet],
            metric,
        )
        for (rate, packet), window in WINDOWS.items()
        for column, metric in columns
    )


def _window(number: int, key: Key, *more: Row) -> Experiment:
    """Draw a send window over time."""
    rate, packet = key
    limit = _row(f"s24-win-{rate}-{packet}", "largest window", CELLS[key], largest_window, traced=True)
    title = f"Send window over time, {CELLS[key].name}"
    return figure(number, title, limit, *more, window_of=CELLS[key])


_LEVEL = _row(
    "f4-level", "lowest window after the first slow start", CELLS[144, 1500], lowest_window, traced=True
)

ASSUMED_MS = 75
"""Delay of the base scenario."""


def _delayed(delay_ms: int, key: Key) -> Cell:
    if delay_ms == ASSUMED_MS:
        return CELLS[key]
    return make_download(*key, delay_ms=delay_ms).against_no_errors()


DELAY = study(
    1,
    "Delay of the network",
    "The paper gives no delay (Section 2.2 speaks of an effective one). Increase at 10 % block errors "
    "with the one-way delay between server and cell that the line says; published are 24, 226, 11.8, "
    "20.3, 11.4 and 11.1 %.",
    make_table(
        "",
        by_key(WINDOWS),
        {f"{delay_ms} ms": partial(_delayed, delay_ms) for delay_ms in (20, 50, 60, 75, 95, 100, 105, 135)},
    ),
    heads="one way",
)

EXPERIMENTS = (
    _window(1, (384, 576)),
    _window(2, (384, 1500)),
    _window(3, (144, 576)),
    _window(4, (144, 1500), _LEVEL),
    figure(5, "Increase of the transfer time", *_table(), heads=("kbit/s", "packet, B", "window", "column")),
    text(
        _row("s25-11", "increase at 64 kbit/s", CELLS[64, 1500], increase),
        _row("s25-10", "blocks retransmitted at 64 kbit/s", CELLS[64, 1500], retransmission_share),
    ),
    DELAY,
)

PAPER = Paper.of(
    description("zhang"),
    experiments=EXPERIMENTS,
    claims=CLAIMS,
    link_alone=link_alone,
)
