"""What follows from runs of several cells with the same seed: common random numbers."""

from __future__ import annotations

from collections.abc import Sequence

from airpath.stats.estimate import Estimate, by_seed

__all__ = ["by_seed", "difference", "gain", "reduction", "share"]


def difference(estimates: Sequence[Estimate]) -> Estimate:
    """By how much the first cell is above the second, seed by seed."""
    first, second = estimates
    return by_seed(lambda one, other: one - other, first, second)


def reduction(estimates: Sequence[Estimate]) -> Estimate:
    """By how much the first cell is below the second, seed by seed, percent."""
    first, second = estimates
    return by_seed(lambda one, other: 100 * (1 - one / other), first, second)


def gain(estimates: Sequence[Estimate]) -> Estimate:
    """By how much the first cell is above the second, seed by seed, percent."""
    first, second = estimates
    return by_seed(lambda one, other: 100 * (one / other - 1), first, second)


def share(estimates: Sequence[Estimate]) -> Estimate:
    """The first cell in percent of the second, seed by seed."""
    first, second = estimates
    return by_seed(lambda one, other: 100 * one / other, first, second)
