"""How a measured value is judged against a published one. All tolerances are fixed here.

==================  ===============================================================================
``reproduced``      the published value lies in the 95 % prediction interval of what the paper
                    averaged, or within 5 % of the measured mean; percentages also within 2 points
``close``           within 15 %; percentages also within 5 points
``not_reproduced``  anything else; needs a reason that names the experiment that shows it
``background``      a live measurement, a definition or a recommendation: nothing to simulate
==================  ===============================================================================

A relative difference is relative to the published value. A misprint is judged by its corrected value.
A claim of an upper or lower limit holds on the right side of the limit; on the wrong side, and for
either end of a range, it is judged like a value.
"""

from __future__ import annotations

from typing import Literal

from airpath.replicate import Estimate

Verdict = Literal["reproduced", "close", "not_reproduced", "background"]

VERDICTS: tuple[Verdict, ...] = ("reproduced", "close", "not_reproduced", "background")
"""All verdicts, the best first."""

MEASURED_VERDICTS = VERDICTS[:3]
"""Those that need a measurement."""

ClaimVerdict = Literal["holds", "does_not_hold", "not_checkable"]

CLAIM_VERDICTS: tuple[ClaimVerdict, ...] = ("holds", "does_not_hold", "not_checkable")
"""All verdicts on claims, the best first."""

REPRODUCED_RELATIVE = 0.05
REPRODUCED_POINTS = 2.0
CLOSE_RELATIVE = 0.15
CLOSE_POINTS = 5.0

VALUES = ("simulated", "model", "claim_approx")
"""Kinds of value that are compared both ways."""

MEASURABLE = ("simulated", "model")
"""Kinds of value that a simulation can always be set against."""

_ROUNDING = 1e-9
"""Slack for decimal fractions that binary numbers cannot hold, so that 105 is within 5 % of 100."""


def verdict(
    kind: str,
    published: float,
    corrected: float | None,
    estimate: Estimate | None,
    unit: str,
    averaged_runs: int = 1,
    bound: str | None = None,
) -> Verdict:
    """Judge one published value.

    Parameters
    ----------
    kind : str
        ``simulated``, ``model``, ``claim_approx``, ``claim_upper``, ``claim_lower``,
        ``qualitative_range`` or ``background``.
    published : float
        The printed value.
    corrected : float or None
        What it should have been, for a misprint.
    estimate : Estimate or None
        The measured value in the same unit; None for background.
    unit : str
        ``percent`` has tolerances in points too.
    averaged_runs : int
        How many runs the paper averaged; 1 where it does not say.
    bound : str, optional
        For a range, which end the value is: ``low`` or ``high``.

    Raises
    ------
    ValueError
        If a simulated or model value is called background, if background was measured, if a range
        has no end, or if the kind is unknown.
    """
    if kind == "background" or estimate is None:
        if kind in MEASURABLE:
            raise ValueError(f"a {kind} value must be measured; it cannot be background")
        if estimate is not None:
            raise ValueError("background is not measured")
        return "background"
    target = published if corrected is None else corrected
    if kind == "claim_upper" or (kind == "qualitative_range" and bound == "high"):
        holds = estimate.mean <= target
    elif kind == "claim_lower" or (kind == "qualitative_range" and bound == "low"):
        holds = estimate.mean >= target
    elif kind in VALUES:
        holds = False
    elif kind == "qualitative_range":
        raise ValueError(f"a range needs the bound it is, low or high, not {bound}")
    else:
        raise ValueError(f"unknown kind of value: {kind}")
    return "reproduced" if holds else _compare(target, estimate, unit, averaged_runs)


def _compare(target: float, estimate: Estimate, unit: str, averaged_runs: int) -> Verdict:
    low, high = estimate.prediction_interval(averaged_runs)  # NaN after one run: never inside.
    if low <= target <= high or _within(target, estimate, unit, REPRODUCED_RELATIVE, REPRODUCED_POINTS):
        return "reproduced"
    if _within(target, estimate, unit, CLOSE_RELATIVE, CLOSE_POINTS):
        return "close"
    return "not_reproduced"


def _within(target: float, estimate: Estimate, unit: str, relative: float, points: float) -> bool:
    tolerance = relative * abs(target)
    if unit == "percent":
        tolerance = max(tolerance, points)
    return abs(estimate.mean - target) <= tolerance * (1 + _ROUNDING)
