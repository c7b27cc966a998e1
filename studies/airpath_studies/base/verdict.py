"""How a measured value is judged against a published one. All tolerances are fixed here.

====================  =============================================================================
``reproduced``        the measured mean is within 5 % of the published value (percentages: or
                      2 points, below 10 % a fifth of the value), or the published value lies in
                      the 95 % prediction interval of what the paper averaged, and this interval is
                      no wider than 15 % from end to end (percentages: or what ``close`` allows)
``holds``             a claimed limit, and the measured mean is on its right side; or a range, and
                      all that was measured for it lies within
``consistent``        the published value lies in that prediction interval, but only because runs
                      scatter: the interval is wider
``close``             within 15 % (percentages: or 5 points, below 10 % half of the value)
``not_reproduced``    anything else; needs a reason that names the experiment that shows it
``more_runs_needed``  too few runs to tell, see below
``calibrated``        the value helped to choose what the paper leaves open, and tests nothing
``calibrated_not_met``  the same, but what was chosen does not give the value: by these rules it
                      would be ``close`` or ``not_reproduced``
``derived``           the value follows from others by a rule that is stated, and tests nothing
``restated`` repeats another value, or is the upper end of a range: it is
                      judged there, and counted once
``background``        a live measurement, a definition or a recommendation: nothing to simulate
====================  =============================================================================

Differences and widths are relative to the published value. A misprint is judged by its corrected value.
A limit that does not hold is judged like a value. What is claimed to be "up to" a value is a value, and no
limit. A range is judged whole, by the worse of its ends.

There are too few runs to tell

* after one run, which has no interval,
* where the 95 % interval of our mean reaches further to either side than the tolerance of ``reproduced``, and
  its two ends would be judged differently; where they would not, the interval may be as wide as it is,
* where the verdict rests on how runs scatter (the prediction interval, or a metric that was the same in all
  runs of a random scenario), and there are fewer than 20.

``--quick`` follows the same rules.
"""

from __future__ import annotations

from typing import Literal, get_args

from airpath.stats.estimate import Estimate

Verdict = Literal[
    "reproduced",
    "holds",
    "consistent",
    "close",
    "not_reproduced",
    "more_runs_needed",
    "calibrated",
    "calibrated_not_met",
    "derived",
    "restated",
    "background",
]

VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
"""All verdicts: the best first, then verdicts without a judgement of the value."""

MEASURED_VERDICTS = VERDICTS[:-1]
"""Verdicts that need a measurement."""

MET: tuple[Verdict, ...] = ("reproduced", "holds")
"""Verdicts of a reproduced value."""

MISSED: tuple[Verdict, ...] = ("not_reproduced", "more_runs_needed", "close", "consistent")
"""Verdicts of a value that was not, or not certainly, reproduced: the worst first."""

COUNTED: tuple[Verdict, ...] = (*MET, "consistent", "close", "not_reproduced", "more_runs_needed")
"""Verdicts of a value that tests something."""

ClaimVerdict = Literal["holds", "does_not_hold", "not_checkable", "calibrated", "derived"]

CLAIM_VERDICTS: tuple[ClaimVerdict, ...] = get_args(ClaimVerdict)
"""All verdicts on claims, the best first."""

REPRODUCED_RELATIVE = 0.05
REPRODUCED_POINTS = 2.0
CLOSE_RELATIVE = 0.15
CLOSE_POINTS = 5.0

SMALL_PERCENT = 10.0
"""Below it the points that a percentage may be off shrink with the value."""

VALUES = ("simulated", "model", "claim_approx", "claim_up_to")
"""Kinds of value that are compared both ways."""

MEASURABLE = ("simulated", "model")
"""Kinds of value that a simulation can always be set against."""

SCATTER_RUNS = 20
"""Runs after which their standard deviation is known well enough to predict a further one."""

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
        ``simulated``, ``model``, ``claim_approx``, ``claim_up_to``, ``claim_upper``,
        ``claim_lower``, ``qualitative_range`` or ``background``.
    published, corrected : float, float or None
        The printed value, and what it should have been if it is a misprint.
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
    above = estimate.mean - target
    if kind == "claim_upper" or (kind == "qualitative_range" and bound == "high"):
        excess, is_limit = above, True
    elif kind == "claim_lower" or (kind == "qualitative_range" and bound == "low"):
        excess, is_limit = -above, True
    elif kind in VALUES:
        excess, is_limit = abs(above), False
    elif kind == "qualitative_range":
        raise ValueError(f"a range needs the bound it is, low or high, not {bound}")
    else:
        raise ValueError(f"unknown kind of value: {kind}")
    # Distances from the published value; `scatter` is half the width of the prediction interval.
    low, high = (0.0, 0.0) if estimate.is_exact else estimate.prediction_interval(averaged_runs)
    scatter, knows_scatter = (high - low) / 2, estimate.is_exact or estimate.n >= SCATTER_RUNS
    reproduced = reproduced_limit(target, unit)
    close = _tolerance(target, unit, CLOSE_RELATIVE, CLOSE_POINTS)

    def level(excess: float) -> Verdict:
        if is_limit and excess <= 0:
            return "holds"
        if excess <= reproduced:
            return "reproduced"
        if excess <= scatter:
            known: Verdict = "reproduced" if 2 * scatter <= close else "consistent"
            return known if knows_scatter else "more_runs_needed"
        return "close" if excess <= close else "not_reproduced"

    if estimate.is_exact:
        return level(excess)
    if estimate.n == 1 or (estimate.sd == 0 and not knows_scatter):
        return "more_runs_needed"
    half = estimate.half_width
    is_open = level(excess - half) != level(excess + half)
    return "more_runs_needed" if is_open and half > reproduced else level(excess)


def worse(one: Verdict, other: Verdict) -> Verdict:
    """Pick the worse of the verdicts on the two ends of a range."""
    order: tuple[Verdict, ...] = (*MISSED, "reproduced", "holds")
    return min(one, other, key=order.index)


def calibrated(judged: Verdict) -> Verdict:
    """Give the verdict on a calibrated value, from the verdict that it would have otherwise."""
    return "calibrated_not_met" if judged in ("close", "not_reproduced") else "calibrated"


def reproduced_limit(target: float, unit: str) -> float:
    """Say how far from a value ``reproduced`` reaches without a look at how runs scatter, in its unit."""
    return _tolerance(target, unit, REPRODUCED_RELATIVE, REPRODUCED_POINTS)


def _tolerance(target: float, unit: str, relative: float, points: float) -> float:
    tolerance = relative * abs(target)
    if unit == "percent":
        tolerance = max(tolerance, points * min(1.0, abs(target) / SMALL_PERCENT))
    return tolerance * (1 + _ROUNDING)
