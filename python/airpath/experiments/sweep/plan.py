"""The contents of a sweep's file: scenarios, their runs, and the metrics of each run."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

from airpath.errors import ScenarioError, SweepError
from airpath.experiments.sweep.points import DESIGNS, LARGEST, Point, flat_values, points_of, text_of
from airpath.experiments.sweep.traces import RECORDING, Links, links_of
from airpath.files.atomic import is_descriptor
from airpath.files.text import parse_toml, read_text
from airpath.runs.metrics import named
from airpath.runs.renamed import current_name
from airpath.scenario import Scenario, read
from airpath.stats.estimate import CONFIDENCE
from airpath.stats.replication import MAX_RUNS, Rule
from airpath.terminal import clean

KEYS = (
    "scenario",
    "recordings",
    "metrics",
    "runs",
    "precision",
    "confidence",
    "min_runs",
    "max_runs",
    "seed",
    "set",
)
TABLES = ("axes", "together", "list", *DESIGNS)
RULE_KEYS = ("runs", "precision", "confidence", "min_runs", "max_runs")
"""Keys that say how many runs there are."""
OWN_COLUMNS = ("key", "point", "seed", "error")
ANY = "*"
"""Wildcard in a key: matches the only key that the scenario has there."""
SCENARIO = "scenario"
"""Parameter of a point that names its scenario, where the sweep has several."""


def run_keys(digests: Iterable[str], seeds: Iterable[int], airpath: str, rng: str) -> list[str]:
    """Addresses of runs by their content: each has the SHA-256 of its resolved scenario, in hexadecimal."""
    sha256, versions = hashlib.sha256, f"airpath {airpath}\nrng {rng}\n"
    return [
        sha256(f"{digest}\nseed {seed}\n{versions}".encode()).hexdigest()
        for digest, seed in zip(digests, seeds, strict=True)
    ]


@dataclass(frozen=True)
class Written:
    """A sweep as TOML (see docs/sweep.md), and its name for its folder and for people."""

    name: str
    text: str


@dataclass(frozen=True)
class PlannedPoint:
    """A point of a sweep: its parameters, and its scenario with every default written out."""

    parameters: Point
    text: str = field(repr=False)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the scenario's text."""
        return hashlib.sha256(self.text.encode()).hexdigest()


@dataclass(frozen=True)
class Plan:
    """A sweep: the file's name without its suffix, its text and the scenario's name as written.

    Several scenarios have their names in one text, with commas between; the parameter `SCENARIO` of a point
    says which one it has. Metrics are as for `airpath.runs.metrics.named`. Infinite precision of the rule
    means a fixed number of runs at each point.
    """

    name: str
    text: str
    scenario: str
    metrics: tuple[str, ...]
    rule: Rule
    points: tuple[PlannedPoint, ...]

    @property
    def parameters(self) -> dict[str, str]:
        """Dotted keys of all points, and what their column holds: ``number``, ``flag`` or ``text``."""
        return kinds_of(self.points)


def kinds_of(points: Iterable[PlannedPoint]) -> dict[str, str]:
    """Dotted keys of points, and the kind of their column: ``number``, ``flag`` or ``text``."""
    kinds: dict[str, set[str]] = {}
    for point in points:
        for key, value in point.parameters.items():
            kinds.setdefault(key, set()).add(_kind(value))
    return {key: next(iter(found)) if len(found) == 1 else "text" for key, found in kinds.items()}


def read_plan(
    source: Path | Written,
    runs: int | None = None,
    on_point: Callable[[int, int], None] = lambda _planned, _points: None,
) -> Plan:
    """Read a sweep's file, or a bundled sweep, and everything that it names.

    With `runs`, there are so many at each point, whatever the file says. `on_point` is called after each
    point that is planned, with the number of those and of all.

    Raises
    ------
    SweepError, ScenarioError
        If it is not as it should be; the key is named.
    """
    text, sweep = _parsed(source)
    if runs is not None:
        text, sweep = _with_runs(text, sweep, runs)
    known = (*KEYS, *TABLES)
    for key in sweep:
        if key not in known:
            raise SweepError(key, "is no key of a sweep", f"choose from {', '.join(known)}")
    seed = _whole(sweep, "seed", 1, 0)
    metrics, rule = _metrics(sweep), _rule(sweep, seed)
    scenarios = _scenarios(sweep)
    fixed = flat_values("set", sweep.get("set", {}))
    points = points_of(sweep, seed)
    for key in fixed:
        if any(key in point for point in points):
            raise SweepError(f"set.{key}", "is an axis too", "keep it in one place")
    folder = source.parent if isinstance(source, Path) and not is_descriptor(source) else Path()
    links = _links(sweep, folder)
    points = _with_scenarios(_with_recordings(points, links), scenarios)
    named = list(dict.fromkeys(str(point.get(SCENARIO, *scenarios[:1])) for point in points))
    bases = {name: _read(name, folder) for name in named}
    planned = []
    for number, point in enumerate(points):
        base = bases[str(point.get(SCENARIO, *scenarios[:1]))]
        planned.append(_resolved(base, links.get(str(point.get(RECORDING)), []), fixed, (number, point)))
        on_point(number + 1, len(points))
    _check_distinct(planned)
    name = clean(source.stem) if isinstance(source, Path) else source.name
    plan = Plan(name, text, ", ".join(named), metrics, rule, tuple(planned))
    for name in metrics:
        if name in plan.parameters or name in OWN_COLUMNS:
            raise SweepError("metrics", f"'{name}' is the name of another column", "name another metric")
    return plan


def _scenarios(sweep: dict[str, Any]) -> list[str]:
    """Names of the scenarios at the top of a file; none if only the points name scenarios."""
    given = sweep.get("scenario", [])
    names = given if isinstance(given, list) else [given]
    if not all(isinstance(name, str) for name in names):
        raise SweepError(SCENARIO, f"is {given!r}", 'write scenario = "umts-384", or a list of such names')
    for name in names:
        if names.count(name) > 1:
            raise SweepError(SCENARIO, f"'{name}' is there twice", "name it once")
    return names


def _with_scenarios(points: list[Point], scenarios: list[str]) -> list[Point]:
    """Each point with each of several scenarios; else each must have one, its own or the only one."""
    for point in points:
        own = point.get(SCENARIO)
        if own is None and not scenarios:
            raise SweepError(
                SCENARIO, "is missing", 'write scenario = "umts-384", or the path of a .toml file'
            )
        if own is not None and not isinstance(own, str):
            raise SweepError(SCENARIO, f"is {own!r}", "write the name of a scenario")
        if own is not None and len(scenarios) > 1:
            raise SweepError(SCENARIO, "is a list and an axis too", "keep it in one place")
    if len(scenarios) < 2:
        return points
    return [{SCENARIO: name, **point} for name in scenarios for point in points]


def changes_of(source: str, values: Point) -> list[tuple[str, str]]:
    """Changes that a point makes to a scenario, given as TOML: keys and values as text.

    A part `*` of a key is the only key that the scenario has there: `radio.*.downlink.queue` is
    `radio.lte.downlink.queue` of a scenario with LTE.

    Raises
    ------
    ScenarioError
        If the scenario has none there, or several.
    """
    own = (SCENARIO, RECORDING)
    return [(_named_key(source, key), text_of(value)) for key, value in values.items() if key not in own]


def _named_key(source: str, key: str) -> str:
    parts = key.split(".")
    if ANY not in parts:
        return key
    inside: Any = _tables(source)
    for place, part in enumerate(parts):
        if part == ANY:
            known = list(inside) if isinstance(inside, dict) else []
            if len(known) != 1:
                there = f"has {', '.join(known)}" if known else "has no table"
                what = f"the scenario {there} at '{'.'.join(parts[:place])}', and * stands for one key"
                raise ScenarioError(key, what, "name the key")
            parts[place] = part = known[0]
        if isinstance(inside, list) and part.isdecimal() and int(part) < len(inside):
            inside = inside[int(part)]
        else:
            inside = inside.get(part) if isinstance(inside, dict) else None
    return ".".join(parts)


@lru_cache(maxsize=8)
def _tables(source: str) -> dict[str, Any]:
    """Tables of a scenario as written; none if it is not TOML, which the core then says."""
    try:
        return parse_toml(source)
    except ValueError:
        return {}


def _parsed(path: Path | Written) -> tuple[str, dict[str, Any]]:
    if isinstance(path, Written):
        return path.text, parse_toml(path.text)
    try:
        text = read_text(path)
        return text, parse_toml(text)
    except UnicodeDecodeError as error:
        raise SweepError(str(path), f"byte {error.start} is not UTF-8", "a sweep is TOML in UTF-8") from error
    except ValueError as error:
        raise SweepError(str(path), f"is not TOML: {error}", "see docs/sweep.md for the form") from error
    except OSError as error:
        raise SweepError(str(path), f"cannot be read: {error.strerror}", "check the path") from error


def _with_runs(text: str, sweep: dict[str, Any], runs: int) -> tuple[str, dict[str, Any]]:
    """Write the file as it would say so many runs."""
    changed = {key: value for key, value in sweep.items() if key not in RULE_KEYS} | {"runs": runs}
    line = re.compile(rf"^[ \t]*({'|'.join(RULE_KEYS)})[ \t]*=.*\n?", re.MULTILINE)
    instead = f"runs = {runs}\n" + line.sub("", text)
    try:
        is_same = parse_toml(instead) == changed
    except ValueError:
        is_same = False
    if not is_same:
        raise SweepError("--runs", "the number of runs cannot be replaced in this file", "edit it there")
    return instead, changed


def _metrics(sweep: dict[str, Any]) -> tuple[str, ...]:
    given = sweep.get("metrics")
    if not isinstance(given, list) or not given:
        what = "is missing" if given is None else f"{given!r} is no list of names"
        raise SweepError("metrics", what, 'write metrics = ["goodput_bps"], keys of results.json')
    for name in given:
        try:
            named(name)
        except ValueError as error:
            raise SweepError("metrics", str(error), "dots go between keys") from error
    metrics = tuple(map(current_name, given))
    for name in metrics:
        if metrics.count(name) > 1:
            raise SweepError("metrics", f"'{name}' is there twice", "name it once")
    return metrics


def _rule(sweep: dict[str, Any], seed: int) -> Rule:
    if ("runs" in sweep) == ("precision" in sweep):
        what, remedy = "either runs or precision must be there", "write runs = 20, or precision = 0.05"
        raise SweepError("runs", what, remedy)
    if "runs" in sweep:
        for key in ("min_runs", "max_runs", "confidence"):
            if key in sweep:
                raise SweepError(key, "has no meaning together with runs", "leave it out, or write precision")
        runs = _whole(sweep, "runs", 0, 1)
        if seed + runs > 2**63:
            raise SweepError("runs", f"{runs} from seed {seed} on are too many", "write far fewer than 2^63")
        rule = Rule(precision=float("inf"), min_runs=runs, max_runs=runs, first_seed=seed)
    else:
        most = _whole(sweep, "max_runs", MAX_RUNS, 1)
        least = _whole(sweep, "min_runs", 0, 1) if "min_runs" in sweep else None
        precision, confidence = _number(sweep, "precision", 0.05), _number(sweep, "confidence", CONFIDENCE)
        try:
            rule = Rule.guarded(precision, confidence, least, most, seed)
        except ValueError as error:
            key = "confidence" if "confidence" in str(error) else "precision"
            key = "max_runs" if "max_runs" in str(error) else key
            raise SweepError(key, str(error), "see docs/statistics.md") from error
    return rule


def _read(name: str, folder: Path) -> tuple[str, str, Path | None]:
    beside = folder / name
    try:
        return read(beside if name.endswith(".toml") else name)
    except ScenarioError as error:
        key, message, hint = error.args
        raise ScenarioError("scenario", f"{key}: {message}", hint) from error


def _links(sweep: dict[str, Any], folder: Path) -> Links:
    """Changes of each recording of a sweep; none without a folder of them."""
    given = sweep.get("recordings")
    if given is None:
        return {}
    if not isinstance(given, str):
        raise SweepError("recordings", f"is {given!r}", 'write recordings = "drives", a folder')
    return links_of(folder / given)


def _with_recordings(points: list[Point], links: Links) -> list[Point]:
    if any(RECORDING in point for point in points):
        raise SweepError(RECORDING, "is no key of a scenario", 'name the folder: recordings = "drives"')
    return [{RECORDING: name, **point} for name in links for point in points] if links else points


def _resolved(
    base: tuple[str, str, Path | None],
    link: Sequence[tuple[str, str]],
    fixed: Point,
    numbered: tuple[int, Point],
) -> PlannedPoint:
    (name, source, folder), (number, point) = base, numbered
    try:
        changed = Scenario(name, source, (*link, *changes_of(source, fixed | point)), folder)
    except ScenarioError as error:
        key, message, hint = error.args
        where = f" (point {number}: {words(point)})" if point else ""
        raise ScenarioError(key, f"{message}{where}", hint) from error
    return PlannedPoint(point, changed.text)


def words(point: Point) -> str:
    """A point in words."""
    return ", ".join(f"{key} = {value}" for key, value in point.items()) or "the scenario as it is"


def _check_distinct(points: Sequence[PlannedPoint]) -> None:
    first: dict[str, PlannedPoint] = {}
    for point in points:
        other = first.setdefault(point.digest, point)
        if other is not point:
            both = f"'{words(other.parameters)}', '{words(point.parameters)}'"
            raise SweepError("axes", f"two points are the same scenario: {both}", "leave one out")


def _kind(value: object) -> str:
    if isinstance(value, bool):
        return "flag"
    return "number" if isinstance(value, (int, float)) else "text"


def _whole(sweep: dict[str, Any], key: str, default: int, least: int) -> int:
    value = sweep.get(key, default)
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise SweepError(key, f"is {value!r}", f"write a whole number, {least} or more")
    return value


def _number(sweep: dict[str, Any], key: str, default: float) -> float:
    value = sweep.get(key, default)
    # TOML has infinities, and whole numbers beyond any float.
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not abs(value) < LARGEST:
        raise SweepError(key, "is no number that can be used", f"write a number such as {default}")
    return float(value)
