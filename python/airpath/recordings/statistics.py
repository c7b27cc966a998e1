"""Statistics of a link that decide how a transport protocol does: variation of the rate, and silences."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from airpath.recordings.recording import Recording

Numbers = NDArray[np.float64]
BLOCK_S = 30
"""Length of the blocks for estimating the error of the mean: longer than most correlations."""


@dataclass(frozen=True)
class Statistics:
    """Statistics of one direction of a link; None where the recording does not tell.

    A coefficient of variation (`cv_*`) is the standard deviation of the rate in bins, over its mean.
    """

    duration_s: float
    """Length in seconds."""
    mean_mbps: float
    """Mean rate in Mbit/s."""
    cv_100ms: float | None
    """Coefficient of variation in bins of 100 ms."""
    cv_1s: float | None
    """In bins of 1 s."""
    cv_10s: float | None
    """In bins of 10 s."""
    correlation_s: float | None
    """Time in seconds after which the autocorrelation of the rate is below 1/e."""
    p5: float | None
    """5th percentile of the rates of seconds, over the mean."""
    p95: float | None
    """95th percentile of the rates of seconds, over the mean."""
    change_1s: float | None
    """Mean change from a second to the next, over the mean rate."""
    silent_percent: float | None
    """Percentage of time in silences of more than 50 ms."""
    silences_per_min: float | None
    """Silences of more than 100 ms per minute."""
    outages_per_min: float | None
    """Silences of more than 300 ms per minute."""
    long_outages_per_min: float | None
    """Silences of more than 1 s per minute."""
    longest_ms: float | None
    """Longest silence in milliseconds."""
    busy_percent: float | None
    """Percentage of milliseconds that have opportunities."""
    packets_per_ms: float | None
    """Mean number of opportunities in such a millisecond."""
    packets_per_ms_p95: float | None
    """95th percentile of it."""
    mean_error_percent: float | None
    """Standard error of the mean rate, in percent, from blocks of 30 s."""

    def as_dict(self) -> dict[str, float | None]:
        """By name, as JSON has them."""
        return {one.name: getattr(self, one.name) for one in fields(self)}


def describe(recording: Recording) -> Statistics:
    """Compute the statistics of a recording."""
    if recording.counts is not None:
        return describe_counts(recording.counts)
    assert recording.series is not None
    by_second = recording.series.every(1.0)
    return Statistics(
        duration_s=recording.duration_s,
        mean_mbps=recording.mean_bps / 1e6,
        cv_100ms=None,
        **_by_seconds(by_second),
        correlation_s=correlation_s(by_second, 1.0),
        **dict.fromkeys(SILENCES),
        mean_error_percent=mean_error(by_second),
    )


SILENCES = (
    *("silent_percent", "silences_per_min", "outages_per_min", "long_outages_per_min", "longest_ms"),
    *("busy_percent", "packets_per_ms", "packets_per_ms_p95"),
)
"""What only a recording of opportunities tells."""


def describe_counts(counts: NDArray[np.integer]) -> Statistics:
    """Compute the statistics of opportunities in each millisecond."""
    duration_s = len(counts) / 1000
    minutes = duration_s / 60
    bins, seconds = binned(counts, 100), binned(counts, 1000)
    busy = np.flatnonzero(counts)
    # The recording's ends bound silences too.
    silences = np.diff(np.concatenate(([-1], busy, [len(counts)])))
    packets = counts[busy]
    return Statistics(
        duration_s=duration_s,
        mean_mbps=float(counts.sum()) * 0.012 / duration_s,
        cv_100ms=variation(bins),
        **_by_seconds(seconds),
        correlation_s=correlation_s(bins, 0.1),
        silent_percent=100 * float(silences[silences > 50].sum()) / len(counts),
        silences_per_min=int((silences > 100).sum()) / minutes,
        outages_per_min=int((silences > 300).sum()) / minutes,
        long_outages_per_min=int((silences > 1000).sum()) / minutes,
        longest_ms=float(silences.max()),
        busy_percent=100 * len(busy) / len(counts),
        packets_per_ms=float(packets.mean()) if len(packets) else None,
        packets_per_ms_p95=float(np.percentile(packets, 95)) if len(packets) else None,
        mean_error_percent=mean_error(seconds),
    )


def _by_seconds(seconds: Numbers) -> dict[str, float | None]:
    mean = float(seconds.mean()) if len(seconds) else 0.0
    enough = len(seconds) >= 3 and mean > 0
    return {
        "cv_1s": variation(seconds),
        "cv_10s": variation(binned(seconds, 10)),
        "p5": float(np.percentile(seconds, 5)) / mean if enough else None,
        "p95": float(np.percentile(seconds, 95)) / mean if enough else None,
        "change_1s": float(np.abs(np.diff(seconds)).mean()) / mean if enough else None,
    }


def binned(values: NDArray[np.integer] | Numbers, length: int) -> Numbers:
    """Sums of `length` values each; a rest at the end is left out."""
    whole = len(values) // length
    sums: Numbers = values[: whole * length].reshape(whole, length).sum(axis=1, dtype=np.float64)
    return sums


def variation(values: Numbers) -> float | None:
    """Coefficient of variation; None of fewer than three values, or where all are zero."""
    return float(values.std() / values.mean()) if len(values) >= 3 and values.mean() > 0 else None


def autocovariance(values: Numbers) -> Numbers:
    """Autocovariance at each lag up to half the length, by the Fourier transform."""
    centred = values - values.mean()
    size = 1 << (2 * len(centred) - 1).bit_length()
    power = np.abs(np.fft.rfft(centred, size)) ** 2
    lags = len(centred) // 2 + 1
    covariance: Numbers = np.fft.irfft(power, size)[:lags] / (len(centred) - np.arange(lags))
    return covariance


def correlation_s(values: Numbers, step_s: float) -> float | None:
    """Time after which the autocorrelation is below 1/e; None if the values do not vary or it never is."""
    if len(values) < 4 or values.std() <= 1e-9 * abs(values.mean()):
        return None
    covariance = autocovariance(values)
    below = np.flatnonzero(covariance < covariance[0] / math.e)
    return float(below[0] * step_s) if len(below) else None


def mean_error(seconds: Numbers) -> float | None:
    """Standard error of the mean in percent, from blocks; None of fewer than four blocks."""
    blocks = binned(seconds, BLOCK_S)
    if len(blocks) < 4 or blocks.mean() <= 0:
        return None
    return 100 * float(blocks.std(ddof=1) / math.sqrt(len(blocks)) / blocks.mean())
