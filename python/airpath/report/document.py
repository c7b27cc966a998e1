"""A report as plain data, shown by `report.terminal` on a terminal and by `report.html` as a page.

A report is its parts in order, made by one function for each kind of report:

    show([Heading("Flows"), Table.of(flows, ("flow", "number"), ("goodput kbit/s", "goodput_kbps", 1))])

Parts hold text as it is: each renderer escapes what its medium needs.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, NamedTuple

from airpath.terminal import number_text


class Span(NamedTuple):
    """Text of a kind: a verdict, "bold" or "other" (a value next to the judged one), or a link on a page."""

    text: str
    kind: str = ""
    link: str = ""


Text = str | Span


class Heading(NamedTuple):
    """Title of the next part; a link on a page can lead to its `name`."""

    text: str
    level: int = 2
    name: str = ""


class Note(NamedTuple):
    """A line on a terminal, a paragraph of this class on a page."""

    text: Text | Sequence[Text]
    kind: str = ""


BLANK = Note("")
"""An empty line on a terminal."""


class Items(NamedTuple):
    """Short lines: indented on a terminal, a list on a page."""

    lines: Sequence[str]
    kind: str = ""


class Source(NamedTuple):
    """Lines of a file or a command, as they are: for pages."""

    text: str


class Tally(NamedTuple):
    """How often there was what: counts, words and kinds."""

    counts: Sequence[tuple[int, str, str]]


class Picture(NamedTuple):
    """A picture as PNG: for pages."""

    png: bytes
    caption: str = ""


@dataclass(frozen=True)
class Folded:
    """Parts behind a line that opens them: for pages."""

    says: str
    parts: Sequence[Part]
    is_open: bool = False


Cell = Text | Sequence[Text | Note | Folded]
"""Table cell: text, or several pieces of it; a terminal shows the text."""
Value = str | Callable[[Any], Any]
Column = tuple[str, Value] | tuple[str, Value, int]


class Table:
    r"""A table; one without rows is not shown.

    Parameters
    ----------
    *headings : str
        One for each column. A heading ``"RTT ms\nmin"`` has a group, which a terminal prints once over its
        columns.
    rows : iterable of sequence of str
        Cells of each row, for a start.
    words : collection of int
        Columns of words: left-justified, and may fold. All others are right-justified and stay whole.
    keys : int
        This many columns at the left name the row.
    title : str
        Line above the table on a terminal; on a page a heading or a note says it.
    kind : str
        How a page sets it: "numbers", "words", "claims", "reasons", "facts" (without headings), or "columns"
        (numbers, and words where `words` says so).
    """

    def __init__(
        self,
        *headings: str,
        rows: Iterable[Sequence[Cell]] = (),
        words: Collection[int] = (0,),
        keys: int = 1,
        title: str = "",
        kind: str = "columns",
    ) -> None:
        self.headings, self.words, self.keys, self.title, self.kind = headings, words, keys, title, kind
        self.rows: list[tuple[str, Sequence[Cell]]] = [("", cells) for cells in rows]

    def add(self, *cells: Cell, name: str = "") -> None:
        """Add a row; a link on a page can lead to its `name`."""
        self.rows.append((name, cells))

    @classmethod
    def of(
        cls,
        rows: Iterable[Any],
        *columns: Column,
        words: Collection[int] = (0,),
        keys: int = 1,
    ) -> Table:
        """Make a table of what each column finds in each row.

        Parameters
        ----------
        rows : iterable of dict
            One for each row.
        *columns : (str, str or callable) or (str, str or callable, int)
            Heading; the value's key, dotted where dicts are nested or None, or a function of the row; and
            decimals, 0 if absent. Values are numbers, text, a span or None.
        words, keys
            As of a table.
        """
        cells = [[_text(row, *column[1:]) for column in columns] for row in rows]
        return cls(*(column[0] for column in columns), rows=cells, words=words, keys=keys)


Part = Heading | Note | Items | Source | Tally | Picture | Folded | Table


def _text(row: Mapping[str, Any], value: Value, digits: int = 0) -> Text:
    if isinstance(value, str):
        found: Any = reduce(lambda outer, key: None if outer is None else outer[key], value.split("."), row)
    else:
        found = value(row)
    return found if isinstance(found, Text) else number_text(found, digits)
