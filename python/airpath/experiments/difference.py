"""What differs between two subjects: scenarios, runs, folders of runs, or sweeps.

Settings are compared by resolved scenarios, results by the numbers of `results.json`. Several runs of each
give a difference with its confidence interval: of pairs where both have the same seeds, else of independent
runs (Welch 1947).
"""

from __future__ import annotations

import json
import math
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from airpath.errors import ScenarioError
from airpath.runs.changes import differing
from airpath.runs.finished import FinishedRun
from airpath.runs.recorder import MANIFEST, RESULTS
from airpath.scenario import Scenario, inline, load
from airpath.stats.estimate import Estimate, estimate, welch

MOST_FOLDERS = 1000
"""Most runs in a folder."""
MOST_NUMBERS = 20_000
"""Most numbers of a run's results that are compared."""
_STEP = re.compile(r"\[(\d+)\]|([^.\[\]]+)")
NO_RESULTS = ("seed", "format")
"""Numbers of `results.json` that are settings, or no results."""


class Setting(NamedTuple):
    """A setting that differs: its key, and both values; None where there is none."""

    key: str
    a: str | None
    b: str | None


@dataclass(frozen=True)
class Result:
    """A number of the results that differs: its name, the point of a sweep, and the values of both.

    `difference` is b - a; `paired` says whether it is of pairs with the same seed.
    """

    name: str
    point: Mapping[str, Any]
    a: Estimate
    b: Estimate
    difference: Estimate
    paired: bool


@dataclass(frozen=True)
class Difference:
    """What differs between two subjects.

    `compared` is how many numbers both have, `unmatched` how many only one has; both are 0 if one of them is
    a scenario, which has no results.
    """

    a: str
    b: str
    settings: tuple[Setting, ...]
    results: tuple[Result, ...]
    compared: int
    unmatched: int

    @property
    def is_none(self) -> bool:
        """Whether nothing differs."""
        return not self.settings and not self.results and not self.unmatched

    def as_json(self) -> dict[str, Any]:
        """Make plain data of it."""
        return {
            "a": self.a,
            "b": self.b,
            "same": self.is_none,
            "settings": [setting._asdict() for setting in self.settings],
            "compared": self.compared,
            "unmatched": self.unmatched,
            "results": [
                {
                    "name": one.name,
                    **({"point": dict(one.point)} if one.point else {}),
                    "a": _plain(one.a),
                    "b": _plain(one.b),
                    "difference": _plain(one.difference),
                    "paired": one.paired,
                }
                for one in self.results
            ],
        }


Values = dict[int, float]
"""A number of each run, by seed."""


class _Subject(NamedTuple):
    """Settings of the run, its scenario if it is no sweep, and numbers by point of a sweep and by name."""

    settings: dict[str, str]
    scenario: Scenario | None
    numbers: dict[tuple[str, str], Values]
    has_results: bool = True


def difference(a: str, b: str) -> Difference:
    """Compare two scenarios (by name or file), runs, folders of runs, or sweeps.

    Raises
    ------
    ScenarioError
        If there is no such scenario, a folder holds no finished run, a file in it is damaged, or only one of
        the two is a sweep.
    SweepError
        If a sweep cannot be read.
    """
    first, second = _read(a), _read(b)
    if (first.scenario is None) != (second.scenario is None):
        sweep, other = (a, b) if first.scenario is None else (b, a)
        raise ScenarioError(sweep, f"is a sweep, and {other} is none", "compare it with another sweep")
    both = [name for name in first.numbers if name in second.numbers]
    results = [_result(name, first.numbers[name], second.numbers[name]) for name in both]
    have_results = first.has_results and second.has_results
    unmatched = len(first.numbers.keys() ^ second.numbers.keys()) if have_results else 0
    # A scenario that is no run has no seed.
    keys = dict.fromkeys((*first.settings, *second.settings)) if have_results else ()
    settings = [Setting(key, first.settings.get(key), second.settings.get(key)) for key in keys]
    settings = [setting for setting in settings if setting.a != setting.b]
    if first.scenario is not None and second.scenario is not None:
        settings += _settings(first.scenario, second.scenario)
    differing_results = tuple(one for one in results if one is not None)
    return Difference(a, b, tuple(settings), differing_results, len(both), unmatched)


def _read(name: str) -> _Subject:
    folder = Path(name)
    if not folder.is_dir():
        return _Subject({}, load(name), {}, has_results=False)
    if _is_run(folder):
        return _of_runs([FinishedRun.open(folder)])
    if (folder / MANIFEST).is_file():
        return _read_sweep(folder)
    inner = sorted(islice(filter(_is_run, folder.iterdir()), MOST_FOLDERS + 1))
    if len(inner) > MOST_FOLDERS:
        raise ScenarioError(name, f"holds more than {MOST_FOLDERS} runs", "name a folder with fewer")
    if not inner:
        hint = "name a scenario, a folder that 'run --out' or 'sweep' filled, or a folder of runs"
        raise ScenarioError(name, "holds no finished run and no sweep", hint)
    return _of_runs([FinishedRun.open(own) for own in inner])


def _is_run(folder: Path) -> bool:
    return (folder / MANIFEST).is_file() and (folder / RESULTS).is_file()


def _of_runs(runs: Sequence[FinishedRun]) -> _Subject:
    first = runs[0]
    numbers: dict[tuple[str, str], Values] = {}
    for run in runs:
        if run.scenario != first.scenario:
            what = f"has another scenario than {first.folder.name}"
            raise ScenarioError(str(run.folder), what, "put runs of one scenario into a folder")
        seed = run.summary["seed"]
        for key, value in islice(_numbers("", run.summary), MOST_NUMBERS):
            if key not in NO_RESULTS:
                numbers.setdefault(("", key), {})[seed] = value
    seeds = sorted({run.summary["seed"] for run in runs})
    settings = {
        "scenario": first.manifest["scenario"],
        "run": "live" if "live" in first.summary else "simulated",
        "seed": str(seeds[0]) if len(seeds) == 1 else f"{seeds[0]} to {seeds[-1]}, {len(seeds)} runs",
    }
    if isinstance(version := first.manifest.get("airpath"), str):
        settings["airpath"] = version
    return _Subject(settings, Scenario(first.manifest["scenario"], first.scenario_text), numbers)


def _read_sweep(folder: Path) -> _Subject:
    from airpath.experiments.sweep.results import read_results

    found = read_results(folder)
    numbers: dict[tuple[str, str], Values] = {}
    for point in found.points:
        where = json.dumps(point.parameters, sort_keys=True)
        for name, column in zip(found.metrics, point.values.T, strict=True):
            pairs = zip(point.seeds, column, strict=True)
            known = {int(seed): float(value) for seed, value in pairs if math.isfinite(value)}
            if known:
                numbers[where, name] = known
    settings = {"scenario": found.scenario, **{key: _plainly(value) for key, value in found.fixed.items()}}
    for key in found.parameters:
        values = dict.fromkeys(
            _plainly(point.parameters[key]) for point in found.points if key in point.parameters
        )
        settings[key] = ", ".join(values)
    return _Subject(settings, None, numbers)


def _settings(a: Scenario, b: Scenario) -> Iterator[Setting]:
    """Find the settings that differ: in either direction, as a component that is not there has no keys."""
    first, second = tomllib.loads(a.text), tomllib.loads(b.text)
    there, back = dict(differing(a, second)), dict(differing(b, first))
    for key in dict.fromkeys((*there, *back)):
        before = back[key] if key in back else _value(first, key)
        after = there[key] if key in there else _value(second, key)
        if before != after:
            yield Setting(key, before, after)


def _value(scenario: dict[str, Any], key: str) -> str | None:
    """Write the value at a key, a component as its name; None if there is none."""
    inside: Any = scenario
    for place, name in _STEP.findall(key):
        if place and isinstance(inside, list) and int(place) < len(inside):
            inside = inside[int(place)]
        elif name and isinstance(inside, dict) and name in inside:
            inside = inside[name]
        else:
            return None
    if isinstance(inside, dict) and len(inside) == 1:
        return str(next(iter(inside)))
    return _plainly(inside)


def _plainly(value: Any) -> str:
    """Write a value, a text as it is."""
    return value if isinstance(value, str) else inline(value)


def _numbers(path: str, value: Any) -> Iterator[tuple[str, float]]:
    """List the numbers of results with their names, as metrics of sweeps have them."""
    if isinstance(value, dict | list):
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for key, inner in items:
            yield from _numbers(f"{path}.{key}" if path else str(key), inner)
    elif isinstance(value, int | float) and math.isfinite(value):
        yield path, float(value)


def _result(name: tuple[str, str], a: Values, b: Values) -> Result | None:
    """Compare the values of a number; None if it is the same in every run."""
    if a == b or len({*a.values(), *b.values()}) == 1:
        return None
    seeds = sorted(a.keys() & b.keys())
    point = json.loads(name[0]) if name[0] else {}
    is_paired = len(seeds) > 1 or (len(seeds) == 1 and len(a) == len(b) == 1)
    if is_paired:
        first, second = estimate(a[seed] for seed in seeds), estimate(b[seed] for seed in seeds)
        apart = estimate(b[seed] - a[seed] for seed in seeds)
    else:
        first, second = estimate(a.values()), estimate(b.values())
        apart = unpaired(first, second)
    return Result(name[1], point, first, second, apart, is_paired)


def unpaired(a: Estimate, b: Estimate) -> Estimate:
    """Estimate b - a from independent runs; without an interval if either is one run."""
    mean = b.mean - a.mean
    if a.n < 2 or b.n < 2:
        return Estimate(mean, math.nan, 1, math.nan, math.nan, (mean,))
    error = math.sqrt(sum(one.sd**2 / one.n for one in (a, b)))
    return Estimate(mean, error, min(a.n, b.n), *welch(b, a), (mean,))


def _plain(known: Estimate) -> dict[str, Any]:
    several = known.n > 1
    return {
        "mean": known.mean,
        "n": known.n,
        "ci_low": known.ci_low if several else None,
        "ci_high": known.ci_high if several else None,
    }
