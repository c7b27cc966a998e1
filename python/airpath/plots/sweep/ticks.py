"""Linear, logarithmic and categorical axes."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.axis import Axis as DrawnAxis
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter, NullLocator

from airpath.plots.sweep.content import Axis


def scale(axes: Axes, which: str, axis: Axis) -> None:
    """Set up an axis of numbers or of words."""
    ticks = axes.xaxis if which == "x" else axes.yaxis
    if axis.categories:
        name_places(axes, which, axis.categories)
        return
    if axis.is_log:
        (axes.set_xscale if which == "x" else axes.set_yscale)("log")
        low, high = sorted(axes.get_xlim() if which == "x" else axes.get_ylim())
        log_ticks(ticks, high / low)
    elif axis.is_whole:
        ticks.set_major_locator(MaxNLocator(integer=True, steps=[1, 2, 2.5, 5, 10]))


def log_ticks(ticks: DrawnAxis, span: float) -> None:
    """Label with plain numbers, more of them on an axis of about a decade."""
    ticks.set_major_locator(LogLocator(subs=(1, 2, 5) if span > 12 else (1, 1.5, 2, 3, 4, 5, 7), numticks=12))
    ticks.set_major_formatter(FuncFormatter(_plain))
    ticks.set_minor_formatter(NullFormatter())
    ticks.set_minor_locator(NullLocator())


def name_places(axes: Axes, which: str, names: Sequence[str]) -> None:
    """Label the places 0, 1, 2 ... with words."""
    (axes.set_xticks if which == "x" else axes.set_yticks)(range(len(names)), names)
    (axes.set_xlim if which == "x" else axes.set_ylim)(-0.5, len(names) - 0.5)


def _plain(value: float, _place: object = None) -> str:
    return f"{value:g}"
