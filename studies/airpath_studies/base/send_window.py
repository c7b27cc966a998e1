"""The send window of one transfer over time, and what a reader of its plot would say about it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class SendWindow:
    """A step function of shape (n,): from `time_s[i]` on the window is `segments[i]`."""

    time_s: NDArray[np.float64]
    """Times of the steps in seconds, increasing."""
    segments: NDArray[np.int64]
    """What the sender may have in flight, segments."""
    end_s: float
    """End of the transfer, seconds."""

    @classmethod
    def from_trace(cls, time_ns: NDArray[np.uint64], segments: NDArray[np.uint64]) -> SendWindow:
        """Keep the steps of a trace: the last record of an instant, and only where the window changed.

        Raises
        ------
        ValueError
            If the trace is empty.
        """
        if time_ns.size == 0:
            raise ValueError("nothing was traced")
        time_s = time_ns.astype(np.float64) / 1e9
        window = segments.astype(np.int64)
        last = np.append(time_ns[1:] != time_ns[:-1], True)
        end_s = float(time_s[-1])
        time_s, window = time_s[last], window[last]
        changed = np.insert(window[1:] != window[:-1], 0, True)
        return cls(time_s[changed], window[changed], end_s)

    @property
    def maximum(self) -> float:
        """Largest window, segments."""
        return float(self.segments.max())

    @property
    def plateau(self) -> float:
        """The window that stayed unchanged longest, segments."""
        return float(self.segments[np.argmax(self._stays_s)])

    @property
    def lowest_after_start(self) -> float:
        """Smallest window after it first reached its maximum, segments; the maximum if it never left it."""
        return float(self._from_the_maximum[1].min())

    @property
    def share_at_maximum(self) -> float:
        """Share of the time at the largest window, from when it was first reached."""
        stays_s, segments = self._from_the_maximum
        return float(stays_s[segments == segments.max()].sum() / stays_s.sum())

    @property
    def variation(self) -> float:
        """Coefficient of variation over time, from when the largest window was first reached."""
        stays_s, segments = self._from_the_maximum
        mean = float(np.average(segments, weights=stays_s))
        return float(np.sqrt(np.average((segments - mean) ** 2, weights=stays_s))) / mean

    @property
    def _from_the_maximum(self) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        first = np.argmax(self.segments)
        return self._stays_s[first:], self.segments[first:]

    @property
    def _stays_s(self) -> NDArray[np.float64]:
        return np.diff(self.time_s, append=self.end_s)
