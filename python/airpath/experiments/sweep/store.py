"""The folder of a sweep: a Parquet dataset of runs that is only ever added to, whole files at a time.

Files are there whole or not at all (`airpath.files.atomic`). One process at a time may write, the one
that holds the lock; readers need none.
"""

from __future__ import annotations

import contextlib
import io
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from airpath import _core
from airpath.errors import SweepError
from airpath.experiments.sweep.parts import Parts
from airpath.experiments.sweep.plan import OWN_COLUMNS, Plan, PlannedPoint, kinds_of, run_keys
from airpath.experiments.sweep.points import LARGEST, drawn_keys
from airpath.experiments.sweep.replications import columns_of
from airpath.files.atomic import make_folder, write_in
from airpath.files.folder import Folder
from airpath.files.text import misfit, open_to_read, parse_json, parse_toml, read_text
from airpath.runner.work import Failure, Rows, versions
from airpath.runs.renamed import current_name
from airpath.stats.replication import Rule
from airpath.terminal import counted

MANIFEST, LOCK, RUNS = "manifest.json", "lock", "runs"
FORMAT = 2
MOST_BYTES, MOST_VALUES = 400_000_000, 20_000_000
"""No manifest is larger: that of a million points has some 300 MB."""
_SHAPE = {
    "format": int,
    "airpath": str,
    "rng": str,
    "name": str,
    "scenario": str,
    "metrics": [str],
    "seed": int,
    "runs": {"precision": object, "confidence": float, "min_runs": int, "max_runs": int},
    "parameters": {},
    "points": [{"scenario_sha256": str, "parameters": {}}],
    "sweep": str,
}
_PART = re.compile(r"part-(\d{6,})\.parquet")
_UNFINISHED = re.compile(r"\.(part-\d{6,}\.parquet|manifest\.json)\.tmp")
FIGURES = "figures"
"""Where `airpath plot` draws."""
_TYPES = {"number": pa.float64(), "flag": pa.bool_(), "text": pa.string()}


class Store:
    """A sweep's folder, locked for one writer; a context manager.

    `points` are under their numbers: a point that has runs keeps its number. `rows` are the runs that are
    there with every metric of the plan, `failures` says which of them failed and why, by point and seed.
    `warnings` name files that are damaged or not the sweep's, and say which runs must be made again for
    metrics that the plan adds. If an error ends the context before there is a run, a folder that did not
    exist before is removed again.
    """

    def __init__(self, out: Path, plan: Plan) -> None:
        self._out, self._plan = out, plan
        self._made = [folder for folder in (out, *out.parents) if not folder.exists()]
        self.warnings: list[str] = []
        self.rows: list[Rows] = []
        self.failures: dict[tuple[int, int], str] = {}
        with contextlib.ExitStack() as opened:
            self._folder = opened.enter_context(_locked(out))
            opened.push(self._leave_nothing)
            with output_errors(out):
                self._runs = opened.enter_context(self._folder.enter(RUNS, make=True))
                self._folder.sync()
            self._open()
            self._opened = opened.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: Any) -> None:
        self._opened.__exit__(*exception)

    def _leave_nothing(self, kind: type[BaseException] | None, *_error: object) -> None:
        """Remove a new folder that an error leaves without runs."""
        if kind is None or not self._made:
            return
        with contextlib.suppress(OSError):
            with self._folder.enter(RUNS) as runs:
                if runs.names() or set(self._folder.names()) - {MANIFEST, LOCK, RUNS}:
                    return
            for name in (MANIFEST, RUNS, LOCK):
                self._folder.remove_tree(name)
            for folder in self._made:
                folder.rmdir()

    def finish(self) -> None:
        """Remove files that lack metrics added later, if all of their runs have been made again."""
        if not self._narrow:
            return
        files, _ = _read_files(self._out, _manifest_of(self._plan, self.points))
        again: set[str] = set()
        for name, table in files.items():
            again.update(() if name in self._narrow else table["key"].to_pylist())
        with output_errors(self._out):
            for name in self._narrow:
                if name in files and again.issuperset(files[name]["key"].to_pylist()):
                    self._runs.remove(name)

    def fail(self, failure: Failure) -> None:
        """Have a run that failed written with its reason, when its row is added."""
        point, seed, reason = failure
        self.failures[point, seed] = reason

    def append(self, rows: Sequence[Rows]) -> None:
        """Add runs as a file of their own; when this returns, they are on the disk.

        Raises
        ------
        SweepError
            If they cannot be written: then none of them is there, and all earlier ones are.
        """
        self._write(f"part-{self._next_part:06d}.parquet", self._table(rows))
        self._next_part += 1

    def _write(self, name: str, table: pa.Table) -> None:
        content = io.BytesIO()
        pq.write_table(table, content, compression="zstd", write_page_checksum=True)
        with output_errors(self._out):
            write_in(self._runs, name, content.getvalue())

    def _open(self) -> None:
        with output_errors(self._out):
            for folder in (self._folder, self._runs):
                for name in folder.names():
                    if _UNFINISHED.fullmatch(name):
                        folder.remove(name)
        before = read_manifest(self._out, must_exist=False)
        files, self.warnings = ({}, []) if before is None else _read_files(self._out, before)
        has_runs = sorted(
            {number for table in files.values() for number in table["point"].unique().to_pylist()}
        )
        if before is None or not has_runs:
            self.points, self._parameters = list(self._plan.points), self._plan.parameters
        else:
            self.points = _continued(before, has_runs, self._plan, self._out)
            # Columns keep their order, in whatever order the file names them now.
            kinds = kinds_of(self.points)
            order = dict.fromkeys([*before["parameters"], *kinds])
            self._parameters = {key: kinds[key] for key in order if key in kinds}
        manifest = _manifest_of(self._plan, self.points) | {"parameters": self._parameters}
        if before != manifest:
            text = json.dumps(manifest, indent=1) + "\n"
            with output_errors(self._out):
                write_in(self._folder, MANIFEST, text)
        self._schema = _schema(manifest)
        if not has_runs:
            files, self.warnings = _read_files(self._out, manifest)
        self._describe_again(files, {} if before is None else before["parameters"])
        self._take_in(files)
        numbers = [int(found[1]) for name in self._runs.names() if (found := _PART.fullmatch(name))]
        self._next_part = max(numbers, default=0) + 1

    def _describe_again(self, files: Mapping[str, pa.Table], before: Mapping[str, str]) -> None:
        """Give files the columns of today's parameters, if others were added since they were written."""
        for name, table in files.items():
            metrics = [one for one in self._plan.metrics if one in table.column_names]
            known = {*OWN_COLUMNS, *before, *self._parameters, *metrics}
            metrics += [one for one in table.column_names if one not in known]
            schema = _schema({"parameters": self._parameters, "metrics": metrics})
            with open_to_read(self._out / RUNS / name) as file:
                if pq.read_schema(file).equals(schema):
                    continue
            places = table["point"].to_pylist()
            columns = [self._column(places, key) for key in self._parameters]
            columns = [
                table["key"],
                table["point"],
                *columns,
                table["seed"],
                _errors(table),
                *(table[one] for one in metrics),
            ]
            self._write(name, pa.table(columns, schema=schema))

    def _take_in(self, files: Mapping[str, pa.Table]) -> None:
        """Take in the runs that have all metrics; say how many have not, and must be made again."""
        metrics = self._plan.metrics
        narrow, again = _unmeasured(files, metrics)
        whole = {name: table for name, table in files.items() if name not in narrow}
        self.rows, warnings = _by_point(whole, metrics)
        self.failures = _failures(whole.values())
        self.warnings += warnings
        # Files with metrics that the plan does not name stay: their values are nowhere else.
        known = {*OWN_COLUMNS, *self._parameters, *metrics}
        self._narrow = {name for name in narrow if set(files[name].column_names) <= known}
        if again:
            added = ", ".join(one for one in metrics if any(one in missing for missing in narrow.values()))
            kept = counted(len(again), "run")
            self.warnings.append(f"{self._out}: {kept} did not measure {added}: made again for all metrics")

    def _table(self, rows: Sequence[Rows]) -> pa.Table:
        points, seeds, values = columns_of(rows)
        order = np.lexsort((seeds, points))
        points, seeds, values = points[order], seeds[order], values[order]
        digests = {point: self.points[point].digest for point in np.unique(points).tolist()}
        parameters = [self._column(points.tolist(), key) for key in self._parameters]
        keys = run_keys((digests[point] for point in points.tolist()), seeds.tolist(), *versions())
        metrics = [pa.array(column, from_pandas=True) for column in values.T]
        if self.failures:
            failed = map(self.failures.get, zip(points.tolist(), seeds.tolist(), strict=True))
            errors = pa.array(failed, pa.string())
        else:
            errors = pa.nulls(len(seeds), pa.string())
        return pa.table([pa.array(keys), points, *parameters, seeds, errors, *metrics], schema=self._schema)

    def _column(self, points: Sequence[int], key: str) -> pa.Array:
        """A parameter of the points of rows."""
        found, place = np.unique(np.asarray(points), return_inverse=True)
        values = [self._parameter(point, key) for point in found.tolist()]
        return pa.array(values, _TYPES[self._parameters[key]]).take(pa.array(place))

    def _parameter(self, point: int, key: str) -> Any:
        value = self.points[point].parameters.get(key)
        return str(value) if value is not None and self._parameters[key] == "text" else value


def read_manifest(out: Path, must_exist: bool = True) -> dict[str, Any] | None:
    """Read the manifest of a sweep's folder; None if it has none and needs none.

    Raises
    ------
    SweepError
        If it cannot be read.
    """
    path = out / MANIFEST
    if (out / "results.json").is_file() and (out / "scenario.resolved.toml").is_file():
        remedy = "name a sweep's folder; a run's numbers are in its results.json, or use 'airpath predict"
        raise SweepError(str(out), "is the folder of a run, not of a sweep", f"{remedy} {out}'")
    try:
        manifest: dict[str, Any] = parse_json(read_text(path, MOST_BYTES), MOST_VALUES)
        if wrong := misfit(manifest, {"format": int}):
            raise ValueError(wrong)
        if manifest["format"] in range(1, FORMAT):
            what = f"'{out}' was written by an earlier airpath, in format {manifest['format']}"
            raise SweepError("out", what, f"this one reads format {FORMAT}: sweep into another folder")
        if wrong := misfit(manifest, _SHAPE):
            raise ValueError(wrong)
        manifest["metrics"] = [current_name(name, silent=True) for name in manifest["metrics"]]
        _check(manifest)
    except FileNotFoundError as error:
        if not must_exist:
            return None
        raise SweepError(str(out), "is no folder of a sweep", "name what 'airpath sweep' wrote") from error
    except ValueError as error:
        what = f"'{path}' is damaged, or no manifest of a sweep: {error}"
        raise SweepError("out", what, "choose another folder, or put the file back") from error
    except OSError as error:
        raise SweepError(str(path), f"cannot be read: {error.strerror}", "check the path") from error
    return manifest


def _check(manifest: dict[str, Any]) -> None:
    """Raise a `ValueError` if what a manifest says makes no sense, though its form is right."""
    if manifest["format"] != FORMAT:
        raise ValueError(f"its format is {manifest['format']}")
    kinds = manifest["parameters"]
    for key, kind in kinds.items():
        if not isinstance(kind, str) or kind not in _TYPES:
            raise ValueError(f"parameters.{key} is {kind!r}")
    names = ("key", "point", "seed", *kinds, *manifest["metrics"])
    if len(set(names)) < len(names):
        raise ValueError("two of its columns have one name")
    for number, point in enumerate(manifest["points"]):
        for key, value in point["parameters"].items():
            is_number = isinstance(value, (int, float)) and abs(value) < LARGEST
            if key not in kinds or not (is_number or isinstance(value, str)):
                raise ValueError(f"points[{number}].parameters.{key} is {value!r}")
    rule_of(manifest)
    try:
        drawn_keys(parse_toml(manifest["sweep"]))
    except SweepError as error:
        raise ValueError(f"sweep: {error.args[0]}: {error.args[1]}") from error


def rule_of(manifest: dict[str, Any]) -> Rule:
    """How many runs each point is to have.

    Raises
    ------
    ValueError
        If the manifest's entries are not valid.
    """
    runs, seed = manifest["runs"], manifest["seed"]
    if not 0 <= seed <= 2**63 - runs["max_runs"]:
        raise ValueError(f"seed is {seed} and runs.max_runs {runs['max_runs']}")
    if runs["precision"] is None:
        return Rule(float("inf"), runs["min_runs"], runs["max_runs"], seed, confidence=runs["confidence"])
    if wrong := misfit(runs["precision"], float, "runs.precision"):
        raise ValueError(wrong)
    return Rule.guarded(runs["precision"], runs["confidence"], runs["min_runs"], runs["max_runs"], seed)


Failures = Mapping[tuple[int, int], str]
"""Why runs failed, by point and seed."""


def read_rows(out: Path, manifest: dict[str, Any]) -> tuple[list[Rows], Failures, list[str]]:
    """Read all runs of a folder, by point and seed, why runs failed, and what is wrong with the files.

    A file with a run whose key is not that of its point, its seed and the manifest's versions is not the
    sweep's. NaN is what a run did not measure, or has not measured yet because the metric was added since.
    """
    files, warnings = _read_files(out, manifest)
    metrics = manifest["metrics"]
    rows, more = _by_point(files, metrics)
    narrow, again = _unmeasured(files, metrics)
    waiting = [narrow[name] for name in narrow if not again.isdisjoint(files[name]["key"].to_pylist())]
    if late := [one for one in metrics if any(one in missing for missing in waiting)]:
        what = f"some runs have not measured {', '.join(late)} yet, added to the sweep since"
        more.append(f"{out}: {what}; 'airpath sweep' makes them again")
    return rows, _failures(files.values()), warnings + more


def _unmeasured(
    files: Mapping[str, pa.Table], metrics: Sequence[str]
) -> tuple[dict[str, set[str]], set[str]]:
    """Find files that lack metrics, and which; and keys of runs that no file has with all metrics."""
    missing = {name: set(metrics) - set(table.column_names) for name, table in files.items()}
    narrow = {name: lacking for name, lacking in missing.items() if lacking}
    if not narrow:  # As in most sweeps, which may have millions of keys.
        return {}, set()
    again = {key for name in narrow for key in files[name]["key"].to_pylist()}
    for name in files.keys() - narrow.keys():
        again.difference_update(files[name]["key"].to_pylist())
    return narrow, again


def _read_files(out: Path, manifest: dict[str, Any]) -> tuple[dict[str, pa.Table], list[str]]:
    """Read the files of a sweep by name, and say which files are damaged or not the sweep's."""
    warnings: list[str] = []
    files: dict[str, pa.Table] = {}
    parts = Parts(out, manifest)
    for name in _names(out / RUNS):
        path = out / RUNS / name
        if _UNFINISHED.fullmatch(name):
            continue
        if not _PART.fullmatch(name):
            warnings.append(f"{path}: not a file of this sweep; left alone")
            continue
        try:
            table = parts.read(path)
        except (pa.ArrowException, OSError, ValueError) as error:
            reason = " ".join(str(error).split())[:120]
            warnings.append(f"{path}: damaged, its runs are not counted; left alone ({reason})")
            continue
        if table is None:
            warnings.append(f"{path}: holds runs of something else, which are not counted; left alone")
        else:
            files[name] = table
    known = {MANIFEST, LOCK, RUNS, FIGURES}
    for name in _names(out):
        if name not in known and not _UNFINISHED.fullmatch(name):
            warnings.append(f"{out / name}: not a file of this sweep; left alone")
    return files, warnings


def _by_point(files: Mapping[str, pa.Table], metrics: Sequence[str]) -> tuple[list[Rows], list[str]]:
    """Runs of all files, and a warning if one is there twice with different values.

    Of a run that is there twice the row with more metrics counts, and of equal ones the first.
    """
    if not files:
        return [], []
    tables = list(files.values())
    columns = [np.concatenate([_numbers(table, name) for table in tables]) for name in ("point", "seed")]
    values = np.column_stack(
        [np.concatenate([_numbers(table, name) for table in tables]) for name in metrics]
    )
    absent = np.concatenate(
        [np.full(len(table), sum(name not in table.column_names for name in metrics)) for table in tables]
    )
    order = np.lexsort((absent, columns[1], columns[0]))
    points, seeds, values = columns[0][order], columns[1][order], values[order]
    is_new = np.append(True, (np.diff(points) != 0) | (np.diff(seeds) != 0))[: len(order)]
    first = np.maximum.accumulate(np.where(is_new, np.arange(len(order)), 0))
    differ = (values != values[first]) & ~np.isnan(values) & ~np.isnan(values[first])
    twice = int(np.count_nonzero(differ.any(axis=1)))
    warnings = []
    if twice:
        what = f"{counted(twice, 'run')} made twice with different values, though of one version"
        warnings.append(f"{RUNS}: {what}: were they made by different builds? Sweep into a new folder")
    points, seeds, values = points[is_new], seeds[is_new], values[is_new]
    starts = np.flatnonzero(np.diff(points, prepend=-1))
    parts = zip(points[starts], np.split(seeds, starts[1:]), np.split(values, starts[1:]), strict=False)
    return [(int(point), of_point.tolist(), measured) for point, of_point, measured in parts], warnings


def _errors(table: pa.Table) -> pa.Array:
    """Why runs failed, null for the others: older files do not say."""
    return table["error"] if "error" in table.column_names else pa.nulls(len(table), pa.string())


def _failures(tables: Iterable[pa.Table]) -> dict[tuple[int, int], str]:
    failures: dict[tuple[int, int], str] = {}
    for table in tables:
        if "error" not in table.column_names or table["error"].null_count == len(table):
            continue
        failed = table.filter(pc.is_valid(table["error"]))
        points, seeds, errors = (failed[name].to_pylist() for name in ("point", "seed", "error"))
        failures.update(zip(zip(points, seeds, strict=True), errors, strict=True))
    return failures


def _numbers(table: pa.Table, name: str) -> np.ndarray:
    """A column as numbers, NaN where there is none."""
    if name not in table.column_names:
        return np.full(len(table), np.nan)
    return np.asarray(table[name].to_numpy())


def _manifest_of(plan: Plan, points: Sequence[PlannedPoint]) -> dict[str, Any]:
    rule = plan.rule
    return {
        "format": FORMAT,
        "airpath": _core.version(),
        "rng": _core.RNG_VERSION,
        "name": plan.name,
        "scenario": plan.scenario,
        "metrics": list(plan.metrics),
        "seed": rule.first_seed,
        "runs": {
            "precision": rule.precision if rule.precision < float("inf") else None,
            "confidence": rule.confidence,
            "min_runs": rule.min_runs,
            "max_runs": rule.max_runs,
        },
        "parameters": plan.parameters,
        "points": [{"scenario_sha256": point.digest, "parameters": point.parameters} for point in points],
        "sweep": plan.text,
    }


def _continued(before: dict[str, Any], has_runs: Sequence[int], plan: Plan, out: Path) -> list[PlannedPoint]:
    """Number the points: those with runs keep their numbers; refuse a plan that would lose or mix runs."""
    now = _manifest_of(plan, plan.points)
    remedy = "sweep into another folder, or take the change back; points, metrics and runs may be added"
    for key in ("airpath", "rng", "seed", "runs"):
        if before[key] != now[key] and not (key == "runs" and _asks_for_more(before[key], now[key])):
            what = f"'{out}' holds a sweep with {key} {before[key]!r}, and this one has {now[key]!r}"
            raise SweepError(key, what, remedy)
    planned = {point.digest: point for point in plan.points}
    placed: dict[int, PlannedPoint] = {}
    needed = set(has_runs)
    for number, old in enumerate(before["points"]):
        point = planned.get(old["scenario_sha256"])
        if point is not None and (number in needed or number < len(planned)):
            # The keys' values as they were written first: rows have them.
            own = (
                old["parameters"] if old["parameters"].keys() == point.parameters.keys() else point.parameters
            )
            placed[number] = replace(point, parameters=own)
        elif point is None and number in needed:
            raise _lacks_point(old, before, plan, out, remedy)
    if needed and max(needed) >= len(planned):
        raise _lacks_point(before["points"][max(needed)], before, plan, out, remedy)
    there = {point.digest for point in placed.values()}
    others = iter([point for point in plan.points if point.digest not in there])
    return [placed.get(number) or next(others) for number in range(len(planned))]


def _asks_for_more(before: dict[str, Any], now: dict[str, Any]) -> bool:
    """Whether the runs that one rule requires include all runs of the other."""
    if (before["precision"] is None) != (now["precision"] is None):
        return False
    is_tighter = now["precision"] is None or now["precision"] <= before["precision"]
    return is_tighter and all(now[key] >= before[key] for key in ("confidence", "min_runs", "max_runs"))


def _lacks_point(
    old: dict[str, Any], before: dict[str, Any], plan: Plan, out: Path, remedy: str
) -> SweepError:
    if before["scenario"] != plan.scenario:
        what = (
            f"'{out}' holds a sweep with scenario {before['scenario']!r}, and this one has {plan.scenario!r}"
        )
        return SweepError("scenario", what, remedy)
    named = ", ".join(f"{key} = {value}" for key, value in old["parameters"].items())
    what = f"'{out}' holds a sweep with a point that this one lacks, or whose scenario differs"
    return SweepError("axes", f"{what}: {named}", remedy)


def _schema(manifest: dict[str, Any]) -> pa.Schema:
    fields = [pa.field("key", pa.string()), pa.field("point", pa.int64())]
    fields += [pa.field(key, _TYPES[kind]) for key, kind in manifest["parameters"].items()]
    fields += [pa.field("seed", pa.int64()), pa.field("error", pa.string())]
    return pa.schema(fields + [pa.field(name, pa.float64()) for name in manifest["metrics"]])


def _names(folder: Path) -> list[str]:
    with output_errors(folder, "read"):
        return sorted(file.name for file in folder.iterdir()) if folder.is_dir() else []


def _locked(out: Path) -> Folder:
    """Make the folder of a sweep, open it, and lock it for as long as this process writes into it."""
    with output_errors(out):
        make_folder(out)
        folder = Folder.open(out)
    try:
        folder.lock(LOCK)
    except BlockingIOError as error:
        folder.close()
        remedy = "wait until it is done, or choose another folder"
        raise SweepError("out", f"'{out}' is in use: {error.strerror}", remedy) from error
    except OSError as error:
        folder.close()
        what = f"'{out}' cannot be locked: {error.strerror}"
        raise SweepError("out", what, "choose a folder on a disk with room that knows locks") from error
    return folder


@contextlib.contextmanager
def output_errors(out: Path, verb: str = "written") -> Iterator[None]:
    """Add the place to an error of the operating system."""
    try:
        yield
    except OSError as error:
        what = f"'{out}' cannot be {verb}: {error.strerror or error}"
        remedy = "make room or choose another folder, and give the same command"
        raise SweepError("out", what, f"{remedy}: what was written before is safe") from error
