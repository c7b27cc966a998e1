"""Means of independent values with confidence intervals, and functions of paired estimates.

The interval is Student's, widened for skewed values: a few large values among many make the mean and the
standard deviation of a sample vary together, and Student's interval ends too early on their side (Johnson
1978). Willink's (2005) quantiles of the t statistic allow for the third moment. They also end earlier on the
other side, which is right only where the sample shows how skewed the values are, so each end is the farther
one of both. docs/statistics.md has the measured coverage.
"""

from __future__ import annotations

import functools
import math
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

CONFIDENCE = 0.95
"""Default confidence level of an interval."""

RARE_RUNS = 5
"""Fewest runs that must differ from most others before an interval counts as trustworthy.

If k of n values are far off on one side, the squared skewness is about n / k.
"""

NEARLY_SYMMETRIC = 1e-8
"""Below this skewness, the correction for it is no more than rounding."""


LOPSIDED = 0.2
"""Share of the half-width by which the sides of an interval may differ that is written as mean ± half-width.

The ends written so are wrong by up to half of this share, 10 %; rounding the half-width to two digits makes
them wrong by up to 5 %.
"""


@dataclass(frozen=True, repr=False)
class Estimate:
    """Mean of a metric over independent runs, with its confidence interval.

    Attributes
    ----------
    mean, sd : float
        Sample mean and standard deviation, in the unit of the metric; `sd` is NaN after one run.
    n : int
        Number of runs.
    ci_low, ci_high : float
        Interval for the expected value; NaN after one run. Not symmetric about the mean if the values are
        skewed.
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
        """Half the width of Student's interval, which papers print, at this confidence level, 0 to 1.

        NaN after one run.
        """
        return t_quantile(self.n, confidence) * self.sd / math.sqrt(self.n)

    @property
    def remark(self) -> str:
        """Why the interval may be too narrow, whatever its width; empty if nothing says so."""
        if self.is_exact or self.n == 1:
            return ""
        if self.sd == 0:
            share = 100 * unseen_share(self.n, self.confidence)
            return f"equal in all {self.n} runs: up to {share:.2g} % of all runs may have other values"
        skewness = sample_skewness(self.values)
        if self.n >= RARE_RUNS * skewness**2:
            return ""
        return (
            f"few of {self.n} runs make most of the spread (skewness {skewness:.1f}): make "
            f"{math.ceil(RARE_RUNS * skewness**2)} runs or more"
        )

    def prediction_interval(self, m: int = 1) -> tuple[float, float]:
        """Interval for the mean of `m` further runs, with the probability `confidence`.

        Student's, but no narrower than the interval of the expected value.

        Raises
        ------
        ValueError
            If `m` is not positive.
        """
        if m < 1:
            raise ValueError(f"a prediction needs at least one further run, not {m}")
        half = t_quantile(self.n, self.confidence) * self.sd * math.sqrt(1 / self.n + 1 / m)
        return min(self.mean - half, self.ci_low), max(self.mean + half, self.ci_high)

    def __repr__(self) -> str:
        return f"Estimate(mean={self.mean:g}, ci_low={self.ci_low:g}, ci_high={self.ci_high:g}, n={self.n})"

    def _repr_html_(self) -> str:
        return _shown("Estimate", {"": self})


def is_lopsided(known: Estimate) -> bool:
    """Whether mean ± half-width misrepresents the interval, so both of its ends must be written.

    It does if the sides differ by more than `LOPSIDED`, or if only one of both contains 0.
    """
    half = known.half_width
    if known.n < 2 or not math.isfinite(half):
        return False
    below, above = known.mean - known.ci_low, known.ci_high - known.mean
    holds_zero = known.ci_low <= 0 <= known.ci_high
    return abs(above - below) > LOPSIDED * half or holds_zero != (abs(known.mean) <= half)


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
    notes = ["less precise than requested"] if imprecise else []
    remarks = {name: known.remark for name, known in estimates.items() if known.remark}
    notes += [f"{name}: {remark}" if name else remark for name, remark in remarks.items()]
    note = "; ".join(notes)
    return table(title, headings, rows, note)


def estimate(values: Iterable[float], confidence: float = CONFIDENCE) -> Estimate:
    """Estimate the mean of independent `values`.

    Raises
    ------
    ValueError
        If there are no values, one is not finite, or `confidence` is not between 0 and 1.
    """
    check_confidence(confidence)
    known = tuple(map(float, values))
    if not known:
        raise ValueError("no values to average")
    if not all(map(math.isfinite, known)):
        raise ValueError("a metric must be finite in every run")
    n = len(known)
    mean, sd, skewness = _moments(known)
    low, high = interval(mean, sd / math.sqrt(n), skewness, n, confidence)
    return Estimate(mean, sd, n, low, high, known, confidence)


def interval(mean: float, error: float, skewness: float, n: int, confidence: float) -> tuple[float, float]:
    """Confidence interval of a mean of `n` independent values: the union of Student's and Willink's.

    `error` is the standard error of the mean, `skewness` that of the values. NaN if `n` is 1.
    """
    t, of_t = t_quantile(n, confidence), skewness / (6 * math.sqrt(n))
    low, high = mean - error * _skewed(t, of_t), mean - error * _skewed(-t, of_t)
    return min(low, mean - error * t), max(high, mean + error * t)


def _skewed(t: float, skewness: float) -> float:
    """A quantile of the t statistic of skewed values, from one of Student's; Willink 2005, G."""
    if abs(skewness) < NEARLY_SYMMETRIC:
        return t
    return (math.cbrt(1 + 6 * skewness * (t - skewness)) - 1) / (2 * skewness)


def sample_skewness(values: Sequence[float]) -> float:
    """Skewness of a sample, from unbiased moments; 0 of fewer than three values or of equal ones."""
    return _moments(tuple(values))[2] if len(values) > 2 else 0.0


@functools.lru_cache(maxsize=4)
def _moments(values: tuple[float, ...]) -> tuple[float, float, float]:
    """Mean, standard deviation and skewness; a sample is asked for them several times.

    `statistics.stdev` would compute in fractions, which takes several times as long as all of this.
    """
    n = len(values)
    if min(values) == max(values):  # Summing equal numbers must not leave a rounding error.
        return values[0], 0.0 if n > 1 else math.nan, 0.0
    mean = statistics.fmean(values)
    off = [value - mean for value in values]
    spread = math.sqrt(math.fsum([one * one for one in off]) / (n - 1))
    if n < 3 or not spread > 0:
        return mean, spread, 0.0
    cubes = math.fsum([one * one * one for one in off])
    return mean, spread, n / ((n - 1) * (n - 2)) * cubes / spread**3


def unseen_share(n: int, confidence: float = CONFIDENCE) -> float:
    """The largest share of all runs that `n` runs may all have missed, with this confidence.

    The upper limit of a proportion without any observed event: Clopper and Pearson 1934.
    """
    return 1 - math.pow(1 - confidence, 1 / n)


def with_unseen(known: Estimate) -> Estimate:
    """Widen the interval of a count that was equal in all runs by the share of others that may exist.

    A count differs by one at least, which makes the limit of a proportion one of the mean.
    """
    if known.n == 1 or known.sd != 0 or not known.mean.is_integer():
        return known
    unseen = unseen_share(known.n, known.confidence)
    low = known.mean - unseen
    return replace(known, ci_low=max(low, 0.0) if known.mean >= 0 else low, ci_high=known.mean + unseen)


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
    return student_t(n - 1, confidence) if n > 1 else math.nan


@functools.lru_cache(maxsize=1024)
def student_t(freedom: float, confidence: float) -> float:
    """Student's t of a two-sided interval, for one degree of freedom or more.

    If t has this distribution, atan(t / sqrt(freedom)) has a density in proportion to
    cos(x) ** (freedom - 1): integrated by Gauss's rule, inverted by Newton's method. Beyond 10,000 degrees by
    the expansion around the normal distribution (Abramowitz, Stegun, "Handbook of Mathematical Functions",
    26.7.5). The relative error is below 1e-8 up to a confidence of 99 %.
    """
    normal = statistics.NormalDist().inv_cdf((1 + confidence) / 2)
    if freedom > 10_000:
        first, second = normal**3 + normal, 5 * normal**5 + 16 * normal**3 + 3 * normal
        return normal + first / (4 * freedom) + second / (96 * freedom**2)
    from numpy import cos  # Imported here: single runs do not need it.
    from numpy.polynomial.legendre import leggauss

    nodes, weights = leggauss(64)
    power = freedom - 1
    of_one = math.exp(math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2)) / math.sqrt(math.pi)
    angle = math.atan(normal / math.sqrt(freedom))
    # From below: the density falls, so no step goes beyond the quantile.
    for _ in range(20):
        inside = of_one * angle * float(weights @ cos(angle * (nodes + 1) / 2) ** power)
        angle += (confidence - inside) / (2 * of_one * math.cos(angle) ** power)
    return math.sqrt(freedom) * math.tan(angle)


def welch(a: Estimate, b: Estimate) -> tuple[float, float]:
    """Interval of a - b, means of independent runs, by Welch's approximation; NaN if either is one run."""
    if a.n < 2 or b.n < 2:
        return math.nan, math.nan
    parts = [one.sd**2 / one.n for one in (a, b)]
    spread = sum(part**2 / (one.n - 1) for part, one in zip(parts, (a, b), strict=True))
    half = student_t(sum(parts) ** 2 / spread, a.confidence) * math.sqrt(sum(parts)) if spread else 0.0
    return a.mean - b.mean - half, a.mean - b.mean + half


def check_confidence(confidence: float) -> None:
    """Raise a `ValueError` if no interval can have this confidence level."""
    if not 0 < confidence < 1:
        raise ValueError(f"confidence is {confidence}, and must lie between 0 and 1, such as 0.95")
