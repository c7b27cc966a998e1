"""Axes of numbers, of logarithms and of words."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.axis import Axis as DrawnAxis
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter, NullLocator

from airpath.figures.content import Axis

TICK_POINTS, LETTER_IN = 7.0, 0.056
"""Size of a tick's or a legend's letters, and how wide they are."""


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
    """Write plain numbers, more of them where the axis goes over little more than a decade."""
    ticks.set_major_locator(LogLocator(subs=(1, 2, 5) if span > 12 else (1, 1.5, 2, 3, 4, 5, 7), numticks=12))
    ticks.set_major_formatter(FuncFormatter(_plain))
    ticks.set_minor_formatter(NullFormatter())
    ticks.set_minor_locator(NullLocator())


def name_places(axes: Axes, which: str, names: Sequence[str]) -> None:
    """Write words at the places 0, 1, 2 ... of an axis, slanted where they are long."""
    (axes.set_xticks if which == "x" else axes.set_yticks)(range(len(names)), names)
    if which == "x":
        axes.set_xlim(-0.5, len(names) - 0.5)
        if LETTER_IN * (sum(map(len, names)) + 2 * len(names)) > 0.75 * axes.figure.get_figwidth():  # type: ignore[union-attr]
            axes.tick_params(axis="x", labelrotation=30)
            for label in axes.get_xticklabels():
                label.set_horizontalalignment("right")
                label.set_rotation_mode("anchor")


def _plain(value: float, _place: object = None) -> str:
    return f"{value:g}"
