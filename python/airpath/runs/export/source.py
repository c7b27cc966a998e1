"""Reads a finished run for exporters: the trace row by row, and the run's other files; exports it as CSV.

Memory holds one batch of rows, so that traces of any length can be read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import IO, TYPE_CHECKING, Any

from airpath import _core
from airpath.errors import ExportError
from airpath.runs.finished import FinishedRun
from airpath.runs.recorder import TRACE

if TYPE_CHECKING:
    import pyarrow as pa

# Rows in memory at a time.
BATCH_ROWS = 65_536
# Channels behind which the delay is the bearer's.
CONSTANT_DELAY = ("bernoulli", "markov_fading", "rayleigh", "trace_file")
# Reasons to drop queued packets; for other reasons a cell drops them on arrival.
LET_IN = ("max_transmissions", "sdu_discarded", "evicted")
# Link layers whose PDUs are behind that delay before packets leave them.
BEHIND_THE_DELAY = ("am", "um", "tm")


class Run(FinishedRun):
    """A finished run, as exporters read it."""

    @property
    def cell(self) -> dict[str, Any]:
        """Parameters of the radio cell."""
        (cell,) = self.scenario["radio"].values()
        return dict(cell)

    @property
    def cell_element(self) -> int:
        """Position of the cell on the path: after the server, the link and the boxes between."""
        boxes = (parameters for box in self.scenario.get("middlebox", ()) for parameters in box.values())
        return 2 + sum(1 for box in boxes if box.get("at") != "ue")

    def delay_ns(self, direction: str) -> int:
        """Delay of packets after a bearer's link layer, in nanoseconds.

        Raises an `ExportError` if it varies: the trace does not tell the delay of each packet.
        """
        (cell,) = self.scenario["radio"]
        channel = next(iter(self.cell[direction].get("channel", ())), None)
        if channel not in CONSTANT_DELAY:
            whose = f"radio.{cell}" if channel is None else f"channel.{channel}"
            what = f"the {direction} delay of {whose} varies, and formats of other tools want one"
            raise ExportError(str(self.folder), what, "choose the format csv")
        if next(iter(self.cell[direction].get("rlc", ())), None) in BEHIND_THE_DELAY:
            return 0
        return round(_core.seconds(self.cell[direction]["delay"]) * 1e9)

    def require(self, kinds: Sequence[str]) -> None:
        """Raise an `ExportError` unless events of these kinds were recorded."""
        there = set(self.trace.schema_arrow.names)
        missing = [kind for kind in kinds if not there.issuperset(_core.probes()[kind])]
        if missing:
            what = f"its trace was recorded without {', '.join(missing)}"
            raise ExportError(str(self.folder), what, "record all probes, as 'airpath run --out' does")

    def require_bearer(self, kinds: Sequence[str], ue: int) -> None:
        """Raise an `ExportError` unless there was such a UE, and events of these kinds were recorded."""
        self.require(kinds)
        if not 0 <= ue < self.cell["ues"]:
            raise ExportError("--ue", f"the run had no UE {ue}", f"write 0 to {self.cell['ues'] - 1}")

    def plain_batches(self, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        """Read the trace piece by piece, words as text."""
        import pyarrow as pa

        for batch in self.batches(BATCH_ROWS, columns):
            fields = [pa.field(field.name, _plain(field.type)) for field in batch.schema]
            arrays = [column.cast(field.type) for column, field in zip(batch.columns, fields, strict=True)]
            yield pa.record_batch(arrays, schema=pa.schema(fields))

    def rows(self, kinds: Sequence[str], columns: Sequence[str]) -> Iterator[tuple[Any, ...]]:
        """Read events of some kinds as (time in nanoseconds, kind, values of `columns`...)."""
        import pyarrow as pa
        import pyarrow.compute as pc

        names = ["time_s", "event", *columns]
        for batch in self.plain_batches(names):
            chosen = batch.filter(pc.is_in(batch.column("event"), value_set=pa.array(kinds)))
            self._check_whole(chosen, kinds)
            time_s, *others = (column.to_pylist() for column in chosen.columns)
            yield from zip((round(time * 1e9) for time in time_s), *others, strict=True)

    def _check_whole(self, events: pa.RecordBatch, kinds: Sequence[str]) -> None:
        """Raise a `ScenarioError` if an event lacks its time or one of its columns."""
        import pyarrow.compute as pc

        if not pc.all(pc.is_finite(events.column("time_s")), skip_nulls=False, min_count=0).as_py():
            raise self.unreadable(TRACE, "an event has no time")
        for kind in kinds:
            own = events.filter(pc.equal(events.column("event"), kind))
            for column in set(_core.probes()[kind]) & set(own.schema.names):
                if own.column(column).null_count:
                    raise self.unreadable(TRACE, f"an event {kind} has no {column}")


def _plain(kind: pa.DataType) -> pa.DataType:
    """Type of a column, or of the words in its dictionary."""
    import pyarrow as pa

    return kind.value_type if pa.types.is_dictionary(kind) else kind


def write_csv(run: Run, out: IO[bytes]) -> None:
    """Write the whole trace as CSV: the columns of `trace.parquet` in its order, named in the first line.

    A column that an event lacks is empty, words are not quoted, and times have enough digits to read the same
    number again.
    """
    import pyarrow as pa
    import pyarrow.csv as pa_csv

    schema = pa.schema([(field.name, _plain(field.type)) for field in run.trace.schema_arrow])
    out.write(",".join(schema.names).encode() + b"\n")
    options = pa_csv.WriteOptions(include_header=False, quoting_style="none")
    with pa_csv.CSVWriter(out, schema, write_options=options) as writer:
        for batch in run.plain_batches():
            writer.write_batch(batch)
