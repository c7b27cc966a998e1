"""The picture of a scorecard: how much better than CUBIC each row is, with its interval."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.figure import Figure

from airpath.drawing.style import COLOURS, GRID, INK, OTHERS, PUBLISHED, as_bytes, without_frame
from airpath.experiments.scorecard.card import BETTER, HARMS, SAME, UNCLEAR, WORSE, Score

MOST = 100.0
"""Beyond this gain, in percent, points lie at the edge."""
ROW_IN = 0.17
"""Height of a row, inches."""
LOOKS = {
    BETTER: (COLOURS[2], "o"),
    SAME: (COLOURS[0], "s"),
    UNCLEAR: (OTHERS[0], "D"),
    WORSE: (COLOURS[5], "v"),
    HARMS: (PUBLISHED, "X"),
}
"""Colour and marker of a verdict."""


def scorecard_picture(scores: Sequence[tuple[str, Score]]) -> bytes:
    """Draw the gain of each score, as PNG; each has its label, and the first is on top."""
    figure = Figure(figsize=(8.0, 0.9 + ROW_IN * len(scores)), layout="constrained")
    axes = figure.add_subplot()
    axes.axvline(0, color=INK, linewidth=0.8)
    for verdict, (colour, marker) in LOOKS.items():
        points = [(-place, score.gain) for place, (_, score) in enumerate(scores) if score.verdict == verdict]
        if not points:
            continue
        means, lows, highs = (
            [_within(100 * getattr(gain, end)) for _, gain in points] for end in ("mean", "ci_low", "ci_high")
        )
        rows = [row for row, _ in points]
        axes.hlines(rows, lows, highs, color=colour, linewidth=1.4)
        axes.plot(means, rows, marker, color=colour, markersize=4.5, label=verdict, clip_on=False)
    axes.set_yticks([-place for place in range(len(scores))], [label for label, _ in scores], fontsize=7)
    axes.set_ylim(0.6 - len(scores), 0.6)
    axes.set_xlim(-MOST, MOST)
    axes.set_xlabel("better than CUBIC by [%, of shares in points; beyond 100 at the edge]")
    axes.grid(True, axis="x", color=GRID, linewidth=0.7)
    figure.legend(fontsize=8, frameon=False, loc="outside upper right", ncols=len(LOOKS))
    without_frame(axes)
    return as_bytes(figure)


def _within(percent: float) -> float:
    return max(-MOST, min(MOST, percent))
