"""When a point of a sweep has enough runs, and how well all of them are known."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from airpath.experiments.sweep.readers import Values
from airpath.runner.wanted import Seeds, Wanted
from airpath.runner.work import Row
from airpath.stats.replication import Replication, Rule

MOST_NEW = 256
"""Runs of a point that wait to be taken in at most; fewer at a time cost more each."""


def wanted_of(
    rule: Rule, points: int, metrics: int, rows: Sequence[Row], totals: Totals | None = None
) -> Wanted:
    """Make the book of a sweep's runs.

    Parameters
    ----------
    rule : Rule
        How many runs each point has; infinite precision stands for a fixed number.
    points, metrics : int
        How many there are.
    rows : sequence of Row
        Runs that are there: point, seed and values.
    totals : Totals, optional
        Follows the values.
    """
    jobs: list[Seeds]
    if math.isfinite(rule.precision):
        jobs = [PointReplication(rule, metrics) for _ in range(points)]
    else:
        jobs = [_Fixed(rule) for _ in range(points)]
    return Wanted(jobs, rows, None if totals is None else lambda row: totals.add(row[0], row[2]))


class PointReplication(Replication[Values]):
    """Replication of a point, in which a metric that was not measured in some run is never precise."""

    def __init__(self, rule: Rule, metrics: int) -> None:
        first, *others = (_reader(i) for i in range(metrics))
        # Equal metrics do not make two runs equal: constants are doubted as long as the rule does.
        super().__init__(first, rule, lambda _: object(), others)

    def _excess(self, metric: Callable[[Values], float]) -> float:
        if any(math.isnan(metric(values)) for values in self.outcomes):
            return math.inf
        return super()._excess(metric)


class _Fixed:
    """A fixed number of runs; it keeps none of them, as a sweep may have a million points."""

    __slots__ = ("_asked", "_rule", "runs")

    def __init__(self, rule: Rule) -> None:
        self._rule, self._asked, self.runs = rule, False, 0

    def next_seeds(self) -> range:
        if self._asked:
            return range(0)
        self._asked = True
        return range(self._rule.first_seed, self._rule.first_seed + self._rule.max_runs)

    def add(self, _seed: int, _values: Values) -> None:
        self.runs += 1

    def expected_runs(self) -> int:
        return self._rule.max_runs


class Totals:
    """Means and spreads of all points as rows come in; for the progress alone.

    What came since the last look is taken in at the next one, as blocks, by the rule of T. F. Chan, G. H.
    Golub and R. J. LeVeque, "Updating Formulae and a Pairwise Algorithm for Computing Sample Variances",
    1979.
    """

    def __init__(self, points: int, metrics: int, confidence: float) -> None:
        self._n, self._mean, self._squares = (np.zeros((points, metrics)) for _ in range(3))
        self._new: list[list[Values]] = [[] for _ in range(points)]
        self._confidence = confidence

    def add(self, point: int, values: Values) -> None:
        """Take in a run; what was not measured is left out."""
        new = self._new[point]
        new.append(values)
        # Nobody may ever look, where there is no terminal.
        if len(new) >= MOST_NEW:
            self._take_in(point, np.array(new, dtype=float))
            new.clear()

    def worst(self) -> float:
        """The widest relative half-width among those of two runs or more; NaN if there is none."""
        for point, rows in enumerate(self._new):
            if rows:
                self._take_in(point, np.array(rows, dtype=float))
                self._new[point] = []
        known = (self._n > 1) & (self._mean != 0)
        if not known.any():
            return math.nan
        n = self._n[known]
        half = stdtrit(n - 1, (1 + self._confidence) / 2) * np.sqrt(self._squares[known] / (n - 1) / n)
        return float(np.max(half / np.abs(self._mean[known])))

    def _take_in(self, point: int, rows: NDArray[np.float64]) -> None:
        there = ~np.isnan(rows)
        n = there.sum(axis=0)
        mean = np.where(there, rows, 0.0).sum(axis=0) / np.maximum(n, 1)
        squares = np.where(there, rows - mean, 0.0) ** 2
        whole = np.maximum(self._n[point] + n, 1)
        off = mean - self._mean[point]
        self._squares[point] += squares.sum(axis=0) + off**2 * self._n[point] * n / whole
        self._mean[point] += off * n / whole
        self._n[point] += n


def _reader(i: int) -> Callable[[Values], float]:
    def read(values: Values) -> float:
        value = values[i]
        return math.nan if value is None else value

    return read
