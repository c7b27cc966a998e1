"""Quantities computed from runs of several cells with the same seed: common random numbers."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence

from airpath.stats.estimate import Estimate, by_seed

__all__ = ["Pick", "by_seed", "difference", "gain", "least", "most", "reduction", "share"]

Pick = Callable[[Sequence[Estimate]], Estimate]
"""Computes one estimate from the estimates of several cells."""


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
