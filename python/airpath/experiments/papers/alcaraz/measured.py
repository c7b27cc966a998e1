"""What is read off a run: goodput and delay as the paper has them, and what happens in the buffer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from airpath.experiments.papers.base.cell import Metric, Outcome
from airpath.experiments.papers.base.paired import by_seed
from airpath.stats.estimate import Estimate

PACKET_BYTES, PAYLOAD_BYTES = 1500, 1460
BEARER_KBPS = 384
PIPE_SDUS = 10
"""Bandwidth-delay product as Section 5 has it."""

Pick = Callable[[Sequence[Estimate]], Estimate]
"""What follows from the estimates of several cells."""


def goodput_kbps(outcome: Outcome) -> float:
    """Packets received in order with their headers, over the run, all flows together, kbit/s."""
    received = sum(int(flow["bytes_received"]) for flow in outcome.results["flows"])
    return received / PAYLOAD_BYTES * PACKET_BYTES * 8 / 1000 / float(outcome.results["simulated_s"])


def delay_s(outcome: Outcome) -> float:
    """Mean time of a packet from its transmission by TCP to its arrival there, seconds."""
    return float(outcome.observed.delay_s)


def delay_ms(outcome: Outcome) -> float:
    """The same in milliseconds."""
    return 1000 * delay_s(outcome)


def in_order_s(outcome: Outcome) -> float:
    """Mean time of a packet from its first transmission until all before it has arrived, too, seconds."""
    return float(outcome.observed.in_order_s)


def occupancy_sdus(outcome: Outcome) -> float:
    """BO: mean number of SDUs in the buffer over the run."""
    return float(_downlink(outcome)["mean_queued_sdus"])


def occupancy_sd_sdus(outcome: Outcome) -> float:
    """Standard deviation of BO over the run."""
    return float(outcome.observed.occupancy_sd_sdus)


def largest_occupancy_sdus(outcome: Outcome) -> float:
    """Largest BO."""
    return float(_downlink(outcome)["peak_queued_sdus"])


def overflow_drops(outcome: Outcome) -> float:
    """SDUs for which the buffer had no room."""
    return float(outcome.observed.overflow_drops)


def early_overflow_drops(outcome: Outcome) -> float:
    """The same in the first part of a run."""
    return float(outcome.observed.early_overflow_drops)


def lowest_after_overflow_sdus(outcome: Outcome) -> float:
    """Smallest BO in the 10 s behind the first overflow; the largest of all where nothing overflowed."""
    return float(outcome.observed.lowest_after_overflow_sdus)


def late_peak_sdus(outcome: Outcome) -> float:
    """Largest BO in the second half of a run."""
    return float(outcome.observed.late_peak_sdus)


def deliberate_drops(outcome: Outcome) -> float:
    """SDUs that the queue discipline dropped although there was room."""
    return float(outcome.observed.deliberate_drops)


def timeouts(outcome: Outcome) -> float:
    """Timeouts of all flows."""
    return float(sum(int(flow["timeouts"]) for flow in outcome.results["flows"]))


def after_a_drop_s(outcome: Outcome) -> float:
    """Time for which f2 was in force, seconds."""
    return float(_box(outcome)["t_id_after_drop_s"])


def most_held(outcome: Outcome) -> float:
    """Most ACKs that ACK rate control held at once."""
    return float(_box(outcome)["peak_held_acks"])


def rtt_s(outcome: Outcome) -> float:
    """Mean round-trip time that TCP has measured, of all flows, seconds."""
    return float(np.mean([flow["rtt_ms"]["mean"] for flow in outcome.results["flows"]])) / 1000


def least_over_most_percent(outcome: Outcome) -> float:
    """Goodput of the slowest flow over that of the fastest, percent."""
    received = [int(flow["bytes_received"]) for flow in outcome.results["flows"]]
    return 100 * min(received) / max(received)


def page_s(outcome: Outcome) -> float:
    """Time until a page has arrived, seconds; one that is not complete counts with the rest of the run."""
    page = next(flow for flow in outcome.results["flows"] if flow.get("web"))
    seconds = page["web"]["page_load_s"]
    rest_s = float(outcome.results["simulated_s"]) - float(page["start_s"])
    return rest_s if seconds is None else float(seconds)


def seen(outcome: Outcome) -> float:
    """What an observation of one number has kept."""
    return float(outcome.observed)


def ack_spacing_ms(outcome: Outcome) -> float:
    """Mean time between ACKs that cross the radio link, milliseconds."""
    return 1000 * float(outcome.results["simulated_s"]) / float(_bearer(outcome, "uplink")["sdus_delivered"])


def t_id_below_pipe_ms(outcome: Outcome) -> float:
    """Largest time between two ACKs by f1 up to 10 SDUs, the bandwidth-delay product, milliseconds."""
    known = outcome.observed.t_id_ms
    return float(np.max(known.y[known.x <= PIPE_SDUS], initial=0.0))


def t_id_ms_at(sdus: int) -> Metric:
    """Time between two ACKs by f1 at an occupancy, between those that occurred, milliseconds."""

    def metric(outcome: Outcome) -> float:
        known = outcome.observed.t_id_ms
        return float(np.interp(sdus, known.x, known.y))

    return metric


def largest_t_id_ms(outcome: Outcome) -> float:
    """Largest time between two ACKs by f1, milliseconds."""
    return float(outcome.observed.t_id_ms.y.max())


def t_id_factor(outcome: Outcome) -> float:
    """The same over the mean time between ACKs."""
    return largest_t_id_ms(outcome) / ack_spacing_ms(outcome)


def pipe_sdus(outcome: Outcome) -> float:
    """Bandwidth-delay product: packets that 384 kbit/s carry in the shortest round trip."""
    shortest_ms = min(float(flow["rtt_ms"]["min"]) for flow in outcome.results["flows"])
    return BEARER_KBPS * shortest_ms / 8 / PACKET_BYTES


def value_of_highest(values: Sequence[float]) -> Pick:
    """The value of a parameter at which a cell has the most, seed by seed; the lowest of several."""

    def find(*run: float) -> float:
        per_value = len(run) // len(values)
        best = [max(run[i * per_value : (i + 1) * per_value]) for i in range(len(values))]
        return values[best.index(max(best))]

    return lambda estimates: by_seed(find, *estimates)


def first_near_the_most(values: Sequence[float], share: float) -> Pick:
    """The first value of a parameter with this share of the most that any has, seed by seed."""

    def find(*run: float) -> float:
        return next(value for value, got in zip(values, run, strict=True) if got >= share * max(run))

    return lambda estimates: by_seed(find, *estimates)


def _box(outcome: Outcome) -> Mapping[str, Any]:
    """What ACK rate control reports of the bearer."""
    element = next(e for e in outcome.results["elements"] if e["element"] == "middlebox.ack_rate_control")
    report: Mapping[str, Any] = element["ues"][0]
    return report


def _downlink(outcome: Outcome) -> Mapping[str, Any]:
    return _bearer(outcome, "downlink")


def _bearer(outcome: Outcome, direction: str) -> Mapping[str, Any]:
    cell = next(e for e in outcome.results["elements"] if e["element"].startswith("radio."))
    bearer: Mapping[str, Any] = cell["ues"][0][direction]
    return bearer
