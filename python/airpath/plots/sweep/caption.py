"""Captions of figures: runs, intervals, missing values."""

from __future__ import annotations

from airpath.plots.sweep.content import Content, RunCounts
from airpath.plots.sweep.quantity import Value
from airpath.plots.sweep.wording import value_label, with_unit

MOST_VALUES_NAMED = 6
"""The caption lists up to this number of values along a path."""
STAR = "*"
"""Marks numbers of a heat map that only some runs have."""


def caption_of(content: Content) -> str:
    """Captions of figures: runs, intervals, missing values."""
    counts = content.counts
    level = f"{100 * content.confidence:g} %"
    runs = f"{counts.most}" if counts.fewest == counts.most else f"{counts.fewest} to {counts.most}"
    each = {"cdf": "for each curve", "heat": "for each cell"}.get(content.kind, "at each point")
    parts = [f"{runs} {'run' if counts.most == 1 else 'runs'} {each}"]
    if counts.most == 1 and content.kind != "cdf":
        parts[0] += ", no intervals"
    elif content.kind == "line":
        parts.append(f"{'bands' if content.has_bands else 'bars'}: {level} intervals of the means")
    elif content.kind == "plane":
        parts.append(f"crosses: {level} intervals of the means")
    elif content.kind == "cdf":
        parts.append(f"bands: {level} (DKW)")
    if content.along is not None:
        parts.append(_path_words(content))
    return "; ".join(parts + _gaps(content, counts))


def _gaps(content: Content, counts: RunCounts) -> list[str]:
    said = []
    if any(mark.not_measured for mark in content.marks):
        which = f"{STAR} " if content.kind == "heat" else "open marks "
        said.append(f"{which}where only some runs have a value")
    if content.kind == "heat" and counts.empty_cells:
        said.append("hatched: no value")
    if counts.missing:
        said.append(f"{counts.missing} of {counts.runs + counts.missing} runs still missing")
    said += [
        f"{count} of {counts.runs} runs without {name}"
        for name, count in counts.not_measured.items()
        if count
    ]
    return said


def _path_words(content: Content) -> str:
    """Values along the paths."""
    assert content.along is not None
    values: list[Value] = []
    for series in content.series:
        values += [mark.value for mark in series.marks if mark.value not in values]
    name = with_unit(content.along.label, content.along.unit)
    words = [value_label(value) for value in values]
    if len(words) > MOST_VALUES_NAMED:
        words = [words[0], "...", words[-1]]
    verb = "paths go" if content.is_joined else "points:"
    ringed = " (ringed)" if content.is_joined else ""
    return f"{verb} along {name}: {words[0]}{ringed}" + "".join(f", {word}" for word in words[1:])
