"""Captions of figures: changes of the scenario, runs, intervals, missing values."""

from __future__ import annotations

import math

from airpath.plots.sweep.content import Axis, Content
from airpath.runs.changes import described
from airpath.terminal import counted

MOST_VALUES_NAMED = 6
"""The caption lists up to this number of values along a path."""
STAR = "*"
"""Marks numbers of a heat map that only some runs have."""


def caption_of(content: Content) -> str:
    """Write the caption of a figure."""
    fewest, most, is_heat = min(content.sizes), max(content.sizes), content.kind == "heat"
    level = f"{100 * content.confidence:g} %"
    runs = counted(most, "run") if fewest == most else f"{fewest} to {most} runs"
    each = {"cdf": "per curve", "heat": "per cell"}.get(content.kind, "per point")
    parts = [described(content.changes)] if content.changes else []
    parts.append(f"{runs} {each}")
    if most == 1 and content.kind != "cdf":
        parts[-1] += ", no intervals"
    elif content.kind == "line":
        parts.append(f"{'bands' if content.has_bands else 'bars'}: {level} intervals of the means")
    elif content.kind == "plane":
        parts.append(f"crosses: {level} intervals of the means")
    elif content.kind == "cdf":
        parts.append(f"bands: {level} (DKW)" if content.has_bands else "bands left out")
    if content.along is not None:
        parts.append(_path_words(content, content.along))
    marks = list(content.marks)
    if any(mark.not_measured for mark in marks):
        parts.append(f"{STAR if is_heat else 'open marks'} where only some runs have a value")
    if is_heat:
        cells = math.prod(len(content.axes[name].categories or ()) for name in "xy")
        if cells * len(content.series) > len(marks):
            parts.append("hatched: no value")
    if content.missing:
        parts.append(f"{content.missing} of {content.runs + content.missing} runs still missing")
    unknown = {name: count for name, count in content.not_measured.items() if count}
    parts += [f"{count} of {content.runs} runs without {name}" for name, count in unknown.items()]
    return "; ".join(parts)


def _path_words(content: Content, along: Axis) -> str:
    """Values along the paths."""
    words = list(dict.fromkeys(mark.word for mark in content.marks))
    if len(words) > MOST_VALUES_NAMED:
        words = [words[0], "...", words[-1]]
    verb, ringed = ("paths go", " (ringed)") if content.is_joined else ("points:", "")
    return f"{verb} along {along.title}: {', '.join([words[0] + ringed, *words[1:]])}"
