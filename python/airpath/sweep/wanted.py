"""Which runs a sweep still wants, and how well it knows what it has."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from airpath.replicate import Replication, Rule
from airpath.sweep.worker import Row, Values


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


class Wanted:
    """Runs that are to be made, point by point in the order of the seeds.

    Which they are in the end depends on the sweep alone, not on the order in which they are made.
    """

    def __init__(self, rule: Rule, points: int, metrics: int, rows: Sequence[Row]) -> None:
        self.done, self._points_done = 0, 0
        self._rule = rule
        self._known: list[dict[int, Values]] = [{} for _ in range(points)]
        for point, seed, values in rows:
            self._known[point][seed] = values
        self._replications: list[PointReplication] | None = None
        if math.isfinite(rule.precision):
            self._replications = [PointReplication(rule, metrics) for _ in range(points)]
        self._ready: deque[tuple[int, range]] = deque()
        self._missing = [0] * points
        self._expected = [0] * points
        # Kept, not summed when asked for: with many points each answer of a worker would cost the sum.
        self._expected_in_all = 0
        self._totals = Totals(points, metrics, rule.confidence)
        for point in range(points):
            self._ask(point)

    @property
    def expected(self) -> int:
        """How many runs there will be in all, as far as is known."""
        return self._expected_in_all

    @property
    def points_done(self) -> int:
        """Points with all their runs."""
        return self._points_done

    @property
    def worst(self) -> float:
        """The widest interval of any metric and point, half of it as a fraction of the mean; NaN if none."""
        return self._totals.worst()

    def take(self, most: int) -> list[tuple[int, list[int]]]:
        """Take up to so many runs to make, as points and seeds."""
        taken: list[tuple[int, list[int]]] = []
        while most > 0 and self._ready:
            point, seeds = self._ready.popleft()
            if taken and taken[-1][0] == point:
                taken[-1][1].extend(seeds[:most])
            else:
                taken.append((point, list(seeds[:most])))
            if len(seeds) > most:
                self._ready.appendleft((point, seeds[most:]))
            most -= len(seeds)
        return taken

    def add(self, row: Row) -> None:
        """Take in a run that was made."""
        point, seed, values = row
        self._known[point][seed] = values
        self._count(point, seed)
        self._missing[point] -= 1
        if self._missing[point] == 0:
            self._ask(point)

    def _count(self, point: int, seed: int) -> None:
        self.done += 1
        self._totals.add(point, self._known[point][seed])
        if self._replications is not None:
            self._replications[point].add(seed, self._known[point][seed])
        else:  # A fixed number of runs asks for no values again: that a seed is there is enough.
            self._known[point][seed] = ()

    def _ask(self, point: int) -> None:
        """Ask for a point's next seeds, until some are missing or none is wanted."""
        while True:
            seeds = self._next_seeds(point)
            if not seeds:
                self._expect(point, len(self._known[point]))
                self._points_done += 1
                return
            there = sorted(seed for seed in self._known[point] if seed in seeds)
            for seed in there:
                self._count(point, seed)
            if len(there) < len(seeds):
                self._missing[point] = len(seeds) - len(there)
                self._ready.extend((point, gap) for gap in _gaps(seeds, there))
                if self._replications is not None:
                    self._expect(point, self._replications[point].expected_runs())
                return

    def _expect(self, point: int, runs: int) -> None:
        self._expected_in_all += runs - self._expected[point]
        self._expected[point] = runs

    def _next_seeds(self, point: int) -> range:
        if self._replications is not None:
            return self._replications[point].next_seeds()
        if self._expected[point]:
            return range(0)
        self._expect(point, self._rule.max_runs)
        first = self._rule.first_seed
        return range(first, first + self._rule.max_runs)


def _gaps(seeds: range, there: Sequence[int]) -> Iterator[range]:
    """Parts of a range between those of its seeds that are there, in ascending order."""
    start = seeds.start
    for seed in (*there, seeds.stop):
        if start < seed:
            yield range(start, seed)
        start = seed + 1


MOST_NEW = 256
"""Runs of a point that wait to be taken in at most; fewer at a time cost more each."""


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
