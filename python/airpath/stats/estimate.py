"""Means of independent values with Student-t intervals, and functions of paired estimates."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

CONFIDENCE = 0.95
"""Default confidence level of an interval."""


@dataclass(frozen=True, repr=False)
class Estimate:
    """Mean of a metric over independent runs, with its Student-t interval.

    Attributes
    ----------
    mean, sd : float
        Sample mean and standard deviation, in the unit of the metric; `sd` is NaN after one run.
    n : int
        Number of runs.
    ci_low, ci_high : float
        Interval for the expected value; NaN after one run.
    values : tuple of float, length n
        The metric of every run, in the order of the seeds.
    confidence : float
        Confidence level of the interval, 0 to 1.
    is_precise : bool or None
        Whether the interval is as narrow as asked for; None if no width was given.
    is_exact : bool
        Whether it is not random: computed, or from a deterministic scenario.
    """

    mean: float
    sd: float
    n: int
    ci_low: float
    ci_high: float
    values: tuple[float, ...]
    confidence: float = CONFIDENCE
    is_precise: bool | None = None
    is_exact: bool = False

    @property
    def half_width(self) -> float:
        """Half the width of the interval; NaN after one run."""
        return (self.ci_high - self.ci_low) / 2

    def half_width_at(self, confidence: float) -> float:
        """Half the width of the interval at another confidence level, 0 to 1; NaN after one run."""
        return t_quantile(self.n, confidence) * self.sd / math.sqrt(self.n)

    def prediction_interval(self, m: int = 1) -> tuple[float, float]:
        """Interval for the mean of `m` further runs, with the probability `confidence`.

        Raises
        ------
        ValueError
            If `m` is not positive.
        """
        if m < 1:
            raise ValueError(f"a prediction needs at least one further run, not {m}")
        half = t_quantile(self.n, self.confidence) * self.sd * math.sqrt(1 / self.n + 1 / m)
        return self.mean - half, self.mean + half

    def __repr__(self) -> str:
        return f"Estimate(mean={self.mean:g}, ci_low={self.ci_low:g}, ci_high={self.ci_high:g}, n={self.n})"

    def _repr_html_(self) -> str:
        return _shown("Estimate", {"": self})


class Estimates(dict[str, Estimate]):
    """Estimates of several metrics of the same runs, by name; a notebook shows them as a table."""

    def _repr_html_(self) -> str:
        return _shown("Estimates", self)


def _shown(title: str, estimates: Mapping[str, Estimate]) -> str:
    """Show estimates as HTML, a row for each."""
    from airpath.notebook import interval, number, table

    confidence = next(iter(estimates.values())).confidence
    rows = [
        (name, number(known.mean), interval(known.ci_low, known.ci_high), number(known.sd), str(known.n))
        for name, known in estimates.items()
    ]
    headings = ("", "mean", f"{100 * confidence:g} % interval", "standard deviation", "runs")
    imprecise = any(known.is_precise is False for known in estimates.values())
    note = "less precise than was asked for" if imprecise else ""
    return table(title, headings, rows, note)


def estimate(values: Iterable[float], confidence: float = CONFIDENCE) -> Estimate:
    """Estimate the mean of independent `values`.

    Raises
    ------
    ValueError
        If there are no values, one is not finite, or `confidence` is not between 0 and 1.
    """
    check_confidence(confidence)
    known = tuple(float(value) for value in values)
    if not known:
        raise ValueError("no values to average")
    if not all(math.isfinite(value) for value in known):
        raise ValueError("a metric must be finite in every run")
    n = len(known)
    if min(known) == max(known):  # Summing equal numbers must not leave a rounding error.
        mean, sd = known[0], 0.0 if n > 1 else math.nan
    else:
        mean, sd = statistics.fmean(known), statistics.stdev(known)
    half = t_quantile(n, confidence) * sd / math.sqrt(n)
    return Estimate(mean, sd, n, mean - half, mean + half, known, confidence)


def exact(value: float) -> Estimate:
    """Make the estimate of a value known without runs."""
    return replace(estimate([value]), is_exact=True)


def by_seed(compute: Callable[..., float], *estimates: Estimate, confidence: float = CONFIDENCE) -> Estimate:
    """Estimate a function of several scenarios' metrics, run by run with the same seed."""
    # Only the seeds that all scenarios have count. A deterministic scenario has the same value with every
    # seed.
    by_chance = [known for known in estimates if not known.is_exact] or estimates
    seeds = min(len(known.values) for known in by_chance)
    values = (known.values[:1] * seeds if known.is_exact else known.values for known in estimates)
    runs = zip(*values, strict=False)
    known = estimate([compute(*run) for run in runs], confidence)
    return replace(known, is_exact=all(known.is_exact for known in estimates))


def t_quantile(n: int, confidence: float = CONFIDENCE) -> float:
    """Student's t of the two-sided interval of `n` values; NaN for one value."""
    from scipy.special import stdtrit  # Imported here: it loads slowly, and single runs do not need it.

    return float(stdtrit(n - 1, (1 + confidence) / 2)) if n > 1 else math.nan


def check_confidence(confidence: float) -> None:
    """Raise a `ValueError` if no interval can have this confidence level."""
    if not 0 < confidence < 1:
        raise ValueError(f"confidence is {confidence}, and must lie between 0 and 1, such as 0.95")
