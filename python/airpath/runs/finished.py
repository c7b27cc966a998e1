"""Reads the folder of a finished run and checks each file before it is used."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from airpath import _core
from airpath.errors import ScenarioError
from airpath.files.text import MOST_RESULTS_BYTES, misfit, parse_json, parse_toml, read_text
from airpath.runs.recorder import CAPTURE, MANIFEST, RESOLVED, RESULTS, TRACE
from airpath.runs.renamed import current
from airpath.runs.trace import file_name, read_events, read_pieces, schema_of
from airpath.scenario import Scenario

if TYPE_CHECKING:
    import pyarrow as pa

    from airpath.runs.trace import Events

FILLED = "name a folder that 'airpath run --out' or 'airpath live --out' has filled"
AGAIN = "run the scenario again"
# What readers rely on. In a list, each item must be like the one given.
_MANIFEST = {"scenario": str, "seed": int, "interrupted": bool, "files": {}}
_RESULTS = {
    "seed": int,
    "complete": bool,
    "simulated_s": float,
    "flows": [
        {
            "ue": int,
            "flow": int,
            "direction": str,
            "app": str | None,
            "bytes_acked": int | None,
            "bytes_received": int | None,
        }
    ],
    "elements": [{}],
}


@dataclass(frozen=True)
class FinishedRun:
    """A folder that a run has filled.

    Every attribute raises a `ScenarioError` if its file is missing or damaged.
    """

    folder: Path

    @classmethod
    def open(cls, folder: Path) -> Self:
        """Open the folder of a finished run.

        Raises
        ------
        ScenarioError
            If there is no such folder, or it holds no finished run.
        """
        if not folder.is_dir():
            what = "is not a folder" if folder.exists() else "there is no such folder"
            raise ScenarioError(str(folder), what, FILLED)
        if (folder / MANIFEST).is_file() and not (folder / RESULTS).is_file() and (folder / "runs").is_dir():
            raise ScenarioError(
                str(folder), "is the folder of a sweep, not of a run", "see 'airpath results'"
            )
        run = cls(folder)
        _ = run.manifest
        return run

    @cached_property
    def manifest(self) -> dict[str, Any]:
        """The content of `manifest.json`."""
        return self._parsed(MANIFEST, parse_json, _MANIFEST, ": the run was not finished")

    @cached_property
    def summary(self) -> dict[str, Any]:
        """The content of `results.json`, with today's names."""
        return current(self._parsed(RESULTS, parse_json, _RESULTS))

    @cached_property
    def scenario_text(self) -> str:
        """The scenario with every default, as TOML; `scenario` checks it."""
        return self._text(RESOLVED)

    @cached_property
    def scenario(self) -> dict[str, Any]:
        """The scenario with every default."""
        try:
            return parse_toml(Scenario(RESOLVED, self.scenario_text).text)
        except ScenarioError as error:
            what = f"{error.args[0]}: {error.args[1]}"
            raise self.unreadable(RESOLVED, what) from error

    @cached_property
    def nodes(self) -> list[str]:
        """Names of the nodes of the path, by `element`."""
        nodes: list[str] = _core.path(self.scenario_text)[0]
        return nodes

    @cached_property
    def waterfall(self) -> list[dict[str, Any]]:
        """What each connection did, phase by phase, from the capture; without one, nothing."""
        capture = self.folder / CAPTURE
        if not capture.is_file():  # Large, and nothing else needs it.
            return []
        try:
            rows: list[dict[str, Any]] = json.loads(_core.waterfall(capture))
        except (ValueError, OSError) as error:
            raise self.unreadable(CAPTURE, error) from error
        return rows

    @cached_property
    def kinds(self) -> dict[str, list[str]]:
        """Columns of every recorded kind of event, without the time; those of its file are checked."""
        files = self.manifest["files"]
        recorded = {kind: columns for kind, columns in _core.probes().items() if _name_of(kind) in files}
        if not recorded:
            raise ScenarioError(str(self.folder), f"holds no {TRACE}", f"{FILLED}, not with --probes ''")
        for kind, columns in recorded.items():
            self._check_columns(kind, columns)
        return recorded

    def pieces(self, kind: str, columns: Sequence[str] | None = None) -> Iterator[pa.Table]:
        """Read the table of a kind piece by piece, only some columns if they are named."""
        with self._reading(kind):
            yield from read_pieces(self._file(_name_of(kind)), columns)

    def events(self, wanted: Mapping[str, Sequence[str]]) -> Iterator[Events]:
        """Read columns of the recorded kinds among `wanted`, kind by kind and piece by piece."""
        for kind in wanted.keys() & self.kinds.keys():
            with self._reading(kind):
                yield from read_events(self.folder / TRACE, {kind: wanted[kind]})

    def count(self, kind: str) -> int:
        """Number of events of a recorded kind."""
        import pyarrow.parquet as pq

        with self._reading(kind), self._file(_name_of(kind)).open("rb") as file:
            rows: int = pq.read_metadata(file).num_rows
        return rows

    def _check_columns(self, kind: str, columns: Sequence[str]) -> None:
        """Refuse a file whose columns differ from the columns that a run writes, or have nulls."""
        import pyarrow.parquet as pq

        with self._reading(kind), self._file(_name_of(kind)).open("rb") as file:
            there = pq.read_schema(file)
        for field in schema_of(columns):
            if field.name not in there.names:
                raise self._damaged(kind, f"it has no column {field.name}, as of another version of airpath")
            own = there.field(field.name)
            if own.type != field.type:
                raise self._damaged(kind, f"its column {field.name} holds {own.type}")
            if own.nullable:
                raise self._damaged(kind, f"its column {field.name} may lack values")

    @contextlib.contextmanager
    def _reading(self, kind: str) -> Iterator[None]:
        import pyarrow as pa

        try:
            yield
        except ScenarioError:
            raise
        except (
            pa.ArrowException,
            OSError,
            ValueError,
        ) as error:  # A ValueError is of names that are not UTF-8.
            raise self._damaged(kind, error) from error

    def _damaged(self, kind: str, why: object) -> ScenarioError:
        return self.unreadable(_name_of(kind), why)

    def _file(self, name: str, because: str = "") -> Path:
        file = self.folder / name
        if not file.is_file():
            raise ScenarioError(str(self.folder), f"holds no {name}{because}", FILLED)
        return file

    def _text(self, name: str, because: str = "") -> str:
        file = self._file(name, because)
        try:
            return read_text(file, MOST_RESULTS_BYTES)
        except ValueError as error:
            raise self.unreadable(name, error) from error
        except OSError as error:
            raise self.unreadable(name, error.strerror) from error

    def _parsed(
        self, name: str, parse: Callable[[str], Any], shape: dict[str, Any], because: str = ""
    ) -> dict[str, Any]:
        text = self._text(name, because)
        try:
            content: dict[str, Any] = parse(text)
        except ValueError as error:
            raise self.unreadable(name, error) from error
        if wrong := misfit(content, shape):
            raise self.unreadable(name, wrong)
        return content

    def unreadable(self, name: str, why: object) -> ScenarioError:
        """The error for a file that is damaged."""
        return ScenarioError(str(self.folder / name), f"cannot be read: {why}", AGAIN)


def _name_of(kind: str) -> str:
    return f"{TRACE}/{file_name(kind)}"
