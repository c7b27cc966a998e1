"""The mean of one long series of correlated observations, with its interval.

A run's measurements by window begin with a transient and are correlated: the formula for independent runs
would give far too narrow intervals. MSER-5 (White 1997; White, Cobb and Spratt 2000) cuts off the transient
where the standard error of the rest is least, on means of five. Then come batch means: the batch size
doubles until neighbouring batches are uncorrelated, remaining correlation widens the interval as in a
first-order autoregressive process, and the interval is skewed like the batches (Willink 2005). Both
corrections are those of Skart (Tafazzoli, Steiger and Wilson 2011); the search for the batch size is simpler.
A series that still drifts at the end, or oscillates more slowly than the run is long, is flagged by a test
for a linear trend over the batches. docs/statistics.md has the measured coverage.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from airpath.stats.estimate import CONFIDENCE, check_confidence, interval

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

MSER_BATCH = 5
"""Observations that MSER-5 averages before its search."""

LEAST_KEPT, LEAST_SHARE_KEPT = 10, 0.1
"""Fewest means of five, and least share of them, that MSER-5 keeps.

The standard error of few means is sometimes tiny by chance and would be mistaken for the best truncation:
with five, 12 % of short series without a transient are refused, with ten 3 %.
"""

MOST_BATCHES = 1024
"""Most batches at the beginning."""

LEAST_BATCHES = 16
"""Fewest batches, and fewest independent batches that a run must be worth."""

CORRELATED = 0.5
"""Batches are too short while their correlation exceeds this many standard errors, 1/sqrt(batches)."""

ANTICORRELATED = 2.0
"""Like `CORRELATED`, for negative correlation, which only makes intervals too wide."""

DRIFTING = 2.3
"""A trend of this many standard errors is one: by chance, 2 % of series without any have it."""

STRONGEST = 0.95
"""Largest correlation that is corrected; the interval is flagged long before."""


class RunTooShortError(ValueError):
    """The run is too short for a mean in the steady state."""


@dataclass(frozen=True)
class SteadyEstimate:
    """Mean in the steady state, from one series.

    Attributes
    ----------
    mean : float
        Mean of the kept observations, in the unit of the series.
    ci_low, ci_high : float
        Interval for the expected value; not symmetric about the mean if the batches are skewed.
    confidence : float
        Confidence level of the interval, 0 to 1.
    observations, truncated : int
        Observations kept, and cut off before them.
    batches, batch_size : int
        Number of batches, and observations in each. Up to `batch_size` - 1 of the first are in none.
    correlation : float
        Correlation of neighbouring batches that was corrected; 0 if they passed for independent.
    remark : str
        Why the interval cannot be trusted; empty if it can.
    """

    mean: float
    ci_low: float
    ci_high: float
    confidence: float
    observations: int
    truncated: int
    batches: int
    batch_size: int
    correlation: float
    remark: str = ""

    @property
    def half_width(self) -> float:
        """Half the width of the interval."""
        return (self.ci_high - self.ci_low) / 2

    @property
    def independent_batches(self) -> float:
        """Number of independent batches that would give the same width."""
        return self.batches * (1 - self.correlation) / (1 + self.correlation)

    @property
    def is_long_enough(self) -> bool:
        """Whether the run was long enough for its interval to be trusted."""
        return not self.remark

    def _repr_html_(self) -> str:
        from airpath.notebook import interval, number, table

        headings = ("", "mean", f"{100 * self.confidence:g} % interval", "observations", "cut off", "batches")
        counts = (str(self.observations), str(self.truncated), str(self.batches))
        row = ("", number(self.mean), interval(self.ci_low, self.ci_high), *counts)
        return table("Steady state", headings, [row], self.remark)


def mser5(series: ArrayLike) -> int:
    """Find where the transient at the beginning of a series ends, by MSER-5.

    Parameters
    ----------
    series : array_like, shape (n,)
        Observations in the order of time, at least 100.

    Returns
    -------
    int
        How many observations to leave out: a multiple of five, at most n/2.

    Raises
    ------
    RunTooShortError
        If the best cut lies in the second half: the series has not settled.
    ValueError
        If there are too few observations or one is not finite.
    """
    values = _checked(series, 2 * LEAST_KEPT * MSER_BATCH)
    count = len(values) // MSER_BATCH
    means = values[: count * MSER_BATCH].reshape(count, MSER_BATCH).mean(axis=1)
    # The sums of squares below then lose no digits, and that of a constant tail is exactly 0.
    means = means - np.median(means)
    kept = np.arange(count, 0, -1)
    tail_sum, tail_squares = np.cumsum(means[::-1])[::-1], np.cumsum(means[::-1] ** 2)[::-1]
    statistic = np.maximum(tail_squares - tail_sum**2 / kept, 0.0) / kept**2
    least_kept = max(LEAST_KEPT, math.ceil(LEAST_SHARE_KEPT * count))
    cut = int(np.argmin(statistic[: count - least_kept + 1]))
    if 2 * cut > count:
        raise RunTooShortError(
            f"the run is too short: MSER-5 would cut {cut * MSER_BATCH} of {len(values)} observations, more "
            "than half, so the series has not settled; run longer"
        )
    return cut * MSER_BATCH


def batch_means(series: ArrayLike, confidence: float = CONFIDENCE) -> SteadyEstimate:
    """Estimate the mean of a correlated series without a transient.

    Parameters
    ----------
    series : array_like, shape (n,)
        Observations in the order of time, at least 16.
    confidence : float
        Confidence level of the interval, 0 to 1.

    Raises
    ------
    ValueError
        If there are too few observations, one is not finite, or the level is out of range.
    """
    check_confidence(confidence)
    values = _checked(series, LEAST_BATCHES)
    size = math.ceil(len(values) / MOST_BATCHES)
    means = _batches(values, size)
    while not _is_uncorrelated(means) and len(values) // (2 * size) >= LEAST_BATCHES:
        size *= 2
        means = _batches(values, size)
    correlation = _left_over(means)
    low, high = _interval(means, correlation, confidence)
    known = SteadyEstimate(
        mean=float(means.mean()),
        ci_low=low,
        ci_high=high,
        confidence=confidence,
        observations=len(values),
        truncated=0,
        batches=len(means),
        batch_size=size,
        correlation=correlation,
    )
    return replace(known, remark=_remark(known, means))


def steady_mean(series: ArrayLike, confidence: float = CONFIDENCE) -> SteadyEstimate:
    """Cut the transient off a series and estimate the mean of the rest.

    See :func:`mser5` and :func:`batch_means` for parameters and errors.
    """
    check_confidence(confidence)
    values = np.asarray(series, dtype=float)
    cut = mser5(values)
    return replace(batch_means(values[cut:], confidence), truncated=cut)


def _checked(series: Any, least: int) -> NDArray[np.float64]:
    values = np.asarray(series, dtype=float)
    if values.ndim != 1:
        raise ValueError(f"a series is one row of numbers, and this has the shape {values.shape}")
    if len(values) < least:
        raise ValueError(f"the series has {len(values)} observations, and must have {least} at least")
    if not np.isfinite(values).all():
        where = int(np.flatnonzero(~np.isfinite(values))[0])
        raise ValueError(f"observation {where} of the series is {values[where]}, and must be finite")
    return values


def _batches(values: NDArray[np.float64], size: int) -> NDArray[np.float64]:
    """Means of consecutive batches; the first observations that do not fill one are left out."""
    count = len(values) // size
    means: NDArray[np.float64] = values[len(values) - count * size :].reshape(count, size).mean(axis=1)
    return means


def _lag_1(means: NDArray[np.float64]) -> float:
    off = means - means.mean()
    squares = float(off @ off)
    return float(off[1:] @ off[:-1]) / squares if squares > 0 else 0.0


def _is_uncorrelated(means: NDArray[np.float64]) -> bool:
    return -ANTICORRELATED <= _lag_1(means) * math.sqrt(len(means)) <= CORRELATED


def _left_over(means: NDArray[np.float64]) -> float:
    """Correlation of neighbouring batches to correct for.

    The estimate is corrected for its bias, (1 + 3r)/k for an autoregressive process (Kendall 1954). Below
    zero, where it narrows the interval, it counts only if it is significant.
    """
    raw, count = _lag_1(means), len(means)
    unbiased = raw + (1 + 3 * raw) / count
    if -ANTICORRELATED / math.sqrt(count) < unbiased < 0:
        return 0.0
    return min(max(unbiased, -STRONGEST), STRONGEST)


def _interval(means: NDArray[np.float64], correlation: float, confidence: float) -> tuple[float, float]:
    count, mean = len(means), float(means.mean())
    off = means - mean
    variance = float(off @ off) / (count - 1)
    if variance == 0:
        return mean, mean
    scale = math.sqrt(variance / count * (1 + correlation) / (1 - correlation))
    third_moment = float(np.mean(off**3)) * count**2 / ((count - 1) * (count - 2))
    return interval(mean, scale, third_moment / variance**1.5, count, confidence)


def _trend(means: NDArray[np.float64], correlation: float) -> float:
    """Slope of a line through the batch means, in its standard errors; 0 if all means are equal."""
    count = len(means)
    places = np.arange(count) - (count - 1) / 2
    squares = float(places @ places)
    slope = float(places @ means) / squares
    off = means - means.mean() - slope * places
    variance = float(off @ off) / (count - 2) * (1 + correlation) / (1 - correlation)
    error = math.sqrt(variance / squares)
    return slope / error if error > 0 else math.copysign(math.inf, slope) if slope else 0.0


def _remark(known: SteadyEstimate, means: NDArray[np.float64]) -> str:
    if known.independent_batches >= LEAST_BATCHES:
        trend = _trend(means, known.correlation)
        if abs(trend) < DRIFTING:
            return ""
        direction = "rises" if trend > 0 else "falls"
        return (
            f"the series {direction} from beginning to end, by a trend of {abs(trend):.1f} standard errors: "
            "it has not settled, or oscillates more slowly than the run is long; run several times as long"
        )
    longer = math.ceil(LEAST_BATCHES / known.independent_batches)
    return (
        f"the run is too short: what was kept is worth {known.independent_batches:.1f} independent batches, "
        f"and {LEAST_BATCHES} are needed; the interval may be too narrow, run {longer} times as long or more"
    )
