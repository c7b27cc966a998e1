"""Text and tables for the terminal.

Names and labels that come from files pass here: they are printed as text, never as markup, and their
control characters as escapes. Lines fit COLUMNS, or the terminal's width; in a file or a pipe they are not
broken.
"""

from __future__ import annotations

import os
import sys
import textwrap
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

Styled = str | tuple[str, str]
"""Text, or text and a style of Rich such as ``"green"``."""

INDENT = 2
"""Indentation of continuation lines, in blanks."""
UNBROKEN_WIDTH = 10_000
"""Width for a file or a pipe, where a table is as wide as it needs to be."""


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


def styled(*parts: Styled, style: str = "") -> Text:
    """Join clean text, each part in its own style."""
    from rich.text import Text

    pieces = [(part, "") if isinstance(part, str) else part for part in parts]
    return Text.assemble(*((clean(text), look) for text, look in pieces), style=style)


def say(console: Console, *parts: Styled, style: str = "") -> None:
    """Print a line of parts in their own styles; on a screen, continuation lines are indented."""
    line = styled(*parts, style=style)
    if line.cell_len <= console.width:
        console.print(line, soft_wrap=True)
        return
    indent = len(line.plain) - len(line.plain.lstrip(" ")) + INDENT
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
