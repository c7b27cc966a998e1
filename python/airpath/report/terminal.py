"""Shows a report on a terminal.

Everything fits COLUMNS, or the terminal's width. A table that is too wide folds its columns of words; if that
is not enough, the columns that do not fit follow below, with the keys repeated. In a file or a pipe nothing
is broken.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from airpath.report.document import Cell, Heading, Items, Note, Part, Span, Table, Tally
from airpath.terminal import Styled, clean, console_for, say, styled

if TYPE_CHECKING:
    from rich.console import Console, JustifyMethod
    from rich.text import Text

GAP = 2
"""Blanks between columns."""
FOLDED_WIDTH = 24
"""Words share a line in columns at least this wide."""
STYLES = {
    "reproduced": "green",
    "holds": "green",
    "consistent": "cyan",
    "close": "yellow",
    "not_reproduced": "red",
    "more_runs_needed": "magenta",
    "calibrated": "blue",
    "calibrated_not_met": "yellow",
    "derived": "dim",
    "restated": "dim",
    "background": "dim",
    "does_not_hold": "red",
    "not_checkable": "dim",
    "better": "green",
    "same": "cyan",
    "unclear": "magenta",
    "worse": "yellow",
    "harms": "red",
    "passed": "green",
    "failed": "red",
    "other": "dim",
}
"""Styles of kinds of text, unless the kind is a style of Rich itself."""


def show(parts: Iterable[Part], console: Console | None = None) -> None:
    """Print a report without what is for pages alone, on standard output unless the console is another."""
    console = console or console_for()
    for part in parts:
        match part:
            case Table():
                _print_table(console, part)
            case Heading(text):
                say(console, text, style="bold")
            case Note(text):
                say(console, *_pieces(text))
            case Items(lines):
                for line in lines:
                    say(console, f"  {line}")
            case Tally(counts):
                pieces = [(f"{count} {words}", _style(kind)) for count, words, kind in counts]
                say(console, *[piece for counted in pieces for piece in (", ", counted)][1:])


def _style(kind: str) -> str:
    return STYLES.get(kind, kind)


def _pieces(cell: Cell) -> list[Styled]:
    """Text in the style of its kind; what else a cell may hold is for pages."""
    pieces = [cell] if isinstance(cell, str | Span) else cell
    return [
        (piece.text, _style(piece.kind)) if isinstance(piece, Span) else piece
        for piece in pieces
        if isinstance(piece, str | Span)
    ]


def _print_table(console: Console, table: Table) -> None:
    """Print a table, unless it has no rows."""
    if not table.rows:
        return
    if table.title:
        say(console, table.title, style="italic")
    columns = []
    for number, heading in enumerate(table.headings):
        cells = [styled(*_pieces(row[number])) for _, row in table.rows]
        longest = max((len(word) for cell in cells for word in cell.plain.split()), default=0)
        natural = max(cell.cell_len for cell in cells)
        clean_heading = "\n".join(map(clean, heading.split("\n")))
        columns.append(_Column(clean_heading, cells, number in table.words, natural, longest))
    keys = band = columns[: table.keys]
    for column in columns[table.keys :]:
        if band != keys and _sum(_least([*band, column], console.width)) > console.width:
            _print_band(console, band)
            band = keys
        band = [*band, column]
    _print_band(console, band)


class _Column(NamedTuple):
    heading: str
    cells: list[Text]
    folds: bool
    natural: int  # Width of the widest cell.
    longest: int  # Letters of the longest word.


def _print_band(console: Console, columns: Sequence[_Column]) -> None:
    """Print columns side by side; what is left over of the width goes to narrow columns first."""
    from rich.table import Table as RichTable
    from rich.text import Text

    headings, widths = _headings(columns), _least(columns, console.width)
    _break_numbers(columns, headings, widths, console.width)
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


def _break_numbers(
    columns: Sequence[_Column], headings: Sequence[str], widths: list[int], width: int
) -> None:
    """Break numbers with their interval at blanks where the columns do not fit: keys stay readable."""
    for which, (column, heading) in enumerate(zip(columns, headings, strict=True)):
        excess = _sum(widths) - width
        if excess > 0 and not column.folds:
            widths[which] -= min(excess, max(widths[which] - max(column.longest, _width(heading)), 0))


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
