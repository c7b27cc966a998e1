"""Legends in groups, above the panels or to their right."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.patches import Patch

from airpath.drawing.measure import Measure
from airpath.plots.sweep.looks import Entries

_HANDLE, _HANDLE_GAP, _COLUMN_GAP, _GROUP_GAP = 1.8, 0.5, 1.2, 2.0
"""Lengths in font sizes."""
_LOOK: dict[str, Any] = {
    "frameon": False,
    "handlelength": _HANDLE,
    "handletextpad": _HANDLE_GAP,
    "columnspacing": _COLUMN_GAP,
    "labelspacing": 0.3,
    "borderpad": 0.0,
    "borderaxespad": 0.0,
    "alignment": "left",
}


@dataclass
class Block:
    """A group of a legend; its upper left corner is moved by `dx` and `dy` pixels from that of the legend."""

    legend: Legend
    dx: float = 0.0
    dy: float = 0.0

    def move(self, x: float, y: float, width: float, height: float) -> None:
        """Move the enclosing legend to a place of a picture, all in pixels."""
        self.legend.set_bbox_to_anchor(
            ((x + self.dx) / width, (y - self.dy) / height), self.legend.figure.transFigure
        )


def legend_above(
    figure: Figure, groups: Entries, measure: Measure, width: float
) -> tuple[list[Block], float]:
    """Make a legend of some width: groups side by side where there is room; return its height too."""
    blocks = [Block(_legend(figure, title, samples, measure, width)) for title, samples in groups]
    sizes = [block.legend.get_window_extent() for block in blocks]
    gap = _GROUP_GAP * measure.em
    if sum(size.width for size in sizes) + gap * (len(sizes) - 1) <= width:
        for block, before, size in zip(blocks[1:], blocks, sizes, strict=False):
            block.dx = before.dx + size.width + gap
        return blocks, max(size.height for size in sizes)
    return _stacked(blocks, 0.4 * measure.em), sum(size.height for size in sizes) + 0.4 * measure.em * (
        len(sizes) - 1
    )


def legend_beside(
    figure: Figure, groups: Entries, measure: Measure, most: float
) -> tuple[list[Block], float]:
    """Make a legend of one column, at most as wide as `most`; return its width too."""
    blocks = [Block(_legend(figure, title, samples, measure, most, 1)) for title, samples in groups]
    _stacked(blocks, measure.em)
    return blocks, max(block.legend.get_window_extent().width for block in blocks)


def add_legend(axes: Axes, groups: Entries) -> None:
    """Add a legend inside of axes, where it covers least; titles of groups are lines of it."""
    samples: list[tuple[Artist, str]] = []
    for title, own in groups:
        if len(groups) > 1 and title:
            samples.append((Patch(alpha=0.0), title))
        samples += own
    legend = axes.legend([sample for sample, _ in samples], [str(place) for place in range(len(samples))])
    for text, (_, word) in zip(legend.get_texts(), samples, strict=True):
        text.set_text(word)
    if len(groups) == 1 and groups[0][0]:
        legend.set_title(groups[0][0])


def _stacked(blocks: list[Block], gap: float) -> list[Block]:
    for block, before in zip(blocks[1:], blocks, strict=False):
        block.dy = before.dy + before.legend.get_window_extent().height + gap
    return blocks


def _legend(
    figure: Figure,
    title: str,
    samples: Sequence[tuple[Artist, str]],
    measure: Measure,
    width: float,
    columns: int | None = None,
) -> Legend:
    room = width - (_HANDLE + _HANDLE_GAP) * measure.em
    words = [measure.wrapped(word, room) for _, word in samples]
    columns = columns or _columns([measure(word) for word in words], measure.em, width)
    # matplotlib fills columns, but readers go along rows.
    order = [place for column in range(columns) for place in range(column, len(words), columns)]
    # Texts are replaced afterwards: matplotlib omits labels that begin with an underscore.
    handles = [samples[place][0] for place in order]
    legend = Legend(
        figure,
        handles,
        [str(place) for place in order],
        loc="upper left",
        ncols=columns,
        bbox_to_anchor=(0, 0),
        **_LOOK,
    )
    for text, place in zip(legend.get_texts(), order, strict=True):
        text.set_text(words[place])
    if title:
        legend.set_title(measure.wrapped(title, width))
    figure.add_artist(legend)
    legend.set_in_layout(False)
    return legend


def _columns(widths: Sequence[float], em: float, width: float) -> int:
    """Most columns of a legend that are not wider than `width`, and then as few as that many rows need."""
    for most in range(len(widths), 1, -1):
        columns = -(-len(widths) // -(-len(widths) // most))
        longest = [max(widths[column::columns]) for column in range(columns)]
        if sum(longest) + columns * (_HANDLE + _HANDLE_GAP) * em + (columns - 1) * _COLUMN_GAP * em <= width:
            return columns
    return 1
