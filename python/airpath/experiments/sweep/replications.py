"""When a point of a sweep has enough runs, and how well all of them are known."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from operator import itemgetter
from typing import Any

import numpy as np

from airpath.runner.wanted import Once, Seeds, Wanted
from airpath.runner.work import Rows
from airpath.stats.estimate import t_quantile
from airpath.stats.replication import Replication, Rule

MOST_NEW = 10_000
"""Runs that wait to be taken in at most; fewer at a time cost more each."""


def wanted_of(
    rule: Rule,
    points: int,
    metrics: int,
    rows: Iterable[Rows],
    on_counted: Callable[[Rows], None] = lambda _: None,
) -> Wanted:
    """Make the record of a sweep's runs; `rows` are already done. `on_counted` is called with all rows."""
    jobs: list[Seeds]
    if math.isfinite(rule.precision):
        jobs = [PointReplication(rule, metrics) for _ in range(points)]
    else:
        seeds = range(rule.first_seed, rule.first_seed + rule.max_runs)
        jobs = [Once(seeds=seeds) for _ in range(points)]
    return Wanted(jobs, rows, on_counted)


def columns_of(rows: Sequence[Rows]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Put rows into columns: points and seeds (runs), and metrics (runs × metrics), NaN if not measured."""
    points, seeds, metrics = zip(*rows, strict=True)
    counts = [len(of_point) for of_point in seeds]
    return np.repeat(points, counts), np.concatenate(seeds), np.concatenate(metrics)


class PointReplication(Replication[list[float]]):
    """Replication of a point, in which a metric that was not measured in some run is never precise."""

    def __init__(self, rule: Rule, metrics: int) -> None:
        first, *others = map(itemgetter, range(metrics))
        # Equal metrics do not make two runs equal: constants are doubted as long as the rule does.
        super().__init__(first, rule, lambda _: object(), others)

    def add(self, seeds: Sequence[int], outcomes: Sequence[Any]) -> None:
        """Add the metrics of each seed's run."""
        super().add(seeds, np.asarray(outcomes).tolist())

    def _excess(self, metric: Callable[[list[float]], float]) -> float:
        if any(math.isnan(metric(values)) for values in self.outcomes):
            return math.inf
        return super()._excess(metric)


class Totals:
    """Means and spreads of all points as rows come in; for the progress alone.

    Results since the last check are merged at the next one, as a block for each point, by the rule of
    T. F. Chan, G. H. Golub and R. J. LeVeque, "Updating Formulae and a Pairwise Algorithm for Computing
    Sample Variances", 1979.
    """

    def __init__(self, points: int, metrics: int, confidence: float) -> None:
        self._n, self._mean, self._squares = (np.zeros((points, metrics)) for _ in range(3))
        self._new: list[Rows] = []
        self._waiting = 0
        self._confidence = confidence

    def add(self, rows: Rows) -> None:
        """Take in runs; what was not measured is left out."""
        self._new.append(rows)
        self._waiting += len(rows[1])
        # Without a terminal there may be no check at all.
        if self._waiting >= MOST_NEW:
            self._take_in()

    def worst(self) -> float:
        """The widest relative half-width of two runs or more, by Student's t alone; NaN if there is none."""
        self._take_in()
        known = (self._n > 1) & (self._mean != 0)
        if not known.any():
            return math.nan
        n = self._n[known]
        quantiles = np.array([t_quantile(int(runs), self._confidence) for runs in n])
        half = quantiles * np.sqrt(self._squares[known] / (n - 1) / n)
        return float(np.max(half / np.abs(self._mean[known])))

    def _take_in(self) -> None:
        if not self._new:
            return
        points, _, rows = columns_of(self._new)
        self._new, self._waiting = [], 0
        points, place = np.unique(points, return_inverse=True)
        there = ~np.isnan(rows)

        def sums(table: np.ndarray) -> np.ndarray:
            return np.column_stack([np.bincount(place, column) for column in table.T])

        n = sums(there)
        mean = sums(np.where(there, rows, 0.0)) / np.maximum(n, 1)
        squares = sums(np.where(there, rows - mean[place], 0.0) ** 2)
        whole = np.maximum(self._n[points] + n, 1)
        off = mean - self._mean[points]
        self._squares[points] += squares + off**2 * self._n[points] * n / whole
        self._mean[points] += off * n / whole
        self._n[points] += n
