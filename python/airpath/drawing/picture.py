"""A picture: a matplotlib figure, a file, or part of a notebook, from one drawing."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airpath.errors import SweepError
from airpath.files.atomic import write_whole

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLUMN_DPI, PAGE_DPI = 300, 170
"""Dots per inch of a PNG that is a column of a paper wide, and of one as wide as a page."""
LARGEST_IN = 60.0
"""No figure is wider or higher, inches."""
_INCHES = {"in": 1.0, "cm": 1 / 2.54, "mm": 1 / 25.4}
_SIZE = re.compile(r"\s*([0-9.]+)\s*(?:[x×]\s*([0-9.]+)\s*)?(in|cm|mm)?\s*")


class Picture(ABC):
    """What can be drawn, in the style of airpath; the same numbers give the same bytes."""

    dpi = COLUMN_DPI

    @property
    @abstractmethod
    def data(self) -> dict[str, Any]:
        """The numbers that are drawn, as plain data, in the units of the axes."""

    @abstractmethod
    def _draw(self) -> Figure:
        """Draw it; called within `print_style`."""

    def draw(self) -> Figure:
        """Draw it as a matplotlib figure, to change or show; its own `savefig` adds the date."""
        from airpath.drawing.style import print_style

        with print_style():
            return self._draw()

    def save(self, file: str | Path) -> None:
        """Write it as PNG, SVG or PDF, by the suffix of `file`; the same numbers give the same bytes.

        Raises
        ------
        SweepError
            If the suffix is none of these.
        OSError
            If the file cannot be written.
        """
        path = Path(file)
        write_whole(path, self.as_bytes(format_of(path)))

    def as_bytes(self, kind: str = "png", **metadata: str) -> bytes:
        """Draw it as ``"png"``, ``"svg"`` or ``"pdf"``, with further `metadata` in a PNG."""
        from airpath.drawing.style import as_bytes, print_style

        with print_style():
            return as_bytes(self._draw(), kind, self.dpi, **metadata)

    def _repr_png_(self) -> bytes:
        return self.as_bytes("png")


def format_of(path: Path) -> str:
    """Format of a figure's file by its suffix: ``"png"``, ``"svg"`` or ``"pdf"``."""
    from airpath.drawing.style import FORMATS

    kind = path.suffix.lower().removeprefix(".")
    if kind not in FORMATS:
        what = f"'{path}' ends in no format that is known"
        raise SweepError("--out", what, f"let it end in {', '.join(f'.{known}' for known in FORMATS)}")
    return kind


def size_in_inches(size: str | tuple[float, float] | None) -> tuple[float, float] | None:
    """Read width and height, such as ``"8.8x6cm"``; inches without a unit."""
    inches = width_and_height(size)
    if inches is None:
        return None
    width, height = inches
    if height is None:
        raise _no_size(size, "write width and height, such as 3.5x2.6 (inches) or 8.8x6cm")
    return width, height


def width_and_height(size: str | tuple[float, float] | None) -> tuple[float, float | None] | None:
    """Read width and height, such as ``"8.8x6cm"``, or a width alone; inches without a unit."""
    if size is None:
        return None
    height: float | None = None
    try:
        if isinstance(size, str):
            found = _SIZE.fullmatch(size)
            inches = _INCHES[(found and found[3]) or "in"]
            width = float(found[1]) * inches if found else 0.0
            height = float(found[2]) * inches if found and found[2] else None
        else:
            width, height = (float(side) for side in size)
    except (TypeError, ValueError):
        width = 0.0
    if not all(1.0 <= side <= LARGEST_IN for side in (width, *([] if height is None else [height]))):
        raise _no_size(size, "write width and height, such as 3.5x2.6 (inches) or 8.8x6cm, or a width: 8.8cm")
    return width, height


def _no_size(size: object, remedy: str) -> SweepError:
    return SweepError("--size", f"'{size}' is no size between 1 and {LARGEST_IN:g} inches", remedy)
