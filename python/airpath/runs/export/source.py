"""Reads a finished run for exporters: the trace ordered by time, and its other files; exports as CSV.

Memory holds a piece or two of each kind of event, so that traces of any length can be read.
"""

from __future__ import annotations

import contextlib
import csv
from collections.abc import Iterator, Mapping, Sequence
from typing import IO, TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from airpath import _core
from airpath.errors import ExportError
from airpath.runs.finished import FinishedRun
from airpath.runs.trace import schema_of, side_by_side

if TYPE_CHECKING:
    import pyarrow as pa

# Channels that add nothing to the bearer's delay.
NO_DELAY = ("bernoulli", "markov_fading", "rayleigh", "trace_file")
# Reasons to drop queued packets; for other reasons a cell drops them on arrival.
LET_IN = ("max_transmissions", "sdu_discarded", "evicted", "cell_changed")
# Link layers whose PDUs have passed that delay before packets leave them.
BEHIND_THE_DELAY = ("am", "um", "tm", "am_lte", "um_lte", "am_nr", "um_nr")


class Run(FinishedRun):
    """A finished run, as exporters read it."""

    @property
    def cell(self) -> dict[str, Any]:
        """Parameters of the radio cell.

        Raises an `ExportError` if the scenario has several.
        """
        if "radio" not in self.scenario:
            what = "the scenario has [[cell]] and [[way]], and this format is of a path with one cell"
            raise ExportError(str(self.folder), what, "choose the format csv or qlog")
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
        if next(iter(self.cell[direction].get("rlc", ())), None) in BEHIND_THE_DELAY:
            return 0
        (cell,) = self.scenario["radio"]
        bearer = self.cell[direction]
        delays = {delay for channel in bearer.get("channel", {}).items() for delay in _delays_s(*channel)}
        if len(delays) != 1:
            whose = (
                f"channel.{name}" if (name := next(iter(bearer.get("channel", ())), "")) else f"radio.{cell}"
            )
            what = f"the {direction} delay of {whose} varies, and formats of other tools need a constant one"
            raise ExportError(str(self.folder), what, "choose the format csv")
        return round((_core.seconds(bearer["delay"]) + delays.pop()) * 1e9)

    def rate(self, direction: str) -> str | None:
        """Rate of a bearer, such as ``"384 kbit/s"``; None if it varies or the UEs share it."""
        bearer = self.cell[direction]
        if "rate" in bearer:
            return str(bearer["rate"])
        rates = {rate for channel in bearer.get("channel", {}).items() for rate in _rates(*channel)}
        return rates.pop() if len(rates) == 1 else None

    def require(self, kinds: Sequence[str]) -> None:
        """Raise an `ExportError` unless events of these kinds were recorded."""
        missing = [kind for kind in kinds if kind not in self.kinds]
        if missing:
            what = f"its trace was recorded without {', '.join(missing)}"
            raise ExportError(str(self.folder), what, "record all probes, as 'airpath run --out' does")

    def require_bearer(self, kinds: Sequence[str], ue: int) -> None:
        """Raise an `ExportError` unless there was such a UE, and events of these kinds were recorded."""
        self.require(kinds)
        if not 0 <= ue < self.cell["ues"]:
            raise ExportError("--ue", f"the run had no UE {ue}", f"write 0 to {self.cell['ues'] - 1}")

    def by_time(self, wanted: Mapping[str, Sequence[str]]) -> Iterator[pa.Table]:
        """Read columns of some kinds side by side, ordered by time, piece by piece.

        Each piece ends where the kind that was read least ends; the others wait.
        """
        import pyarrow as pa

        unread = {kind: self.pieces(kind, ("time_ns", *columns)) for kind, columns in wanted.items()}
        rest = {kind: schema_of(columns).empty_table() for kind, columns in wanted.items()}
        while unread:
            last_ns = {kind: max(_times_ns(rest[kind])[-1:], default=0) for kind in unread}
            behind = min(last_ns, key=last_ns.__getitem__)
            # An instant may continue in the next piece.
            rows = {kind: np.searchsorted(_times_ns(rest[kind]), last_ns[behind]) for kind in rest}
            yield side_by_side({kind: rest[kind][: rows[kind]] for kind in rest})
            rest = {kind: rest[kind][rows[kind] :] for kind in rest}
            if (piece := next(unread[behind], None)) is None:
                del unread[behind]
            else:
                rest[behind] = pa.concat_tables([rest[behind], piece])
        yield side_by_side(rest)

    def rows(self, kinds: Sequence[str], columns: Sequence[str]) -> Iterator[tuple[Any, ...]]:
        """Read events of some kinds as (time in nanoseconds, kind, values of `columns`...)."""
        own = {kind: [name for name in columns if name in self.kinds[kind]] for kind in kinds}
        for piece in self.by_time(own):
            time_s, *others = (piece[name].to_pylist() for name in ("time_s", "event", *columns))
            yield from zip((round(time * 1e9) for time in time_s), *others, strict=True)


def _delays_s(channel: str, says: Mapping[str, Any]) -> list[float]:
    """All delays that a channel adds to the bearer's, in seconds; none if they are drawn."""
    if channel in NO_DELAY:
        return [0.0]
    if channel == "series":
        return [float(row.get("delay_ms") or 0) / 1e3 for row in _rows(says)]
    if channel == "switching":
        return [_core.seconds(step["delay"]) for step in says["steps"]]
    return [_core.seconds(delay) for law, delay in says.get("delay", {}).items() if law == "constant"]


def _rates(channel: str, says: Mapping[str, Any]) -> list[str]:
    """All rates of a channel of packets; none if they are drawn."""
    if channel == "series":
        return [f"{row['rate_kbps']} kbit/s" for row in _rows(says)]
    if channel == "switching":
        return [step["rate"] for step in says["steps"]]
    return [rate for law, rate in says.get("rate", {}).items() if law == "constant"]


def _rows(series: Mapping[str, Any]) -> Iterator[dict[str, str]]:
    return csv.DictReader(series["rows"].splitlines())


def _times_ns(table: pa.Table) -> NDArray[np.uint64]:
    times: NDArray[np.uint64] = table["time_ns"].to_numpy()
    return times


def write_csv(run: Run, out: IO[bytes]) -> None:
    """Write the whole trace as one CSV, ordered by time; its first line names the columns of all kinds.

    A column that an event lacks is empty, words are not quoted, and times have enough digits to read the same
    number again.
    """
    import pyarrow as pa
    import pyarrow.csv as pa_csv

    options = pa_csv.WriteOptions(include_header=False, quoting_style="none")
    with contextlib.ExitStack() as stack:
        writer: pa_csv.CSVWriter | None = None
        for piece in run.by_time(run.kinds):
            fields = [field.with_type(_plain(field.type)) for field in piece.schema]
            if writer is None:
                out.write(",".join(piece.column_names).encode() + b"\n")
                writer = stack.enter_context(pa_csv.CSVWriter(out, pa.schema(fields), write_options=options))
            writer.write_table(piece.cast(pa.schema(fields)))


def _plain(kind: pa.DataType) -> pa.DataType:
    """Type of a column, or of the words in its dictionary."""
    import pyarrow as pa

    return kind.value_type if pa.types.is_dictionary(kind) else kind
