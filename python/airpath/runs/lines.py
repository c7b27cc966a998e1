"""The lines of a run's flows over time, read from its trace for a picture.

The trace is read one row group after the other and thinned on the way, so that memory does not grow with the
length of the run.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, TypeAlias

import numpy as np

from airpath.runs.metrics import carried_bytes, with_specs
from airpath.runs.series import goodput_series, thin
from airpath.runs.trace import UNLIMITED_SSTHRESH

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Columns: TypeAlias = dict[str, NDArray[Any]]

MOST_LINES = 8
"""Most flows in a picture: more cannot be distinguished."""
BINS = 1000
"""Bins of the time axis; each keeps up to four points of a line."""
GOODPUT_WINDOWS = 100
"""Most windows of goodput on the time axis."""
LEAST_SHARE = 0.1
"""Flows of a live run are left out below this share of the busiest flow's bytes: control connections."""

NUMBERS = (
    *("ue", "flow", "send_window", "tcpi_snd_cwnd", "tcpi_snd_ssthresh"),
    *("snd_una", "rtt_us", "seq", "queued_sdus"),
)
WORDS = ("event", "direction", "cause", "reason")
"""Columns that are read."""
RETRANSMISSIONS = (
    *("fast_retransmit", "partial_ack", "sack", "timeout", "go_back_n", "tail_loss_probe"),
    "retransmission",
)


@dataclass
class FlowLines:
    """The lines of one flow, gathered piece by piece and thinned to a bounded number of points.

    The run is `run_s` seconds long, and the time axis `end_s`.
    """

    flow: dict[str, Any]
    name: str
    run_s: float
    end_s: float
    _points: dict[str, NDArray[np.float64]] = field(default_factory=dict, repr=False, compare=False)

    def add(self, columns: Columns) -> None:
        """Add the flow's rows of a piece of trace."""
        mine = (columns["ue"] == self.flow["ue"]) & (columns["flow"] == self.flow["flow"])
        columns = {name: column[mine] for name, column in columns.items()}
        event, cause = columns["event"], columns["cause"]
        data = columns["direction"] == self.flow["direction"]
        repeated = np.isin(cause, RETRANSMISSIONS)
        state, sent = event == "tcp_state", event == "segment_sent"
        known = columns["tcpi_snd_ssthresh"] < UNLIMITED_SSTHRESH
        # Timeouts and drops are marked on the time axis.
        columns["axis"] = np.zeros(len(event))
        for name, rows, column, scale in (
            ("window", state, "send_window", 1),
            ("cwnd", state, "tcpi_snd_cwnd", 1),
            ("ssthresh", state & known, "tcpi_snd_ssthresh", 1),
            ("timeout", sent & (cause == "timeout"), "axis", 1),
            ("acked", state, "snd_una", 1e-6),
            ("rtt", event == "rtt_sample", "rtt_us", 1e-3),
            ("queued", (event == "bearer_enqueued") & data, "queued_sdus", 1),
            ("sent", sent & ~repeated, "seq", 1e-6),
            ("retransmitted", sent & repeated, "seq", 1e-6),
            ("dropped", event == "dropped", "axis", 1),
        ):
            rows = rows & ~np.isnan(columns[column])
            if rows.any():
                self._continue(name, columns["time_s"][rows], columns[column][rows] * scale)

    def _continue(self, name: str, time_s: NDArray[np.float64], value: NDArray[Any]) -> None:
        points = np.stack([time_s, value.astype(float)])
        if name in self._points:
            points = np.concatenate([self._points[name], points], axis=1)
        self._points[name] = points[:, thin(points[0], points[1], 0.0, self.end_s, BINS)]

    def line(self, name: str) -> NDArray[np.float64]:
        """Points of a line, shape (2, n): times in seconds above values.

        Windows are in segments, `rtt` in ms, `queued` in SDUs, `acked`, `sent` and `retransmitted` in MB,
        `goodput` in kbit/s.
        """
        if name == "goodput":
            return self._goodput()
        return self._points.get(name, np.empty((2, 0)))

    def _goodput(self) -> NDArray[np.float64]:
        """Goodput in consecutive windows; a point at the start of each."""
        acked = self.line("acked")
        if not acked.size:
            return acked
        window_s, transfer_s = goodput_window_s(self.end_s), self.flow["transfer_s"]
        lasts_s = self.run_s if transfer_s is None else self.flow["start_s"] + transfer_s
        ends, goodput_bps = goodput_series(acked[0], acked[1] * 1e6, window_s, lasts_s)
        # The last value is repeated at the end of its window.
        return np.stack([np.append(0.0, ends), np.append(goodput_bps, goodput_bps[-1:]) / 1e3])


def goodput_window_s(end_s: float) -> float:
    """Length of the windows in which goodput is averaged: 1, 2 or 5 times a power of ten, in seconds."""
    least = max(end_s, 1e-3) / GOODPUT_WINDOWS
    power = 10.0 ** math.floor(math.log10(least))
    return next(step * power for step in (1, 2, 5, 10) if step * power >= least * (1 - 1e-9))


def whole_windows_s(end_s: float) -> float:
    """Round `end_s` up to where both a goodput window and a bin of the axis end."""
    return GOODPUT_WINDOWS * goodput_window_s(end_s)


def choose_flows(summary: dict[str, Any], most: int = MOST_LINES) -> list[int]:
    """Choose the flows that carried most; return their indices in `summary`, ascending."""
    carried = [carried_bytes(flow) for flow in summary["flows"]]
    least = LEAST_SHARE * max(carried, default=0) if "live" in summary else 0
    ranked = sorted(range(len(carried)), key=lambda place: -carried[place])[:most]
    return sorted(place for place in ranked if carried[place] >= least)


def congestion_controls(summary: dict[str, Any], scenario: dict[str, Any]) -> list[str]:
    """Name the congestion control of each flow, or its application where it has none."""
    if "live" in summary:  # A live run: the kernel chose it, not the scenario.
        return [flow.get("congestion_control") or "" for flow in summary["flows"]]
    return [
        flow["app"] if "datagrams" in flow else ", ".join((spec or {}).get("tcp", scenario["tcp"])["cc"])
        for flow, spec in with_specs(summary["flows"], scenario.get("flow", ()))
    ]


def flow_owners(summary: dict[str, Any]) -> list[str]:
    """Name the UE of each flow, with the flow's number where the UE has several."""
    ues = [flow["ue"] for flow in summary["flows"]]
    return [
        f"UE {flow['ue']}" + (f" flow {flow['flow']}" if ues.count(flow["ue"]) > 1 else "")
        for flow in summary["flows"]
    ]


def flow_names(summary: dict[str, Any], scenario: dict[str, Any]) -> list[str]:
    """Name each flow by its UE and its congestion control: ``"UE 1: cubic"``."""
    named = zip(flow_owners(summary), congestion_controls(summary, scenario), strict=True)
    return [f"{whose}: {cc}" if cc else whose for whose, cc in named]


def read_lines(
    trace: Path | BinaryIO, summary: dict[str, Any], flows: Sequence[tuple[int, str]], end_s: float
) -> list[FlowLines]:
    """Read the lines of some flows from a `trace.parquet`.

    `flows` are their places in `summary`, the content of `results.json`, and their names; the time axis ends
    after `end_s` seconds.
    """
    run_s = summary["simulated_s"]
    lines = [FlowLines(summary["flows"][place], name, run_s, end_s) for place, name in flows]
    for columns in _row_groups(trace):
        for flow in lines:
            flow.add(columns)
    return lines


def _row_groups(trace: Path | BinaryIO) -> Iterator[Columns]:
    """Read the columns row group by row group: NaN for null numbers, '' for null words."""
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    # Opened here: pyarrow refuses names that are not UTF-8.
    opened = trace.open("rb") if isinstance(trace, Path) else contextlib.nullcontext(trace)
    with opened as octets, pq.ParquetFile(octets, page_checksum_verification=True) as file:
        for group in range(file.num_row_groups):
            table = file.read_row_group(group)
            no_number, no_word = np.full(table.num_rows, np.nan), np.full(table.num_rows, "")
            columns: Columns = {"time_s": table["time_s"].to_numpy()}
            for name in NUMBERS:
                there = name in table.column_names
                columns[name] = table[name].cast(pa.float64(), safe=False).to_numpy() if there else no_number
            for name in WORDS:
                there = name in table.column_names
                words = pc.fill_null(table[name].cast(pa.string()), "").to_numpy() if there else no_word
                columns[name] = words.astype(str)
            yield columns
