"""Figures 3, 4 and 13 to 20 of Lundsten's thesis."""

from __future__ import annotations

from typing import Any

from airpath_studies.base.cell import Metric, Overrides
from airpath_studies.base.observe import RECEIVED
from airpath_studies.base.paper import Curve, Experiment, Row, figure, row_of
from airpath_studies.shared.downloads import (
    NO_BLOCK_ERRORS,
    Download,
    Key,
    increase,
    increase_without_retransmissions,
    largest_window,
    lowest_window,
    plateau,
)
from airpath_studies.shared.lundsten import (
    CELLS,
    EIFEL,
    FAST,
    MIDDLE,
    SMALL_FILE_BYTES,
    SMALL_PDUS,
    SPLIT_DELAY_MS,
    WESTWOOD,
    WORST,
    beside_reno,
    make_download,
)

_NET = increase_without_retransmissions

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


row = row_of("lundsten")


def _one_loss(number: int, title: str, name: str, more: Overrides, file_bytes: int) -> Experiment:
    """Draw what one loss does to the send window; schematic in the thesis, without values."""
    cell = make_download(*WORST, file_bytes, variant=name, options=(*_ONE_LOSS, *more)).alone(errors=True)
    return figure(number, title, window_of=cell, in_round_trips=True)


def _window(number: int, key: Key, *rows: tuple[str, str, Metric]) -> Experiment:
    """Draw a send window over time, with rows for what the thesis says about it."""
    cell = CELLS[key]
    title = f"Send window over time, {cell.name}"
    shown = tuple(
        row(name, what, cell, metric, traced=metric not in (increase, _NET)) for name, what, metric in rows
    )
    return figure(number, title, *shown, window_of=cell)


def _curve(label: str, download: Download, *, errors: bool = True) -> Curve:
    """Draw the data received in one run."""
    scale = download.packet_bytes / download.payload_bytes
    return Curve(label, download.watched(RECEIVED, errors=errors), scale)


def _received(
    number: int, title: str, rows: tuple[Row, ...], curves: dict[str, dict[str, Any]]
) -> Experiment:
    """Draw the data received at 384 kbit/s with packets of 576 B, one curve per variant of the download."""
    drawn = tuple(_curve(label, make_download(*WORST, **differs)) for label, differs in curves.items())
    return figure(number, title, *rows, curves=drawn)


def _initial_windows(number: int, title: str, *, errors: bool) -> Experiment:
    downloads = {n: make_download(*WORST, SMALL_FILE_BYTES, initial_window=n) for n in (1, 3, 4)}
    curves = tuple(_curve(f"initial window {n}", of, errors=errors) for n, of in downloads.items())
    return figure(number, title, curves=curves)


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
        FAST,
        ("f14-plateau", "level of the longest flat stretch", plateau),
        ("f14-degradation", "loss due to TCP (read as in Table 4)", _NET),
    ),
    _window(15, MIDDLE, ("f15-increase", "increase due to TCP (as in Table 4)", _NET)),
    _window(16, (128, 1500), ("f16-window", "lowest window after the first slow start", lowest_window)),
    _received(
        17,
        "Data received over time, 384 kbit/s, 576 B",
        (),
        {
            "Reno": {},
            "Reno, in sequence": {"in_sequence": True},
            "split TCP": {"delay_ms": SPLIT_DELAY_MS},
            "Eifel": EIFEL,
            "Westwood": WESTWOOD,
        },
    ),
    _initial_windows(18, "Data received of 100 kB without block errors", errors=False),
    _initial_windows(19, "Data received of 100 kB at 10 % block errors, one run each", errors=True),
    _received(
        20,
        "Data received over time, PDUs of 40 bytes in sequence, 384 kbit/s, 576 B",
        tuple(
            row(
                f"s552-{name.lower()}",
                f"increase with {name}",
                beside_reno(*WORST, variant, **SMALL_PDUS),
                increase,
            )
            for name, variant in {"Reno": {}, "Westwood": WESTWOOD, "Eifel": EIFEL}.items()
        ),
        {
            "Reno": SMALL_PDUS,
            "Westwood": {**SMALL_PDUS, **WESTWOOD},
            "Eifel": {**SMALL_PDUS, **EIFEL},
            "split TCP": {**SMALL_PDUS, "delay_ms": SPLIT_DELAY_MS},
        },
    ),
)
