"""Shows a report as a page: one HTML file with everything in it, the same for the same report."""

from __future__ import annotations

import base64
from collections.abc import Collection, Iterable, Sequence
from html import escape
from importlib.resources import files

from airpath.report.document import (
    Cell,
    Folded,
    Heading,
    Items,
    Note,
    Part,
    Picture,
    Source,
    Span,
    Table,
    Tally,
)

_LONG_TABLE = 12
"""Rows above which a table of one of these kinds is folded."""
_FOLDED = ("numbers", "words", "claims")

_VERDICTS = {
    "does_not_hold": "not_reproduced",
    "not_checkable": "more_runs_needed",
    "better": "holds",
    "same": "consistent",
    "unclear": "more_runs_needed",
    "worse": "close",
    "harms": "not_reproduced",
    "passed": "holds",
    "failed": "not_reproduced",
}
"""Verdicts on claims and of scorecards that look like those on values."""


def page(title: str, parts: Iterable[Part]) -> str:
    """Write a page."""
    style = files("airpath.report").joinpath("page.css").read_text(encoding="utf-8")
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width">',
            f"<title>{escape(title)} - airpath</title>",
            f"<style>\n{style}</style></head>",
            "<body>",
            *map(_html, parts),
            "</body></html>\n",
        ]
    )


def _html(part: str | Span | Part) -> str:
    match part:
        case str():
            return escape(part)
        case Span(text, kind, link):
            words = f'<a href="#{escape(link)}">{escape(text)}</a>' if link else escape(text)
            return f"<b>{words}</b>" if kind == "bold" else words
        case Heading(text, level, name):
            return f"<h{level}{_attribute('id', name)}>{escape(text)}</h{level}>"
        case Note(text, kind):
            return f"<p{_attribute('class', kind)}>{_pieces(text)}</p>"
        case Items(lines, kind):
            items = "".join(f"<li>{escape(line)}</li>" for line in lines)
            return f"<ul{_attribute('class', kind)}>{items}</ul>"
        case Source(text):
            return f"<pre>{escape(text)}</pre>"
        case Tally(counts):
            tiles = (
                f'<div class="tile {_VERDICTS.get(kind, kind)}"><b>{n}</b> {escape(words)}</div>'
                for n, words, kind in counts
            )
            return f'<div class="tiles">{"".join(tiles)}</div>'
        case Picture(png, caption):
            text = escape(caption)
            data = base64.b64encode(png).decode()
            image = f'<img alt="{text or "plots"}" src="data:image/png;base64,{data}">'
            return f"<figure>{image}{f'<figcaption>{text}</figcaption>' if text else ''}</figure>"
        case Folded():
            return _folded(part.says, "\n".join(map(_html, part.parts)), is_open=part.is_open)
        case Table():
            return _table(part)


def _table(table: Table) -> str:
    """Write a table that scrolls where it is wider than the page, folded where it is long."""
    words = table.words if table.kind == "columns" else ()
    lines = [_row(table, "", table.headings, "th", words)] if table.headings else []
    lines += [_row(table, name, cells, "td", words) for name, cells in table.rows]
    kind = "numbers" if table.kind == "columns" else table.kind
    body = "\n".join(lines)
    written = f'<div class="wide"><table class="{kind}">\n{body}\n</table></div>'
    is_long = len(table.rows) > _LONG_TABLE and table.kind in _FOLDED
    return _folded(f"{len(table.rows)} rows", written) if is_long else written


def _row(table: Table, name: str, cells: Sequence[Cell], tag: str, words: Collection[int]) -> str:
    written = []
    for place, cell in enumerate(cells):
        shown = "th" if table.kind == "facts" and not place else tag
        side = ' style="text-align: left"' if place in words else ""
        kind = cell.kind if isinstance(cell, Span) else ""
        looks = kind if kind in ("", "other") else f"verdict {_VERDICTS.get(kind, kind)}"
        text = _pieces(cell).replace("\n", "<br>")
        written.append(f"<{shown}{_attribute('class', looks)}{side}>{text}</{shown}>")
    return f"<tr{_attribute('id', name)}>{''.join(written)}</tr>"


def _pieces(what: Cell) -> str:
    return _html(what) if isinstance(what, str | Span) else "".join(map(_html, what))


def _folded(says: str, what: str, *, is_open: bool = False) -> str:
    return f"<details{' open' if is_open else ''}><summary>{escape(says)}</summary>{what}</details>"


def _attribute(name: str, value: str) -> str:
    return f' {name}="{escape(value)}"' if value else ""
