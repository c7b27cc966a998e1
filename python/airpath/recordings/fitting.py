"""Fits the process `channel.process` to a recording of opportunities.

The method, of one direction:

1. Silences of more than 300 ms are outages; outages less than 3 s apart form an episode, which is kept whole.
2. The rest is divided into bins of 100 ms. Their counts give the distribution and the autocorrelation. A sum
   of exponentials with weights of at least 0 is fitted to the autocorrelation that normal scores must have
   for counts of this distribution to have theirs.
3. Episodes are counted by how good the second before them was.
4. Bursts and silences within bins are taken by the level of the bin, and how evenly they are spread.

Two directions that were recorded at once also tell what they have in common.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.polynomial.hermite_e import hermegauss, hermevander
from numpy.typing import NDArray

from airpath.recordings.statistics import autocovariance

Numbers = NDArray[np.float64]
Counts = NDArray[np.int32]

BIN_MS = 100
OUTAGE_MS = 300
"""Longer silences are outages."""
EPISODE_MS = 3000
"""Outages with less between them belong to one episode."""
TIME_CONSTANTS_S = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0)
LAGS = 60
LONGEST_LAG_S = 600
CLASSES = (0.1, 0.3, 0.6)
"""Bounds of the four classes of seconds, as shares of the time."""
SECOND = 10
"""Bins of a second."""
LEVELS = 10
COUNT_GROUPS = 200
TEXTURE_GROUPS = 16
FEWEST_BURSTS = 4
"""Bins with fewer do not tell how evenly their bursts are spread."""
DEGREES = np.arange(1, 25)
NODES = 100
NEAR_MS = 1000
"""Episodes of both directions that are no further apart count as one."""
SHIFTS = 19
LEAST_WEIGHT = 5e-4
"""A component with less is left out of a model of one direction."""
MOST_EPISODES = 48
FEWEST_BINS = 100
"""Ten seconds without outages: with fewer there is no distribution."""
NORMAL = NormalDist()


@dataclass(frozen=True)
class Episode:
    """An episode of outages: first millisecond, end (exclusive), pieces of (milliseconds, opportunities)."""

    start_ms: int
    end_ms: int
    pieces: list[tuple[int, int]]


def episodes_of(counts: Counts) -> list[Episode]:
    """Find the episodes of a recording.

    A piece without opportunities is a silence; a piece with some begins and ends with one.
    """
    busy = np.flatnonzero(counts)
    gaps = np.diff(busy)
    total = np.concatenate(([0], np.cumsum(counts)))
    found: list[Episode] = []
    for index in np.flatnonzero(gaps > OUTAGE_MS).tolist():
        start, end = int(busy[index]) + 1, int(busy[index + 1])
        silence = (end - start, 0)
        if found and start - found[-1].end_ms < EPISODE_MS:
            before = found.pop()
            between = (start - before.end_ms, int(total[start] - total[before.end_ms]))
            found.append(Episode(before.start_ms, end, [*before.pieces, between, silence]))
        else:
            found.append(Episode(start, end, [silence]))
    return found


@dataclass(frozen=True)
class Direction:
    """One direction, taken apart.

    Parameters
    ----------
    counts : ndarray of float, shape (bins,)
        Opportunities in each bin of 100 ms outside episodes.
    patterns : ndarray of int32, shape (bins, 100)
        The same by millisecond.
    scores : ndarray of float, shape (bins,)
        Normal scores of the counts.
    starts_ms : ndarray of int, shape (bins,)
        Millisecond of the recording at which a bin begins.
    episodes : list of Episode
    """

    counts: Numbers
    patterns: Counts
    scores: Numbers
    starts_ms: NDArray[np.int64]
    episodes: list[Episode]


def take_apart(counts: Counts, seed: int = 0) -> Direction:
    """Divide a recording into episodes and bins; ties of the counts are broken at random, by the seed.

    Raises
    ------
    ValueError
        If fewer than ten seconds are outside outages.
    """
    episodes = episodes_of(counts)
    keep = np.ones(len(counts), dtype=bool)
    for one in episodes:
        keep[one.start_ms : one.end_ms] = False
    kept = counts[keep]
    number = len(kept) // BIN_MS
    if number < FEWEST_BINS:
        raise ValueError(f"only {len(kept) / 1000:.1f} s are outside outages of more than {OUTAGE_MS} ms")
    patterns = kept[: number * BIN_MS].reshape(number, BIN_MS)
    sums = patterns.sum(axis=1).astype(np.float64)
    broken = sums + np.random.default_rng(seed).random(number) * 0.9
    ranks = np.empty(number)
    ranks[np.argsort(broken)] = (np.arange(number) + 0.5) / number
    starts = np.flatnonzero(keep)[: number * BIN_MS : BIN_MS]
    return Direction(sums, patterns, np.array([NORMAL.inv_cdf(rank) for rank in ranks]), starts, episodes)


def fit_process(counts: Counts, other: Counts | None = None, origin: str = "") -> dict[str, Any]:
    """Fit a model of `channel.process` to opportunities by millisecond.

    Parameters
    ----------
    counts : ndarray of int32
        The direction to be modelled.
    other : ndarray of int32, optional
        The other direction, recorded at the same time: then the model also says what both have in common.
    origin : str
        Where the recording is from.

    Returns
    -------
    dict
        The table `model` of `channel.process`.

    Raises
    ------
    ValueError
        If the recording is too short.
    """
    own = take_apart(counts)
    weights = fit_weights(own.counts)
    # Directions share the components that have the same place in their lists.
    chosen = np.full(len(weights), True) if other is not None else weights > LEAST_WEIGHT
    model: dict[str, Any] = {
        "origin": origin,
        "counts": rounded(group_means(own.counts, COUNT_GROUPS)),
        "time_constants_s": [
            tau for tau, is_chosen in zip(TIME_CONSTANTS_S, chosen, strict=True) if is_chosen
        ],
        "weights": [round(float(weight), 4) for weight in weights[chosen]],
        "texture": texture_of(own),
    }
    if own.episodes:
        model["outages"] = {"per_s": hazards(own), "episodes": sample_episodes(own.episodes)}
    if other is not None and len(other) >= len(counts) // 2:
        beside = take_apart(other)
        shared, both = fit_shared(own, beside, weights)
        model["shared"] = [round(float(share), 3) for share in shared[chosen]]
        if own.episodes:
            model["outages"]["shared"] = round(both, 3)
    return model


def group_means(values: Numbers, groups: int) -> Numbers:
    """Means of equal shares of the sorted values."""
    ordered = np.sort(values)
    edges = np.linspace(0, len(ordered), min(groups, len(ordered)) + 1)
    # A value on an edge belongs to both groups by its parts, so the mean is kept.
    total = np.interp(edges, np.arange(len(ordered) + 1), np.concatenate(([0.0], np.cumsum(ordered))))
    means: Numbers = np.diff(total) / np.diff(edges)
    return np.maximum.accumulate(means)


def rounded(values: Numbers) -> list[float]:
    """Write numbers with as many digits as the model needs."""
    return [float(f"{value:.4g}") for value in values]


def fit_weights(counts: Numbers) -> Numbers:
    """Weights of the time constants, at least 0 and with a sum of at most 1, by least squares."""
    longest = min(len(counts) // 2, LONGEST_LAG_S * 1000 // BIN_MS)
    lags = np.unique(np.round(np.geomspace(1, max(longest, 2), LAGS)).astype(int))
    lags = lags[lags <= len(counts) // 2]
    if counts.std() == 0:
        return np.zeros(len(TIME_CONSTANTS_S))
    correlation = of_scores(counts, autocovariance(counts)[lags] / counts.var())
    powers = np.exp(-np.outer(lags * BIN_MS / 1e3, 1 / np.array(TIME_CONSTANTS_S)))
    weights: Numbers = nonnegative(powers, correlation)
    return weights / max(float(weights.sum()), 1.0)


def nonnegative(columns: Numbers, target: Numbers) -> Numbers:
    """Weights of at least 0 by least squares: the best of all sets of columns without a negative weight."""
    count = columns.shape[1]
    best, least = np.zeros(count), float(target @ target)
    for chosen in itertools.product((False, True), repeat=count):
        own = columns[:, chosen]
        weights = np.linalg.lstsq(own, target)[0]
        error = float(((own @ weights - target) ** 2).sum())
        if error < least and (weights >= 0).all():
            best, least = np.zeros(count), error
            best[list(chosen)] = weights
    return best


def of_scores(counts: Numbers, correlation: Numbers) -> Numbers:
    """Correlations of normal scores with which counts of this distribution have the given correlations.

    The correlation of a function of normal scores is a power series in theirs, whose coefficients are the
    squares of the function's Hermite coefficients. Source: M. C. Cario, B. L. Nelson, "Autoregressive to
    anything", Operations Research Letters 19, 1996. The correlation of the recording's own scores is lower
    where counts are small, since ties are broken at random.
    """
    nodes, mass = hermegauss(NODES)
    below = np.array([NORMAL.cdf(node) for node in nodes])
    values = np.interp(below * len(counts) - 0.5, np.arange(len(counts)), np.sort(counts))
    basis = hermevander(nodes, int(DEGREES[-1]))[:, 1:] / np.sqrt(np.cumprod(DEGREES, dtype=float))
    shares = (basis.T @ (mass / mass.sum() * values)) ** 2
    grid = np.linspace(-1, 1, 2001)
    # A function that ascends gives correlations that ascend; the end of the series may not.
    given = np.maximum.accumulate(grid[:, None] ** DEGREES @ (shares / shares.sum()))
    found: Numbers = np.interp(correlation, given, grid)
    return found


def hazards(own: Direction) -> list[float]:
    """Episodes per second by the class of the second before, from the worst."""
    time_s = np.diff([0.0, *CLASSES, 1.0]) * len(own.counts) * BIN_MS / 1e3
    begun = np.bincount(classes_at(own, [one.start_ms for one in own.episodes]), minlength=len(time_s))
    return [float(f"{rate:.4g}") for rate in begun / time_s]


def classes_at(own: Direction, times_ms: list[int]) -> NDArray[np.int64]:
    """Class of the second before each time, from 0, the worst."""
    means = np.convolve(own.scores, np.ones(SECOND) / SECOND, "valid")
    # Bins that ended before the time.
    last = np.searchsorted(own.starts_ms, times_ms) - 1
    mean = means[np.clip(last - SECOND, 0, len(means) - 1)]
    return np.searchsorted(np.quantile(means, CLASSES), mean)


def sample_episodes(episodes: list[Episode]) -> list[list[list[int]]]:
    """The episodes by length; of many, every so many-th, so that the distribution of lengths is kept."""
    ordered = sorted(episodes, key=lambda one: one.end_ms - one.start_ms)
    if len(ordered) > MOST_EPISODES:
        places = (np.arange(MOST_EPISODES) + 0.5) * len(ordered) / MOST_EPISODES
        ordered = [ordered[int(place)] for place in places]
    return [[list(piece) for piece in one.pieces] for one in ordered]


def texture_of(own: Direction) -> list[dict[str, Any]]:
    """Bursts and silences in bins, for equal shares of the bins from the worst to the best."""
    levels: list[dict[str, Any]] = []
    for chosen in np.array_split(np.argsort(own.scores), LEVELS):
        patterns = own.patterns[chosen]
        bins = [around(pattern) for pattern in patterns if pattern.any()] or [
            (np.ones(1), np.full(1, BIN_MS))
        ]
        bursts, silences = (np.concatenate(values).astype(np.float64) for values in zip(*bins, strict=True))
        levels.append(
            {
                "packets": rounded(group_means(bursts, TEXTURE_GROUPS)),
                "silences_ms": rounded(group_means(silences, TEXTURE_GROUPS)),
                "pairing": round(pairing_of(bins, bursts, silences), 2),
            }
        )
    return levels


def around(pattern: Counts) -> tuple[Numbers, Numbers]:
    """Bursts, and milliseconds from each to the next, around the circle that a bin forms."""
    busy = np.flatnonzero(pattern)
    return pattern[busy].astype(np.float64), np.diff(np.append(busy, busy[0] + BIN_MS)).astype(np.float64)


def pairing_of(
    bins: list[tuple[Numbers, Numbers]], bursts: Numbers, silences: Numbers, seed: int = 0
) -> float:
    """Find how evenly bursts are spread in bins: `pairing` of `channel.process`.

    The recorded unevenness lies between that of independent draws and that of draws in pairs. With
    probability p of a pair, the share 2 p / (1 + p) of the draws is in pairs.
    """
    enough = [one for one in bins if len(one[0]) >= FEWEST_BURSTS]
    if not enough:
        return 0.0
    random = np.random.default_rng(seed)
    pools = np.sort(bursts), np.sort(silences)
    sizes = np.array([len(packets) for packets, _ in enough])
    # Of each bin first the ranks of its bursts, then those of its silences, both in pairs.
    ranked = 2 * ((sizes + 1) // 2)
    places = np.arange(sizes.sum()) + np.repeat(np.cumsum(2 * ranked - sizes) - (2 * ranked - sizes), sizes)
    both = places, places + np.repeat(ranked, sizes)

    def drawn(sign: int) -> float:
        ranks = random.random((ranked.sum(), 2))
        if sign:
            ranks[:, 1] = ranks[:, 0] if sign > 0 else 1 - ranks[:, 0]
        packets, gaps = (
            pool[np.minimum((ranks.ravel()[own] * len(pool)).astype(int), len(pool) - 1)]
            for pool, own in zip(pools, both, strict=True)
        )
        return float(unevenness(packets, gaps, sizes).mean())

    packets, gaps = (np.concatenate(values) for values in zip(*enough, strict=True))
    recorded = unevenness(packets, gaps, sizes)
    off = float(recorded.mean()) - drawn(0)
    # Within two standard errors of independent draws there is no order.
    if abs(off) <= 2 * recorded.std() / math.sqrt(len(recorded)):
        return 0.0
    sign = -1 if off < 0 else 1
    part = min(1.0, off / ((drawn(sign) - float(recorded.mean()) + off) or off))
    return sign * max(part, 0.0) / (2 - part)


def unevenness(packets: Numbers, gaps: Numbers, sizes: Counts) -> Numbers:
    """Variance of the share of a bin's opportunities that half of the bin has, around the circle it forms.

    `sizes` are the numbers of bursts in each bin; the bursts of all bins follow each other.
    """
    starts = np.cumsum(sizes) - sizes
    bins = np.repeat(np.arange(len(sizes)), sizes)
    before = np.cumsum(gaps) - gaps
    place = (before - before[starts][bins]) / np.add.reduceat(gaps, starts)[bins]
    at = np.minimum(place * BIN_MS, BIN_MS - 1).astype(int)
    weights = packets / np.add.reduceat(packets, starts)[bins]
    shares = np.bincount(bins * BIN_MS + at, weights, len(sizes) * BIN_MS).reshape(-1, BIN_MS)
    total = np.cumsum(np.pad(np.tile(shares, 2), ((0, 0), (1, 0))), axis=1)
    halves = total[:, BIN_MS // 2 : BIN_MS // 2 + BIN_MS] - total[:, :BIN_MS]
    return np.asarray(halves.var(axis=1), dtype=np.float64)


def fit_shared(own: Direction, other: Direction, weights: Numbers) -> tuple[Numbers, float]:
    """What both directions have in common: a share of each component, and of the episodes.

    The cross-correlation of the scores, of both signs of the lag, is a sum of the components that both have.
    """
    ones, others = on_grid(own), on_grid(other)
    length = min(len(ones), len(others))
    ones, others = ones[:length], others[:length]
    lags = np.unique(np.round(np.geomspace(1, max(2, min(length // 4, 3000)), 40)).astype(int)) - 1
    cross = np.array([(product(ones, others, lag) + product(others, ones, lag)) / 2 for lag in lags])
    beside = fit_weights(other.counts)
    powers = np.exp(-np.outer(lags * BIN_MS / 1e3, 1 / np.array(TIME_CONSTANTS_S))) * np.sqrt(
        weights * beside
    )
    shares: Numbers = np.clip(nonnegative(powers, np.maximum(cross, 0)), 0, 1)
    return shares, shared_episodes(own, other, length * BIN_MS)


def on_grid(own: Direction) -> Numbers:
    """Scores by the time of the recording, NaN within episodes."""
    at = own.starts_ms // BIN_MS
    grid = np.full(int(at[-1]) + 1, np.nan)
    grid[at] = own.scores
    return grid


def product(one: Numbers, other: Numbers, lag: int) -> float:
    """Mean product with the other, `lag` bins later, where both are known."""
    products = one[: len(one) - lag] * other[lag:]
    known = products[~np.isnan(products)]
    return float(known.mean()) if len(known) else 0.0


def shared_episodes(own: Direction, other: Direction, end_ms: int) -> float:
    """Probability that an episode is common: the share that meets one of the other direction, beyond chance.

    Chance is what remains with the other direction shifted: its episodes keep their lengths.
    """
    mine = [(one.start_ms, one.end_ms) for one in own.episodes if one.end_ms <= end_ms]
    if not mine or not other.episodes:
        return 0.0
    busy = np.zeros(end_ms + 1, dtype=np.int64)
    for one in other.episodes:
        first, last = max(one.start_ms - NEAR_MS, 0), min(one.end_ms + NEAR_MS, end_ms)
        busy[min(first, end_ms) : last] = 1
    starts, ends = np.array(mine).T

    def meeting(shift_ms: int) -> float:
        total = np.concatenate(([0], np.cumsum(np.roll(busy, shift_ms))))
        return float((total[ends] > total[starts]).mean())

    near = meeting(0)
    chance = float(np.mean([meeting(end_ms * part // (SHIFTS + 1)) for part in range(1, SHIFTS + 1)]))
    # A common draw begins an episode of the other direction only if its second is bad too.
    own_rates, other_rates = (np.array(hazards(one)) for one in (own, other))
    own_class, other_class = (classes_at(one, starts.tolist()) for one in (own, other))
    possible = float(np.minimum(1, other_rates[other_class] / np.maximum(own_rates[own_class], 1e-9)).mean())
    return min(1.0, max(0.0, (near - chance) / max((1 - chance) * possible, 1e-9)))
