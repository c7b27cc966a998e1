"""What a study is made of: a line for each variant, a column for each download."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from airpath.papers.conditions import Quantity
from airpath.papers.downloads import increase
from airpath.papers.grid import Grid, GridRow
from airpath.papers.lundsten.model import WINDOWS, make_download
from airpath.papers.paper import Cell, Experiment, Metric

Key = tuple[int, int]
"""Speed in kbit/s and packet size in bytes."""

THREE: tuple[Key, ...] = ((384, 576), (384, 1500), (128, 576))
"""The downloads that suffer."""

SIX = tuple(WINDOWS)
"""All downloads of Table 3."""


def _head(key: Key) -> str:
    return f"{key[0]}/{key[1]}"


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
    rows = tuple(
        GridRow((name,), tuple(Quantity(f"{_head(key)} {name}", make(key), metric) for key in keys))
        for name, make in lines
    )
    grid = Grid(tuple(_head(key) for key in keys), "percent", rows)
    return Experiment("study", number, title, (label,), (), grid=grid, question=question)


def with_options(*options: tuple[str, str], **differs: Any) -> Callable[[Key], Cell]:
    """Make a download under changed conditions beside the same without block errors."""
    return lambda key: make_download(*key, options=options, **differs).against_no_errors()
