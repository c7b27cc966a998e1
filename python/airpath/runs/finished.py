"""Reads the folder of a finished run and checks each file before it is used."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from airpath.errors import ScenarioError
from airpath.files.text import misfit, parse_json, parse_toml, read_text
from airpath.runs.recorder import MANIFEST, RESOLVED, RESULTS, TRACE
from airpath.runs.trace import WORD_COLUMNS
from airpath.scenario import Scenario

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

FILLED = "name a folder that 'airpath run --out' or 'airpath live --out' has filled"
AGAIN = "run the scenario again"
MOST_BYTES = 1_000_000_000
"""Size limit of `results.json`, bytes."""

# What readers rely on. In a list, each item must be like the one given.
_MANIFEST = {"scenario": str, "seed": int, "interrupted": bool, "files": {}}
_RESULTS = {
    "seed": int,
    "complete": bool,
    "simulated_s": float,
    "flows": [{"ue": int, "flow": int, "direction": str}],
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
        run = cls(folder)
        _ = run.manifest
        return run

    @cached_property
    def manifest(self) -> dict[str, Any]:
        """The content of `manifest.json`."""
        return self._parsed(MANIFEST, parse_json, _MANIFEST, ": the run was not finished")

    @cached_property
    def summary(self) -> dict[str, Any]:
        """The content of `results.json`."""
        return self._parsed(RESULTS, parse_json, _RESULTS)

    @cached_property
    def scenario(self) -> dict[str, Any]:
        """The scenario with every default."""
        text = self._text(RESOLVED)
        try:
            return parse_toml(Scenario(RESOLVED, text).text)
        except ScenarioError as error:
            what = f"{error.args[0]}: {error.args[1]}"
            raise self.unreadable(RESOLVED, what) from error

    @cached_property
    def trace(self) -> pq.ParquetFile:
        """The trace, its column types checked."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        file = self._file(TRACE)
        try:
            trace = pq.ParquetFile(file, page_checksum_verification=True)
        except (pa.ArrowException, OSError) as error:
            raise self.unreadable(TRACE, error) from error
        for field in trace.schema_arrow:
            if not _has_type(field):
                raise self.unreadable(TRACE, f"its column {field.name} holds {field.type}")
        if not {"time_s", "event"} <= set(trace.schema_arrow.names):
            raise self.unreadable(TRACE, "it lacks time or event")
        return trace

    def batches(self, rows: int, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        """Read the trace piece by piece, up to a number of rows each."""
        import pyarrow as pa

        try:
            yield from self.trace.iter_batches(rows, columns=columns and list(columns))
        except (pa.ArrowException, OSError) as error:
            raise self.unreadable(TRACE, error) from error

    def _file(self, name: str, because: str = "") -> Path:
        file = self.folder / name
        if not file.is_file():
            raise ScenarioError(str(self.folder), f"holds no {name}{because}", FILLED)
        return file

    def _text(self, name: str, because: str = "") -> str:
        file = self._file(name, because)
        try:
            return read_text(file, MOST_BYTES)
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


def _has_type(field: pa.Field) -> bool:
    """Whether a column has the type that `TraceWriter` gives it."""
    import pyarrow as pa

    if field.name == "time_s":
        return bool(pa.types.is_float64(field.type))
    if field.name in ("event", *WORD_COLUMNS):
        return bool(pa.types.is_dictionary(field.type) and pa.types.is_string(field.type.value_type))
    return bool(pa.types.is_uint64(field.type))
