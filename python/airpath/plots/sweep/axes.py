"""Draws a figure's content: lines with bands, planes, distributions, heat maps."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.transforms import ScaledTranslation
from numpy.typing import NDArray

from airpath.drawing.style import COLOURS, COLUMN_IN, INK, MARKERS, PAGE_IN, finish
from airpath.plots.sweep.caption import caption_of
from airpath.plots.sweep.content import Content, Place, Series
from airpath.plots.sweep.heat import draw_heat, panels
from airpath.plots.sweep.ticks import LETTER_IN, TICK_POINTS, scale
from airpath.plots.sweep.wording import better

_ARROW_IN = 0.28
_HEIGHTS = {"line": 2.6, "plane": 2.8, "cdf": 2.6, "heat": 2.6}
_HANDLE_IN = 0.34
"""Width of a legend's line and the gaps around it."""
_LINE_STYLES = ("-", "--")


def draw(content: Content, title: str | None, size_in: tuple[float, float] | None) -> Figure:
    """Draw a figure, a column wide if `size_in` (inches) is absent; call and save it within `print_style`."""
    columns, rows = panels(content)
    width = COLUMN_IN if columns == 1 else PAGE_IN
    size = size_in or (width, _HEIGHTS[content.kind] * (rows if columns < 3 else 0.85 * rows))
    figure = Figure(figsize=size, layout="constrained")
    if title:
        figure.suptitle(_wrapped(title, 9.0, size[0]), fontsize=9, x=0.01, ha="left")
    if content.kind == "heat":
        draw_heat(figure, content, columns, rows)
    else:
        axes = figure.add_subplot()
        {"line": _draw_lines, "plane": _draw_plane, "cdf": _draw_curves}[content.kind](axes, content)
        finish(axes, *(content.axes[name].title for name in "xy"))
        _legend(axes, content, size[0])
    caption = _wrapped(caption_of(content), 6.0, size[0])
    figure.supxlabel(caption, fontsize=6, color="#5b6770", x=0.01, ha="left")
    return figure


def _wrapped(text: str, points: float, width_in: float) -> str:
    """Break text into lines as wide as the figure."""
    return "\n".join(textwrap.wrap(text, int(width_in / (points * LETTER_IN / TICK_POINTS))))


def _style(number: int) -> dict[str, Any]:
    return {
        "label": str(number),
        "color": COLOURS[number % len(COLOURS)],
        "marker": MARKERS[number % len(MARKERS)],
        "linestyle": _LINE_STYLES[number // len(COLOURS) % len(_LINE_STYLES)],
        "markersize": 3.5,
        "linewidth": 1.1,
    }


def _draw_lines(axes: Axes, content: Content) -> None:
    x_axis = content.axes["x"]
    for number, series in enumerate(content.series):
        style = _style(number)
        x = np.array([mark.x.at for mark in series.marks])
        y = [mark.y for mark in series.marks]
        if content.has_bands and len(x) > 1:
            axes.plot(x, [one.at for one in y], **style)
            # Without an interval they are None, which becomes NaN.
            low, high = np.array([(one.low, one.high) for one in y], dtype=float).T
            axes.fill_between(x, low, high, color=style["color"], alpha=0.18, linewidth=0)
        else:
            if x_axis.categories and len(content.series) > 1:  # Beside each other.
                x = x + 0.5 * (number / (len(content.series) - 1) - 0.5)
            if not content.is_drawn_through:
                style["linestyle"] = "none"
            axes.errorbar(x, [one.at for one in y], yerr=_reach(y), capsize=2, elinewidth=0.8, **style)
        _open_marks(axes, x, series, style)
    scale(axes, "x", x_axis)
    scale(axes, "y", content.axes["y"])
    # From zero where that costs little room, so that heights can be compared.
    lowest, highest = min(mark.y.at for mark in content.marks), max(mark.y.ends[1] for mark in content.marks)
    if not content.axes["y"].is_log and 0 <= lowest < 0.5 * highest:
        axes.set_ylim(bottom=0)


def _open_marks(axes: Axes, x: NDArray[np.float64], series: Series, style: dict[str, Any]) -> None:
    """Mark means to which some runs did not contribute: they may be biased."""
    partial = [place for place, mark in enumerate(series.marks) if mark.not_measured]
    y = [series.marks[place].y.at for place in partial]
    look = {key: style[key] for key in ("marker", "markersize", "color")}
    axes.plot(x[partial], y, linestyle="none", mfc="white", mew=0.9, **look)


def _draw_plane(axes: Axes, content: Content) -> None:
    for number, series in enumerate(content.series):
        style = _style(number)
        if not content.is_joined:
            style["linestyle"] = "none"
        x, y = [mark.x for mark in series.marks], [mark.y for mark in series.marks]
        places = np.array([(mark.x.at, mark.y.at) for mark in series.marks])
        style |= {"xerr": _reach(x), "yerr": _reach(y)}
        axes.errorbar(places[:, 0], places[:, 1], elinewidth=0.8, **style)
        _open_marks(axes, places[:, 0], series, style)
        if content.is_joined and content.along is not None:
            axes.plot(*places[0], "o", ms=8, mfc="none", mew=0.8, color=style["color"])
    for name in "xy":
        scale(axes, name, content.axes[name])
    x_better, y_better = (better(content.axes[name].key) for name in "xy")
    if x_better < 0 < y_better:  # As usual in planes of delay and throughput: better is up and to the right.
        axes.invert_xaxis()
        x_better = 1
    if x_better and y_better:
        _arrow(axes, content, x_better, y_better)


def _arrow(axes: Axes, content: Content, right: int, up: int) -> None:
    """Draw an arrow towards the better corner, where the fewest points are."""
    axes.autoscale_view()
    to_share = axes.transData + axes.transAxes.inverted()
    places = [[(mark.x.at, mark.y.at) for mark in series.marks] for series in content.series]
    there = np.concatenate([_on_path(to_share.transform(np.array(path))) for path in places])
    corners = [(across, height) for height in (0.2, 0.85) for across in (0.13, 0.87)]
    x, y = max(corners, key=lambda corner: float(np.min(np.abs(there - corner).max(axis=1))))
    # Lengths in print, not shares of the axes, so that the arrow slants by 45 degrees.
    half = _ARROW_IN / 2
    assert axes.figure is not None
    tip = axes.transAxes + ScaledTranslation(half * right, half * up, axes.figure.dpi_scale_trans)
    axes.annotate(
        "better",
        xy=(x, y),
        xycoords=tip,
        xytext=(-72 * _ARROW_IN * right, -72 * _ARROW_IN * up),
        textcoords="offset points",
        ha="center",
        va="top" if up > 0 else "bottom",
        fontsize=7,
        color=INK,
        arrowprops={"arrowstyle": "-|>", "color": INK, "lw": 1.0, "shrinkA": 0, "shrinkB": 0},
    )


def _on_path(places: NDArray[np.float64]) -> NDArray[np.float64]:
    """Points of a path, and more of them between each two."""
    steps = [np.linspace(places[i], places[i + 1], 12) for i in range(len(places) - 1)]
    return np.concatenate([places, *steps])


def _draw_curves(axes: Axes, content: Content) -> None:
    curves = [series.curve for series in content.series if series.curve is not None]
    low, high = min(curve.x[0] for curve in curves), max(curve.x[-1] for curve in curves)
    is_log = content.axes["x"].is_log
    margin = (high - low or abs(low) or 1.0) * 0.04
    ends = (
        (low / (high / low) ** 0.04, high * (high / low) ** 0.04) if is_log else (low - margin, high + margin)
    )
    for number, curve in enumerate(curves):
        style = _style(number)
        x = [ends[0], *curve.x, ends[1]]
        share = np.array([0.0, *curve.share, 1.0])
        look: Any = {key: style[key] for key in ("label", "color", "linestyle")}
        axes.step(x, share, where="post", lw=1.2, **look)
        # A band beyond its curve's values says little and covers other curves.
        axes.fill_between(curve.x, curve.low, curve.high, step="post", color=style["color"], alpha=0.15, lw=0)
    scale(axes, "x", content.axes["x"])
    if ends[0] < ends[1]:
        axes.set_xlim(*ends)
    axes.set_ylim(0, 1)


def _legend(axes: Axes, content: Content, width_in: float) -> None:
    """Put the legend above the axes, where it covers nothing."""
    if not content.by:
        return
    # Replaced afterwards: matplotlib omits labels that begin with an underscore.
    known = dict(zip(*reversed(axes.get_legend_handles_labels()), strict=True))
    labels = [series.label for series in content.series]
    handles = [known[str(number)] for number in range(len(labels))]
    longest = max(len(label) for label in labels)
    columns = max(1, min(len(labels), int((width_in - 0.4) / (_HANDLE_IN + LETTER_IN * longest))))
    columns = -(-len(labels) // -(-len(labels) // columns))
    # matplotlib fills columns, but readers go along rows.
    order = [place for column in range(columns) for place in range(column, len(labels), columns)]
    axes.legend(
        [handles[place] for place in order],
        [labels[place] for place in order],
        loc="lower center",
        bbox_to_anchor=(0.5, 1.0),
        ncols=columns,
        title=content.by_label,
        frameon=False,
        handlelength=1.8,
        columnspacing=1.2,
        handletextpad=0.5,
    )


def _reach(places: Sequence[Place]) -> list[list[float]]:
    """Lengths of the error bars below and above; zero after one run."""
    return [[place.at - place.ends[0] for place in places], [place.ends[1] - place.at for place in places]]
