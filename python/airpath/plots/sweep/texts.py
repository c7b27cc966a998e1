"""Texts that fit: words below and beside an axis, and ticks that do not overlap."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from matplotlib import rcParams
from matplotlib.axes import Axes
from matplotlib.font_manager import FontProperties
from matplotlib.ticker import FixedLocator

from airpath.drawing.measure import Measure

LINE = 1.25
"""Height of a line, in font sizes."""
_SLANT = 30
"""Angle of words that do not fit side by side, degrees."""
_MOST_LINES = 3
"""Lines of a word below an axis."""
_GAP = 0.4
"""Least gap between two ticks, in font sizes."""


def points(setting: str) -> float:
    """Size of a font by the setting of matplotlib that holds it."""
    sizes: dict[Any, Any] = rcParams
    return FontProperties(size=sizes[setting]).get_size_in_points()


def place_words(axes: Axes, names: Sequence[str], measure: Measure, slot: float, most: float) -> bool:
    """Label the places of a horizontal axis: in lines, slanted or upright, as long as `most` pixels.

    There are `slot` pixels from each place to the next. Return whether the words fit.
    """
    lines = [measure.wrapped(name, 0.94 * slot, breaks_words=False) for name in names]
    if max(map(measure, lines)) <= 0.94 * slot and max(line.count("\n") for line in lines) < _MOST_LINES:
        words, angle, needed = lines, 0, 0.0
    else:
        needed = LINE * measure.em
        is_wide = slot * math.sin(math.radians(_SLANT)) >= needed
        angle, length = (_SLANT, 1.6 * most) if is_wide else (90, most)
        words = [measure.cut(name, length) for name in names]
    is_slanted = angle == _SLANT
    look: dict[str, Any] = {
        "ha": "right" if is_slanted else "center",
        "rotation_mode": "anchor" if is_slanted else "default",
    }
    axes.set_xticks(range(len(words)), words, rotation=angle, **look)
    return slot >= needed


def place_words_beside(axes: Axes, names: Sequence[str], measure: Measure, slot: float, most: float) -> bool:
    """Label the places of a vertical axis, in lines of at most `most` pixels; as `place_words`."""
    height = LINE * measure.em
    room = max(1, int(slot / height))
    lines = [measure.wrapped(name, most) for name in names]
    words = [
        line if line.count("\n") < room else measure.cut(name, most)
        for name, line in zip(names, lines, strict=True)
    ]
    axes.set_yticks(range(len(words)), words)
    return slot >= height


def thin_ticks(axes: Axes, which: str, em: float) -> bool:
    """Leave out every second tick if the numbers of an axis overlap; return whether that was so."""
    axis = axes.xaxis if which == "x" else axes.yaxis
    low, high = sorted(axis.get_view_interval())
    margin = (high - low) * 1e-9
    shown = [
        (location, box)
        for tick in axis.get_major_ticks()
        if low - margin <= (location := tick.get_loc()) <= high + margin
        and tick.label1.get_visible()
        and tick.label1.get_text()
        for box in [tick.label1.get_window_extent()]
    ]
    spans = sorted((box.x0, box.x1) if which == "x" else (box.y0, box.y1) for _, box in shown)
    gap = _GAP * em if which == "x" else 0.0
    if len(spans) < 3 or all(a[1] + gap <= b[0] for a, b in pairwise(spans)):
        return False
    locations = sorted(location for location, _ in shown)
    axis.set_major_locator(FixedLocator(locations[::2]))
    return True
