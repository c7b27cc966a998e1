"""What a sweep's folder holds: means and intervals by point."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from airpath.errors import SweepError
from airpath.experiments.sweep.plan import SCENARIO, words
from airpath.experiments.sweep.points import Point, Value, drawn_keys, flat_values
from airpath.experiments.sweep.replications import wanted_of
from airpath.experiments.sweep.store import Failures, read_manifest, read_rows, rule_of
from airpath.files.text import parse_toml
from airpath.stats.estimate import Estimate, estimate, with_unseen
from airpath.stats.replication import Rule
from airpath.terminal import counted

SWEEP = "sweep"
"""Parameter of points from several folders that only the names of their sweeps distinguish."""
MOST_NAMED = 20
"""Points whose failed runs are named, each by its first."""


@dataclass(frozen=True)
class PointResult:
    """A point: its index in the dataset, its dotted keys, and the number of runs done.

    The estimates, by metric, are None where no run measured it. `seeds` and `values` (runs × metrics) are
    those of every run, in the order of the seeds; NaN is what a run did not measure. `failures` gives, by
    seed, the cause of each failed run, which measured nothing. `rule` says how many runs the point is to
    have, if it is not that of the other points.
    """

    point: int
    parameters: dict[str, Any]
    runs: int
    estimates: dict[str, Estimate | None]
    seeds: Sequence[int] = field(repr=False)
    values: np.ndarray = field(repr=False)
    failures: Mapping[int, str] = field(default_factory=dict, repr=False)
    rule: Rule | None = None

    def missing(self, metric: str) -> int:
        """How many runs did not measure a metric."""
        known = self.estimates[metric]
        return self.runs - (known.n if known else 0)


@dataclass(frozen=True)
class SweepResults:
    """All points, and warnings: runs that failed, files that are damaged or not the sweep's.

    `rule` says how many runs each point is to have, `drawn` which keys a design draws, `fixed` what all
    points set, `made_by` which versions of airpath and of its random streams made the runs.
    """

    name: str
    scenario: str
    rule: Rule
    drawn: frozenset[str]
    parameters: tuple[str, ...]
    metrics: tuple[str, ...]
    points: tuple[PointResult, ...]
    warnings: tuple[str, ...]
    fixed: Point = field(default_factory=dict)
    made_by: tuple[str, str] = ("", "")

    @property
    def confidence(self) -> float:
        """Confidence level of the intervals."""
        return self.rule.confidence

    def expected_runs(self, point: PointResult) -> int:
        """Total number of runs that the point will have: an estimate until it is finished."""
        rows = [(0, point.seeds, point.values)]
        return wanted_of(point.rule or self.rule, 1, len(self.metrics), rows).expected

    def as_json(self, points: Sequence[PointResult] | None = None) -> dict[str, Any]:
        """Make plain data of it, or of some points; intervals that one run does not give are null."""
        return {
            "name": self.name,
            "scenario": self.scenario,
            "confidence": self.confidence,
            "points": [
                {
                    "point": point.point,
                    "parameters": point.parameters,
                    "runs": point.runs,
                    "failed": [{"seed": seed, "error": error} for seed, error in point.failures.items()],
                    "metrics": {name: _json(point, name) for name in self.metrics},
                }
                for point in (self.points if points is None else points)
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
    rows, failures, warnings = read_rows(folder, manifest)
    of_point: dict[int, dict[int, str]] = {}
    for (number, seed), reason in sorted(failures.items()):
        of_point.setdefault(number, {})[seed] = reason
    metrics, rule, sweep = tuple(manifest["metrics"]), rule_of(manifest), parse_toml(manifest["sweep"])
    by_point = {point: runs for point, *runs in rows}
    points = []
    for number, described in enumerate(manifest["points"]):
        seeds, values = by_point.get(number, ((), np.empty((0, len(metrics)))))
        known = [_estimate(column, rule.confidence) for column in values.T]
        # Runs that differ in another metric are random: a count equal in all of them may be another in the
        # next, as in `airpath.replicate`.
        if any(one is not None and one.sd > 0 for one in known):
            known = [one and with_unseen(one) for one in known]
        estimates = dict(zip(metrics, known, strict=True))
        failed = of_point.get(number, {})
        points.append(
            PointResult(number, described["parameters"], len(seeds), estimates, seeds, values, failed)
        )
    warnings += described_failures(failures, [point.parameters for point in points])
    return SweepResults(
        manifest["name"],
        manifest["scenario"],
        rule,
        frozenset(drawn_keys(sweep)),
        tuple(manifest["parameters"]),
        metrics,
        tuple(points),
        tuple(warnings),
        flat_values("set", sweep.get("set", {})),
        (manifest["airpath"], manifest["rng"]),
    )


def described_failures(failures: Failures, points: Sequence[Point]) -> list[str]:
    """Name the points that have failed runs, each with its first one and why; `points` are by number."""
    seeds: dict[int, list[int]] = {}
    for number, seed in sorted(failures):
        seeds.setdefault(number, []).append(seed)
    told = [
        f"point {number} ({words(points[number])}): {counted(len(failed), 'run')} failed; "
        f"seed {failed[0]}: {failures[number, failed[0]]}"
        for number, failed in list(seeds.items())[:MOST_NAMED]
    ]
    if len(seeds) > MOST_NAMED:
        told.append(f"{counted(len(seeds) - MOST_NAMED, 'further point')} with runs that failed")
    return told


def merge(folders: Mapping[str, SweepResults]) -> SweepResults:
    """Put the points of several sweeps together; each has a name, such as that of its folder.

    Keys that distinguish the sweeps become parameters of all points: the scenario, what `[set]` says, and
    `SWEEP`, the sweep's name, if points would still be equal. A metric that a sweep does not have is not
    measured there. Numbers of points are those of their own sweeps.

    Raises
    ------
    SweepError
        If the intervals of the sweeps have different confidence levels.
    """
    several = list(folders.values())
    first = several[0]
    if len(several) == 1:
        return first
    if any(one.confidence != first.confidence for one in several):
        levels = ", ".join(f"{one.confidence:g} ({name})" for name, one in folders.items())
        remedy = "make sweeps of one confidence, or show them one by one"
        raise SweepError("DIR", f"the sweeps have different confidence levels: {levels}", remedy)
    metrics = tuple(dict.fromkeys(metric for one in several for metric in one.metrics))
    own: list[dict[str, Any]] = [{} for _ in several]
    if len({one.scenario for one in several}) > 1:
        own = [{SCENARIO: one.scenario} for one in several]
    for key in dict.fromkeys(key for one in several for key in one.fixed):
        if any(one.fixed.get(key) != first.fixed.get(key) for one in several):
            own = [said | _present(key, one.fixed.get(key)) for said, one in zip(own, several, strict=True)]
    points = _merged(several, own, metrics)
    described = {frozenset((key, repr(value)) for key, value in point.parameters.items()) for point in points}
    if len(described) < len(points):
        own = [said | {SWEEP: name} for said, name in zip(own, folders, strict=True)]
        points = _merged(several, own, metrics)
    warnings = [warning for one in several for warning in one.warnings]
    if len({one.made_by for one in several}) > 1:
        versions = ", ".join(
            f"{name}: {one.made_by[0]} with random streams {one.made_by[1]}" for name, one in folders.items()
        )
        warnings.append(f"the sweeps were made by different versions of airpath: {versions}")
    return SweepResults(
        ", ".join(dict.fromkeys(one.name for one in several)),
        ", ".join(dict.fromkeys(one.scenario for one in several)),
        first.rule,
        frozenset(key for one in several for key in one.drawn),
        tuple(dict.fromkeys(key for keys in (*own, *(one.parameters for one in several)) for key in keys)),
        metrics,
        tuple(points),
        tuple(warnings),
        {key: value for key, value in first.fixed.items() if not any(key in said for said in own)},
        first.made_by,
    )


def _present(key: str, value: Value | None) -> Point:
    return {} if value is None else {key: value}


def _merged(
    several: Sequence[SweepResults], own: Sequence[Point], metrics: Sequence[str]
) -> list[PointResult]:
    """Points of all sweeps, each with what distinguishes its sweep, unless the point says so itself."""
    points = []
    for one, said in zip(several, own, strict=True):
        columns = [one.metrics.index(metric) if metric in one.metrics else None for metric in metrics]
        for point in one.points:
            nothing = np.full(point.runs, np.nan)
            values = [nothing if column is None else point.values[:, column] for column in columns]
            points.append(
                replace(
                    point,
                    parameters=said | point.parameters,
                    estimates={metric: point.estimates.get(metric) for metric in metrics},
                    values=np.column_stack(values),
                    rule=one.rule,
                )
            )
    return points


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
