"""The trace of a run: events as columns, a table for each kind, in memory and as `trace/KIND.parquet`.

A kind's table has `time_ns`, nanoseconds since the start of the run, and then the columns that
`SCHEMA` names, in that order; its rows are the events as they happened. Numbers are stored as
differences, which are small (DELTA_BINARY_PACKED of Parquet).
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from airpath import _core
from airpath.files.text import open_to_read

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

    from airpath.files.folder import Folder

# Numbers, or words as codes into a list.
RawColumn: TypeAlias = NDArray[np.uint64] | tuple[NDArray[Any], list[str]]
RawColumns: TypeAlias = dict[str, RawColumn]
# Kind -> column -> values: as the core returns them, and as users get them.
Events: TypeAlias = dict[str, RawColumns]
Trace: TypeAlias = dict[str, dict[str, NDArray[Any]]]

# The schema of events: kind -> column -> description, from `trace/schema.rs` of the core.
SCHEMA: dict[str, dict[str, dict[str, Any]]] = {
    kind["name"]: {column["name"]: column for column in kind["columns"]}
    for kind in json.loads(_core.trace_schema())
}
# A column of a name is the same in every kind.
_COLUMNS = {name: column for columns in SCHEMA.values() for name, column in columns.items()}

# Columns of words.
WORD_COLUMNS = tuple(name for name, column in _COLUMNS.items() if column["words"])

# Columns by their units; an empty unit is a number without one (an index or a code), or a word.
UNITS = {
    "time_s": "s",
    "time_ns": "ns",
    "event": "",
    **{name: column["unit"] for name, column in _COLUMNS.items()},
}

# Columns of few different numbers, which are stored as words are: as codes.
FEW_NUMBERS = tuple(name for name, column in _COLUMNS.items() if column["store"] == "few")

# Columns that readers filter by: only these have statistics, which cost a tenth of the writing time.
SOUGHT = ("time_ns", "ue", "flow")

# Linux reports an unset slow start threshold as this or more.
UNLIMITED_SSTHRESH = 2**31 - 1

# Rows of a kind that are written, and read, together.
ROW_GROUP_ROWS = 32_768

# Bounds on what readers of foreign files take into memory: what a column may need for each of its rows, and
# for all its words; and the numbers that `read_events` gives, 8 bytes each.
MOST_BYTES_PER_ROW, MOST_BYTES_OF_WORDS = 16, 1_000_000
MOST_NUMBERS = 200_000_000


def file_name(kind: str) -> str:
    """Name of a kind's file in the folder of the trace."""
    return f"{kind}.parquet"


def concatenate(chunks: Sequence[Events], kinds: Mapping[str, Sequence[str]]) -> Trace:
    """Join the chunks of a simulation's trace, for use in memory.

    `chunks` are as `Simulation.take_trace` returns them, where kinds without an event may be absent; `kinds`
    has the columns of every recorded kind, without the time. The columns of a kind have the same length:
    `time_s` (float64, seconds) first; words are strings, everything else is uint64 with the unit that `UNITS`
    gives.
    """
    trace: Trace = {}
    for kind, columns in kinds.items():
        whole = joined([events[kind] for events in chunks if kind in events], columns)
        time_ns = _plain(whole.pop("time_ns"))
        trace[kind] = {"time_s": time_ns / 1e9} | {name: _plain(column) for name, column in whole.items()}
    return trace


def joined(parts: Sequence[RawColumns], columns: Sequence[str]) -> RawColumns:
    """Join parts of a kind's columns; the words of all of them have one list."""
    whole: RawColumns = {}
    for name in ("time_ns", *columns):
        if name not in WORD_COLUMNS:
            whole[name] = np.concatenate([np.array([], dtype=np.uint64), *(part[name] for part in parts)])
            continue
        words: list[str] = []
        codes = [_coded(column, words) for column in (part[name] for part in parts)]
        whole[name] = np.concatenate([np.array([], dtype=np.int32), *codes]), words
    return whole


def _coded(column: RawColumn, words: list[str]) -> NDArray[Any]:
    """Numbers of a column; for words, their codes in the list `words`, which is extended by new words."""
    if not isinstance(column, tuple):
        return column
    codes, own = column
    words += [word for word in own if word not in words]
    return np.array([words.index(word) for word in own], dtype=np.int32)[codes]


def _plain(column: RawColumn) -> NDArray[Any]:
    if isinstance(column, tuple):
        codes, words = column
        return np.array(words, dtype=str)[codes]
    return column


def raw(trace: Trace) -> Events:
    """A trace in memory as the core returns it: the inverse of `concatenate`."""
    return {
        kind: {
            "time_ns" if name == "time_s" else name: _raw(name, column) for name, column in columns.items()
        }
        for kind, columns in trace.items()
    }


def _raw(name: str, column: NDArray[Any]) -> RawColumn:
    if name == "time_s":
        return np.rint(column * 1e9).astype(np.uint64)
    if name in WORD_COLUMNS:
        words, codes = np.unique(column, return_inverse=True)
        return codes, words.tolist()
    return column


class TraceWriter:
    """Writes a trace piece by piece into an empty folder; its files are valid tables whenever it is closed.

    `kinds` has the columns of every recorded kind, without the time: each kind has a file, be it empty.
    `metadata` of the schemas must not depend on clock or machine.

    Raises
    ------
    OSError
        From here and from every method, if a file cannot be written.
    """

    def __init__(
        self, folder: Folder, kinds: Mapping[str, Sequence[str]], metadata: Mapping[str, str]
    ) -> None:
        with contextlib.ExitStack() as opened:
            self._files = {
                kind: opened.enter_context(contextlib.closing(_KindWriter(folder, kind, columns, metadata)))
                for kind, columns in kinds.items()
            }
            self._opened = opened.pop_all()

    def write(self, events: Events) -> None:
        """Add the next events; kinds that are not recorded are skipped."""
        for kind, columns in events.items():
            if kind in self._files:
                self._files[kind].write(columns)

    def close(self) -> None:
        """Write pending rows and the tables' footers."""
        self._opened.close()


class _KindWriter:
    """Writes the file of one kind."""

    def __init__(
        self, folder: Folder, kind: str, columns: Sequence[str], metadata: Mapping[str, str]
    ) -> None:
        import pyarrow.parquet as pq

        self._schema = schema_of(columns).with_metadata(metadata)
        # Reused buffers: separate arrays for waiting rows would fragment the heap.
        self._waiting: dict[str, NDArray[Any]] = {
            name: np.empty(ROW_GROUP_ROWS, np.int32 if name in WORD_COLUMNS else np.uint64)
            for name in self._schema.names
        }
        self._words: dict[str, list[str]] = {name: [] for name in self._schema.names}
        self._rows = 0
        codes = [name for name in columns if name in WORD_COLUMNS or name in FEW_NUMBERS]
        numbers = [name for name in self._schema.names if name not in codes]
        self._file = folder.create(file_name(kind))
        self._writer = pq.ParquetWriter(
            self._file,
            self._schema,
            compression="zstd",
            use_dictionary=codes,
            column_encoding=dict.fromkeys(numbers, "DELTA_BINARY_PACKED"),
            write_statistics=[name for name in self._schema.names if name in SOUGHT],
            write_page_checksum=True,
        )

    def write(self, columns: RawColumns) -> None:
        new = {name: _coded(columns[name], words) for name, words in self._words.items()}
        start, end = 0, len(columns["time_ns"])
        while start < end:
            rows = min(end - start, ROW_GROUP_ROWS - self._rows)
            for name, waiting in self._waiting.items():
                waiting[self._rows : self._rows + rows] = new[name][start : start + rows]
            start += rows
            self._rows += rows
            if self._rows == ROW_GROUP_ROWS:
                self._flush()

    def close(self) -> None:
        with self._file:
            try:
                self._flush()
            finally:
                self._writer.close()

    def _flush(self) -> None:
        if self._rows:
            rows: RawColumns = {}
            for name, waiting in self._waiting.items():
                numbers, words = waiting[: self._rows], self._words[name]
                rows[name] = (numbers, words) if words else numbers
            table = _table(rows, self._schema)
            self._writer.write_table(table, row_group_size=table.num_rows)
            self._rows = 0


def schema_of(columns: Sequence[str]) -> pa.Schema:
    """Schema of a kind's table; each field says its unit in its metadata, and has no nulls."""
    import pyarrow as pa

    types = {
        name: pa.dictionary(pa.int32(), pa.string()) if name in WORD_COLUMNS else pa.uint64()
        for name in ("time_ns", *columns)
    }
    return pa.schema(
        [pa.field(name, kind, nullable=False, metadata={"unit": UNITS[name]}) for name, kind in types.items()]
    )


def _table(columns: RawColumns, schema: pa.Schema) -> pa.Table:
    import pyarrow as pa

    arrays = [
        pa.DictionaryArray.from_arrays(pa.array(column[0], pa.int32()), pa.array(column[1], pa.string()))
        if isinstance(column, tuple)
        else pa.array(column, pa.uint64())
        for column in (columns[name] for name in schema.names)
    ]
    return pa.table(arrays, schema=schema)


def read_pieces(file: Path, columns: Sequence[str] | None = None) -> Iterator[pa.Table]:
    """Read the table of a kind piece by piece, only some columns if they are named.

    Raises
    ------
    OSError, pyarrow.ArrowException
        If it cannot be read, is damaged, or says that a column takes far more memory than its rows need.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    # Opened here: pyarrow refuses names that are not UTF-8.
    # No thread of Arrow's, which may abort a process that ends: https://github.com/apache/arrow/issues/34314
    with (
        open_to_read(file) as octets,
        pq.ParquetFile(octets, page_checksum_verification=True, pre_buffer=False) as table,
    ):
        _check_sizes(table.metadata)
        for batch in table.iter_batches(ROW_GROUP_ROWS, columns=columns and list(columns), use_threads=False):
            yield pa.Table.from_batches([batch])


def _check_sizes(table: pq.FileMetaData) -> None:
    """Refuse a table that a few bytes blow up: numbers take 8 bytes per row, words are few and short."""
    import pyarrow as pa

    for group in map(table.row_group, range(table.num_row_groups)):
        for column in map(group.column, range(group.num_columns)):
            if column.total_uncompressed_size > MOST_BYTES_PER_ROW * group.num_rows + MOST_BYTES_OF_WORDS:
                name, size = column.path_in_schema, column.total_uncompressed_size
                rows = group.num_rows
                raise pa.ArrowInvalid(f"its column {name} holds {size / 1e6:.0f} MB in {rows} rows")


def read_events(folder: Path, wanted: Mapping[str, Sequence[str]]) -> Iterator[Events]:
    """Yield the requested columns of each recorded event kind, one kind and one chunk at a time.

    Readers keep them all in memory, so their number is limited.

    Raises
    ------
    OSError, pyarrow.ArrowException
        As `read_pieces`, or if there are more than `MOST_NUMBERS`.
    """
    import pyarrow as pa

    left = MOST_NUMBERS
    for kind, columns in wanted.items():
        if (file := folder / file_name(kind)).exists():
            for piece in read_pieces(file, ("time_ns", *columns)):
                left -= piece.num_rows * piece.num_columns
                if left < 0:
                    what = f"it holds more than {MOST_NUMBERS / 1e6:.0f} million numbers to show"
                    raise pa.ArrowInvalid(f"{what}; record fewer kinds of events or a shorter run")
                yield {kind: _raw_columns(piece)}


def _raw_columns(piece: pa.Table) -> RawColumns:
    import pyarrow as pa

    (batch,) = piece.to_batches()
    return {
        name: (column.indices.to_numpy(), column.dictionary.to_pylist())
        if isinstance(column, pa.DictionaryArray)
        else column.to_numpy()
        for name, column in zip(batch.schema.names, batch.columns, strict=True)
    }


def tables_of(trace: Trace) -> dict[str, pa.Table]:
    """Make the table of each kind from a trace in memory."""
    return {
        kind: _table(columns, schema_of([name for name in columns if name != "time_ns"]))
        for kind, columns in raw(trace).items()
    }


def side_by_side(tables: Mapping[str, pa.Table]) -> pa.Table:
    """Join the tables of some kinds, ordered by time; events of one instant are ordered by kind.

    The columns are `time_s`, `event`, and those of all the kinds, with nulls where an event does not have a
    column.
    """
    import pyarrow as pa

    time_ns = np.concatenate([np.array([], dtype=np.uint64), *(each["time_ns"] for each in tables.values())])
    kinds = np.repeat(np.arange(len(tables), dtype=np.int32), [each.num_rows for each in tables.values()])
    others = [each.drop_columns("time_ns") for each in tables.values()]
    nullable = [each.cast(pa.schema([field.with_nullable(True) for field in each.schema])) for each in others]
    event = pa.DictionaryArray.from_arrays(kinds, pa.array(list(tables), pa.string()))
    wide = pa.concat_tables([pa.table({}), *nullable], promote_options="default").unify_dictionaries()
    for name, column in (("event", event), ("time_s", pa.array(time_ns / 1e9))):
        field = pa.field(name, column.type, metadata={"unit": UNITS[name]})
        wide = wide.add_column(0, field, [column])
    return wide.combine_chunks().take(np.argsort(time_ns, kind="stable"))
