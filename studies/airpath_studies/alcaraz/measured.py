"""What is read off a run: goodput and delay as the paper has them, and what happens in the buffer."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from airpath.stats.estimate import Estimate, by_seed
from airpath_studies.alcaraz.observed import PACKET_BYTES, PAYLOAD_BYTES
from airpath_studies.base.cell import Metric, Outcome
from airpath_studies.base.measure import Measure, bearer, element, observed
from airpath_studies.base.paired import Pick, first
from airpath_studies.base.paper import Row

BEARER_KBPS = 384
FRAME_ERRORS = 0.1
"""Share of bad TTIs."""
PIPE_SDUS = 10
"""Bandwidth-delay product of Section 5."""


def goodput_kbps(outcome: Outcome) -> float:
    """Packets received in order with their headers, over the run, all flows together, kbit/s."""
    received = sum(int(flow["bytes_received"]) for flow in outcome.results["flows"])
    return received / PAYLOAD_BYTES * PACKET_BYTES * 8 / 1000 / float(outcome.results["simulated_s"])


delay_s = observed("delay_s")
"""Mean time of a packet from its transmission by TCP to its arrival there, seconds."""


def occupancy_sdus(outcome: Outcome) -> float:
    """BO: mean number of SDUs in the buffer over the run."""
    return float(bearer(outcome, "downlink")["mean_queued_sdus"])


def timeouts(outcome: Outcome) -> float:
    """Timeouts of all flows."""
    return float(sum(int(flow["timeouts"]) for flow in outcome.results["flows"]))


def of_box(name: str) -> Metric:
    """What ACK rate control reports of the bearer under a name."""
    return lambda outcome: float(element(outcome, "middlebox.ack_rate_control")["ues"][0][name])


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
    return 1000 * float(outcome.results["simulated_s"]) / float(bearer(outcome, "uplink")["sdus_delivered"])


def t_id_below_pipe_ms(outcome: Outcome) -> float:
    """Largest time between two ACKs by f1 up to 10 SDUs, the bandwidth-delay product, milliseconds."""
    known = outcome.observed.t_id_ms
    return float(np.max(known.y[known.x <= PIPE_SDUS], initial=0.0))


def t_id_ms_at(sdus: int) -> Metric:
    """Time between two ACKs by f1 at an occupancy, interpolated between observed ones, milliseconds."""
    return lambda outcome: float(np.interp(sdus, outcome.observed.t_id_ms.x, outcome.observed.t_id_ms.y))


def largest_t_id_ms(outcome: Outcome) -> float:
    """Largest time between two ACKs by f1, milliseconds."""
    return float(outcome.observed.t_id_ms.y.max())


def t_id_factor(outcome: Outcome) -> float:
    """The same over the mean time between ACKs."""
    return largest_t_id_ms(outcome) / ack_spacing_ms(outcome)


def pipe_sdus(outcome: Outcome) -> float:
    """Bandwidth-delay product: packets that 384 kbit/s carry in the minimum RTT."""
    shortest_ms = min(float(flow["rtt_ms"]["min"]) for flow in outcome.results["flows"])
    return BEARER_KBPS * shortest_ms / 8 / PACKET_BYTES


def link_alone(row: Row, measured: Estimate) -> float | None:
    """The goodput of a bearer that is never idle: its rate minus the bad TTIs, kbit/s."""
    if row.metric is goodput_kbps and row.pick is first:
        return BEARER_KBPS * (1 - FRAME_ERRORS)
    return measured.mean if row.metric is pipe_sdus else None


def value_of_highest(values: Sequence[float]) -> Pick:
    """The value of a parameter where a cell has its maximum, seed by seed; the lowest of several."""

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


GOODPUT = Measure("goodput", "kbit/s", goodput_kbps)
DELAY = Measure("delay", "s", delay_s)
OVERFLOWS = Measure("overflow drops", "1", observed("overflow_drops"))
TIMEOUTS = Measure("timeouts", "1", timeouts)
OCCUPANCY = Measure("mean BO", "SDU", occupancy_sdus)
