"""Tables 1 and 3 to 15 of Lundsten's thesis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from airpath.experiments.papers.base.cell import Metric
from airpath.experiments.papers.base.paper import Experiment, Row
from airpath.experiments.papers.downloads import (
    Download,
    decrease,
    increase,
    increase_without_retransmissions,
)
from airpath.experiments.papers.lundsten.model import (
    EIFEL,
    SMALL_FILE_BYTES,
    SPLIT_DELAY_MS,
    WESTWOOD,
    WINDOWS,
    beside_reno,
    initial_window_cell,
    make_download,
)
from airpath.experiments.papers.lundsten.solutions import TABLE_1

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


def _variants(table: int, variant: dict[str, Any], **remarks: str) -> tuple[Row, ...]:
    """Make one row per cell of a table about a variant of TCP."""
    return tuple(
        Row(
            published_id=f"lundsten-t{table}-{rate}-{packet}",
            labels=(str(rate), str(packet), str(WINDOWS[rate, packet])),
            cells=(beside_reno(rate, packet, variant),),
            metric=increase,
            remark=remarks.get(f"cell_{rate}_{packet}", ""),
        )
        for rate, packet in list(WINDOWS)[:3]
    )


def _speeds() -> tuple[Row, ...]:
    """Make the rows of Table 10."""
    return tuple(
        Row(
            published_id=f"lundsten-t10-{rate}-{packet}-bler{10 if errors else 0}",
            labels=(*_labels(download), "10 %" if errors else "0 %"),
            cells=(download.against_no_errors() if errors else download.alone(errors=False),),
            metric=download.speed,
            averaged_runs=20,
        )
        for rate, packet in WINDOWS
        for download in (make_download(rate, packet, SMALL_FILE_BYTES),)
        for errors in (False, True)
    )


def _decreases(table: int, file_bytes: int, initial_windows: Sequence[int]) -> tuple[Row, ...]:
    """Make one row per cell of a table of what a larger initial window saves."""
    return tuple(
        Row(
            published_id=f"lundsten-t{table}-{rate}-{packet}-iw{initial}",
            labels=(str(rate), str(packet), str(WINDOWS[rate, packet]), str(initial)),
            cells=(initial_window_cell(rate, packet, file_bytes, initial),),
            metric=decrease,
            averaged_runs=20,
        )
        for initial in initial_windows
        for rate, packet in list(WINDOWS)[:4]
    )


def _downloads(count: int, **differs: Any) -> list[Download]:
    """The first so many downloads of Table 3, with a difference."""
    return [make_download(*key, **differs) for key in list(WINDOWS)[:count]]


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

_EIFEL_REMARK = (
    "nearly every fast retransmit is found spurious, and the window comes back (claim 13); with the response "
    "of RFC 4015 it is the same (Study 1)"
)
_TIMEOUT_REMARK = "the thesis blames timeouts; in the stated model there are none (claims 19 and 25)"

_INITIAL = ("initial window",)

TABLES = (
    TABLE_1,
    TABLE_3,
    TABLE_4,
    Experiment(
        "table",
        5,
        "Increase with Eifel",
        _COLUMNS,
        _variants(5, EIFEL, cell_384_576=_EIFEL_REMARK),
    ),
    Experiment("table", 6, "Increase with Westwood", _COLUMNS, _variants(6, WESTWOOD)),
    Experiment(
        "table",
        7,
        "Increase with split TCP, read as a delay of 30 ms instead of 135",
        _COLUMNS,
        _increases(7, _downloads(3, delay_ms=SPLIT_DELAY_MS)),
    ),
    Experiment(
        "table",
        8,
        "Increase with in-sequence delivery",
        _COLUMNS,
        _increases(8, _downloads(3, in_sequence=True), cell_384_576=_TIMEOUT_REMARK),
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
        _increases(15, _downloads(6, small_pdus=True, in_sequence=True), cell_384_576=_TIMEOUT_REMARK),
    ),
)
