"""Panels of a figure: their grid, their titles, and which of them show the ticks of a shared axis."""

from __future__ import annotations

from typing import Literal

from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure
from matplotlib.text import Text

from airpath.drawing.measure import Measure
from airpath.drawing.style import GRID, finish
from airpath.plots.sweep.axes import draw_panel, scale_panel
from airpath.plots.sweep.content import Content, PanelPlace
from airpath.plots.sweep.heat import draw_heat
from airpath.plots.sweep.roles import COLUMN, PANEL, ROW
from airpath.plots.sweep.texts import points

TITLE_POINTS = "legend.fontsize"
"""Setting with the size of a panel's title."""
_NARROWEST_IN = 1.5
"""Panels one after the other are at least this wide, with their ticks."""


def shape(content: Content, width_in: float, most_columns: int | None = None) -> tuple[int, int]:
    """Rows and columns of panels; panels one after the other have at most `most_columns`."""
    if PANEL not in content.factors:
        rows, columns = (
            len(content.factors[role].words) if role in content.factors else 1 for role in (ROW, COLUMN)
        )
        return rows, columns
    count = len(content.factors[PANEL].words)
    usual = next(
        columns
        for most, columns in ((1, 1), (2, 2), (3, 3), (4, 2), (6, 3), (12, 4), (24, 6))
        if count <= most
    )
    columns = max(1, min(usual, int(width_in / _NARROWEST_IN), most_columns or usual))
    return -(-count // columns), columns


class Panels:
    """The panels of a figure in their axes.

    Parameters
    ----------
    figure : Figure
        Without axes.
    content : Content
    rows, columns : int
        Shape of the grid.
    """

    def __init__(self, figure: Figure, content: Content, rows: int, columns: int) -> None:
        self.content, self.rows, self.columns = content, rows, columns
        x_shared: bool | Literal["col"] = "col" if content.is_grid else False
        y_shared: bool | Literal["row"] = "row" if content.is_grid else False
        grid = figure.subplots(
            rows,
            columns,
            squeeze=False,
            sharex=x_shared if "x" in content.free else True,
            sharey=y_shared if "y" in content.free else True,
        )
        cells = {place: self._cell(place) for place in content.panels}
        self.axes: dict[PanelPlace, Axes] = {place: grid[cell] for place, cell in cells.items()}
        self._by_cell = {cell: grid[cell] for cell in cells.values()}
        self.titles: list[tuple[Text, str]] = []
        self.strips: list[tuple[Text, str]] = []
        for row in range(self.rows):
            for column in range(self.columns):
                if (row, column) not in self._by_cell:
                    grid[row, column].set_visible(False)
        draw_into(figure, self.axes, content)
        if content.has_panels:
            for axes in self.axes.values():
                axes.set_xlabel("")
                axes.set_ylabel("")
            self._show_ticks()
            self._name()

    @property
    def all(self) -> list[Axes]:
        """Axes of all panels."""
        return list(self.axes.values())

    def _cell(self, place: PanelPlace) -> tuple[int, int]:
        row, column, number = place
        return divmod(number, self.columns) if PANEL in self.content.factors else (row, column)

    def _show_ticks(self) -> None:
        """Show the ticks of shared axes in the lowest and leftmost panels."""
        for (row, column), axes in self._by_cell.items():
            is_lowest = not any(other > row and beside == column for other, beside in self._by_cell)
            is_left = not any(beside < column and other == row for other, beside in self._by_cell)
            own = set() if self.content.is_grid else self.content.free
            axes.tick_params(labelbottom=is_lowest or "x" in own, labelleft=is_left or "y" in own)

    def _name(self) -> None:
        factors, size = self.content.factors, points(TITLE_POINTS)
        for place, axes in self.axes.items():
            row, column = self._cell(place)
            is_top = not any(other < row and beside == column for other, beside in self._by_cell)
            is_right = not any(beside > column and other == row for other, beside in self._by_cell)
            if PANEL in factors or (COLUMN in factors and is_top):
                role, number = (PANEL, place[2]) if PANEL in factors else (COLUMN, column)
                words = factors[role].titles[number]
                self.titles.append((axes.set_title(words, loc="left", fontsize=size, pad=3), words))
            if ROW in factors and is_right:
                words = factors[ROW].titles[row]
                strip = axes.annotate(
                    words,
                    (1, 0.5),
                    (3, 0),
                    "axes fraction",
                    "offset points",
                    rotation=-90,
                    ha="left",
                    va="center",
                    fontsize=size,
                    annotation_clip=False,
                )
                self.strips.append((strip, words))

    def wrap_titles(self, measure: Measure) -> bool:
        """Break titles into lines as wide, or as high, as their panels; return whether that changed any."""
        changed = False
        for texts, side in ((self.titles, "width"), (self.strips, "height")):
            for text, words in texts:
                assert text.axes is not None
                room = getattr(text.axes.get_window_extent(), side)
                lines = measure.wrapped(words, max(room, 4 * measure.em))
                changed |= lines != text.get_text()
                text.set_text(lines)
        return changed


def draw_into(figure: Figure | SubFigure, axes: dict[PanelPlace, Axes], content: Content) -> None:
    """Draw each panel into its axes, and label these."""
    if content.kind == "heat":
        draw_heat(figure, axes, content)
    else:
        for place, panel in content.panels.items():
            draw_panel(axes[place], panel, content, place)
        for place in content.panels:
            scale_panel(axes[place], content, place)
    for own in axes.values():
        if content.kind == "heat":
            own.set_xlabel(content.axes["x"].title)
            own.set_ylabel(content.axes["y"].title)
        else:
            finish(own, *(content.axes[name].title for name in "xy"))
            if content.has_panels:  # A frame holds a panel together.
                for side in ("top", "right"):
                    own.spines[side].set_visible(True)
                    own.spines[side].set_color(GRID)
