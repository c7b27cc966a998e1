"""A recording of one direction of a link in neutral form: delivery opportunities, or a series of rates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

PACKET_BITS = 12_000
"""Bits of an opportunity: 1500 bytes of IP."""
LONGEST_MS = 48 * 3_600_000
"""No recording is longer: two days."""
MOST_PACKETS_PER_MS = 10_000
"""No millisecond of a recording has more opportunities: 120 Gbit/s."""


@dataclass(frozen=True)
class Series:
    """Rates over time, each until the next; what else a log has is in `radio`.

    Parameters
    ----------
    time_s : ndarray of float, shape (n,)
        Times in seconds, ascending, the first 0.
    rate_kbps : ndarray of float, shape (n,)
        Rates in kbit/s, at least 0.
    end_s : float
        End of the last one.
    radio : dict of ndarray, each of shape (n,)
        Columns such as ``rsrp_dbm``, NaN where a value is missing.
    """

    time_s: NDArray[np.float64]
    rate_kbps: NDArray[np.float64]
    end_s: float
    radio: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)

    @property
    def step_s(self) -> float:
        """Time between two rows, the median."""
        return float(np.median(np.diff(np.append(self.time_s, self.end_s))))

    def every(self, step_s: float) -> NDArray[np.float64]:
        """Mean rates in kbit/s of equal steps of time, the last one whole."""
        edges = np.append(self.time_s, self.end_s)
        volume = np.concatenate(([0.0], np.cumsum(self.rate_kbps * np.diff(edges))))
        grid = np.arange(int(self.end_s / step_s + 1e-9) + 1) * step_s
        rates: NDArray[np.float64] = np.diff(np.interp(grid, edges, volume)) / step_s
        return rates


@dataclass(frozen=True)
class Recording:
    """A recording of one direction of a link.

    Parameters
    ----------
    name : str
        What it is called.
    format : str
        Format that it was read from, in words.
    counts : ndarray of int32, shape (milliseconds,), or None
        Opportunities of 1500 bytes in each millisecond.
    series : Series or None
        Rates, where the recording has no opportunities. One of both is there.
    is_goodput : bool
        Whether it is the goodput of a transfer and not the capacity of the link.
    notes : tuple of str
        What was changed while reading, for people.
    """

    name: str
    format: str
    counts: NDArray[np.int32] | None = None
    series: Series | None = None
    is_goodput: bool = False
    notes: tuple[str, ...] = ()

    @property
    def duration_s(self) -> float:
        """Length in seconds."""
        return len(self.counts) / 1000 if self.counts is not None else self._series.end_s

    @property
    def mean_bps(self) -> float:
        """Mean rate in bit/s, at IP level where there are opportunities."""
        if self.counts is not None:
            return float(self.counts.sum()) * PACKET_BITS / self.duration_s
        return float(self._series.every(self._series.end_s)[0]) * 1e3

    @property
    def _series(self) -> Series:
        assert self.series is not None
        return self.series

    def in_ms(self) -> NDArray[np.int32]:
        """Opportunities in each millisecond; of a series, evenly at its rates."""
        if self.counts is not None:
            return self.counts
        # 1 kbit/s is 1 bit per millisecond.
        total = np.floor(np.concatenate(([0.0], np.cumsum(self._series.every(0.001)))) / PACKET_BITS + 1e-9)
        return np.diff(total).astype(np.int32)

    def part(self, from_s: float, to_s: float) -> Recording:
        """The part between two times in seconds."""
        if self.counts is not None:
            return replace(self, counts=self.counts[round(1000 * from_s) : round(1000 * to_s)])
        series = self._series
        chosen = (series.time_s >= from_s) & (series.time_s < to_s)
        own = Series(
            series.time_s[chosen] - from_s,
            series.rate_kbps[chosen],
            min(to_s, series.end_s) - from_s,
            {name: values[chosen] for name, values in series.radio.items()},
        )
        return replace(self, series=own)

    def text(self) -> str:
        """Write it in neutral form: milliseconds, one opportunity in each line, or CSV of times and rates."""
        if self.counts is None:
            return self.channel()[1]["rows"]
        busy = np.flatnonzero(self.counts)
        numbers = zip(busy.tolist(), self.counts[busy].tolist(), strict=True)
        return "".join(f"{time}\n" * count for time, count in numbers)

    def radio_text(self) -> str:
        """Write what else the log has, such as RSRP, as CSV; empty where a value is missing."""
        radio = self.series.radio if self.series else {}
        columns = [self._series.time_s, *radio.values()] if radio else []
        rows = (
            ",".join("" if value != value else f"{value:.9g}" for value in row)
            for row in zip(*columns, strict=True)
        )
        return "\n".join([",".join(["time_s", *radio]), *rows]) + "\n"

    def channel(self) -> tuple[str, dict[str, str]]:
        """Its channel in a scenario: the name of the component, and its parameters."""
        if self.counts is not None:
            return "trace_file", {"trace": self.text()}
        series = self._series
        rows = zip(series.time_s.tolist(), series.rate_kbps.tolist(), strict=True)
        text = "time_s,rate_kbps\n" + "".join(f"{time:.13g},{rate:.9g}\n" for time, rate in rows)
        return "series", {"rows": text, "repeat": f"{series.end_s:.13g} s"}
