"""Estimates the steady-state mean of a metric from the trace of one long run.

Replications each need a warm-up; one long run needs one. The method is in `batch_means`.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from airpath.progress import OnProgress
from airpath.runs.memory import DEFAULT_PROBES, Result, run
from airpath.runs.series import goodput_series
from airpath.scenario import Scenario
from airpath.stats.batch_means import SteadyEstimate, steady_mean
from airpath.stats.estimate import CONFIDENCE, check_confidence

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Series = NDArray[np.float64]


def steady(
    scenario: Scenario | str | Path | Result,
    metric: str | Callable[[Result], Any] = "goodput_bps",
    *,
    window_s: float = 1.0,
    flow: int = 0,
    seed: int = 1,
    confidence: float = CONFIDENCE,
    progress: bool | OnProgress | None = None,
) -> SteadyEstimate:
    """Estimate the mean of a metric in the steady state from one long run.

    Parameters
    ----------
    scenario : Scenario, str, Path or Result
        What to run, as for :func:`airpath.run`, or the result of a run.
    metric : str or callable
        ``"goodput_bps"`` in consecutive windows, ``"rtt_ms"`` of each sample, ``"delay_ms"`` of each packet
        through the bearer in the flow's direction; or a function that returns a series in the order of time.
    window_s : float
        Length of a window of goodput in seconds.
    flow : int
        Place of the flow in the results, from 0.
    seed, progress
        As for :func:`airpath.run`.
    confidence : float
        Confidence level of the interval, 0 to 1.

    Raises
    ------
    ScenarioError
        If the scenario or the seed cannot be used.
    RunTooShortError
        If the run has not settled within its first half.
    ValueError
        If there is no such metric or flow, the series is too short, or the level is out of range.
    """
    check_confidence(confidence)
    if isinstance(metric, str) and metric not in _PROBES:
        raise ValueError(f"there is no series '{metric}': choose from {', '.join(_PROBES)}")
    if not 0 < window_s < float("inf"):
        raise ValueError(f"window_s is {window_s}, and must be a time above 0 in seconds")
    if not isinstance(scenario, Result):
        probes = (_PROBES[metric],) if isinstance(metric, str) else DEFAULT_PROBES
        scenario = run(scenario, seed, probes=probes, progress=progress)
    if isinstance(metric, str):
        return steady_mean(_series(scenario, metric, flow, window_s), confidence)
    return steady_mean(metric(scenario), confidence)


_PROBES = {"goodput_bps": "tcp_state", "rtt_ms": "rtt_sample", "delay_ms": "bearer_delivered"}
"""The event that each series is made of."""


def _series(result: Result, metric: str, number: int, window_s: float) -> Series:
    if not 0 <= number < len(result.flows):
        raise ValueError(f"flow is {number}, and must be a whole number below {len(result.flows)}")
    flow, probe = result.flows[number], _PROBES[metric]
    events = result.trace.get(probe, {})
    if not len(events.get("time_s", ())):
        raise ValueError(f"'{metric}' needs events '{probe}' in the trace, and the run recorded none")
    mine = (events["ue"] == flow["ue"]) & (events["flow"] == flow["flow"])
    if metric == "delay_ms":
        mine &= events["direction"] == flow["direction"]
    if not mine.any():
        raise ValueError(f"'{metric}' needs events '{probe}' in the trace, and flow {number} has none")
    if metric == "rtt_ms":
        return np.asarray(events["rtt_us"][mine] / 1e3)
    if metric == "delay_ms":
        return np.asarray(events["delay_ns"][mine] / 1e6)
    start_s, transfer_s = flow["start_s"], flow["transfer_s"]
    end_s = result.summary["simulated_s"] - start_s if transfer_s is None else transfer_s
    return goodput_series(events["time_s"][mine] - start_s, events["snd_una"][mine], window_s, end_s)[1]
