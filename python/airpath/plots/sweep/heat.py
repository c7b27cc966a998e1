"""Draws heat maps."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Colormap, LogNorm, Normalize
from matplotlib.figure import Figure, SubFigure
from matplotlib.patches import Rectangle

from airpath.drawing.style import without_frame
from airpath.plots.sweep.caption import STAR
from airpath.plots.sweep.content import Content, PanelPlace, Series
from airpath.plots.sweep.texts import points
from airpath.plots.sweep.ticks import log_ticks, name_places

MOST_NUMBERED = 100
"""Up to this number of cells, numbers are written into them."""
_MISSING = "#f1f3f5"
_NUMBER = "number"
"""Marks the texts in cells."""


def draw_heat(figure: Figure | SubFigure, grid: Mapping[PanelPlace, Axes], content: Content) -> None:
    """Draw the panels of a heat map, each into its axes, and their common scale."""
    z = content.axes["z"]
    values = [mark.places["z"].at for mark in content.marks]
    low, high = min(values), max(values)
    if low == high:  # Equal numbers have no scale.
        low, high = (0.9 * low, 1.1 * high) if low > 0 else (low - 1, high + 1)
    norm = (LogNorm if z.is_log else Normalize)(low, high)
    colours = colormaps["cividis"]
    for place, panel in content.panels.items():
        _draw_cells(grid[place], content, panel.series[0], norm, colours)
    scale = ScalarMappable(norm, colours)
    bar = figure.colorbar(scale, ax=list(grid.values()), label=z.title, fraction=0.05, pad=0.02)
    bar.outline.set_visible(False)
    if z.is_log:
        log_ticks(bar.ax.yaxis, high / low)


def drop_wide_numbers(axes: Axes) -> None:
    """Remove the numbers in the cells if one is wider or higher than its cell."""
    assert axes.figure is not None
    cell = axes.transData.transform([(0, 0), (1, 1)])
    room = np.abs(cell[1] - cell[0])
    boxes = [text.get_window_extent() for text in axes.texts if text.get_gid() == _NUMBER]
    if any(box.width > 0.98 * room[0] or box.height > 0.98 * room[1] for box in boxes):
        for text in [text for text in axes.texts if text.get_gid() == _NUMBER]:
            text.remove()


def _draw_cells(axes: Axes, content: Content, panel: Series, norm: Normalize, colours: Colormap) -> None:
    x_names, y_names = (content.axes[name].categories or () for name in "xy")
    cells = np.full((len(y_names), len(x_names)), np.nan)
    for mark in panel.marks:
        cells[int(mark.y.at), int(mark.x.at)] = mark.places["z"].at
    partial = {(int(mark.y.at), int(mark.x.at)) for mark in panel.marks if mark.not_measured}
    edges = [np.arange(count + 1) - 0.5 for count in (len(x_names), len(y_names))]
    axes.pcolormesh(*edges, np.ma.masked_invalid(cells), norm=norm, cmap=colours, ec="white", lw=0.5)
    for row, column in np.argwhere(np.isnan(cells)):
        place = (column - 0.5, row - 0.5)
        axes.add_patch(Rectangle(place, 1, 1, fc=_MISSING, ec="#9aa5ae", hatch="//////", lw=0))
    if cells.size * len(content.series) <= MOST_NUMBERED:
        for (row, column), value in np.ndenumerate(cells):
            if not np.isnan(value):
                is_dark = sum(colours(norm(value))[:3]) < 1.5
                ink = "white" if is_dark else "black"
                text = _short(value, norm) + STAR * ((row, column) in partial)
                axes.text(
                    column,
                    row,
                    text,
                    ha="center",
                    va="center",
                    fontsize=points("xtick.labelsize") - 1,
                    color=ink,
                    gid=_NUMBER,
                )
    axes.tick_params(length=0)
    name_places(axes, "x", x_names)
    name_places(axes, "y", y_names)
    for side in ("left", "bottom"):
        axes.spines[side].set_visible(False)
    without_frame(axes)


def _short(value: float, norm: Normalize) -> str:
    """Number of a cell: as many decimals as the largest has with three digits."""
    if isinstance(norm, LogNorm):
        return f"{value:.3g}"
    largest = max(abs(norm.vmin or 0.0), abs(norm.vmax or 0.0))
    return f"{value:.{min(6, max(0, 2 - math.floor(math.log10(largest)))) if largest else 0}f}"
