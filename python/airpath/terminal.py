"""Text and tables for the terminal.

Names and labels that come from files pass here: they are printed as text, never as markup, and their
control characters as escapes. Everything fits COLUMNS, or the terminal's width; in a file or a pipe
lines are not broken.
"""

from __future__ import annotations

import os
import sys
import textwrap
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console, JustifyMethod
    from rich.text import Text

Cell = str | tuple[str, str]
"""Text, or text and a style of Rich such as ``"green"``."""

GAP = 2
"""Blanks between columns."""
FOLDED_WIDTH = 24
"""Words share a line in columns at least this wide."""
UNBROKEN_WIDTH = 10_000
"""Of a file or a pipe, where a table is as wide as it needs to be."""


def console_for(*, stderr: bool = False) -> Console:
    """Make a console for standard output or standard error."""
    from rich.console import Console

    console = Console(stderr=stderr, highlight=False)
    if not (console.is_terminal or "COLUMNS" in os.environ):
        console.width = UNBROKEN_WIDTH
    return console


def clean(text: str) -> str:
    r"""Replace control characters, line ends and other invisible characters by escapes such as ``\x1b``."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def say(console: Console, *parts: Cell, style: str = "") -> None:
    """Print a line of text; where a screen has a width, a longer line goes on, indented, below.

    Parameters
    ----------
    console : Console
        Where to print.
    *parts : str or (str, str)
        The text, or parts of it with their own styles.
    style : str
        Style of the whole line.
    """
    from rich.text import Text

    line = Text(style=style)
    for part in parts:
        line.append_text(_text(part))
    if line.cell_len <= console.width:
        console.print(line, soft_wrap=True)
        return
    indent = len(line.plain) - len(line.plain.lstrip(" ")) + GAP
    start = 0
    for wrapped in textwrap.wrap(
        line.plain,
        console.width,
        subsequent_indent=" " * indent,
        break_long_words=False,  # It may be a path.
        break_on_hyphens=False,
    ):
        words = wrapped.lstrip(" ")
        start = line.plain.index(words, start)
        # Its indentation, and the words with their styles.
        console.print(wrapped.removesuffix(words), line[start : start + len(words)], sep="", soft_wrap=True)


def warn(text: str) -> None:
    """Print a warning, one line, on standard error."""
    print(f"warning: {clean(text)}", file=sys.stderr)


def counted(count: int, noun: str) -> str:
    """Write a count with its noun: "1 timeout", "2 timeouts"."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def number_text(value: float | None, digits: int = 0) -> str:
    """Write a number with this many decimals; "-" if there is none."""
    return "-" if value is None else f"{value:.{digits}f}"


class Table:
    r"""A table without lines that fits its console.

    Where it is too wide, columns of words fold between words. If that is not enough, the columns that do
    not fit follow below, beside the keys again.

    Parameters
    ----------
    *headings : str
        One for each column. A heading ``"RTT ms\nmin"`` has a group, which is printed once over its columns.
    words : collection of int
        Columns of words: left-justified, and may fold. All others are right-justified and stay whole.
    keys : int
        This many columns at the left name the row.
    title : str
        Line above the table.
    """

    def __init__(self, *headings: str, words: Collection[int] = (0,), keys: int = 1, title: str = "") -> None:
        self._headings = ["\n".join(map(clean, heading.split("\n"))) for heading in headings]
        self._words, self._keys, self._title = words, keys, title
        self._rows: list[list[Text]] = []

    def add(self, *cells: Cell) -> None:
        """Add a row."""
        self._rows.append([_text(cell) for cell in cells])

    def print(self, console: Console) -> None:
        """Print the table, unless it has no rows."""
        if not self._rows:
            return
        if self._title:
            say(console, self._title, style="italic")
        columns = [
            _Column(heading, [row[number] for row in self._rows], number in self._words)
            for number, heading in enumerate(self._headings)
        ]
        keys = band = columns[: self._keys]
        for column in columns[self._keys :]:
            if band != keys and _sum(_least([*band, column], console.width)) > console.width:
                _print_band(console, band)
                band = keys
            band = [*band, column]
        _print_band(console, band)


@dataclass
class _Column:
    heading: str
    cells: list[Text]
    folds: bool
    natural: int = field(init=False)
    longest: int = field(init=False)

    def __post_init__(self) -> None:
        """Measure the cells: their width, and that of their longest word."""
        self.natural = max((cell.cell_len for cell in self.cells), default=0)
        self.longest = max((len(word) for cell in self.cells for word in cell.plain.split()), default=0)


def _print_band(console: Console, columns: Sequence[_Column]) -> None:
    """Print columns side by side; what is left over of the width goes to narrow columns first."""
    from rich.table import Table as RichTable
    from rich.text import Text

    headings, widths = _headings(columns), _least(columns, console.width)
    wanted = [max(column.natural, _width(heading)) for column, heading in zip(columns, headings, strict=True)]
    for done, which in enumerate(sorted(range(len(columns)), key=wanted.__getitem__)):
        spare = max(console.width - _sum(widths), 0) // (len(columns) - done)
        widths[which] += min(max(wanted[which] - widths[which], 0), spare)
    table = RichTable(box=None, show_header=any(headings), pad_edge=False, padding=(0, GAP, 0, 0))
    for column, heading, width in zip(columns, headings, widths, strict=True):
        justify: JustifyMethod = "left" if column.folds else "right"
        table.add_column(Text(heading), justify=justify, width=width, overflow="fold")
    for row in zip(*(column.cells for column in columns), strict=True):
        table.add_row(*row)
    with console.capture() as drawn:
        console.print(table)
    # Rich fills the last column up with blanks.
    console.file.writelines(f"{line.rstrip()}\n" for line in drawn.get().splitlines())


def _least(columns: Sequence[_Column], width: int) -> list[int]:
    """Widths below which columns do not go."""
    widths = []
    for column, heading in zip(columns, _headings(columns), strict=True):
        cells = column.natural
        if column.folds:
            cells = min(cells, max(column.longest, FOLDED_WIDTH), width // 2)
        widths.append(max(cells, _width(heading)))
    return widths


def _headings(columns: Sequence[_Column]) -> list[str]:
    """Headings of columns side by side, each group named once."""
    split = [column.heading.rpartition("\n")[::2] for column in columns]
    if not any(group for group, _ in split):
        return [name for _, name in split]
    before = ["", *(group for group, _ in split)]
    return [
        f"{'' if group == last else group}\n{name}"
        for last, (group, name) in zip(before, split, strict=False)
    ]


def _width(heading: str) -> int:
    return max(map(len, heading.split("\n")))


def _sum(widths: Sequence[int]) -> int:
    """Width of columns side by side."""
    return sum(widths) + GAP * (len(widths) - 1)


def _text(cell: Cell) -> Text:
    from rich.text import Text

    text, style = (cell, "") if isinstance(cell, str) else cell
    return Text(clean(text), style)
