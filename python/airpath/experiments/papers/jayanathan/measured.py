"""What is read off a run: throughput, and what counters tell of feedback and its cache."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from airpath.experiments.papers.base.cell import Outcome
from airpath.stats.replication import Results

FILE_BYTES = 2_000_000

UNFLAGGED = 1
"""Duplicate ACKs of a segment that pass before one can be flagged (Figure 4)."""


def throughput_kbps(outcome: Outcome) -> float:
    """The file over the time that it took, kbit/s; what there is of it after the time of the run."""
    return _throughput_kbps(outcome.results)


def gain_percent(outcome: Outcome) -> float:
    """Throughput gained over the cell's twin, percent."""
    return 100 * (_throughput_kbps(outcome.results) / _throughput_kbps(outcome.reference_results) - 1)


def timeouts(outcome: Outcome) -> float:
    """Timeouts of a run."""
    return float(_flow(outcome)["timeouts"])


def repaired_percent(outcome: Outcome) -> float:
    """Segments sent again early because a flag said so, percent of the packets dropped at the UE."""
    early = float(_flow(outcome)["rnf"]["wireless_fast_retransmits"])
    return 100 * early / float(_box(outcome, "packet_loss")["downlink"]["dropped"])


def peak_cached(outcome: Outcome) -> float:
    """Most TCP headers that the RNC had cached at a time."""
    return float(_box(outcome, "rnc_feedback")["peak_cached_segments"])


def half_time_s(outcome: Outcome) -> float:
    """Time until half of the file has been received in order."""
    received = outcome.observed
    return float(received.time_s[received.data_bytes >= FILE_BYTES / 2][0])


def mean_window(outcome: Outcome) -> float:
    """Mean of the congestion window over the run, segments."""
    return float(outcome.observed.mean_window)


def flagged_dupacks(outcome: Outcome) -> float:
    """Flagged duplicate ACKs that it takes until a segment is sent again early, mean."""
    return float(outcome.observed.acting_dupack) - UNFLAGGED


def _throughput_kbps(results: Results) -> float:
    flow = results["flows"][0]
    took_s = flow["transfer_s"] or results["simulated_s"]
    return float(flow["bytes_acked"]) * 8 / 1000 / float(took_s)


def _flow(outcome: Outcome) -> Mapping[str, Any]:
    flow: Mapping[str, Any] = outcome.results["flows"][0]
    return flow


def _box(outcome: Outcome, name: str) -> Mapping[str, Any]:
    elements = outcome.results["elements"]
    box: Mapping[str, Any] = next(e for e in elements if e["element"] == f"middlebox.{name}")
    return box
