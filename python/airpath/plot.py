"""The picture of a run: windows, round-trip time, buffer and sequence numbers over one time axis.

The trace is read one row group after the other and thinned on the way, so that memory does not grow
with the length of the run. Drawing the same run again gives the same picture.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from airpath.metrics import carried_bytes, thin
from airpath.trace import UNLIMITED_SSTHRESH

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    Columns: TypeAlias = dict[str, NDArray[Any]]
    Key: TypeAlias = tuple[int, int, str]

# Flows that are drawn; more cannot be told apart.
MOST_FLOWS = 8
# Parts of the time axis; each keeps up to four points of a line.
BINS = 1000
SIZE_INCHES, DPI = (11.0, 12.0), 110

# Columns that are read.
NUMBERS = (
    *("ue", "flow", "send_window", "tcpi_snd_cwnd", "tcpi_snd_ssthresh"),
    *("snd_una", "rtt_us", "seq", "queued_sdus"),
)
WORDS = ("event", "direction", "cause", "reason")
RETRANSMISSIONS = (
    *("fast_retransmit", "partial_ack", "sack", "timeout", "go_back_n", "tail_loss_probe"),
    "retransmission",
)
# Of a live run, flows that carried less than this share of the busiest are not drawn: control connections,
# name look-ups.
LEAST_SHARE = 0.1


class Lines:
    """Lines of a plot, gathered piece by piece and thinned to a bounded number of points.

    Parameters
    ----------
    end_s : float
        End of the time axis in seconds.
    """

    def __init__(self, end_s: float) -> None:
        self._end_s = end_s
        self._points: dict[Key, NDArray[np.float64]] = {}

    def add(self, key: Key, time_s: NDArray[np.float64], value: NDArray[Any]) -> None:
        """Continue a line.

        Parameters
        ----------
        key : (int, int, str)
            UE, flow and name of the line.
        time_s : ndarray, shape (n,)
            Times in seconds, ascending.
        value : ndarray, shape (n,)
            Values in the unit of the line.
        """
        points = np.stack([time_s, value.astype(float)])
        if key in self._points:
            points = np.concatenate([self._points[key], points], axis=1)
        self._points[key] = points[:, thin(points[0], points[1], 0.0, self._end_s, BINS)]

    def line(self, ue: int, flow: int, name: str) -> NDArray[np.float64]:
        """Points of a line, shape (2, n): times in seconds above values."""
        return self._points.get((ue, flow, name), np.empty((2, 0)))


def plot_run(trace: Path, summary: dict[str, Any], png: Path, *, title: str) -> None:
    """Draw a run.

    Parameters
    ----------
    trace : Path
        Its `trace.parquet`.
    summary : dict
        Content of its `results.json`.
    png : Path
        Where the picture goes.
    title : str
        Line above the picture.

    Raises
    ------
    OSError
        If the trace cannot be read or the picture cannot be written.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    flows = choose_flows(summary)
    if len(summary["flows"]) > len(flows):
        which = "busiest" if "live" in summary else "first"
        title += f" (the {which} {len(flows)} of {len(summary['flows'])} flows)"
    if not summary["complete"]:
        title += " (ended early)"
    lines = read_lines(trace, flows, summary["simulated_s"])
    figure = Figure(figsize=SIZE_INCHES, dpi=DPI, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(4, 1, sharex=True, height_ratios=[3, 2, 2, 3])
    # A title holds names of files and algorithms, not formulas.
    figure.suptitle(title, parse_math=False)
    for panel, draw in zip(axes, (_draw_windows, _draw_rtt, _draw_buffer, _draw_sequence), strict=True):
        for index, flow in enumerate(flows):
            name = f"cwnd, UE {flow['ue']} flow {flow['flow']}" if len(flows) > 1 else "cwnd"
            draw(panel, lines, flow, index, name)
        panel.grid(alpha=0.3)
        panel.set_ylim(bottom=0)
        if panel.get_legend_handles_labels()[0]:
            panel.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize="small", frameon=False)
    axes[-1].set_xlabel("time (s)" if "live" in summary else "simulated time (s)")
    axes[-1].set_xlim(0, max(summary["simulated_s"], 1e-3))
    # No date, no version: the same run gives the same file.
    figure.savefig(png, metadata={"Software": None})


def choose_flows(summary: dict[str, Any]) -> list[dict[str, Any]]:
    """Choose what is drawn: the first flows, of a live run those that carried most."""
    flows: list[dict[str, Any]] = summary["flows"]
    if "live" not in summary:
        return flows[:MOST_FLOWS]
    ranked = sorted(flows, key=carried_bytes, reverse=True)[:MOST_FLOWS]
    return [flow for flow in ranked if carried_bytes(flow) >= LEAST_SHARE * carried_bytes(ranked[0])]


def read_lines(trace: Path, flows: list[dict[str, Any]], end_s: float) -> Lines:
    """Read what is drawn of some flows.

    Parameters
    ----------
    trace : Path
        A `trace.parquet`.
    flows : list of dict
        The flows, as in `results.json`.
    end_s : float
        End of the time axis in seconds.
    """
    lines = Lines(end_s)
    for columns in _row_groups(trace):
        for flow in flows:
            mine = (columns["ue"] == flow["ue"]) & (columns["flow"] == flow["flow"])
            _add_flow(lines, flow, {name: column[mine] for name, column in columns.items()})
    return lines


def _row_groups(trace: Path) -> Iterator[Columns]:
    """Columns of one row group after the other: numbers with NaN for nulls, words with ''."""
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    with pq.ParquetFile(trace) as file:
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


def _add_flow(lines: Lines, flow: dict[str, Any], columns: Columns) -> None:
    """Continue the lines of one flow by the rows that concern it."""
    event = columns["event"]
    data = columns["direction"] == flow["direction"]
    repeated = np.isin(columns["cause"], RETRANSMISSIONS)
    state, sent = event == "tcp_state", event == "segment_sent"
    known = columns["tcpi_snd_ssthresh"] < UNLIMITED_SSTHRESH
    # Drops are marked at the bottom.
    columns = {**columns, "bottom": np.zeros(len(event))}
    for name, rows, column, scale in (
        ("window", state, "send_window", 1),
        ("cwnd", state, "tcpi_snd_cwnd", 1),
        ("ssthresh", state & known, "tcpi_snd_ssthresh", 1),
        ("acked", state, "snd_una", 1e-6),
        ("rtt", event == "rtt_sample", "rtt_us", 1e-3),
        ("queued", (event == "bearer_enqueued") & data, "queued_sdus", 1),
        ("sent", sent & ~repeated, "seq", 1e-6),
        ("repeated", sent & repeated, "seq", 1e-6),
        ("dropped", event == "dropped", "bottom", 1),
    ):
        rows = rows & ~np.isnan(columns[column])
        if rows.any():
            key = (flow["ue"], flow["flow"], name)
            lines.add(key, columns["time_s"][rows], columns[column][rows] * scale)


def _draw_windows(axes: Axes, lines: Lines, flow: dict[str, Any], index: int, name: str) -> None:
    axes.set_ylabel("window (segments)")
    cwnd, window, ssthresh = (_line(lines, flow, which) for which in ("cwnd", "window", "ssthresh"))
    steps: Any = {"color": f"C{index}", "drawstyle": "steps-post"}
    axes.plot(*cwnd, lw=1.0, label=name, **steps)
    axes.plot(*window, lw=2.5, alpha=0.35, label=_once("send window", index), **steps)
    if ssthresh.size:
        axes.plot(*ssthresh, lw=1.0, ls="--", alpha=0.7, label=_once("ssthresh", index), **steps)


def _draw_rtt(axes: Axes, lines: Lines, flow: dict[str, Any], index: int, _name: str) -> None:
    axes.set_ylabel("RTT (ms)")
    axes.plot(*_line(lines, flow, "rtt"), ".", color=f"C{index}", ms=2, label=_once("samples", index))


def _draw_buffer(axes: Axes, lines: Lines, flow: dict[str, Any], index: int, _name: str) -> None:
    axes.set_ylabel("bearer buffer (SDUs)")
    queued, dropped = _line(lines, flow, "queued"), _line(lines, flow, "dropped")
    axes.plot(*queued, color=f"C{index}", lw=0.8, label=_once("after an arrival", index))
    if dropped.size:
        axes.plot(*dropped, "x", color="black", ms=5, label=_once("drops", index), clip_on=False)


def _draw_sequence(axes: Axes, lines: Lines, flow: dict[str, Any], index: int, _name: str) -> None:
    axes.set_ylabel("sequence number (MB)")
    sent, acked, repeated = (_line(lines, flow, which) for which in ("sent", "acked", "repeated"))
    color = f"C{index}"
    axes.plot(*sent, ".", color=color, ms=2.5, label=_once("sent", index))
    axes.plot(*acked, color=color, drawstyle="steps-post", lw=1.0, label=_once("acked", index))
    if repeated.size:
        marks: Any = {"color": "black", "ms": 5, "mew": 0.8, "zorder": 1}
        axes.plot(*repeated, "x", label=_once("retransmitted", index), **marks)


def _once(label: str, index: int) -> str:
    """One entry in the legend for all flows: colours tell them apart in the first panel."""
    return label if index == 0 else "_"


def _line(lines: Lines, flow: dict[str, Any], which: str) -> NDArray[np.float64]:
    return lines.line(flow["ue"], flow["flow"], which)
