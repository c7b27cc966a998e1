"""Lundsten's thesis: TCP Reno over a dedicated channel whose blocks are lost and sent again.

How the thesis is read where it leaves things open is in `PARAMETERS` and `READINGS`; the base scenario
is `lundsten-dch`. Increases are of the transfer time over that of an error-free bearer.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from airpath.papers.downloads import (
    ARQ,
    Download,
    decrease,
    increase,
    increase_without_retransmissions,
    largest_window,
    lowest_window,
    plateau,
    retransmission_share,
)
from airpath.papers.paper import Cell, Experiment, Metric, Paper, Reading, Row, lowest

LARGE_FILE_BYTES, SMALL_FILE_BYTES = 16_000_000, 100_000

# Window limit in segments by speed in kbit/s and packet size in bytes, as in Table 3.
WINDOWS = {(384, 576): 25, (384, 1500): 14, (128, 576): 11, (128, 1500): 7, (64, 576): 9, (64, 1500): 6}

READINGS = (
    Reading(
        "before",
        "60 ms; a block that comes back just as a slot begins catches it (80 ms cycle)",
        ((f"{ARQ}.tie", "before"),),
    ),
    Reading(
        "after",
        "60 ms; a block that comes back just as a slot begins misses it (100 ms cycle)",
        ((f"{ARQ}.tie", "after"),),
    ),
    Reading(
        "probability 0.5",
        "60 ms; a block that comes back just as a slot begins catches it half the time",
        ((f"{ARQ}.tie", "{ probability = 0.5 }"),),
    ),
    Reading(
        "59 ms",
        "59 ms as in the configuration example of Appendix B.5: always in time for the slot",
        ((f"{ARQ}.retransmission_delay", "59 ms"),),
    ),
)

DEFAULT_READING = "probability 0.5"

PARAMETERS = (
    ("Network", "135 ms one way, infinite rate, no loss; the radio link adds no propagation delay"),
    ("Downlink", "384, 128 or 64 kbit/s; one block fills a TTI of 20 ms; out-of-sequence delivery"),
    ("Block errors", "10 % of all transmissions, independent; no limit of retransmissions"),
    ("Slots", "back to back, at once when idle; a block returns to the head of the queue"),
    ("Uplink", "64 kbit/s, ACKs of 40 bytes whole, no errors; all queues unlimited"),
    ("TCP", "ns-2's Reno: initial window 1, limited transmit, halving to whole segments, no delayed ACKs"),
    ("Windows", "limit and initial slow start threshold as in Table 3; no connection set-up"),
    ("Retransmission timer", "ticks of 0.1 s, at least 1 s, initially 3 s"),
    ("File", "16,000,000 bytes with headers: whole packets of 576 or 1500 bytes, 40 of them headers"),
    ("Transfer time", "from the first segment sent to the last ACK at the server"),
    ("Increase", "transfer time at 10 % over that at 0 % block errors, both simulated, less one"),
)


def _download(
    rate_kbps: int, packet_bytes: int, file_bytes: int = LARGE_FILE_BYTES, **differs: Any
) -> Download:
    """Make a download of the thesis: what is not said is as in Table 3."""
    window = WINDOWS[rate_kbps, packet_bytes]
    return Download(rate_kbps, packet_bytes, window, file_bytes, **differs)


# The six downloads of Table 3.
CELLS = {key: _download(*key).against_no_errors() for key in WINDOWS}

_COLUMNS = ("kbit/s", "packet, B", "window")


def _labels(download: Download) -> tuple[str, ...]:
    return (str(download.rate_kbps), str(download.packet_bytes), str(download.window))


def _increases(
    table: int,
    downloads: Sequence[Download],
    metric: Metric = increase,
    *,
    averaged_runs: int = 1,
    **remarks: str,
) -> tuple[Row, ...]:
    """Make one row per cell of a table of increases."""
    return tuple(
        Row(
            published_id=f"lundsten-t{table}-{download.rate_kbps}-{download.packet_bytes}",
            labels=_labels(download),
            cells=(download.against_no_errors(),),
            metric=metric,
            averaged_runs=averaged_runs,
            remark=remarks.get(f"cell_{download.rate_kbps}_{download.packet_bytes}", ""),
        )
        for download in downloads
    )


def _speeds() -> tuple[Row, ...]:
    """Make the rows of Table 10."""
    return tuple(
        Row(
            published_id=f"lundsten-t10-{rate}-{packet}-bler{10 if errors else 0}",
            labels=(*_labels(download), "10 %" if errors else "0 %"),
            cells=(download.alone(errors=errors),),
            metric=download.speed,
            averaged_runs=20,
        )
        for rate, packet in WINDOWS
        for download in (_download(rate, packet, SMALL_FILE_BYTES),)
        for errors in (False, True)
    )


def _decreases(table: int, file_bytes: int, initial_windows: Sequence[int]) -> tuple[Row, ...]:
    """Make one row per cell of a table of what a larger initial window saves."""
    return tuple(
        Row(
            published_id=f"lundsten-t{table}-{rate}-{packet}-iw{initial}",
            labels=(*_labels(download), str(initial)),
            cells=(download.against_initial_window_1(),),
            metric=decrease,
            averaged_runs=20,
        )
        for initial in initial_windows
        for rate, packet in list(WINDOWS)[:4]
        for download in (_download(rate, packet, file_bytes, initial_window=initial),)
    )


def _downloads(count: int, **differs: Any) -> list[Download]:
    """The first so many downloads of Table 3, with a difference."""
    return [_download(*key, **differs) for key in list(WINDOWS)[:count]]


def _row(name: str, what: str, cell: Cell, metric: Metric, **more: Any) -> Row:
    return Row(f"lundsten-{name}", (what,), (cell,), metric, **more)


def _figure(number: int, rate_kbps: int, packet_bytes: int, *rows: tuple[str, str, Metric]) -> Experiment:
    """Draw a send window over time, with rows for what the thesis says about it."""
    cell = CELLS[rate_kbps, packet_bytes]
    return Experiment(
        "figure",
        number,
        f"Send window over time, {cell.name}",
        ("quantity",),
        tuple(
            _row(name, what, cell, metric, traced=metric not in (increase, increase_without_retransmissions))
            for name, what, metric in rows
        ),
        window_of=cell,
    )


_NET = increase_without_retransmissions

TABLE_3 = Experiment(
    "table",
    3,
    "Increase of the transfer time at 10 % block errors",
    _COLUMNS,
    _increases(3, _downloads(6)),
)

TABLE_4 = Experiment(
    "table",
    4,
    "The same increase with the cost of the link's own retransmissions taken off",
    _COLUMNS,
    _increases(
        4,
        _downloads(4),
        _NET,
        cell_384_576="by the rule that the thesis states for Table 4, its Table 3 (239 %) gives 205.1 %",
    ),
)

_INITIAL = ("initial window",)

MORE_TABLES = (
    Experiment(
        "table",
        7,
        "Increase with split TCP, read as a delay of 30 ms instead of 135",
        _COLUMNS,
        _increases(7, _downloads(3, delay_ms=30)),
    ),
    Experiment(
        "table",
        8,
        "Increase with in-sequence delivery",
        _COLUMNS,
        _increases(8, _downloads(3, in_sequence=True)),
    ),
    Experiment(
        "table",
        9,
        "Increase for a file of 100 kB",
        _COLUMNS,
        _increases(9, _downloads(6, file_bytes=SMALL_FILE_BYTES), averaged_runs=20),
    ),
    Experiment("table", 10, "Transfer speed of a file of 100 kB", (*_COLUMNS, "block errors"), _speeds()),
    Experiment(
        "table",
        11,
        "Transfer time that a larger initial window saves, 100 kB",
        (*_COLUMNS, *_INITIAL),
        _decreases(11, SMALL_FILE_BYTES, (3, 4)),
    ),
    Experiment("table", 12, "The same, 50 kB", (*_COLUMNS, *_INITIAL), _decreases(12, 50_000, (3,))),
    Experiment("table", 13, "The same, 200 kB", (*_COLUMNS, *_INITIAL), _decreases(13, 200_000, (3,))),
    Experiment(
        "table",
        14,
        "Increase with PDUs of 40 bytes",
        _COLUMNS,
        _increases(14, _downloads(6, small_pdus=True)),
    ),
    Experiment(
        "table",
        15,
        "Increase with PDUs of 40 bytes and in-sequence delivery",
        _COLUMNS,
        _increases(15, _downloads(6, small_pdus=True, in_sequence=True)),
    ),
)

FIGURES = (
    _figure(13, 384, 576, ("f13-maxwin", "largest window, first slow start included", largest_window)),
    _figure(
        14,
        384,
        1500,
        ("f14-plateau", "level of the longest flat stretch", plateau),
        ("f14-degradation", "loss due to TCP (read as in Table 4)", _NET),
    ),
    _figure(15, 128, 576, ("f15-increase", "increase due to TCP (as in Table 4)", _NET)),
    _figure(16, 128, 1500, ("f16-window", "lowest window after the first slow start", lowest_window)),
)

_ALL_CELLS = tuple(CELLS.values())

TEXT = Experiment(
    "text",
    None,
    "What the text says about these simulations",
    ("quantity",),
    (
        Row("lundsten-s531-floor", ("least increase of any cell",), _ALL_CELLS, increase, pick=lowest),
        Row("lundsten-s531-optimal", ("increase in the best case",), _ALL_CELLS, increase, pick=lowest),
        _row(
            "s531-rlc-share",
            "increase due to blocks sent again",
            CELLS[128, 1500],
            retransmission_share,
        ),
        _row("s533-eifel-before", "increase at 384 kbit/s, 576 B", CELLS[384, 576], increase),
    ),
)

PAPER = Paper(
    name="lundsten",
    citation="E. Lundsten, Improving 3G Performance for the Mobile Internet. Master's thesis, KTH, Stockholm",
    scenario="lundsten-dch",
    parameters=PARAMETERS,
    readings=READINGS,
    default_reading=DEFAULT_READING,
    experiments=(TABLE_3, TABLE_4, *MORE_TABLES, *FIGURES, TEXT),
)
