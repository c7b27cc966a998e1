"""Tables 1 and 3 to 15 of Lundsten's thesis."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from airpath_studies.base.cell import Cell, Metric
from airpath_studies.base.paper import Experiment, Row, table
from airpath_studies.lundsten.figures import row
from airpath_studies.lundsten.solutions import TABLE_1
from airpath_studies.shared.downloads import Key, decrease, increase, increase_without_retransmissions
from airpath_studies.shared.lundsten import (
    EIFEL,
    SIX,
    SMALL_FILE_BYTES,
    SMALL_PDUS,
    SPLIT_DELAY_MS,
    THREE,
    WESTWOOD,
    WINDOWS,
    beside_reno,
    initial_window_cell,
    make_download,
)


def _table(number: int, title: str, rows: Iterable[Row], *more: str) -> Experiment:
    return table(number, title, ("kbit/s", "packet, B", "window", *more), *rows)


def _row(
    table: int, key: Key, cell: Cell, metric: Metric, more: tuple[str, str] | None = None, **of: Any
) -> Row:
    """Make the row of a download; `more` is a further part of its id, and a further label."""
    name, labels = (f"-{more[0]}", more[1:]) if more else ("", ())
    labels = (*map(str, (*key, WINDOWS[key])), *labels)
    return row(f"t{table}-{key[0]}-{key[1]}{name}", labels, cell, metric, **of)


def _increases(
    table: int, cells: Mapping[Key, Cell], metric: Metric = increase, runs: int = 1
) -> Iterable[Row]:
    """Make one row per cell of a table of increases."""
    return (_row(table, key, cell, metric, averaged_runs=runs) for key, cell in cells.items())


def _cells(count: int, **differs: Any) -> dict[Key, Cell]:
    """The first so many downloads of Table 3, with a difference."""
    return {key: make_download(*key, **differs).against_no_errors() for key in SIX[:count]}


def _variants(variant: dict[str, Any]) -> dict[Key, Cell]:
    return {key: beside_reno(*key, variant) for key in THREE}


def _speeds() -> Iterable[Row]:
    """Make the rows of Table 10."""
    for key in SIX:
        download = make_download(*key, SMALL_FILE_BYTES)
        without, errors = download.alone(errors=False), download.against_no_errors()
        for bler, cell in ((0, without), (10, errors)):
            yield _row(10, key, cell, download.speed, (f"bler{bler}", f"{bler} %"), averaged_runs=20)


def _initial_windows(table: int, title: str, file_bytes: int, *segments: int) -> Experiment:
    """Make a table of what a larger initial window saves."""
    rows = (
        _row(
            table,
            key,
            initial_window_cell(*key, file_bytes, initial),
            decrease,
            (f"iw{initial}", f"{initial}"),
            averaged_runs=20,
        )
        for initial in segments
        for key in SIX[:4]
    )
    return _table(table, title, rows, "initial window")


TABLE_3 = _table(3, "Increase of the transfer time at 10 % block errors", _increases(3, _cells(6)))

TABLES = (
    TABLE_1,
    TABLE_3,
    _table(
        4,
        "The same increase with the cost of the link's own retransmissions taken off",
        _increases(4, _cells(4), increase_without_retransmissions),
    ),
    _table(5, "Increase with Eifel", _increases(5, _variants(EIFEL))),
    _table(6, "Increase with Westwood", _increases(6, _variants(WESTWOOD))),
    _table(
        7,
        "Increase with split TCP, read as a delay of 30 ms instead of 135",
        _increases(7, _cells(3, delay_ms=SPLIT_DELAY_MS)),
    ),
    _table(
        8,
        "Increase with in-sequence delivery",
        _increases(8, _cells(3, in_sequence=True)),
    ),
    _table(
        9, "Increase for a file of 100 kB", _increases(9, _cells(6, file_bytes=SMALL_FILE_BYTES), runs=20)
    ),
    _table(10, "Transfer speed of a file of 100 kB", _speeds(), "block errors"),
    _initial_windows(11, "Transfer time that a larger initial window saves, 100 kB", SMALL_FILE_BYTES, 3, 4),
    _initial_windows(12, "The same, 50 kB", 50_000, 3),
    _initial_windows(13, "The same, 200 kB", 200_000, 3),
    _table(14, "Increase with PDUs of 40 bytes", _increases(14, _cells(6, small_pdus=True))),
    _table(
        15,
        "Increase with PDUs of 40 bytes and in-sequence delivery",
        _increases(15, _cells(6, **SMALL_PDUS)),
    ),
)
