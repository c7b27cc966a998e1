"""Studies of remedies: split TCP, in-sequence delivery, the duplicate ACK threshold."""

from __future__ import annotations

from functools import partial
from typing import Any

from airpath_studies.base.cell import Cell
from airpath_studies.base.paper import study
from airpath_studies.shared.downloads import Download, Key, by_key, make_table, received_later
from airpath_studies.shared.lundsten import (
    DELAY_MS,
    EIFEL,
    SMALL_FILE_BYTES,
    SPLIT_DELAY_MS,
    THREE,
    make_download,
    of_variant,
    split_box,
    with_options,
)


def _later(download: Download, other: Download) -> Cell:
    """A download compared with another one without block errors, by when the receiver has the last byte."""
    twin = other.against_no_errors().reference
    return Cell(download.name, download.overrides, twin, received_later)


def _small(key: Key, **differs: Any) -> Download:
    return make_download(*key, SMALL_FILE_BYTES, **differs)


def _split(key: Key, **differs: Any) -> Download:
    return split_box(*key, SMALL_FILE_BYTES, **differs)


SMALL_FILES = study(
    1,
    "Remedies for small files",
    "Do in-sequence delivery and split TCP help a file of 100 kB as they help a large one? Increase over "
    "Reno end to end without block errors, until the receiver has the last byte. The proxy is 30 ms from "
    "the cell.",
    make_table(
        "",
        by_key(THREE),
        {
            "Reno": lambda key: _later(_small(key), _small(key)),
            "in sequence": lambda key: _later(_small(key, in_sequence=True), _small(key)),
            "30 ms instead of 135": lambda key: _later(_small(key, delay_ms=SPLIT_DELAY_MS), _small(key)),
            "split by a proxy": lambda key: _later(_split(key), _small(key)),
            "both": lambda key: _later(_split(key, in_sequence=True), _small(key)),
        },
        received_later,
    ),
    heads="100 kB",
)


def _placed(radio_side_ms: int, key: Key) -> Cell:
    return _later(split_box(*key, radio_side_ms=radio_side_ms), make_download(*key))


PLACEMENT = study(
    2,
    "Where to split",
    "How near to the cell must a proxy be? Increase for 16 MB over Reno end to end without block errors; "
    f"the path has {DELAY_MS} ms one way in all, the proxy a buffer of 65,535 bytes.",
    make_table(
        "",
        by_key(THREE),
        {f"{delay_ms} ms": partial(_placed, delay_ms) for delay_ms in (5, 15, 30, 60, 90, 120)},
        received_later,
    ),
    heads="proxy to cell",
)

_ADAPTIVE = (*EIFEL["options"], ("tcp.adaptive_dupack_threshold", "true"))

THRESHOLD = study(
    7,
    "Duplicate ACK threshold",
    "Reordering by the link looks like loss after three duplicate ACKs. How many more would do, and does a "
    "threshold that learns from Eifel do as well? Increase for 16 MB over Reno without block errors.",
    make_table(
        "",
        by_key(THREE),
        {
            **{f"{count}": with_options(("tcp.dupack_threshold", f"{count}")) for count in (3, 4, 6, 10, 20)},
            "adaptive, with Eifel": of_variant(**{**EIFEL, "variant": "adaptive", "options": _ADAPTIVE}),
            "3, with Eifel": of_variant(**EIFEL),
        },
    ),
    heads="threshold",
)
