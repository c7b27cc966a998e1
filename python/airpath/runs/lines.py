"""The lines of a run's flows over time, read from its trace for a picture.

The trace is read piece by piece, no more of it than is drawn, and thinned while reading, so that memory does
not grow with the length of the run.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from airpath.runs.series import goodput_series, thin
from airpath.runs.trace import UNLIMITED_SSTHRESH

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from airpath.runs.trace import Events, RawColumn

BINS = 1000
"""Bins of the time axis; each keeps up to four points of a line."""
GOODPUT_WINDOWS = 100
"""Most windows of goodput on the time axis."""

RETRANSMISSIONS = (
    *("fast_retransmit", "partial_ack", "sack", "timeout", "go_back_n", "tail_loss_probe"),
    "retransmission",
)


class Line(NamedTuple):
    """A line drawn from events of one kind: a column times a factor, or marks on the time axis."""

    name: str
    column: str | None = None
    scale: float = 1
    below: float = math.inf
    """Only values below this."""
    causes: tuple[str, ...] = ()
    """Only events with one of these causes."""
    other_causes: tuple[str, ...] = ()
    """Only events with none of these causes."""


LINES = {
    "tcp_state": (
        Line("window", "send_window"),
        Line("cwnd", "tcpi_snd_cwnd"),
        Line("ssthresh", "tcpi_snd_ssthresh", below=UNLIMITED_SSTHRESH),
        Line("acked", "snd_una", 1e-6),
    ),
    "rtt_sample": (Line("rtt", "rtt_us", 1e-3),),
    "bearer_enqueued": (Line("queued", "queued_sdus"),),
    "segment_sent": (
        Line("timeout", causes=("timeout",)),
        Line("sent", "seq", 1e-6, other_causes=RETRANSMISSIONS),
        Line("retransmitted", "seq", 1e-6, causes=RETRANSMISSIONS),
    ),
    "dropped": (Line("dropped"),),
    "bearer_delivered": (Line("delay", "delay_ns", 1e-6),),
}
_OF_DATAGRAMS = ("bearer_delivered",)
"""Kinds that only flows of datagrams have lines of: TCP has its RTT samples."""
_BY_BEARER = ("direction", "bearer")
_CHOSEN_BY = {"segment_sent": ("cause",), "bearer_enqueued": _BY_BEARER, "bearer_delivered": _BY_BEARER}
_READ = {
    kind: ("ue", "flow", *_CHOSEN_BY.get(kind, ()), *(line.column for line in lines if line.column))
    for kind, lines in LINES.items()
}
"""Columns that are read of each kind."""


def kinds_read(summary: dict[str, Any]) -> dict[str, tuple[str, ...]]:
    """What is read of a run's trace, columns of each kind; `summary` is the content of `results.json`."""
    has_datagrams = any("datagrams" in flow for flow in summary["flows"])
    return {kind: columns for kind, columns in _READ.items() if has_datagrams or kind not in _OF_DATAGRAMS}


@dataclass
class FlowLines:
    """The lines of one flow, gathered piece by piece and thinned to a bounded number of points.

    Which points stay does not depend on the pieces. The run is `run_s` seconds long, the time axis `end_s`.
    """

    flow: dict[str, Any]
    name: str
    run_s: float
    end_s: float
    _points: dict[str, list[NDArray[np.float64]]] = field(default_factory=dict, repr=False, compare=False)
    """Stretches of each line: it restarts where the UE has another bearer, in another cell."""
    _bearers: dict[str, int] = field(default_factory=dict, repr=False, compare=False)
    _seen: dict[str, int] = field(default_factory=dict, repr=False, compare=False)

    def add(self, events: Events) -> None:
        """Add the flow's events of a piece of trace."""
        for kind in LINES.keys() & events.keys():
            if kind in _OF_DATAGRAMS and "datagrams" not in self.flow:
                continue
            columns: dict[str, Any] = dict(events[kind])
            mine = (columns["ue"] == self.flow["ue"]) & (columns["flow"] == self.flow["flow"])
            if "direction" in _READ[kind]:
                mine &= _one_of(columns["direction"], (self.flow["direction"],))
            for line in LINES[kind]:
                rows = mine
                if line.causes or line.other_causes:
                    of_these = _one_of(columns["cause"], line.causes or line.other_causes)
                    rows = mine & (of_these if line.causes else ~of_these)
                if line.column and line.below < math.inf:
                    rows = rows & (columns[line.column] < line.below)
                if rows.any():
                    value = columns[line.column][rows] if line.column else np.zeros(np.count_nonzero(rows))
                    points = np.stack([columns["time_ns"][rows] / 1e9, (value * line.scale).astype(float)])
                    bearers = (
                        columns["bearer"][rows] if "bearer" in _READ[kind] else np.zeros(points.shape[1])
                    )
                    self._continue(line.name, points, bearers)

    def _continue(self, name: str, points: NDArray[np.float64], bearers: NDArray[Any]) -> None:
        known = self._points.setdefault(name, [])
        begins = np.flatnonzero(np.diff(bearers)) + 1
        pieces = np.split(points, begins, axis=1)
        for piece, bearer in zip(pieces, bearers[np.append(0, begins)], strict=True):
            if self._bearers.get(name) == bearer:
                known[-1] = np.concatenate([known[-1], piece], axis=1)
            else:
                known.append(piece)
            self._bearers[name] = int(bearer)
        self._seen[name] = self._seen.get(name, 0) + points.shape[1]
        if self._seen[name] > 4 * BINS:
            known[:] = [own[:, thin(own[0], own[1], 0.0, self.end_s, BINS)] for own in known]

    def line(self, name: str) -> NDArray[np.float64]:
        """Points of a line, shape (2, n): times in seconds above values.

        Windows are in segments, `rtt` and `delay` in ms, `queued` in SDUs, `acked`, `sent` and
        `retransmitted` in MB, `goodput` in kbit/s. Between the stretches of a line there is a value that is
        not a number.
        """
        if name == "goodput":
            return self._goodput()
        known = self._points.get(name, [np.empty((2, 0))])
        gaps = [np.array([[own[0, 0]], [np.nan]]) for own in known[1:]]
        parts = [part for pair in zip(known[1:], gaps, strict=True) for part in pair[::-1]]
        return np.concatenate([known[0], *parts], axis=1) if parts else known[0]

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


def _one_of(column: RawColumn, words: Sequence[str]) -> NDArray[np.bool_]:
    """Whether each value is one of these words."""
    codes, known = column
    return np.array([word in words for word in known], dtype=bool)[codes]


def read_lines(
    trace: Iterable[Events], summary: dict[str, Any], flows: Sequence[tuple[int, str]], end_s: float
) -> list[FlowLines]:
    """Read the lines of some flows from the pieces of a trace, which need no more than `kinds_read`.

    `flows` are their places in `summary`, the content of `results.json`, and their names; the time axis ends
    after `end_s` seconds.
    """
    run_s = summary["simulated_s"]
    lines = [FlowLines(summary["flows"][place], name, run_s, end_s) for place, name in flows]
    for events in trace:
        for flow in lines:
            flow.add(events)
    return lines
