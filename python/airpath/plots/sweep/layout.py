"""Arranges a figure: title, legend, panels and caption, each with the room that its texts need.

A layout is good if the panels take at least half of the picture in both directions, and no text is cut or
covers another. The legend stands above the panels or to their right. If the size is given and nothing fits,
fonts become smaller, to 5 points; then an error says which size is enough. Else the figure becomes higher.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg, RendererAgg
from matplotlib.figure import Figure, SubFigure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.text import Text

from airpath.drawing.measure import Measure
from airpath.drawing.picture import COLUMN_DPI, LARGEST_IN
from airpath.drawing.style import COLUMN_IN, PAGE_IN
from airpath.errors import SweepError
from airpath.plots.sweep.axes import add_arrow
from airpath.plots.sweep.caption import caption_of
from airpath.plots.sweep.content import Content
from airpath.plots.sweep.heat import drop_wide_numbers
from airpath.plots.sweep.legend import Block, add_legend, legend_above, legend_beside
from airpath.plots.sweep.looks import legend_of
from airpath.plots.sweep.panels import TITLE_POINTS, Panels, draw_into, shape
from airpath.plots.sweep.roles import COLUMN, PANEL, ROW
from airpath.plots.sweep.texts import place_words, place_words_beside, points, thin_ticks
from airpath.terminal import counted

LEAST_SHARE = 0.5
"""Least share of the panels in the width, and in the height, of a picture."""
_GOOD_SHARE = 0.6
"""With this share, no other place is tried for the legend."""
_SCALES = (1.0, 0.85, 0.72)
"""Sizes of fonts that are tried; the smallest makes ticks of 5 points."""
_FONTS = (
    "font.size",
    "axes.labelsize",
    "xtick.labelsize",
    "ytick.labelsize",
    "legend.fontsize",
    "legend.title_fontsize",
)
_TITLE_POINTS, _CAPTION_POINTS, _LEAST_POINTS = 9.0, 6.0, 5.0
_CAPTION_COLOUR = "#5b6770"
_PAD_IN, _GAP_IN = 0.04, 0.05
_HEIGHTS_IN = {"line": 2.6, "plane": 2.8, "cdf": 2.6, "heat": 2.6}
"""Least height of a figure of one panel whose height is not given."""
_LEAST_PANEL_IN = 0.4
"""No panel is narrower or lower."""
_NARROW_IN = 0.8
"""A panel and its ticks have no room in less width."""
_PANEL_IN, _PANEL_SHAPE = (1.0, 2.0), 0.8
"""Least and largest height of a panel among others, and its usual ratio to the width."""
_ROUNDS, _STEP_IN = 6, 0.05
"""Texts and panels depend on each other: how often they are fitted at most, and which step is none."""

Size = tuple[float, float | None]
"""Width and height, inches; a height of None follows from the content."""


def draw(content: Content, title: str | None, size: Size | None, has_caption: bool = True) -> Figure:
    """Draw a figure, a column or a page wide if `size` is absent; call and save it within `print_style`.

    Raises
    ------
    SweepError
        If the size is too small for what is to be read.
    """
    width, height = size or (_usual_width(content), None)
    task = _Task(content, title, caption_of(content) if has_caption else "", width)
    found = task.as_high_as_needed() if height is None else task.of_height(height)
    if found is None:
        raise task.too_small(height)
    return found.figure


def draw_onto(content: Content, axes: Iterable[Axes], has_legend: bool) -> Figure:
    """Draw into given axes, one per panel in the order of the rows, in the style that is set."""
    given = list(np.ravel(np.array(list(axes), dtype=object)))
    places = list(content.panels)
    if len(given) != len(places) or not all(isinstance(one, Axes) for one in given):
        what = f"{counted(len(given), 'object')} given for {counted(len(places), 'panel')}"
        raise SweepError("ax", what, "give one matplotlib Axes per panel")
    figure = given[0].figure
    assert isinstance(figure, (Figure, SubFigure))
    draw_into(figure, dict(zip(places, given, strict=True)), content)
    factors = content.factors
    for place, own in zip(places, given, strict=True):
        titles = [
            factors[role].titles[number]
            for role, number in zip((ROW, COLUMN, PANEL), place, strict=True)
            if role in factors
        ]
        if titles:
            own.set_title("\n".join(titles), loc="left", fontsize=points(TITLE_POINTS))
    if has_legend and (groups := legend_of(content)):
        add_legend(given[-1], groups)
    root: object = figure
    while isinstance(root, SubFigure):
        root = root.figure
    assert isinstance(root, Figure)
    return root


def _usual_width(content: Content) -> float:
    return COLUMN_IN if shape(content, PAGE_IN)[1] == 1 else PAGE_IN


@dataclass(frozen=True)
class _Task:
    """A figure to arrange, `width` inches wide."""

    content: Content
    title: str | None
    caption: str
    width: float

    def of_height(self, height: float) -> _Sheet | None:
        """Arrange it in a height; None if nothing fits."""
        for scale in _SCALES:
            for columns in self._columns:
                sheet = self._sheet(height, scale, columns)
                if sheet.share >= LEAST_SHARE:
                    return sheet
                if not sheet.is_too_narrow:
                    break
        return None

    def as_high_as_needed(self) -> _Sheet | None:
        """Arrange it in the height that it needs, but not less than usual; None if it is too narrow."""
        for scale in _SCALES:
            for columns in self._columns:
                sheet = self._grown(scale, columns)
                if sheet.share >= LEAST_SHARE:
                    return sheet
                if not sheet.is_too_narrow:
                    break
        return None

    def too_small(self, height: float | None) -> SweepError:
        """Say that a size is too small, and which one is enough."""
        what = f"{_contents(self.content)} in a figure {self.width:.3g} inches wide"
        enough = self.as_high_as_needed()
        if height is None or enough is None:
            remedy = "give more width, shorten names with --label, or choose with --where KEY=VALUE"
            return SweepError("--size", f"there is no room for {what}", remedy)
        low, needed = height, math.ceil(10 * enough.figure.get_figheight()) / 10
        for _ in range(_ROUNDS):
            middle = round((low + needed) / 2, 1)
            if low < middle < needed:
                sheet = self._sheet(middle, _SCALES[-1], enough.columns, LEAST_SHARE)
                low, needed = (low, middle) if sheet.share >= LEAST_SHARE else (middle, needed)
        remedy = f"give {self.width:.3g}x{needed:.3g} inches, or shorten names with --label"
        return SweepError("--size", f"there is no room for {what} and {height:.3g} high", remedy)

    @property
    def _columns(self) -> Iterable[int]:
        """Numbers of columns to try: fewer of them leave more width for a panel."""
        usual = shape(self.content, self.width)[1]
        return range(usual, 0, -1) if PANEL in self.content.factors else (usual,)

    def _sheet(self, height: float, scale: float, columns: int, good: float = _GOOD_SHARE) -> _Sheet:
        """Put the legend above, or if the share of the panels is not good then, where that is larger."""
        with _fonts(scale):
            best = self._at(height, columns, True)
            if self.content.legend and best.share < good:
                best = max(best, self._at(height, columns, False), key=lambda sheet: sheet.share)
        return best

    def _at(self, height: float, columns: int, is_above: bool) -> _Sheet:
        grid = shape(self.content, self.width, columns)
        return _Sheet(self.content, self.title, self.caption, (self.width, height), grid, is_above)

    def _grown(self, scale: float, columns: int) -> _Sheet:
        """Let it grow from a usual height to the one that it needs, if it is wide enough."""
        rows, _ = shape(self.content, self.width, columns)
        is_alone = not self.content.has_panels
        low, high = _PANEL_IN
        panel = min(high, max(low, _PANEL_SHAPE * (self.width - 0.6) / columns))
        height = _HEIGHTS_IN[self.content.kind] if is_alone else rows * (panel + 0.25) + 0.9
        wanted = LEAST_SHARE * height if is_alone else rows * panel
        sheet = self._sheet(height, scale, columns, LEAST_SHARE)
        for _ in range(_ROUNDS):
            is_good = sheet.share >= LEAST_SHARE
            lacking, others = wanted - sheet.panels_in, height - sheet.panels_in
            needed = max(height + lacking, 2.1 * others)
            is_enough = needed < height + _STEP_IN and (is_alone or needed > height - _STEP_IN)
            if (is_good and is_enough) or (not is_good and sheet.is_too_narrow) or height >= LARGEST_IN:
                break
            height = min(LARGEST_IN, needed if is_good else max(needed, 1.2 * height))
            sheet = self._sheet(height, scale, columns, LEAST_SHARE)
        return sheet


def _contents(content: Content) -> str:
    parts = [counted(len(content.panels), "panel")] if content.has_panels else []
    if names := sum(len(factor.words) for _, factor in content.legend):
        parts.append(f"a legend of {counted(names, 'name')}")
    return " and ".join(parts) or "the texts"


@contextmanager
def _fonts(scale: float) -> Iterator[None]:
    sizes: dict[Any, Any] = {name: points(name) * scale for name in _FONTS}
    with rc_context(sizes):
        yield


class _Sheet:
    """A figure of a size, arranged.

    Attributes
    ----------
    figure : Figure
    share : float
        Share of the panels in the width or in the height of the picture, the smaller one; 0 if texts do
        not fit.
    panels_in : float
        Height of a panel of each row, together, inches.
    columns : int
        Columns of panels.
    is_too_narrow : bool
        Whether more height would not help.
    """

    def __init__(
        self,
        content: Content,
        title: str | None,
        caption: str,
        size: tuple[float, float],
        grid: tuple[int, int],
        is_above: bool,
    ) -> None:
        self.figure = Figure(figsize=size, dpi=COLUMN_DPI)
        self._renderer: RendererAgg = FigureCanvasAgg(self.figure).get_renderer()  # type: ignore[no-untyped-call]
        self._content = content
        self._width, self._height = (side * COLUMN_DPI for side in size)
        self._pad, self._gap = _PAD_IN * COLUMN_DPI, _GAP_IN * COLUMN_DPI
        self._left, self._right = self._pad, self._width - self._pad
        self._bottom, self._top = self._pad, self._height - self._pad
        self._names: list[tuple[Text, str, bool]] = []
        self._blocks: list[Block] = []
        self._scale = points("legend.fontsize") / 7.0
        self._panels = Panels(self.figure, content, *grid)
        self._add_title(title)
        self._add_caption(caption)
        if content.legend:
            self._add_legend(is_above)
        if content.has_panels:
            self._add_names()
        self.columns = grid[1]
        self._fits = {"x": True, "y": True}
        self._has_room = True
        self._arrange()
        self._judge()
        if self.share > 0:
            for axes in self._panels.all:
                drop_wide_numbers(axes)
            place, axes = next(iter(self._panels.axes.items()))
            add_arrow(axes, content.panels[place])

    def _measure(self, size: float) -> Measure:
        return Measure(self._renderer, size)

    def _text(self, x: float, y: float, text: str, **look: Any) -> Text:
        """Write a text at a place in pixels; the panels make no room for it."""
        found = self.figure.text(x / self._width, y / self._height, text, **look)
        found.set_in_layout(False)
        return found

    def _add_title(self, title: str | None) -> None:
        if not title:
            return
        size = _TITLE_POINTS * self._scale
        lines = self._measure(size).wrapped(title, self._right - self._left)
        place = {"x": self._left / self._width, "y": self._top / self._height}
        text = self.figure.suptitle(lines, fontsize=size, ha="left", va="top", **place)
        text.set_in_layout(False)
        self._top -= text.get_window_extent().height + self._gap

    def _add_caption(self, caption: str) -> None:
        if not caption:
            return
        size = max(_LEAST_POINTS, _CAPTION_POINTS * self._scale)
        lines = self._measure(size).wrapped(caption, self._right - self._left)
        text = self._text(
            self._left, self._bottom, lines, fontsize=size, color=_CAPTION_COLOUR, va="bottom", gid="caption"
        )
        self._bottom += text.get_window_extent().height + self._gap

    def _add_legend(self, is_above: bool) -> None:
        measure, groups = self._measure(points("legend.fontsize")), legend_of(self._content)
        if is_above:
            self._blocks, height = legend_above(self.figure, groups, measure, self._right - self._left)
            x, y = self._left, self._top
            self._top -= height + self._gap
        else:
            self._blocks, width = legend_beside(self.figure, groups, measure, (self._right - self._left) / 2)
            self._right -= width
            x, y = self._right, self._top
            self._right -= 2 * self._gap
        for block in self._blocks:
            block.move(x, y, self._width, self._height)

    def _add_names(self) -> None:
        """Write the names of the axes once for all panels; their places follow from these."""
        size = points("axes.labelsize")
        for name in "xy":
            words, is_x = self._content.axes[name].title, name == "x"
            if not words:
                continue
            length = self._right - self._left if is_x else self._top - self._bottom
            lines = self._measure(size).wrapped(words, max(length, 1))
            look = {"fontsize": size, "rotation": 0 if is_x else 90}
            if is_x:
                text = self._text(0, self._bottom, lines, ha="center", va="bottom", gid="x name", **look)
                self._bottom += text.get_window_extent().height + self._gap / 2
            else:
                text = self._text(self._left, 0, lines, ha="left", va="center", gid="y name", **look)
                self._left += text.get_window_extent().width + self._gap / 2
            self._names.append((text, words, is_x))

    def _arrange(self) -> None:
        """Fit panels into the room that is left, and their texts to the panels, until neither changes."""
        width, height = self._right - self._left, self._top - self._bottom
        if min(width, height) < 0.2 * COLUMN_DPI:
            self._has_room = False
            return
        rect = (
            self._left / self._width,
            self._bottom / self._height,
            width / self._width,
            height / self._height,
        )
        pad = 0.02
        engine = ConstrainedLayoutEngine(rect=rect, w_pad=pad, h_pad=pad, wspace=0.02, hspace=0.02)
        self.figure.set_layout_engine(engine)
        with warnings.catch_warnings():
            warnings.simplefilter("error", UserWarning)  # Panels have no room.
            try:
                for _ in range(_ROUNDS):
                    engine.execute(self.figure)
                    if not self._fit_texts():
                        break
                engine.execute(self.figure)
            except UserWarning:
                self._has_room = False
        self.figure.set_layout_engine("none")
        boxes = [axes.get_window_extent() for axes in self._panels.all]
        for text, _, is_x in self._names:
            if is_x:
                text.set_x((min(box.x0 for box in boxes) + max(box.x1 for box in boxes)) / 2 / self._width)
            else:
                text.set_y((min(box.y0 for box in boxes) + max(box.y1 for box in boxes)) / 2 / self._height)

    def _fit_texts(self) -> bool:
        """Fit titles, names and ticks to the panels as they are; return whether anything changed."""
        before = self._state()
        self._panels.wrap_titles(self._measure(points(TITLE_POINTS)))
        self._fits = {"x": True, "y": True}
        self._thin_ticks()
        for axes in self._panels.all:
            self._fit_words(axes)
            if not self._content.has_panels:
                self._fit_names(axes)
        for bar in self._bars:
            measure = self._measure(points("axes.labelsize"))
            bar.set_ylabel(measure.wrapped(self._content.axes["z"].title, bar.get_window_extent().height))
        return self._state() != before

    @property
    def _bars(self) -> list[Axes]:
        """Scales of colours."""
        return [axes for axes in self.figure.axes if axes.get_visible() and axes not in self._panels.all]

    def _state(self) -> list[object]:
        """What `_fit_texts` may change."""
        state: list[object] = [text.get_text() for text, _ in (*self._panels.titles, *self._panels.strips)]
        for axes in (*self._panels.all, *self._bars):
            state += [axes.get_xlabel(), axes.get_ylabel()]
            for labels in (axes.get_xticklabels(), axes.get_yticklabels()):
                state.append([(label.get_text(), label.get_rotation()) for label in labels])
        return state

    def _thin_ticks(self) -> None:
        """Leave out numbers that overlap, once for panels that share their ticks."""
        for name in "xy":
            em, thinned = self._measure(points(f"{name}tick.labelsize")).em, set()
            for axes in [] if self._content.axes[name].categories else self._panels.all:
                ticker = (axes.xaxis if name == "x" else axes.yaxis).major
                if id(ticker) not in thinned and thin_ticks(axes, name, em):
                    thinned.add(id(ticker))

    def _fit_words(self, axes: Axes) -> None:
        for name, side, share in (("x", "height", 0.25), ("y", "width", 0.22)):
            axis, measure = self._content.axes[name], self._measure(points(f"{name}tick.labelsize"))
            if not axis.categories:
                continue
            # Panels may share their ticks, so all of them have the words that fit into the smallest.
            boxes = [one.get_window_extent() for one in self._panels.all]
            slot = min(box.width if name == "x" else box.height for box in boxes) / len(axis.categories)
            place = place_words if name == "x" else place_words_beside
            most = share * (self._height if side == "height" else self._width)
            self._fits[name] &= place(axes, axis.categories, measure, slot, most)

    def _fit_names(self, axes: Axes) -> None:
        measure, box = self._measure(points("axes.labelsize")), axes.get_window_extent()
        for name, room in (("x", box.width), ("y", box.height)):
            words = measure.wrapped(self._content.axes[name].title, max(room, 4 * measure.em))
            (axes.set_xlabel if name == "x" else axes.set_ylabel)(words)

    def _judge(self) -> None:
        """Measure the share of the panels, and look for what is cut."""
        self.share, self.panels_in = 0.0, 0.0
        self.is_too_narrow = (self._right - self._left) / self.columns < _NARROW_IN * COLUMN_DPI
        if not self._has_room:
            return
        grid: dict[str, dict[int, float]] = {"width": {}, "height": {}}
        for place, axes in self._panels.axes.items():
            box, cell = axes.get_position(), self._panels._cell(place)
            for side, number, length in (("height", cell[0], box.height), ("width", cell[1], box.width)):
                grid[side][number] = min(length, grid[side].get(number, 1.0))
        across, down = (sum(grid[side].values()) for side in ("width", "height"))
        self.panels_in = down * self._height / COLUMN_DPI
        self.is_too_narrow |= self._is_cut(0) or not self._fits["x"] or across < LEAST_SHARE
        lengths = [side for axes in self._panels.all for side in axes.get_window_extent().size]
        is_good = all(self._fits.values()) and not self._is_cut(0) and not self._is_cut(1)
        is_good &= min(lengths) >= _LEAST_PANEL_IN * COLUMN_DPI
        self.share = min(across, down) if is_good else 0.0

    def _is_cut(self, direction: int) -> bool:
        """Whether something is beyond the picture: 0 to its left or right, 1 above or below."""
        boxes = [text.get_window_extent() for text in self.figure.texts]
        boxes += [box for axes in self.figure.axes if (box := axes.get_tightbbox(self._renderer)) is not None]
        boxes += [block.legend.get_window_extent() for block in self._blocks]
        end = (self._width, self._height)[direction]
        ends = [(box.x0, box.x1) if direction == 0 else (box.y0, box.y1) for box in boxes]
        return any(low < -1 or high > end + 1 for low, high in ends)
