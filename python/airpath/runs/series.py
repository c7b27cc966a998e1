"""Series over time, from columns of a trace."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def goodput_series(
    time_s: NDArray[np.float64], acked_bytes: NDArray[Any], window_s: float, end_s: float = 0.0
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Goodput in consecutive windows.

    Parameters
    ----------
    time_s : ndarray, shape (n,), float64
        Times of ACKs in seconds, ascending; n >= 1.
    acked_bytes : ndarray, shape (n,)
        Bytes acknowledged since the start, such as the column `snd_una`.
    window_s : float
        Length of a window in seconds, positive. The last, partial window is left out.
    end_s : float
        End of the flow in seconds: one that stalls has no ACKs there, but its last windows count.

    Returns
    -------
    end_s, goodput_bps : ndarray, shape (m,), float64
        End of each window in seconds, and goodput in it in bit/s.
    """
    ends = np.arange(1.0, int(max(end_s, time_s[-1]) / window_s) + 1) * float(window_s)
    last = np.searchsorted(time_s, ends, side="right") - 1
    acked = np.where(last >= 0, np.asarray(acked_bytes, dtype=float)[last], 0.0)
    return ends, np.diff(acked, prepend=0.0) * 8 / window_s


def thin(x: NDArray[Any], y: NDArray[Any], start: float, end: float, bins: int) -> NDArray[np.intp]:
    """Choose points whose line looks like that of all: first, lowest, highest and last of each bin.

    `x` is ascending, and its range from `start` to `end` is divided into bins; `y` has no NaN. The indices of
    the points are ascending, at most 4 * (bins + 2). Points that were chosen from a part of the line may
    stand for that part.
    """
    n = len(x)
    if n == 0 or end <= start:
        return np.arange(n)
    place = np.clip(((x - start) / (end - start) * bins).astype(np.int64), -1, bins)
    first = np.flatnonzero(np.diff(place, prepend=place[0] - 1))
    last = np.append(first[1:], n) - 1
    lowest = np.flatnonzero(y == np.repeat(np.minimum.reduceat(y, first), last - first + 1))
    highest = np.flatnonzero(y == np.repeat(np.maximum.reduceat(y, first), last - first + 1))
    # Of equal values in a bin, keep the first and the last.
    lowest = lowest[np.searchsorted(lowest, first)]
    highest = highest[np.searchsorted(highest, last, side="right") - 1]
    return np.unique(np.concatenate([first, last, lowest, highest]))
