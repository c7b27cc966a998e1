"""A sweep's folder as the front draws it: `Sweep` of `static/sweep.js`.

The folder has the values of each point and the SHA-256 of its scenario. So the scenario is made
again from the sweep's own text, and is the same one if it has the same address.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from airpath.errors import ScenarioError, SweepError
from airpath.experiments.sweep.plan import SCENARIO, changes_of
from airpath.experiments.sweep.points import Point
from airpath.experiments.sweep.results import PointResult, SweepResults, read_results
from airpath.experiments.sweep.store import read_manifest
from airpath.plots.sweep.quantity import Value, common_unit, metric_unit, quantities, same, scaled_unit
from airpath.plots.sweep.wording import counted, distinct_labels, key_label, metric_label, value_label

MOST_POINTS = 2000
"""More points than this are for `airpath plot`."""
MOST_SEEDS = 100
"""Most runs of a point that are listed, the first ones."""

Resolve = Callable[[str, Sequence[str]], str]
"""Makes the text of a scenario from the name of a base and changes."""


def sweep_study(folder: Path, bases: Mapping[str, tuple[str, str]], resolve: Resolve) -> dict[str, Any]:
    """Read a sweep's folder; `bases` has the scenarios that are listed, by their names in the sweep's file.

    Of each it has the listed name, and TOML as written.

    Raises
    ------
    SweepError
        If it is no such folder, cannot be read, or has too many points.
    """
    results, manifest = read_results(folder), read_manifest(folder) or {}
    if len(results.points) > MOST_POINTS:
        what = f"has {len(results.points)} points, and the studio shows at most {MOST_POINTS}"
        raise SweepError(str(folder), what, "draw it with 'airpath plot', or sweep over fewer")
    digests = [point["scenario_sha256"] for point in manifest["points"]]
    own = [bases.get(str(point.parameters.get(SCENARIO, results.scenario))) for point in results.points]
    changes = [
        None if base is None else _changes(base[1], results.fixed | point.parameters)
        for base, point in zip(own, results.points, strict=True)
    ]
    known = [
        base is not None and change is not None and _is_same(base[0], change, digest, resolve)
        for base, change, digest in zip(own, changes, digests, strict=True)
    ]
    scales = [_scale(results, metric) for metric in results.metrics]
    return {
        "kind": "sweep",
        "name": str(folder),
        "title": results.name,
        "scenario": results.scenario,
        "confidence": results.confidence,
        "axes": _axes(results),
        "metrics": [
            {"key": key, "label": label, "unit": unit}
            for key, label, (unit, _) in zip(results.metrics, _metric_labels(results), scales, strict=True)
        ],
        "points": [
            {"base": base and base[0], "set": change if is_known else None}
            | _point(point, [size for _, size in scales], results)
            for point, base, change, is_known in zip(results.points, own, changes, known, strict=True)
        ],
        "warnings": list(results.warnings),
    }


def _changes(source: str, values: Point) -> list[str] | None:
    """Changes of a point, KEY=VALUE; None if the scenario no longer has what a key stands for."""
    try:
        return [f"{key}={text}" for key, text in changes_of(source, values)]
    except ScenarioError:
        return None


def _is_same(base: str, changes: Sequence[str], digest: str, resolve: Resolve) -> bool:
    """Whether a point's scenario can be made again."""
    try:
        return hashlib.sha256(resolve(base, changes).encode()).hexdigest() == digest
    except ScenarioError:
        return False


def _axes(results: SweepResults) -> list[dict[str, Any]]:
    """Parameters with their values: numbers in one unit where they are numbers."""
    labels = distinct_labels(results.parameters, [key_label(key) for key in results.parameters])
    axes = []
    for key, label in zip(results.parameters, labels, strict=True):
        # Equal values have the words of the first: 1 s and 1000 ms.
        first: dict[object, Value] = {}
        values = [
            first.setdefault(same(value), value)
            for value in (point.parameters.get(key) for point in results.points)
        ]
        numbers = quantities(values)
        unit = common_unit(numbers) if numbers else None
        axes.append(
            {
                "key": key,
                "label": label,
                "unit": (unit.name if unit else "") or counted(key),
                "words": [value_label(value) for value in values],
                "numbers": [number.written_in(unit) for number in numbers] if numbers and unit else None,
            }
        )
    return axes


def _metric_labels(results: SweepResults) -> list[str]:
    return distinct_labels(results.metrics, [metric_label(metric) for metric in results.metrics])


def _scale(results: SweepResults, metric: str) -> tuple[str, float]:
    """Choose the unit of a metric; return its name, and how many of what the folder has make one of it."""
    means = [abs(known.mean) for point in results.points if (known := point.estimates[metric])]
    written = metric_unit(metric)
    unit = scaled_unit(written, max(means, default=0))
    return unit.name, float(unit.size / written.size)


def _point(point: PointResult, sizes: Sequence[float], results: SweepResults) -> dict[str, Any]:
    estimates = []
    for metric, size in zip(results.metrics, sizes, strict=True):
        known = point.estimates[metric]
        ends = (known.ci_low / size, known.ci_high / size) if known and known.n > 1 else (None, None)
        estimates.append(known and {"mean": known.mean / size, "low": ends[0], "high": ends[1], "n": known.n})
    return {
        "runs": point.runs,
        "seeds": [int(seed) for seed in point.seeds[:MOST_SEEDS]],
        "estimates": estimates,
    }
