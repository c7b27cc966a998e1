"""Keeps status lines at the bottom of a terminal, below a program's output.

Each change is one write: the status lines are erased, the program's output takes their place, and they are
drawn again below it. The program's bytes pass unchanged. An unfinished line of output is shown above the
status lines and written once it is complete.
"""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import RenderableType

# A line longer than this is written before its end.
LONGEST_LINE = 1 << 16


class Screen:
    """The bottom of a terminal, of which `fd` is a descriptor."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._content: RenderableType | None = None
        self._unended = b""
        self._height = 0

    def show(self, content: RenderableType) -> None:
        """Show these status lines from now on."""
        self._content = content
        self._draw(b"")

    def print_above(self, output: bytes) -> None:
        """Write the program's output."""
        self._unended += output
        lines, newline, self._unended = self._unended.rpartition(b"\n")
        if len(self._unended) > LONGEST_LINE:
            # Of a progress bar, only the text after the last carriage return is kept; other lines are cut.
            shown = self._unended.rpartition(b"\r")[2]
            if len(shown) > LONGEST_LINE:
                lines, newline, shown = lines + newline + shown, b"\n", b""
            self._unended = shown
        self._draw(lines + newline)

    def print_line(self, line: str) -> None:
        """Write a line of our own above the status lines, even within an unfinished line of output."""
        self._draw(line.encode(errors="replace") + b"\n")

    def clear(self) -> None:
        """Erase the status lines; all of the program's output stays."""
        self._draw(b"", hide=True)
        if self._unended:
            self._write(self._unended + b"\n")
        self._content, self._unended = None, b""

    def _draw(self, above: bytes, *, hide: bool = False) -> None:
        lines = [] if hide or self._content is None else self._lines()
        erased = b"\r" + (b"\x1b[%dA" % (self._height - 1) if self._height > 1 else b"") + b"\x1b[J"
        # Explicit carriage returns: a program may have told the terminal not to add them.
        ours = b"\r\n".join(lines)
        self._write((erased if self._height else b"") + above + ours)
        self._height = len(lines)

    def _lines(self) -> list[bytes]:
        from rich.console import Console, Group
        from rich.text import Text

        columns, rows = 0, 0
        with contextlib.suppress(OSError):
            columns, rows = os.get_terminal_size(self._fd)
        # Some terminals do not know their size.
        columns, rows = columns or 80, rows or 24
        # The last column stays empty: terminals differ in where the cursor goes after it.
        console = Console(stderr=True, force_terminal=True, width=max(columns - 1, 1), height=rows)
        content = self._content or ""
        if self._unended:
            by_now = self._unended.rstrip(b"\r").rpartition(b"\r")[2].decode(errors="replace")
            line = Text(Text.from_ansi(by_now).plain, no_wrap=True, overflow="crop")
            content = Group(line, content)
        with console.capture() as capture:
            console.print(content, end="")
        lines = capture.get().rstrip("\n").split("\n")
        return [line.encode(errors="replace") for line in lines[: max(rows - 1, 1)]]

    def _write(self, data: bytes) -> None:
        """Write everything; ignore a terminal that is gone."""
        with contextlib.suppress(OSError):
            while data:
                data = data[os.write(self._fd, data) :]
