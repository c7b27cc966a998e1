"""Colours, marks and lines of series, and the legend that explains them."""

from __future__ import annotations

from typing import Any

from matplotlib.artist import Artist
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from airpath.drawing.style import COLOURS, INK, MARKERS
from airpath.plots.sweep.content import Content
from airpath.plots.sweep.roles import BY, COLOR, MARKER

_DASHES: tuple[Any, ...] = (
    "-",
    "--",
    ":",
    "-.",
    (0, (7, 2)),
    (0, (3, 1, 1, 1, 1, 1)),
    (0, (1, 3)),
    (0, (5, 5)),
)
"""Lines of marks, where marks have a parameter of their own."""
_CROWD = 8
"""More series than this have smaller marks."""

Entries = list[tuple[str, list[tuple[Artist, str]]]]
"""Groups of a legend: the title of each, its samples and their texts."""


def style_of(content: Content, look: tuple[int, int]) -> dict[str, Any]:
    """Colour, mark and line of a look, for `Axes.plot`; colour and mark together tell 16 looks apart."""
    colour, mark = look
    if colour == mark:
        line = ("-", "--")[mark // len(COLOURS) % 2]
    else:
        line = "-" if mark < 0 else _DASHES[mark % len(_DASHES)]
    return {
        "color": INK if colour < 0 else COLOURS[colour % len(COLOURS)],
        "marker": MARKERS[max(mark, 0) % len(MARKERS)],
        "linestyle": line if is_line(content) else "none",
        "markersize": 3.0 if len(content.looks) > _CROWD else 3.5,
        "linewidth": 1.1,
    }


def is_line(content: Content) -> bool:
    """Whether series are lines, not marks alone."""
    return content.kind == "cdf" or (
        content.is_joined if content.kind == "plane" else content.is_drawn_through
    )


def legend_of(content: Content) -> Entries:
    """Make the groups of the legend; of several groups each explains colours or marks."""
    groups: Entries = []
    for role, factor in content.legend:
        numbers = sorted({series.places[role] for series in content.series})
        samples = [(_sample(content, role, number), factor.words[number]) for number in numbers]
        groups.append((factor.label, samples))
    return groups


def _sample(content: Content, role: str, number: int) -> Artist:
    """Sample of a colour or a mark, as it is drawn."""
    look = {BY: (number, number), COLOR: (number, -1), MARKER: (-1, number)}[role]
    style = style_of(content, look)
    if content.kind == "cdf":
        style["marker"] = "none"
    if role == COLOR and MARKER in content.factors:
        return Patch(facecolor=style["color"], linewidth=0)
    return Line2D([], [], **style)
