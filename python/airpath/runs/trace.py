"""The trace of a run: events as columns, and one wide Parquet table of them.

In memory every kind of event has its own columns; in `trace.parquet` all kinds share one table, with
nulls where an event does not have a column. The table's columns are `time_s`, `event`, and then the
columns of all recorded kinds. Rows are ordered by time; events of one instant are ordered by kind, in
the order of `airpath._core.probes()`, and within a kind as they happened.
"""

from __future__ import annotations

import contextlib
import io
from typing import IO, TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pyarrow as pa

# Numbers, or words as codes into a list.
RawColumn: TypeAlias = NDArray[np.uint64] | tuple[NDArray[np.uint8], list[str]]
# Kind -> column -> values: as the core returns them, and as users get them.
Events: TypeAlias = dict[str, dict[str, RawColumn]]
Trace: TypeAlias = dict[str, dict[str, NDArray[Any]]]

# Columns of words.
WORD_COLUMNS = ("direction", "cause", "reason", "action", "phase")

# Columns by their units; an empty unit is a number without one (an index or a code), or a word.
_BY_UNIT = {
    "s": "time_s",
    "": "event ue flow direction cause reason action phase element first_sn poll lost lsn "
    "tcpi_ca_state flagged conservative after_drop",
    "B": "seq snd_una rcv_nxt len_bytes payload_bytes queued_bytes held_bytes",
    "SDU": "queued_sdus occupancy_sdus",
    "PDU": "pdus_sent pdus_lost pdus missing_pdus",
    "ns": "delay_ns",
    "us": "rtt_us tcpi_rtt tcpi_rttvar tcpi_rto t_id_us",
    "segment": "send_window tcpi_snd_cwnd tcpi_snd_ssthresh tcpi_unacked cached_segments held_acks "
    "ack_release_count window_segments",
    "packet": "cached_packets",
}
UNITS = {column: unit for unit, columns in _BY_UNIT.items() for column in columns.split()}

# Linux reports an unset slow start threshold as this or more.
UNLIMITED_SSTHRESH = 2**31 - 1

# A row group is written when this many rows have gathered.
ROW_GROUP_ROWS = 131_072


def concatenate(chunks: list[Events], kinds: dict[str, list[str]]) -> Trace:
    """Join the chunks of a simulation's trace, for use in memory.

    `chunks` are as `Simulation.take_trace` returns them, where kinds without an event may be absent; `kinds`
    has the columns of every recorded kind, without the time. The columns of a kind have the same length:
    `time_s` (float64, seconds) first; words are strings, everything else is uint64 with the unit that `UNITS`
    gives.
    """
    trace: Trace = {}
    for kind, columns in kinds.items():
        parts = [events[kind] for events in chunks if kind in events]
        nothing = np.array([], dtype=np.uint64)
        time_ns = np.concatenate([nothing, *(_plain(part["time_ns"]) for part in parts)])
        trace[kind] = {"time_s": time_ns / 1e9}
        for column in columns:
            values = [_plain(part[column]) for part in parts]
            empty = np.array([], dtype=str) if column in WORD_COLUMNS else nothing
            trace[kind][column] = np.concatenate(values) if values else empty
    return trace


def parquet_of(trace: Trace, metadata: dict[str, str]) -> io.BytesIO:
    """Write a trace from memory as `trace.parquet`; see `TraceWriter` for the metadata."""
    kinds = {kind: [name for name in columns if name != "time_s"] for kind, columns in trace.items()}
    events: Events = {
        kind: {
            name if name != "time_s" else "time_ns": _raw(name, column) for name, column in columns.items()
        }
        for kind, columns in trace.items()
    }
    file = io.BytesIO()
    with contextlib.closing(TraceWriter(file, kinds, metadata)) as writer:
        writer.write(events)
    return file


def _raw(name: str, column: NDArray[Any]) -> RawColumn:
    """A column as the core returns it: the inverse of `concatenate`."""
    if name == "time_s":
        return np.rint(column * 1e9).astype(np.uint64)
    if name in WORD_COLUMNS:
        words, codes = np.unique(column, return_inverse=True)
        return codes.astype(np.uint8), words.tolist()
    return column


def _plain(column: RawColumn) -> NDArray[Any]:
    if isinstance(column, tuple):
        codes, words = column
        return np.array(words, dtype=str)[codes]
    return column


class TraceWriter:
    """Writes `trace.parquet` piece by piece; the file is a valid table whenever it is closed.

    The caller closes `file`. `kinds` has the columns of every recorded kind, without the time; `metadata` of
    the schema must not depend on clock or machine.
    """

    def __init__(self, file: IO[bytes], kinds: dict[str, list[str]], metadata: dict[str, str]) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        self._kinds = kinds
        self._columns = list(dict.fromkeys(column for columns in kinds.values() for column in columns))
        # Words in the order of their first appearance; the codes of a chunk are translated to their indices.
        self._words: dict[str, list[str]] = {column: [] for column in WORD_COLUMNS}
        self._pending: list[pa.Table] = []
        self._pending_rows = 0
        words = pa.dictionary(pa.int32(), pa.string())
        types = {"time_s": pa.float64(), "event": words}
        types |= {column: words if column in WORD_COLUMNS else pa.uint64() for column in self._columns}
        fields = [pa.field(column, kind, metadata={"unit": UNITS[column]}) for column, kind in types.items()]
        self._schema = pa.schema(fields, metadata=metadata)
        self._writer = pq.ParquetWriter(file, self._schema, compression="zstd", write_page_checksum=True)

    def write(self, events: Events) -> None:
        """Add the next events; kinds that are not recorded are skipped.

        Raises
        ------
        OSError
            If the file cannot be written.
        """
        events = {kind: events[kind] for kind in self._kinds if kind in events}
        rows = sum(len(columns["time_ns"]) for columns in events.values())
        if rows == 0:
            return
        self._pending.append(self._table(events, rows))
        self._pending_rows += rows
        if self._pending_rows >= ROW_GROUP_ROWS:
            self._flush()

    def close(self) -> None:
        """Write pending rows and the table's footer.

        Raises
        ------
        OSError
            If the file cannot be written.
        """
        try:
            self._flush()
        finally:
            self._writer.close()

    def _flush(self) -> None:
        import pyarrow as pa

        if self._pending:
            table = pa.concat_tables(self._pending).unify_dictionaries().combine_chunks()
            self._pending, self._pending_rows = [], 0
            self._writer.write_table(table, row_group_size=table.num_rows)

    def _table(self, events: Events, rows: int) -> pa.Table:
        """Lay the columns of all kinds side by side, ordered by time."""
        import pyarrow as pa

        kinds = list(events)
        lengths = [len(events[kind]["time_ns"]) for kind in kinds]
        time_ns = np.concatenate([np.asarray(events[kind]["time_ns"]) for kind in kinds])
        order = np.argsort(time_ns, kind="stable")
        codes = np.repeat(np.arange(len(kinds), dtype=np.int32), lengths)
        starts = np.cumsum([0, *lengths])
        arrays = [pa.array(time_ns[order] / 1e9), _words(codes[order], kinds)]
        for column in self._columns:
            values = np.zeros(rows, dtype=np.int32 if column in WORD_COLUMNS else np.uint64)
            present = np.zeros(rows, dtype=bool)
            for kind, start, length in zip(kinds, starts, lengths, strict=False):
                if column in events[kind]:
                    place = slice(start, start + length)
                    values[place] = self._codes(column, events[kind][column])
                    present[place] = True
            missing = ~present[order]
            if column in WORD_COLUMNS:
                arrays.append(_words(values[order], self._words[column], missing))
            else:
                arrays.append(pa.array(values[order], mask=missing))
        return pa.table(arrays, schema=self._schema)

    def _codes(self, column: str, raw: RawColumn) -> NDArray[Any]:
        """Numbers as they are; words as indices into this file's list of them."""
        if not isinstance(raw, tuple):
            return raw
        codes, words = raw
        known = self._words[column]
        known.extend(word for word in words if word not in known)
        return np.array([known.index(word) for word in words], dtype=np.int32)[codes]


def _words(codes: NDArray[Any], words: list[str], missing: NDArray[np.bool_] | None = None) -> pa.Array:
    import pyarrow as pa

    return pa.DictionaryArray.from_arrays(pa.array(codes, mask=missing), pa.array(words, type=pa.string()))
