"""Runs scenarios and reads a sweep's metrics off their results; workers load it, and so it loads little."""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from airpath import _core
from airpath.errors import ScenarioError
from airpath.runner.work import MakeRuns
from airpath.runs.metrics import NotMeasuredError, named, path_of

MOST_WORDS = 1000
"""Letters of a reason at most."""


@dataclass(frozen=True)
class Table:
    """The metrics of runs: octets of float64, one run after the other; NaN is what a run did not measure.

    A worker makes it without NumPy; the driver has it as an array (runs × metrics): it unpickles those of its
    own processes, and reads octets that come from others (`airpath.runner.work.answer_of`). If
    its one run failed, `failure` says why.
    """

    octets: bytes
    metrics: int
    failure: str = ""

    def __len__(self) -> int:
        return len(self.octets) // (8 * self.metrics)

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[bytes, int]]:
        return _array, (self.octets, self.metrics)


def _array(octets: bytes, metrics: int) -> Any:
    import numpy as np

    return np.frombuffer(octets, "<f8").reshape(-1, metrics)


@dataclass(frozen=True)
class ReadMetrics:
    """The work of a sweep: runs scenarios, given as text, and reads metrics off the results of each run.

    The metrics are named as for `airpath.runs.metrics.named`. A run that fails, e.g. as it holds too many
    packets, is a `Table` with the reason and no numbers.
    """

    metrics: tuple[str, ...]

    def open(self) -> MakeRuns:
        """Prepare for many runs; a run raises `ValueError` if its results have no such metric."""
        readers = [named(name) for name in self.metrics]
        # Where the metrics are, as the first results tell: what all results have at the top is the same.
        paths: list[list[str]] = []

        def read(results: dict[str, Any]) -> bytes:
            return struct.pack(f"<{len(readers)}d", *(_read(results, reader) for reader in readers))

        def failed(key: str, problem: str, _remedy: str) -> Table:
            nothing = struct.pack("<d", math.nan) * len(readers)
            return Table(nothing, len(readers), f"{key}: {problem}"[:MOST_WORDS])

        def tables(text: str, seeds: Sequence[int]) -> Iterator[Table]:
            while not paths and seeds:
                seed, *seeds = seeds
                try:
                    found = _core.run(text, seed)
                except ScenarioError as error:
                    yield failed(*error.args)
                    continue
                results = json.loads(found)
                # Not extended: threads of one worker may all be the first.
                paths[:] = [path_of(name, results) for name in self.metrics]
                yield Table(read(results), len(readers))
            for measured in _core.measure(text, seeds, paths) if seeds else ():
                if isinstance(measured, tuple):
                    yield failed(*measured)
                    continue
                # What is no plain number, such as a mean over flows, `named` knows how to read.
                octets = read(json.loads(measured)) if isinstance(measured, str) else measured
                yield Table(octets, len(readers))

        return tables


def _read(results: dict[str, Any], reader: Callable[[dict[str, Any]], float]) -> float:
    try:
        value = reader(results)
    except NotMeasuredError:
        return math.nan
    return value if math.isfinite(value) else math.nan
