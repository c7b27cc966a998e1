"""What follows from runs of several cells with the same seed: common random numbers."""

from __future__ import annotations

import operator
from collections.abc import Sequence

from airpath.stats.estimate import Estimate, by_seed

__all__ = ["by_seed", "difference", "gain", "reduction", "share"]


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
