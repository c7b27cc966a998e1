"""A finished run as a source: the trace row by row, and what the run's other files say about it.

Nothing is held in memory but a batch of rows, so that traces of any length can be read.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airpath import _core
from airpath.errors import ExportError
from airpath.recorder import RESOLVED, RESULTS, TRACE

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

# Rows that are in memory at a time.
BATCH_ROWS = 65_536


# Channels behind which the delay is the bearer's.
CONSTANT_DELAY = ("bernoulli", "markov_fading", "rayleigh", "trace_file")
# Why the cell drops what it had let in; for other reasons it drops packets as they come.
LET_IN = ("max_transmissions", "sdu_discarded", "evicted")
# Link layers whose PDUs are behind that delay before packets leave them.
BEHIND_THE_DELAY = ("am", "um", "tm")


@dataclass(frozen=True)
class Run:
    """A folder that a run has filled.

    Attributes
    ----------
    folder : Path
        The folder.
    trace : pyarrow.parquet.ParquetFile
        Its trace.
    """

    folder: Path
    trace: pq.ParquetFile

    @cached_property
    def summary(self) -> dict[str, Any]:
        """The content of `results.json`."""
        summary: dict[str, Any] = json.loads(self._text(RESULTS))
        return summary

    @cached_property
    def scenario(self) -> dict[str, Any]:
        """The scenario with every default."""
        return tomllib.loads(self._text(RESOLVED))

    @property
    def cell(self) -> dict[str, Any]:
        """Parameters of the radio cell."""
        (cell,) = self.scenario["radio"].values()
        return dict(cell)

    @property
    def cell_element(self) -> int:
        """Position of the cell on the path: behind the server, the link and the boxes between."""
        boxes = (parameters for box in self.scenario.get("middlebox", ()) for parameters in box.values())
        return 2 + sum(1 for box in boxes if box.get("at") != "ue")

    def delay_ns(self, direction: str) -> int:
        """Delay of a packet behind its leaving the link layer of a bearer, in nanoseconds.

        Raises an `ExportError` if packets have different ones: the trace does not tell which had which.
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

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        """Read the trace piece by piece, words as text."""
        import pyarrow as pa

        for batch in self.trace.iter_batches(BATCH_ROWS, columns=columns and list(columns)):
            fields = [pa.field(field.name, plain(field.type)) for field in batch.schema]
            arrays = [column.cast(field.type) for column, field in zip(batch.columns, fields, strict=True)]
            yield pa.record_batch(arrays, schema=pa.schema(fields))

    def rows(self, kinds: Sequence[str], columns: Sequence[str]) -> Iterator[tuple[Any, ...]]:
        """Read events of some kinds as (time in nanoseconds, kind, values of `columns`...)."""
        import pyarrow as pa
        import pyarrow.compute as pc

        names = ["time_s", "event", *columns]
        for batch in self.batches(names):
            chosen = batch.filter(pc.is_in(batch.column("event"), value_set=pa.array(kinds)))
            time_s, *others = (column.to_pylist() for column in chosen.columns)
            yield from zip((round(time * 1e9) for time in time_s), *others, strict=True)

    def _text(self, name: str) -> str:
        try:
            return (self.folder / name).read_text(encoding="utf-8")
        except FileNotFoundError:
            raise ExportError(
                str(self.folder), f"holds no {name}", "name a folder that a run has filled to its end"
            ) from None


def open_run(folder: Path) -> Run:
    """Open the folder of a run.

    Raises
    ------
    ExportError
        If there is no such folder, or it holds no trace that can be read.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    hint = "name a folder that 'airpath run --out' or 'airpath live --out' has filled"
    if not folder.is_dir():
        raise ExportError(
            str(folder), "is not a folder" if folder.exists() else "there is no such folder", hint
        )
    if not (folder / TRACE).is_file():
        raise ExportError(str(folder), f"holds no {TRACE}", hint)
    try:
        trace = pq.ParquetFile(folder / TRACE)
    except pa.ArrowException as error:
        raise ExportError(
            str(folder / TRACE), f"cannot be read: {error}", "run the scenario again"
        ) from error
    return Run(folder, trace)


def plain(kind: pa.DataType) -> pa.DataType:
    """The type of a column without a dictionary of words."""
    import pyarrow as pa

    return kind.value_type if pa.types.is_dictionary(kind) else kind
