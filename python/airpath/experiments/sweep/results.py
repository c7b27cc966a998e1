"""What a sweep's folder holds: means and intervals by point."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from airpath.experiments.sweep.points import drawn_keys
from airpath.experiments.sweep.replications import wanted_of
from airpath.experiments.sweep.store import read_manifest, read_rows, rule_of
from airpath.files.text import parse_toml
from airpath.stats.estimate import Estimate, estimate
from airpath.stats.replication import Rule


@dataclass(frozen=True)
class PointResult:
    """What is known of a point: its number in the dataset, its dotted keys, and how many runs are there.

    The estimates, by metric, are None where no run measured it. `seeds` and `values` (runs × metrics) are
    those of every run, in the order of the seeds; NaN is what a run did not measure.
    """

    point: int
    parameters: dict[str, Any]
    runs: int
    estimates: dict[str, Estimate | None]
    seeds: Sequence[int] = field(repr=False)
    values: np.ndarray = field(repr=False)

    def missing(self, metric: str) -> int:
        """How many runs did not measure a metric."""
        known = self.estimates[metric]
        return self.runs - (known.n if known else 0)


@dataclass(frozen=True)
class SweepResults:
    """What is known of all points, and files of the folder that are damaged or not the sweep's.

    `rule` says how many runs each point is to have, `drawn` which keys a design draws.
    """

    name: str
    scenario: str
    rule: Rule
    drawn: frozenset[str]
    parameters: tuple[str, ...]
    metrics: tuple[str, ...]
    points: tuple[PointResult, ...]
    warnings: tuple[str, ...]

    @property
    def confidence(self) -> float:
        """Confidence level of the intervals."""
        return self.rule.confidence

    def expected_runs(self, point: PointResult) -> int:
        """How many runs a point has in the end; until then, as far as its runs so far tell."""
        return wanted_of(self.rule, 1, len(self.metrics), [(0, point.seeds, point.values)]).expected

    def as_json(self) -> dict[str, Any]:
        """Make plain data of it; intervals that one run does not give are null."""
        return {
            "name": self.name,
            "scenario": self.scenario,
            "confidence": self.confidence,
            "points": [
                {
                    "point": point.point,
                    "parameters": point.parameters,
                    "runs": point.runs,
                    "metrics": {name: _json(point, name) for name in self.metrics},
                }
                for point in self.points
            ],
        }


def read_results(folder: Path) -> SweepResults:
    """Read a sweep's folder, also while it is being written.

    Raises
    ------
    SweepError
        If it is no such folder, or cannot be read.
    """
    manifest = read_manifest(folder) or {}
    rows, warnings = read_rows(folder, manifest)
    metrics, rule = tuple(manifest["metrics"]), rule_of(manifest)
    by_point = {point: runs for point, *runs in rows}
    points = []
    for number, described in enumerate(manifest["points"]):
        seeds, values = by_point.get(number, ((), np.empty((0, len(metrics)))))
        estimates = {
            name: _estimate(column, rule.confidence) for name, column in zip(metrics, values.T, strict=True)
        }
        points.append(PointResult(number, described["parameters"], len(seeds), estimates, seeds, values))
    return SweepResults(
        manifest["name"],
        manifest["scenario"],
        rule,
        frozenset(drawn_keys(parse_toml(manifest["sweep"]))),
        tuple(manifest["parameters"]),
        metrics,
        tuple(points),
        tuple(warnings),
    )


def _json(point: PointResult, metric: str) -> dict[str, Any] | None:
    known = point.estimates[metric]
    if known is None:
        return None
    several = known.n > 1
    return {
        "mean": known.mean,
        "sd": known.sd if several else None,
        "n": known.n,
        "ci_low": known.ci_low if several else None,
        "ci_high": known.ci_high if several else None,
        "not_measured": point.missing(metric),
    }


def _estimate(values: np.ndarray, confidence: float) -> Estimate | None:
    known = values[~np.isnan(values)]
    return estimate(known, confidence) if len(known) else None
