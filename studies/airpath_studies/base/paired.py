"""What combines the estimates of several cells, seed by seed on common random numbers, or picks one."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence

from airpath.stats.estimate import Estimate, by_seed

Pick = Callable[[Sequence[Estimate]], Estimate]
"""Computes one estimate from the estimates of several cells."""


def first(estimates: Sequence[Estimate]) -> Estimate:
    """Pick the estimate of the first (usually the only) cell."""
    return estimates[0]


def highest(estimates: Sequence[Estimate]) -> Estimate:
    """Pick the estimate of the cell with the highest mean."""
    return max(estimates, key=lambda estimate: estimate.mean)


def lowest(estimates: Sequence[Estimate]) -> Estimate:
    """Pick the estimate of the cell with the lowest mean."""
    return min(estimates, key=lambda estimate: estimate.mean)


def difference(estimates: Sequence[Estimate]) -> Estimate:
    """By how much the first cell is above the second, seed by seed."""
    return by_seed(operator.sub, *estimates)


def reduction(estimates: Sequence[Estimate]) -> Estimate:
    """By how much the first cell is below the second, seed by seed, percent."""
    return by_seed(lambda first, second: 100 * (1 - first / second), *estimates)


def gain(estimates: Sequence[Estimate]) -> Estimate:
    """By how much the first cell is above the second, seed by seed, percent."""
    return by_seed(lambda first, second: 100 * (first / second - 1), *estimates)


def share(estimates: Sequence[Estimate]) -> Estimate:
    """The first cell in percent of the second, seed by seed."""
    return by_seed(lambda first, second: 100 * first / second, *estimates)


def least(pick: Pick) -> Pick:
    """The least of what a pick gives for each pair of cells, in order."""
    return lambda estimates: min(_by_pair(pick, estimates), key=lambda known: known.mean)


def most(pick: Pick) -> Pick:
    """The most of what a pick gives for each pair of cells, in order."""
    return lambda estimates: max(_by_pair(pick, estimates), key=lambda known: known.mean)


def _by_pair(pick: Pick, estimates: Sequence[Estimate]) -> list[Estimate]:
    return [pick(estimates[i : i + 2]) for i in range(0, len(estimates), 2)]
