"""Grids: what is measured side by side where a paper prints no values."""

from __future__ import annotations

from dataclasses import dataclass

from airpath.experiments.papers.base.quantity import Quantity


@dataclass(frozen=True)
class GridRow:
    """A line of a grid.

    Attributes
    ----------
    labels : tuple of str
        Leading columns, as many as the experiment has.
    entries : tuple of Quantity or None
        What is measured, one per column of the grid; None where nothing can be.
    marks : tuple of str
        What the paper prints in each column; empty if it prints nothing at all.
    note : str
        What a reader should know about this line.
    """

    labels: tuple[str, ...]
    entries: tuple[Quantity | None, ...]
    marks: tuple[str, ...] = ()
    note: str = ""


@dataclass(frozen=True)
class Grid:
    """A table of what is measured under the default reading.

    Attributes
    ----------
    columns : tuple of str
        Heads of what is measured.
    unit : str
        Unit of all of it; ``percent`` for percent.
    rows : tuple of GridRow
        The lines.
    title : str
        What it shows, where that is not all that its experiment does.
    heads : tuple of str
        Heads of the leading columns; those of the experiment if empty.
    """

    columns: tuple[str, ...]
    unit: str
    rows: tuple[GridRow, ...]
    title: str = ""
    heads: tuple[str, ...] = ()

    @property
    def quantities(self) -> tuple[Quantity, ...]:
        """What has to be measured for it."""
        return tuple(entry for row in self.rows for entry in row.entries if entry is not None)
