"""Draws a panel of a figure: lines with bands, planes, distributions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.transforms import ScaledTranslation
from numpy.typing import NDArray

from airpath.drawing.style import INK
from airpath.plots.sweep.content import Content, PanelPlace, Place, Series
from airpath.plots.sweep.looks import style_of
from airpath.plots.sweep.ticks import scale
from airpath.plots.sweep.wording import better

_ARROW_IN = 0.28
_LEAST_WITH_ARROW_IN = (1.8, 1.3)
"""Axes of less width or height have no arrow, which would cover what it points at."""
_SPREAD = 0.6
"""Share of a category's width that the series share, side by side."""


def draw_panel(axes: Axes, panel: Content, whole: Content, place: PanelPlace) -> None:
    """Draw the series of a panel; `whole` is the content of all panels, whose scales it may share."""
    if whole.kind == "cdf":
        _draw_curves(axes, panel, whole, _ends(whole.scope(place, "x")))
    else:
        (_draw_lines if whole.kind == "line" else _draw_plane)(axes, panel, whole)


def scale_panel(axes: Axes, whole: Content, place: PanelPlace) -> None:
    """Set up scales and limits, when all panels that share them are drawn."""
    for name in "xy":
        scale(axes, name, whole.axes[name])
    if whole.kind == "line":
        _from_zero(axes, whole.scope(place, "y"))
    elif whole.kind == "cdf":
        low, high = _ends(whole.scope(place, "x"))
        if low < high:
            axes.set_xlim(low, high)
        axes.set_ylim(0, 1)
    elif better(whole.axes["x"].key) < 0 < better(whole.axes["y"].key):
        # As usual in planes of delay and throughput: better is up and to the right.
        axes.xaxis.set_inverted(True)


def add_arrow(axes: Axes, content: Content) -> None:
    """Draw an arrow towards the better corner of a plane, if that is known and there is room."""
    if content.kind != "plane":
        return
    assert axes.figure is not None
    box = axes.get_window_extent().transformed(axes.figure.dpi_scale_trans.inverted())
    if box.width < _LEAST_WITH_ARROW_IN[0] or box.height < _LEAST_WITH_ARROW_IN[1]:
        return
    right, up = (better(content.axes[name].key) for name in "xy")
    if axes.xaxis_inverted():
        right = -right
    if right and up:
        _arrow(axes, content, right, up)


def _draw_lines(axes: Axes, panel: Content, whole: Content) -> None:
    looks, has_bands = whole.looks, whole.has_bands
    for series in panel.series:
        style = style_of(whole, series.look)
        x = np.array([mark.x.at for mark in series.marks])
        y = [mark.y for mark in series.marks]
        if has_bands and len(x) > 1:
            axes.plot(x, [one.at for one in y], **style)
            # Without an interval they are None, which becomes NaN.
            low, high = np.array([(one.low, one.high) for one in y], dtype=float).T
            axes.fill_between(x, low, high, color=style["color"], alpha=0.18, linewidth=0)
        else:
            if whole.axes["x"].categories and len(looks) > 1:  # Side by side.
                x = x + _SPREAD * (looks.index(series.look) / (len(looks) - 1) - 0.5)
            axes.errorbar(x, [one.at for one in y], yerr=_reach(y), capsize=1.5, elinewidth=0.8, **style)
        _open_marks(axes, x, series, style)


def _from_zero(axes: Axes, scope: Content) -> None:
    """Let heights begin at zero where that costs little room, so that they can be compared."""
    lowest, highest = min(mark.y.at for mark in scope.marks), max(mark.y.ends[1] for mark in scope.marks)
    if not scope.axes["y"].is_log and 0 <= lowest < 0.5 * highest:
        axes.set_ylim(bottom=0)


def _open_marks(axes: Axes, x: NDArray[np.float64], series: Series, style: dict[str, Any]) -> None:
    """Mark means that lack some runs: they may be biased."""
    partial = [place for place, mark in enumerate(series.marks) if mark.not_measured]
    y = [series.marks[place].y.at for place in partial]
    look = {key: style[key] for key in ("marker", "markersize", "color")}
    axes.plot(x[partial], y, linestyle="none", mfc="white", mew=0.9, **look)


def _draw_plane(axes: Axes, panel: Content, whole: Content) -> None:
    for series in panel.series:
        style = style_of(whole, series.look)
        x, y = [mark.x for mark in series.marks], [mark.y for mark in series.marks]
        places = np.array([(mark.x.at, mark.y.at) for mark in series.marks])
        style |= {"xerr": _reach(x), "yerr": _reach(y)}
        axes.errorbar(places[:, 0], places[:, 1], elinewidth=0.8, **style)
        _open_marks(axes, places[:, 0], series, style)
        if whole.is_joined and whole.along is not None:
            axes.plot(*places[0], "o", ms=8, mfc="none", mew=0.8, color=style["color"])


def _arrow(axes: Axes, content: Content, right: int, up: int) -> None:
    """Draw an arrow towards the better corner, where the fewest points are."""
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


def _draw_curves(axes: Axes, panel: Content, whole: Content, ends: tuple[float, float]) -> None:
    has_bands = whole.has_bands
    for series in panel.series:
        curve, style = series.curve, style_of(whole, series.look)
        assert curve is not None
        x = [ends[0], *curve.x, ends[1]]
        share = np.array([0.0, *curve.share, 1.0])
        axes.step(x, share, where="post", lw=1.2, color=style["color"], linestyle=style["linestyle"])
        if has_bands:  # A band beyond its curve's values says little and covers other curves.
            band = (curve.x, curve.low, curve.high)
            axes.fill_between(*band, step="post", color=style["color"], alpha=0.15, lw=0)


def _ends(scope: Content) -> tuple[float, float]:
    """Ends of the axis of a distribution, with a margin on either side."""
    curves = [series.curve for series in scope.series if series.curve is not None]
    low, high = min(curve.x[0] for curve in curves), max(curve.x[-1] for curve in curves)
    if scope.axes["x"].is_log:
        return low / (high / low) ** 0.04, high * (high / low) ** 0.04
    margin = (high - low or abs(low) or 1.0) * 0.04
    return low - margin, high + margin


def _reach(places: Sequence[Place]) -> list[list[float]]:
    """Lengths of the error bars below and above; zero after one run."""
    return [[place.at - place.ends[0] for place in places], [place.ends[1] - place.at for place in places]]
