"""When a point of a sweep has enough runs, and how well all of them are known."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from scipy.special import stdtrit

from airpath.experiments.sweep.readers import Values
from airpath.runner.wanted import Once, Seeds, Wanted
from airpath.runner.work import Row
from airpath.stats.replication import Replication, Rule

MOST_NEW = 256
"""Runs of a point that wait to be taken in at most; fewer at a time cost more each."""


def wanted_of(
    rule: Rule, points: int, metrics: int, rows: Sequence[Row], totals: Totals | None = None
) -> Wanted:
    """Make the book of a sweep's runs, of which `rows` are there; `totals` follows their values."""
    jobs: list[Seeds]
    if math.isfinite(rule.precision):
        jobs = [PointReplication(rule, metrics) for _ in range(points)]
    else:
        seeds = range(rule.first_seed, rule.first_seed + rule.max_runs)
        jobs = [Once(seeds=seeds) for _ in range(points)]
    return Wanted(jobs, rows, None if totals is None else lambda row: totals.add(row[0], row[2]))


class PointReplication(Replication[Values]):
    """Replication of a point, in which a metric that was not measured in some run is never precise."""

    def __init__(self, rule: Rule, metrics: int) -> None:
        def reader(i: int) -> Callable[[Values], float]:
            return lambda values: math.nan if (value := values[i]) is None else value

        first, *others = map(reader, range(metrics))
        # Equal metrics do not make two runs equal: constants are doubted as long as the rule does.
        super().__init__(first, rule, lambda _: object(), others)

    def _excess(self, metric: Callable[[Values], float]) -> float:
        if any(math.isnan(metric(values)) for values in self.outcomes):
            return math.inf
        return super()._excess(metric)


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
        self._new[point].append(values)
        # Nobody may ever look, where there is no terminal.
        if len(self._new[point]) >= MOST_NEW:
            self._take_in(point)

    def worst(self) -> float:
        """The widest relative half-width among those of two runs or more; NaN if there is none."""
        for point, rows in enumerate(self._new):
            if rows:
                self._take_in(point)
        known = (self._n > 1) & (self._mean != 0)
        if not known.any():
            return math.nan
        n = self._n[known]
        half = stdtrit(n - 1, (1 + self._confidence) / 2) * np.sqrt(self._squares[known] / (n - 1) / n)
        return float(np.max(half / np.abs(self._mean[known])))

    def _take_in(self, point: int) -> None:
        rows = np.array(self._new[point], dtype=float)
        self._new[point] = []
        there = ~np.isnan(rows)
        n = there.sum(axis=0)
        mean = np.where(there, rows, 0.0).sum(axis=0) / np.maximum(n, 1)
        squares = np.where(there, rows - mean, 0.0) ** 2
        whole = np.maximum(self._n[point] + n, 1)
        off = mean - self._mean[point]
        self._squares[point] += squares.sum(axis=0) + off**2 * self._n[point] * n / whole
        self._mean[point] += off * n / whole
        self._n[point] += n
