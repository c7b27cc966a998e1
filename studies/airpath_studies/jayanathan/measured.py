"""Metrics of a run: throughput, and counters of feedback and its cache."""

from __future__ import annotations

from airpath_studies.base.cell import Outcome

FILE_BYTES = 2_000_000

UNFLAGGED = 1
"""Duplicate ACKs of a segment that pass before one can be flagged (Figure 4)."""


def throughput_kbps(outcome: Outcome) -> float:
    """The file over the time that it took, kbit/s; what there is of it after the time of the run."""
    took_s = outcome.flow["transfer_s"] or outcome.results["simulated_s"]
    return float(outcome.flow["bytes_acked"]) * 8 / 1000 / float(took_s)


def gain_percent(outcome: Outcome) -> float:
    """Throughput gained over the cell's twin, percent."""
    return 100 * (throughput_kbps(outcome) / throughput_kbps(outcome.twin) - 1)


def repaired_percent(outcome: Outcome) -> float:
    """Segments retransmitted early because of a flag, percent of the packets dropped at the UE."""
    early = float(outcome.flow["rnf"]["wireless_fast_retransmits"])
    return 100 * early / float(outcome.element("middlebox.packet_loss")["downlink"]["dropped"])


def peak_cached(outcome: Outcome) -> float:
    """Most TCP headers that the RNC had cached at a time."""
    return float(outcome.element("middlebox.rnc_feedback")["peak_cached_segments"])


def half_time_s(outcome: Outcome) -> float:
    """Time until half of the file has been received in order."""
    received = outcome.observed
    return float(received.time_s[received.data_bytes >= FILE_BYTES / 2][0])


def mean_window(outcome: Outcome) -> float:
    """Mean of the congestion window over the run, segments."""
    return float(outcome.observed.mean_window)


def flagged_dupacks(outcome: Outcome) -> float:
    """Mean number of flagged duplicate ACKs before an early retransmission."""
    return float(outcome.observed.acting_dupack) - UNFLAGGED
