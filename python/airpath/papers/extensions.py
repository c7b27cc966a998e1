"""What Lundsten and Zhang leave open, simulated: one study per question, in the models of their papers.

Nothing here is published; what the studies show is stated as claims, which are checked like those of a paper.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from airpath.papers.conditions import Quantity
from airpath.papers.downloads import ARQ, Download, increase, received_later
from airpath.papers.extensions_users import USERS
from airpath.papers.grid import Grid, GridRow
from airpath.papers.lundsten_model import (
    DELAY_MS,
    EIFEL,
    PARAMETERS,
    READINGS,
    SMALL_FILE_BYTES,
    SPLIT_DELAY_MS,
    WINDOWS,
    make_download,
    split_box,
)
from airpath.papers.lundsten_model import DEFAULT_READING
from airpath.papers.paper import Cell, Experiment, Metric, Overrides, Paper
from airpath.papers.zhang import WINDOWS as ZHANG_WINDOWS

Key = tuple[int, int]

THREE: tuple[Key, ...] = ((384, 576), (384, 1500), (128, 576))
"""The downloads that suffer."""

SIX = tuple(WINDOWS)

_BLER = "radio.dch.downlink.channel.bernoulli.bler"


def _head(key: Key) -> str:
    return f"{key[0]}/{key[1]}"


def _study(
    number: int,
    title: str,
    question: str,
    label: str,
    keys: Sequence[Key],
    lines: Sequence[tuple[str, Callable[[Key], Cell]]],
    metric: Metric = increase,
) -> Experiment:
    """A study: a line for each of `lines`, a column for each download."""
    rows = tuple(
        GridRow((name,), tuple(Quantity(f"{_head(key)} {name}", make(key), metric) for key in keys))
        for name, make in lines
    )
    grid = Grid(tuple(_head(key) for key in keys), "percent", rows)
    return Experiment("study", number, title, (label,), (), grid=grid, question=question)


def _later(download: Download, other: Download) -> Cell:
    """A download beside another one without block errors, by when the receiver has the last byte."""
    twin = other.against_no_errors().reference
    return Cell(download.name, download.overrides, twin, received_later)


def _small(key: Key, **differs: Any) -> Download:
    return make_download(*key, SMALL_FILE_BYTES, **differs)


SMALL_FILES = _study(
    1,
    "Remedies for small files",
    "Do in-sequence delivery and split TCP help a file of 100 kB as they help a large one? Increase over Reno "
    "end to end without block errors, until the receiver has the last byte. The proxy is 30 ms from the cell.",
    "100 kB",
    THREE,
    (
        ("Reno", lambda key: _later(_small(key), _small(key))),
        ("in sequence", lambda key: _later(_small(key, in_sequence=True), _small(key))),
        ("30 ms instead of 135", lambda key: _later(_small(key, delay_ms=SPLIT_DELAY_MS), _small(key))),
        ("split by a proxy", lambda key: _later(split_box(*key, SMALL_FILE_BYTES), _small(key))),
        (
            "both",
            lambda key: _later(split_box(*key, SMALL_FILE_BYTES, in_sequence=True), _small(key)),
        ),
    ),
    received_later,
)


def _placed(radio_side_ms: int) -> Callable[[Key], Cell]:
    return lambda key: _later(split_box(*key, radio_side_ms=radio_side_ms), make_download(*key))


PLACEMENT = _study(
    2,
    "Where to split",
    f"How near to the cell must a proxy be? Increase for 16 MB over Reno end to end without block errors; the path "
    f"has {DELAY_MS} ms one way in all, the proxy a buffer of 65,535 bytes.",
    "proxy to cell",
    THREE,
    tuple((f"{delay} ms", _placed(delay)) for delay in (5, 15, 30, 60, 90, 120)),
    received_later,
)


def _with(*options: tuple[str, str], **differs: Any) -> Callable[[Key], Cell]:
    """A download under changed conditions beside the same without block errors."""
    return lambda key: make_download(*key, options=options, **differs).against_no_errors()


ERROR_RATES = _study(
    3,
    "Block error rates",
    "What would another operating point cost? Increase for 16 MB over no block errors at all.",
    "block errors",
    SIX,
    tuple((f"{bler} %", _with((_BLER, f"{bler} %"))) for bler in (0, 1, 5, 10, 20)),
)


def _uplink(bler: int) -> tuple[tuple[str, str], ...]:
    up = "radio.dch.uplink"
    arq = '{ tti = "20 ms", retransmission_delay = "60 ms", delivery = "out_of_sequence" }'
    return ((f"{up}.rlc.fixed_delay_arq", arq), (f"{up}.channel.bernoulli.bler", f"{bler} %"))


UPLINK = _study(
    4,
    "Errors on the uplink",
    "The papers' uplink has no errors. Here it sends blocks like the downlink, one per TTI, lost as often as the line "
    "says; the downlink has 10 %. Increase for 16 MB over no errors in either direction.",
    "uplink errors",
    THREE,
    tuple(
        (
            f"{bler} %",
            lambda key, bler=bler: make_download(*key, options=_uplink(bler)).against_no_errors(
                make_download(*key, options=_uplink(0))
            ),
        )
        for bler in (0, 1, 10, 20)
    ),
)

TTI = _study(
    5,
    "Length of a TTI",
    "A lost block comes back three TTIs later, as in the papers with 20 ms. Increase for 16 MB over no block errors "
    "with the same TTI.",
    "TTI",
    THREE,
    tuple(
        (f"{tti} ms", _with((f"{ARQ}.tti", f"{tti} ms"), (f"{ARQ}.retransmission_delay", f"{3 * tti} ms")))
        for tti in (10, 20, 40, 80)
    ),
)

DELAYED_ACK = _study(
    6,
    "Delayed ACKs",
    "Lundsten's receiver acknowledges every segment. Increase for 16 MB over the same receiver without block errors.",
    "receiver",
    SIX,
    (
        ("every segment", _with(("tcp.ack_every", "1"))),
        ("every second, 200 ms", _with(("tcp.ack_every", "2"), ("tcp.delayed_ack_timeout", "200 ms"))),
    ),
)


def _threshold(count: int) -> Callable[[Key], Cell]:
    return _with(("tcp.dupack_threshold", f"{count}"))


def _adaptive(key: Key) -> Cell:
    options = (*EIFEL["options"], ("tcp.adaptive_dupack_threshold", "true"))
    adapts = make_download(*key, **{**EIFEL, "variant": "adaptive", "options": options})
    return adapts.against_no_errors(make_download(*key))


THRESHOLD = _study(
    7,
    "Duplicate ACK threshold",
    "Reordering by the link looks like loss after three duplicate ACKs. How many more would do, and does a threshold "
    "that learns from Eifel do as well? Increase for 16 MB over Reno without block errors.",
    "threshold",
    THREE,
    (
        *((f"{count}", _threshold(count)) for count in (3, 4, 6, 10, 20)),
        ("adaptive, with Eifel", _adaptive),
        ("3, with Eifel", lambda key: make_download(*key, **EIFEL).against_no_errors(make_download(*key))),
    ),
)


def _zhang(file_bytes: int) -> Callable[[Key], Cell]:
    def make(key: Key) -> Cell:
        download = Download(*key, ZHANG_WINDOWS[key], file_bytes, timestamps=True)
        cell = download.against_no_errors()
        return Cell(cell.name, cell.overrides, cell.reference, increase, scenario="zhang-dch")

    return make


ZHANG_SMALL = _study(
    8,
    "Small files with Zhang's settings",
    "Zhang simulates 10 MB only. Increase over no block errors with New-Reno, delayed ACKs, an initial window of two "
    "and connection set-up.",
    "file",
    tuple(ZHANG_WINDOWS),
    tuple(
        (name, _zhang(size))
        for name, size in (("50 kB", 50_000), ("100 kB", 100_000), ("200 kB", 200_000), ("10 MB", 10_000_000))
    ),
)

PAPER = Paper(
    name="extensions",
    citation="What Lundsten's thesis and Zhang's paper leave open, in their models",
    scenario="lundsten-dch",
    parameters=PARAMETERS,
    readings=READINGS,
    default_reading=DEFAULT_READING,
    experiments=(
        SMALL_FILES,
        PLACEMENT,
        ERROR_RATES,
        UPLINK,
        TTI,
        DELAYED_ACK,
        THRESHOLD,
        ZHANG_SMALL,
        USERS,
    ),
)
