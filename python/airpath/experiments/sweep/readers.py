"""Runs scenarios and reads a sweep's metrics off their results; workers load it, and so it loads little."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from airpath import _core
from airpath.runner.work import MakeRuns
from airpath.runs.metrics import NotMeasuredError, named, path_of

Values = tuple[float | None, ...]
"""The metrics of a run; None where it did not measure one."""


@dataclass(frozen=True)
class ReadMetrics:
    """The work of a sweep: runs of scenarios, given as text, and the metrics of each.

    Attributes
    ----------
    metrics : tuple of str
        Their names, see `airpath.runs.metrics.named`.
    """

    metrics: tuple[str, ...]

    def open(self) -> MakeRuns:
        """Prepare for many runs."""
        return Readers(self.metrics).values


class Readers:
    """Runs scenarios and reads metrics off their results."""

    def __init__(self, metrics: Sequence[str]) -> None:
        self._metrics = tuple(metrics)
        self._named = [named(name) for name in metrics]
        # Where the metrics are, as the first results tell: what all results have at the top is the same.
        self._paths: list[list[str]] | None = None

    def values(self, text: str, seeds: Sequence[int]) -> Iterator[Values]:
        """Run a scenario with each seed; the metrics of one run after the other.

        Raises
        ------
        ScenarioError, ValueError
            If the scenario cannot be run, or a run's results have no such metric.
        """
        if self._paths is None:
            results = json.loads(_core.run(text, seeds[0]))
            self._paths = [path_of(name, results) for name in self._metrics]
            yield self._read(results)
            seeds = seeds[1:]
        for measured in _core.measure(text, seeds, self._paths):
            # What is no plain number, such as a mean over flows, `named` knows how to read.
            yield self._read(json.loads(measured)) if isinstance(measured, str) else tuple(measured)

    def _read(self, results: dict[str, Any]) -> Values:
        return tuple(_read(results, reader) for reader in self._named)


def _read(results: dict[str, Any], reader: Callable[[dict[str, Any]], float]) -> float | None:
    try:
        value = reader(results)
    except NotMeasuredError:
        return None
    return value if math.isfinite(value) else None
