"""The style of airpath's pictures: colours, frames, and files that depend on the numbers alone."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from typing import Any

import matplotlib.style
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

INK = "#1b2733"
GRID = "#e3e8ec"
COLUMN_IN = 3.5
"""Width of a column of a paper, inches; the default width of a figure."""
PAGE_IN = 7.16
"""Width of two columns, for several panels."""
DOTS_PER_INCH = 120
"""Resolution of pictures in pages."""

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#000000", "#882255")
"""Colours that the colour-blind tell apart: of Okabe and Ito 2008, with a dark red instead of the yellow."""
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">")
MEASURED, PUBLISHED = "#1f6fb4", "#b3261e"
OTHERS = ("#8a9aa8", "#c08a3e", "#6f9a5b", "#9a6fa8")
"""Colours of additional series."""

FORMATS = ("png", "svg", "pdf")
_NOTHING_OF_TODAY: dict[str, dict[str, Any]] = {
    "png": {"Software": None},
    "svg": {"Date": None, "Creator": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}
"""Neither date nor version: the same numbers give the same bytes."""

_PRINT = {
    "font.size": 8.0,
    "axes.labelsize": 8.0,
    "axes.titlesize": 8.5,
    "xtick.labelsize": 7.0,
    "ytick.labelsize": 7.0,
    "legend.fontsize": 7.0,
    "legend.title_fontsize": 7.0,
    "axes.linewidth": 0.6,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "hatch.linewidth": 0.5,
    "axes.unicode_minus": True,
    # Names from files may contain dollars and backslashes: text is never a formula.
    "text.parse_math": False,
    # Publishers refuse Type 3 fonts; identifiers in SVG are random unless salted.
    "pdf.fonttype": 42,
    "svg.hashsalt": "airpath",
}


@contextmanager
def print_style() -> Iterator[None]:
    """Style for print, a column wide, whatever the user's matplotlibrc says."""
    with matplotlib.style.context(_PRINT, after_reset=True):
        yield


def without_frame(axes: Axes) -> None:
    """Remove the upper and right side of the frame."""
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def finish(axes: Axes, x_label: str, y_label: str, title: str = "") -> None:
    """Label the axes, and draw a grid instead of the frame."""
    if title:
        axes.set_title(title, loc="left", fontsize=9)
    axes.set_xlabel(x_label)
    axes.set_ylabel(y_label)
    axes.grid(True, color=GRID, linewidth=0.7)
    axes.set_axisbelow(True)
    without_frame(axes)


def as_bytes(figure: Figure, kind: str = "png", dpi: int = DOTS_PER_INCH, **metadata: str) -> bytes:
    """Write a figure as ``"png"``, ``"svg"`` or ``"pdf"``, without date and version."""
    FigureCanvasAgg(figure)
    buffer = BytesIO()
    figure.savefig(buffer, format=kind, dpi=dpi, metadata=_NOTHING_OF_TODAY[kind] | metadata)
    return buffer.getvalue()
