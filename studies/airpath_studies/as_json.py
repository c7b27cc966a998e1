"""A report as `--json` writes it: one object per published value, per entry of a grid, per claim."""

from __future__ import annotations

from typing import Any

from airpath.stats.estimate import Estimate
from airpath_studies.base.claims import ClaimResult
from airpath_studies.outcome import Comparison, PaperOutcome, Section


def outcome_as_json(outcome: PaperOutcome) -> list[dict[str, Any]]:
    """All values, grids and claims, in order."""
    level = outcome.paper.confidence
    values = [value_as_json(comparison, level) for comparison in outcome.comparisons]
    grids = [entry for section in outcome.sections for entry in grid_as_json(section)]
    return values + grids + [claim_as_json(result) for result in outcome.claims]


def value_as_json(comparison: Comparison, confidence: float | None = None) -> dict[str, Any]:
    """One published value with its measurement; `confidence` is the level of the paper's own intervals."""
    value, measured = comparison.published, comparison.measured
    like, prediction = comparison.like_the_paper, comparison.prediction
    return {
        "id": value.id,
        "place": value.place,
        "published": value.value,
        "corrected": value.corrected,
        "published_half_width": value.half_width,
        **_estimate(measured),
        "seed_1": comparison.first_run,
        "unit": value.unit,
        "verdict": comparison.verdict,
        "link_alone": _link_alone(comparison),
        "reason": comparison.reason,
        "averaged_runs": comparison.row.averaged_runs if comparison.row else None,
        "prediction_low": prediction[0] if prediction else None,
        "prediction_high": prediction[1] if prediction else None,
        "first_runs": _first_runs(like, confidence) if like else None,
        "readings": {
            name: {**_estimate(estimate), "verdict": verdict}
            for name, (estimate, verdict) in comparison.readings.items()
        },
    }


def grid_as_json(section: Section) -> list[dict[str, Any]]:
    """What stands in the grids of an experiment, line by line; nothing if it has none."""
    experiment = section.experiment
    return [
        {
            "place": experiment.place,
            **({"shows": grid.title} if grid.title else {}),
            "row": dict(zip(grid.heads or experiment.columns, row.labels, strict=True)),
            "column": column,
            "printed": mark if row.marks else None,
            **_with_first(section.grid.get(entry) if entry else None),
            "unit": grid.unit,
        }
        for grid in experiment.grids
        for row in grid.rows
        for column, entry, mark in zip(
            grid.columns, row.entries, row.marks or ("",) * len(grid.columns), strict=True
        )
    ]


def claim_as_json(result: ClaimResult) -> dict[str, Any]:
    """One claim with its verdict."""
    return {
        "id": result.claim.id,
        "place": result.claim.place,
        "claim": result.claim.text,
        "verdict": result.verdict,
        "reason": result.reason,
        "conditions": [{"holds": finding.holds, "figures": finding.figures} for finding in result.findings],
        "measured": [
            {"of": quantity.name, **_with_first(known), "unit": quantity.unit}
            for quantity, known in result.measured.items()
        ],
    }


def _link_alone(comparison: Comparison) -> dict[str, Any] | None:
    """The value of a link without TCP; None where it is not meaningful."""
    if comparison.link_alone is None:
        return None
    return dict(zip(("value", "verdict"), comparison.link_alone, strict=True))


def _first_runs(like: Estimate, confidence: float | None) -> dict[str, Any]:
    """As many runs as the paper averaged, with an interval like the paper's if it prints any."""
    known = {"runs": like.n, "mean": like.mean, "sd": like.sd if like.n > 1 else None}
    if confidence is None:
        return known
    half_width = like.half_width_at(confidence) if like.n > 1 else None
    return {**known, "half_width": half_width, "confidence": confidence}


def _with_first(measured: Estimate | None) -> dict[str, Any]:
    return {**_estimate(measured), "seed_1": measured.values[0] if measured else None}


def _estimate(measured: Estimate | None) -> dict[str, Any]:
    low, high = (None, None) if measured is None or measured.n == 1 else (measured.ci_low, measured.ci_high)
    return {
        "measured": None if measured is None else measured.mean,
        "ci_low": low,
        "ci_high": high,
        "sd": None if low is None or measured is None else measured.sd,
        "runs": 0 if measured is None else measured.n,
    }
