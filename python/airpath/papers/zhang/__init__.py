"""Zhang's paper: New-Reno over the dedicated channel that Lundsten's thesis uses, with delayed ACKs.

How the paper is read where it leaves things open is in `PARAMETERS`; the base scenario is `zhang-dch`. The
ways to understand the return of a lost block are those of the thesis.
"""

from __future__ import annotations

from airpath.papers.downloads import (
    Download,
    increase,
    increase_without_retransmissions,
    largest_window,
    lowest_window,
    retransmission_share,
)
from airpath.papers.lundsten.model import DEFAULT_READING, READINGS
from airpath.papers.paper import Cell, Experiment, Metric, Paper, Row
from airpath.papers.zhang.claims import NOT_REPRODUCED, claims

FILE_BYTES = 10_000_000

# Window limit in segments by speed in kbit/s and packet size in bytes: the printed column, which is swapped.
WINDOWS = {(384, 1500): 15, (384, 576): 22, (144, 1500): 7, (144, 576): 11, (64, 1500): 6, (64, 576): 9}

PARAMETERS = (
    ("Network", "75 ms one way, infinite rate, no loss; the radio link adds no propagation delay"),
    ("Downlink", "384, 144 or 64 kbit/s; one block fills a TTI of 20 ms; out-of-sequence delivery"),
    ("Block errors", "10 % of all transmissions, independent; no limit of retransmissions"),
    ("Uplink", "64 kbit/s, ACKs whole, no errors; all queues unlimited"),
    ("TCP", "New-Reno, initial window 2, delayed ACKs, timestamps, connection set-up; ns-2's halving"),
    ("Windows", "the printed column belongs to the other packet size: 22, 11 and 9 segments of 576 bytes"),
    ("File", "10,000,000 bytes with headers"),
    ("Increase", "transfer time at 10 % over that at 0 % block errors, both simulated, less one"),
    ("Column 0 % BLER", "read as the increase with a tenth of the time, for blocks sent again, taken off"),
)


def _cell(rate_kbps: int, packet_bytes: int) -> Cell:
    window = WINDOWS[rate_kbps, packet_bytes]
    download = Download(rate_kbps, packet_bytes, window, FILE_BYTES, timestamps=True)
    return download.against_no_errors()


CELLS = {key: _cell(*key) for key in WINDOWS}


def _row(name: str, what: str, key: tuple[int, int], metric: Metric, *, traced: bool = False) -> Row:
    return Row(f"zhang-{name}", (what,), (CELLS[key],), metric, traced=traced)


def _table() -> tuple[Row, ...]:
    """Make the rows of the table that the paper calls Figure 5."""
    columns = ((10, increase), (0, increase_without_retransmissions))
    return tuple(
        Row(
            f"zhang-f5-{rate}-{packet}-bler{column}",
            (str(rate), str(packet), str(window), f"{column} %"),
            (CELLS[rate, packet],),
            metric,
        )
        for (rate, packet), window in WINDOWS.items()
        for column, metric in columns
    )


def _window(number: int, key: tuple[int, int], *more: Row) -> Experiment:
    """Draw a send window over time."""
    rate, packet = key
    limit = _row(f"s24-win-{rate}-{packet}", "largest window", key, largest_window, traced=True)
    title = f"Send window over time, {CELLS[key].name}"
    return Experiment("figure", number, title, ("quantity",), (limit, *more), window_of=CELLS[key])


_LEVEL = _row("f4-level", "lowest window after the first slow start", (144, 1500), lowest_window, traced=True)

EXPERIMENTS = (
    _window(1, (384, 576)),
    _window(2, (384, 1500)),
    _window(3, (144, 576)),
    _window(4, (144, 1500), _LEVEL),
    Experiment(
        "figure",
        5,
        "Increase of the transfer time",
        ("kbit/s", "packet, B", "window", "column"),
        _table(),
    ),
    Experiment(
        "text",
        None,
        "What the text says about these simulations",
        ("quantity",),
        (
            _row("s25-11", "increase at 64 kbit/s", (64, 1500), increase),
            _row("s25-10", "blocks sent again at 64 kbit/s", (64, 1500), retransmission_share),
        ),
    ),
)

PAPER = Paper(
    name="zhang",
    citation="N. Zhang, Simulation-based investigation of TCP file transfers over UMTS. UCL, London",
    scenario="zhang-dch",
    parameters=PARAMETERS,
    readings=READINGS,
    default_reading=DEFAULT_READING,
    experiments=EXPERIMENTS,
    claims=claims(CELLS),
    not_reproduced=NOT_REPRODUCED,
)
