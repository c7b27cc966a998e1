"""What a study is made of: a line for each variant, a column for each download."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from airpath.experiments.papers.base.cell import Cell, Metric
from airpath.experiments.papers.base.grid import Grid, GridRow
from airpath.experiments.papers.base.paper import Experiment
from airpath.experiments.papers.base.quantity import Quantity
from airpath.experiments.papers.downloads import increase
from airpath.experiments.papers.lundsten.model import WINDOWS, make_download

Key = tuple[int, int]
"""Speed in kbit/s and packet size in bytes."""

THREE: tuple[Key, ...] = ((384, 576), (384, 1500), (128, 576))
"""The downloads that suffer."""

SIX = tuple(WINDOWS)
"""All downloads of Table 3."""


def _head(key: Key) -> str:
    return f"{key[0]}/{key[1]}"


def make_grid(
    title: str,
    columns: Sequence[str],
    lines: Sequence[tuple[str, Sequence[Cell | None]]],
    metric: Metric = increase,
    unit: str = "percent",
) -> Grid:
    """Make a table of a metric: for each line a cell, or None, for each column."""

    def entry(name: str, column: str, cell: Cell | None) -> Quantity | None:
        return None if cell is None else Quantity(f"{column} {name}", cell, metric, unit)

    rows = tuple(
        GridRow((name,), tuple(entry(name, *both) for both in zip(columns, cells, strict=True)))
        for name, cells in lines
    )
    return Grid(tuple(columns), unit, rows, title)


def make_study(
    number: int,
    title: str,
    question: str,
    label: str,
    keys: Sequence[Key],
    lines: Sequence[tuple[str, Callable[[Key], Cell]]],
    metric: Metric = increase,
) -> Experiment:
    """Make a study: a line for each of `lines`, a column for each download."""
    cells = [(name, [make(key) for key in keys]) for name, make in lines]
    grid = make_grid("", [_head(key) for key in keys], cells, metric)
    return Experiment("study", number, title, (label,), (), grid=grid, question=question)


def make_tables(number: int, title: str, question: str, label: str, *tables: Grid) -> Experiment:
    """Make a study of several tables."""
    return Experiment("study", number, title, (label,), (), question=question, tables=tables)


def with_options(*options: tuple[str, str], **differs: Any) -> Callable[[Key], Cell]:
    """Make a download under changed conditions beside the same without block errors."""
    return lambda key: make_download(*key, options=options, **differs).against_no_errors()
