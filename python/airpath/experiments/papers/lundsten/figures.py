"""Figures 3, 4 and 13 to 20 of Lundsten's thesis."""

from __future__ import annotations

from typing import Any

from airpath.experiments.papers.base.cell import Cell, Metric, Overrides
from airpath.experiments.papers.base.observe import RECEIVED
from airpath.experiments.papers.base.paper import Curve, Experiment, Row
from airpath.experiments.papers.downloads import (
    NO_BLOCK_ERRORS,
    Download,
    increase,
    increase_without_retransmissions,
    largest_window,
    lowest_window,
    plateau,
)
from airpath.experiments.papers.lundsten.model import (
    CELLS,
    EIFEL,
    SMALL_FILE_BYTES,
    SPLIT_DELAY_MS,
    WESTWOOD,
    beside_reno,
    make_download,
)

_NET = increase_without_retransmissions
_QUANTITY = ("quantity",)
WORST = (384, 576)
"""The download that suffers most: speed in kbit/s and packet size in bytes."""

# Slow start to 20 segments, then a buffer of 10 packets overflows by one.
_ONE_LOSS: Overrides = (
    NO_BLOCK_ERRORS,
    ("tcp.max_window", "60"),
    ("tcp.initial_ssthresh", f"{20 * 536} B"),
    ("tcp.limited_transmit", "false"),
    ("radio.dch.downlink.queue.droptail.packets", "10"),
)
# Duplicate ACKs tell nothing: the timer does.
_TIMER_ONLY: Overrides = (("tcp.dupack_threshold", "1000"),)


def row(name: str, what: str, cell: Cell, metric: Metric, **more: Any) -> Row:
    """Make the row of a value that stands in the text."""
    return Row(f"lundsten-{name}", (what,), (cell,), metric, **more)


def _one_loss(number: int, title: str, name: str, more: Overrides, file_bytes: int) -> Experiment:
    """Draw what one loss does to the send window; schematic in the thesis, without values."""
    download = make_download(*WORST, file_bytes, variant=name, options=(*_ONE_LOSS, *more))
    cell = download.alone(errors=True)
    return Experiment("figure", number, title, _QUANTITY, (), window_of=cell, in_round_trips=True)


def _window(number: int, key: tuple[int, int], *rows: tuple[str, str, Metric]) -> Experiment:
    """Draw a send window over time, with rows for what the thesis says about it."""
    cell = CELLS[key]
    title = f"Send window over time, {cell.name}"
    shown = tuple(
        row(name, what, cell, metric, traced=metric not in (increase, _NET)) for name, what, metric in rows
    )
    return Experiment("figure", number, title, _QUANTITY, shown, window_of=cell)


def _curve(label: str, download: Download, *, errors: bool = True) -> Curve:
    """Draw the data received in one run."""
    packet = download.packet_bytes
    scale = packet / download.payload_bytes
    return Curve(label, download.watched(RECEIVED, errors=errors), scale)


def _received(number: int, title: str, rows: tuple[Row, ...], *curves: Curve) -> Experiment:
    return Experiment("figure", number, title, _QUANTITY, rows, curves=curves)


def _initial_windows(*, errors: bool) -> tuple[Curve, ...]:
    return tuple(
        _curve(
            f"initial window {segments}",
            make_download(*WORST, SMALL_FILE_BYTES, initial_window=segments),
            errors=errors,
        )
        for segments in (1, 3, 4)
    )


SMALL_PDUS: dict[str, Any] = {"small_pdus": True, "in_sequence": True}
"""PDUs of 40 bytes and in-sequence delivery, as in Table 15."""

SMALL_PDU_CELLS = {
    "Reno": make_download(*WORST, **SMALL_PDUS).against_no_errors(),
    "Westwood": beside_reno(*WORST, WESTWOOD, **SMALL_PDUS),
    "Eifel": beside_reno(*WORST, EIFEL, **SMALL_PDUS),
    "split TCP": make_download(*WORST, delay_ms=SPLIT_DELAY_MS, **SMALL_PDUS).against_no_errors(),
}
"""What Figure 20 compares."""

_NO_TIMEOUTS = "what separates the variants in the thesis are timeouts; in the stated model there are none"

FIGURES = (
    _one_loss(
        3, "Send window after a timeout: slow start", "one loss, found by the timer", _TIMER_ONLY, 380_000
    ),
    _one_loss(
        4,
        "Send window in fast recovery; duplicate ACKs inflate it for a round trip",
        "one loss, found by duplicate ACKs",
        (),
        450_000,
    ),
    _window(13, WORST, ("f13-maxwin", "largest window, first slow start included", largest_window)),
    _window(
        14,
        (384, 1500),
        ("f14-plateau", "level of the longest flat stretch", plateau),
        ("f14-degradation", "loss due to TCP (read as in Table 4)", _NET),
    ),
    _window(15, (128, 576), ("f15-increase", "increase due to TCP (as in Table 4)", _NET)),
    _window(16, (128, 1500), ("f16-window", "lowest window after the first slow start", lowest_window)),
    _received(
        17,
        "Data received over time, 384 kbit/s, 576 B",
        (),
        _curve("Reno", make_download(*WORST)),
        _curve("Reno, in sequence", make_download(*WORST, in_sequence=True)),
        _curve("split TCP", make_download(*WORST, delay_ms=SPLIT_DELAY_MS)),
        _curve("Eifel", make_download(*WORST, **EIFEL)),
        _curve("Westwood", make_download(*WORST, **WESTWOOD)),
    ),
    _received(18, "Data received of 100 kB without block errors", (), *_initial_windows(errors=False)),
    _received(
        19, "Data received of 100 kB at 10 % block errors, one run each", (), *_initial_windows(errors=True)
    ),
    _received(
        20,
        "Data received over time, PDUs of 40 bytes in sequence, 384 kbit/s, 576 B",
        tuple(
            row(
                f"s552-{name.lower()}",
                f"increase with {name}",
                SMALL_PDU_CELLS[name],
                increase,
                remark=_NO_TIMEOUTS,
            )
            for name in ("Reno", "Westwood", "Eifel")
        ),
        _curve("Reno", make_download(*WORST, **SMALL_PDUS)),
        _curve("Westwood", make_download(*WORST, **{**SMALL_PDUS, **WESTWOOD})),
        _curve("Eifel", make_download(*WORST, **{**SMALL_PDUS, **EIFEL})),
        _curve("split TCP", make_download(*WORST, **SMALL_PDUS, delay_ms=SPLIT_DELAY_MS)),
    ),
)
