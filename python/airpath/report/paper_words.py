"""Words for verdicts, grids and averages of a reproduction."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from airpath.experiments.papers.base.grid import GridRow
from airpath.experiments.papers.base.paper import Experiment, Paper
from airpath.experiments.papers.base.published import Published
from airpath.experiments.papers.base.quantity import Quantity
from airpath.experiments.papers.base.verdict import CLAIM_VERDICTS, ClaimVerdict, Verdict
from airpath.experiments.papers.base.wording import VERDICT_WORDS, interval_text, mean_text, number
from airpath.experiments.papers.outcome import Comparison, Section

CLAIM_WORDS: dict[ClaimVerdict, str] = {
    "holds": "holds",
    "does_not_hold": "does not hold",
    "not_checkable": "not checkable",
    "calibrated": "calibrated",
}

_SIGNS = {"claim_upper": "≤ ", "claim_lower": "≥ ", "claim_approx": "≈ "}


def published_text(value: Published) -> str:
    """Write a published value: its direction, its interval, and what it should have been if a misprint."""
    text = f"{_SIGNS.get(value.kind, '')}{value.value:g}"
    if value.half_width is not None:
        text += f" ± {value.half_width:g}"
    return text if value.corrected is None else f"{text} (misprint of {value.corrected:g})"


def verdict_words(verdict: Verdict, number: int) -> str:
    """Write a verdict behind the number of values that have it: 1 holds, 2 hold."""
    return "hold" if verdict == "holds" and number != 1 else VERDICT_WORDS[verdict]


def grid_texts(section: Section, row: GridRow) -> list[str]:
    """Write a line of a grid: what the paper prints, if anything, and what was measured."""
    marks = row.marks or ("",) * len(row.entries)
    pairs = zip(row.entries, marks, strict=True)
    return [f"{mark} {_entry_text(section, entry)}".strip() for entry, mark in pairs]


def _entry_text(section: Section, entry: Quantity | None) -> str:
    if entry is None:
        return "-"
    measured = section.grid.get(entry)
    return "not finished" if measured is None else mean_text(measured, entry.unit)


def other_text(comparison: Comparison, reading: str) -> str:
    """Write what another reading gives."""
    estimate, value = comparison.others.get(reading), comparison.published
    return "not finished" if estimate is None else mean_text(estimate, value.unit, value.quantity)


def heading(experiment: Experiment) -> str:
    """Write the title of an experiment with its number."""
    return experiment.title if experiment.number is None else f"{experiment.place}. {experiment.title}"


def averaged_columns(runs: int, confidence: float | None = None) -> tuple[str, ...]:
    """Head the columns about what the paper averaged; none if it did not."""
    if runs == 1:
        return ()
    spread = "sd" if confidence is None else f"{100 * confidence:g} %"
    return (f"first {runs} runs ± {spread}", f"a mean of {runs} falls in")


def averaged_texts(runs: int, comparison: Comparison, confidence: float | None = None) -> tuple[str, ...]:
    """Write mean and spread of as many runs as the paper averaged, and where such a mean falls.

    Parameters
    ----------
    runs : int
        How many runs the paper averaged in this experiment; nothing is written for 1.
    comparison : Comparison
        The value and its measurement.
    confidence : float or None
        The spread is half the width of the interval at this level; if None the standard deviation of a run.
    """
    if runs == 1:
        return ()
    like, falls_in, value = comparison.like_the_paper, comparison.prediction, comparison.published
    if like is None or like.n == 1 or falls_in is None:
        return ("", "")
    fewer = f" ({like.n} runs)" if like.n < runs else ""
    spread = like.sd if confidence is None else like.half_width_at(confidence)
    return (
        f"{number(like.mean)} ± {number(spread)}{fewer}",
        interval_text(falls_in, value.unit, value.quantity),
    )


def claims_text(verdicts: Iterable[ClaimVerdict]) -> str:
    """Count verdicts on claims."""
    counts, words = Counter(verdicts), ("hold", "do not hold", "cannot be checked", "calibrated")
    known = zip(CLAIM_VERDICTS, words, strict=True)
    return ", ".join(f"{counts[name]} {said}" for name, said in known if counts[name])


def not_covered_text(paper: Paper) -> str:
    """Say how much of the paper no experiment covers yet."""
    missing = paper.not_covered()
    return f"{missing} further values of this paper are not covered yet." if missing else ""
