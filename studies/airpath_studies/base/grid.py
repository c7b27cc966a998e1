"""Grids: what is measured side by side where a paper prints no values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from airpath_studies.base.quantity import Quantity


@dataclass(frozen=True)
class GridRow:
    """A line of a grid."""

    labels: tuple[str, ...]
    """Leading columns, as many as the experiment has."""
    entries: tuple[Quantity | None, ...]
    """What is measured, one per column of the grid; None where nothing can be."""
    marks: tuple[str, ...] = ()
    """What the paper prints in each column; empty if it prints nothing at all."""
    note: str = ""
    """What a reader should know about this line."""


@dataclass(frozen=True)
class Grid:
    """A table of what is measured under the default reading."""

    columns: tuple[str, ...]
    """Heads of what is measured."""
    unit: str
    """Unit of all of it; ``percent`` for percent."""
    rows: tuple[GridRow, ...]
    title: str = ""
    """What it shows, where that is not all that its experiment does."""
    heads: tuple[str, ...] = ()
    """Heads of the leading columns; those of the experiment if empty."""

    @property
    def quantities(self) -> tuple[Quantity, ...]:
        """What has to be measured for it."""
        return tuple(entry for row in self.rows for entry in row.entries if entry is not None)

    def entry(self, column: str, *labels: str) -> Quantity:
        """What is measured in a column of the line with these labels; a `ValueError` if nothing is."""
        (row,) = (row for row in self.rows if row.labels == labels)
        entry = row.entries[self.columns.index(column)]
        if entry is None:
            raise ValueError(f"nothing is measured for {', '.join(labels)}: {column}")
        return entry


def make_grid(
    unit: str,
    columns: Mapping[str, Any],
    lines: Iterable[tuple[str | tuple[str, ...], Any]],
    entry: Callable[[Any, Any], Quantity | None],
    title: str = "",
    heads: tuple[str, ...] = (),
    marks: tuple[str, ...] = (),
) -> Grid:
    """Make a grid of `entry(line, column)`, of each of `lines` and `columns` behind its labels or head."""
    rows = (
        GridRow(
            (labels,) if isinstance(labels, str) else labels,
            tuple(entry(line, column) for column in columns.values()),
            marks,
        )
        for labels, line in lines
    )
    return Grid(tuple(columns), unit, tuple(rows), title, heads)
