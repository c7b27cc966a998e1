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
    """The work of a sweep: runs scenarios, given as text, and reads metrics off the results of each run.

    The metrics are named as for `airpath.runs.metrics.named`.
    """

    metrics: tuple[str, ...]

    def open(self) -> MakeRuns:
        """Prepare for many runs; a run raises `ValueError` if its results have no such metric."""
        readers = [named(name) for name in self.metrics]
        # Where the metrics are, as the first results tell: what all results have at the top is the same.
        paths: list[list[str]] = []

        def read(results: dict[str, Any]) -> Values:
            return tuple(_read(results, reader) for reader in readers)

        def values(text: str, seeds: Sequence[int]) -> Iterator[Values]:
            if not paths:
                results = json.loads(_core.run(text, seeds[0]))
                paths.extend([path_of(name, results) for name in self.metrics])
                yield read(results)
                seeds = seeds[1:]
            for measured in _core.measure(text, seeds, paths):
                # What is no plain number, such as a mean over flows, `named` knows how to read.
                yield read(json.loads(measured)) if isinstance(measured, str) else tuple(measured)

        return values


def _read(results: dict[str, Any], reader: Callable[[dict[str, Any]], float]) -> float | None:
    try:
        value = reader(results)
    except NotMeasuredError:
        return None
    return value if math.isfinite(value) else None
