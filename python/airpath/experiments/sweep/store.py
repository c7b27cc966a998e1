"""The folder of a sweep: a Parquet dataset of runs that is only ever added to, whole files at a time.

Files are there whole or not at all (`airpath.files.atomic`). One process at a time may write, the one
that holds the lock; readers need none.
"""

from __future__ import annotations

import contextlib
import io
import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from airpath import _core
from airpath.errors import SweepError
from airpath.experiments.sweep.plan import Plan, PlannedPoint, run_keys
from airpath.experiments.sweep.points import LARGEST, drawn_keys
from airpath.experiments.sweep.replications import columns_of
from airpath.files.atomic import make_folder, write_in
from airpath.files.folder import Folder
from airpath.files.text import misfit, open_to_read, parse_json, parse_toml, read_text
from airpath.runner.work import Rows, versions
from airpath.stats.replication import Rule

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

    `points` are under their numbers: those that were there before keep theirs. `rows` are the runs that are
    there, `warnings` name files that are damaged or not the sweep's.
    """

    def __init__(self, out: Path, plan: Plan) -> None:
        self._out, self._plan = out, plan
        self.warnings: list[str] = []
        self.rows: list[Rows] = []
        with contextlib.ExitStack() as opened:
            self._folder = opened.enter_context(_locked(out))
            with output_errors(out):
                self._runs = opened.enter_context(self._folder.enter(RUNS, make=True))
                self._folder.sync()
            self._open()
            self._opened = opened.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self._opened.close()

    def append(self, rows: Sequence[Rows]) -> None:
        """Add runs as a file of their own; when this returns, they are on the disk.

        Raises
        ------
        SweepError
            If they cannot be written: then none of them is there, and all earlier ones are.
        """
        content = io.BytesIO()
        pq.write_table(self._table(rows), content, compression="zstd", write_page_checksum=True)
        with output_errors(self._out):
            write_in(self._runs, f"part-{self._next_part:06d}.parquet", content.getvalue())
        self._next_part += 1

    def _open(self) -> None:
        with output_errors(self._out):
            for folder in (self._folder, self._runs):
                for name in folder.names():
                    if _UNFINISHED.fullmatch(name):
                        folder.remove(name)
        before = read_manifest(self._out, must_exist=False)
        self.points = list(self._plan.points) if before is None else _continued(before, self._plan, self._out)
        # Columns keep their order, in whatever order the file names them now.
        self._parameters: dict[str, str] = (before or {}).get("parameters", self._plan.parameters)
        manifest = _manifest_of(self._plan, self.points) | {"parameters": self._parameters}
        if before != manifest:
            text = json.dumps(manifest, indent=1) + "\n"
            with output_errors(self._out):
                write_in(self._folder, MANIFEST, text)
        self._schema = _schema(manifest)
        self.rows, self.warnings = read_rows(self._out, manifest)
        numbers = [int(found[1]) for name in self._runs.names() if (found := _PART.fullmatch(name))]
        self._next_part = max(numbers, default=0) + 1

    def _table(self, rows: Sequence[Rows]) -> pa.Table:
        points, seeds, values = columns_of(rows)
        order = np.lexsort((seeds, points))
        points, seeds, values = points[order], seeds[order], values[order]
        found, place = np.unique(points, return_inverse=True)
        digests = [self.points[point].digest for point in found]
        parameters = [
            pa.array([self._parameter(point, key) for point in found], _TYPES[kind]).take(place)
            for key, kind in self._parameters.items()
        ]
        keys = run_keys((digests[i] for i in place), seeds.tolist(), *versions())
        metrics = [pa.array(column, from_pandas=True) for column in values.T]
        return pa.table([pa.array(keys), points, *parameters, seeds, *metrics], schema=self._schema)

    def _parameter(self, point: int, key: str) -> Any:
        value = self.points[point].parameters.get(key)
        return str(value) if value is not None and self._parameters[key] == "text" else value


def read_manifest(out: Path, must_exist: bool = True) -> dict[str, Any] | None:
    """Read what a sweep's folder says of itself; None if it says nothing and need not.

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
        If the manifest says nothing sensible about it.
    """
    runs, seed = manifest["runs"], manifest["seed"]
    if not 0 <= seed <= 2**63 - runs["max_runs"]:
        raise ValueError(f"seed is {seed} and runs.max_runs {runs['max_runs']}")
    if runs["precision"] is None:
        return Rule(float("inf"), runs["min_runs"], runs["max_runs"], seed, confidence=runs["confidence"])
    if wrong := misfit(runs["precision"], float, "runs.precision"):
        raise ValueError(wrong)
    return Rule.guarded(runs["precision"], runs["confidence"], runs["min_runs"], runs["max_runs"], seed)


def read_rows(out: Path, manifest: dict[str, Any]) -> tuple[list[Rows], list[str]]:
    """Read all runs of a folder, those of a point together and by seed, and what is wrong with its files.

    A file with a run whose key is not that of its point, its seed and the manifest's versions is not the
    sweep's.
    """
    warnings: list[str] = []
    schema = _schema(manifest)
    tables = [schema.empty_table()]
    for name in _names(out / RUNS):
        path = out / RUNS / name
        if _UNFINISHED.fullmatch(name):
            continue
        if not _PART.fullmatch(name):
            warnings.append(f"{path}: not a file of this sweep; left alone")
            continue
        try:
            with open_to_read(path) as file:
                table = pq.ParquetFile(file, page_checksum_verification=True).read()
        except (pa.ArrowException, OSError, ValueError) as error:
            reason = " ".join(str(error).split())[:120]
            warnings.append(f"{path}: damaged, its runs are not counted; left alone ({reason})")
            continue
        if _is_of(table, schema, manifest):
            tables.append(table)
        else:
            warnings.append(f"{path}: holds runs of something else, which are not counted; left alone")
    known = {MANIFEST, LOCK, RUNS, FIGURES}
    for name in _names(out):
        if name not in known and not _UNFINISHED.fullmatch(name):
            warnings.append(f"{out / name}: not a file of this sweep; left alone")
    return _by_point(pa.concat_tables(tables), manifest["metrics"]), warnings


def _is_of(table: pa.Table, schema: pa.Schema, manifest: dict[str, Any]) -> bool:
    """Whether each row of a file is a run of this sweep."""
    if not table.schema.equals(schema):
        return False
    keys, numbers, seeds = (table[name].to_pylist() for name in ("key", "point", "seed"))
    digests = [point["scenario_sha256"] for point in manifest["points"]]
    if None in seeds or not all(number is not None and 0 <= number < len(digests) for number in numbers):
        return False
    made_by = manifest["airpath"], manifest["rng"]
    return bool(keys == run_keys((digests[number] for number in numbers), seeds, *made_by))


def _by_point(table: pa.Table, metrics: Sequence[str]) -> list[Rows]:
    """Rows of all files: of a run that is there twice the first one counts."""
    points, seeds, *columns = (table[name].to_numpy() for name in ("point", "seed", *metrics))
    order = np.lexsort((seeds, points))
    points, seeds = points[order], seeds[order]
    is_new = np.append(True, (np.diff(points) != 0) | (np.diff(seeds) != 0))[: len(order)]
    points, seeds, values = points[is_new], seeds[is_new], np.column_stack(columns)[order[is_new]]
    starts = np.flatnonzero(np.diff(points, prepend=-1))
    parts = zip(points[starts], np.split(seeds, starts[1:]), np.split(values, starts[1:]), strict=False)
    return [(int(point), of_point.tolist(), measured) for point, of_point, measured in parts]


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


def _continued(before: dict[str, Any], plan: Plan, out: Path) -> list[PlannedPoint]:
    """Points under the numbers that they had; refuse what is not the same sweep with more points."""
    now = _manifest_of(plan, plan.points)
    remedy = "sweep into another folder, or take the change back; points over the same keys may be added"
    for key in ("airpath", "rng", "scenario", "metrics", "seed", "runs", "parameters"):
        if before.get(key) != now[key]:
            what = f"'{out}' holds a sweep with {key} {before.get(key)!r}, and this one has {now[key]!r}"
            raise SweepError(key, what, remedy)
    planned = {point.digest: point for point in plan.points}
    kept = [planned.pop(point["scenario_sha256"], None) for point in before["points"]]
    for point, old in zip(kept, before["points"], strict=True):
        if point is None:
            named = ", ".join(f"{key} = {value}" for key, value in old["parameters"].items())
            what = f"'{out}' holds a sweep with a point that this one lacks, or whose scenario differs"
            raise SweepError("axes", f"{what}: {named}", remedy)
    return [point for point in kept if point is not None] + list(planned.values())


def _schema(manifest: dict[str, Any]) -> pa.Schema:
    fields = [pa.field("key", pa.string()), pa.field("point", pa.int64())]
    fields += [pa.field(key, _TYPES[kind]) for key, kind in manifest["parameters"].items()]
    fields += [pa.field("seed", pa.int64())]
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
    """Say of an error of the operating system where it was."""
    try:
        yield
    except OSError as error:
        what = f"'{out}' cannot be {verb}: {error.strerror or error}"
        remedy = "make room or choose another folder, and give the same command"
        raise SweepError("out", what, f"{remedy}: what was written before is safe") from error
