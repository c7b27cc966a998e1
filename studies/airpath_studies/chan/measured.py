"""What is read off a run: the columns of the paper's tables, and what the models predict for it."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from airpath.models import MODELS, Episodes, Link, chan_ramjee
from airpath.models.measured import measured_episodes
from airpath.scenario import load
from airpath.stats.estimate import by_seed
from airpath_studies.base.cell import Metric, Outcome
from airpath_studies.base.description import description
from airpath_studies.base.measure import Measure, bearer, element, of_flow
from airpath_studies.base.paired import Pick

PACKET_BYTES, PAYLOAD_BYTES = 1000, 960
BUFFER_PACKETS = 10
"""Buffer of Tables 1 to 3."""

RATES = (38.4, 76.8, 102.6, 153.6, 204.8, 307.2, 614.4, 921.6, 1228.8, 1843.2, 2457.6)
"""Rates of Table 4 as printed, kbit/s; 102.6 is a slip for 102.4."""


def packets(outcome: Outcome) -> float:
    """Packets acknowledged, all flows together."""
    return sum(_packets(flow) for flow in outcome.results["flows"])


def goodput_kbps(outcome: Outcome) -> float:
    """Packets acknowledged in time, with their headers, all flows together, kbit/s."""
    return packets(outcome) * PACKET_BYTES * 8 / 1000 / float(outcome.results["simulated_s"])


def goodput_per_flow_kbps(outcome: Outcome) -> float:
    """The mean over the flows, kbit/s."""
    return goodput_kbps(outcome) / len(outcome.results["flows"])


fast_retransmits, timeouts = of_flow("fast_retransmits"), of_flow("timeouts")
"""TD and TO: every fast retransmit, and every timeout, of the first flow."""


def rtt_ms(outcome: Outcome) -> float:
    """Mean of the round-trip time samples, of the flows' means, milliseconds."""
    means = [float(flow["rtt_ms"]["mean"]) for flow in outcome.results["flows"]]
    return sum(means) / len(means)


def timeout_wait_s(outcome: Outcome) -> float:
    """T0 as in Table 1: mean time from the last fast retransmit to the timeout, seconds; or 0."""
    return float(_episodes(outcome)["mean_timeout_wait_s"] or 0.0)


def _of_episodes(name: str, per: str = "") -> Metric:
    """What the first flow's loss episodes have under a name, or its ratio to something else of them."""

    def metric(outcome: Outcome) -> float:
        episodes = _episodes(outcome)
        return float(episodes[name]) / (float(episodes[per]) if per else 1)

    return metric


loss_events = _of_episodes("events")

single_share, double_share, timeout_share = (
    _of_episodes(kind, "events") for kind in ("single", "double", "timeout")
)
"""p1, p2 and p3: shares of the loss events with one fast retransmit, with several, and with a timeout."""

max_window = _of_episodes("max_window_rms_segments")
"""Wf: root mean square of the window before the first cut of each event, packets."""


def service_rate(outcome: Outcome) -> float:
    """mu-hat: packets served per second of service."""
    return float(bearer(outcome, "downlink")["service_rate_packets_per_s"])


def max_throughput_kbps(outcome: Outcome) -> float:
    """What a link that is never idle carries, kbit/s."""
    return service_rate(outcome) * PACKET_BYTES * 8 / 1000


def link_delay_ms(outcome: Outcome) -> float:
    """tau-hat: mean delay of both ways as realised, without transmission, milliseconds."""
    return sum(float(bearer(outcome, way)["mean_delay_ms"]) for way in ("downlink", "uplink"))


def t_hat_ms(outcome: Outcome) -> float:
    """T-hat = tau-hat + 1 / mu-hat, milliseconds."""
    return link_delay_ms(outcome) + 1000 / service_rate(outcome)


def pipe_packets(outcome: Outcome) -> float:
    """Bandwidth-delay product: packets served in the mean delay of both ways."""
    return service_rate(outcome) * link_delay_ms(outcome) / 1000


def fairness(outcome: Outcome) -> float:
    """Jain's index of the flows' packets: (sum x)^2 / (n sum of x^2)."""
    shares = [_packets(flow) for flow in outcome.results["flows"]]
    return sum(shares) ** 2 / (len(shares) * sum(share**2 for share in shares))


def of_regulator(name: str) -> Metric:
    """What the Ack Regulator reports of the first flow under a name."""
    return lambda outcome: float(element(outcome, "middlebox.ack_regulator")["flows"][0][name])


def gain_on_twin(outcome: Outcome) -> float:
    """Throughput beyond that of the cell's twin with the same seed, percent."""
    twin = outcome.twin
    return 100 * (goodput_kbps(outcome) / goodput_kbps(twin) - 1)


def loss_to_twin(outcome: Outcome) -> float:
    """Throughput below that of the cell's twin with the same seed, percent."""
    return -gain_on_twin(outcome)


def predicted_kbps(model: str) -> Metric:
    """What a model predicts from the run's own loss events and link, with a buffer of 10, kbit/s."""
    predict = {known.name: known.predict for known in MODELS}[model]
    return lambda outcome: predict(_inputs(outcome), _link(outcome)).kbit_per_s(PACKET_BYTES)


def cycle_kbps(kind: str) -> Metric:
    """What equation 19 gives if all loss events are `single`, `double` or `timeout`, kbit/s."""
    shares = {"single": (1.0, 0.0), "double": (0.0, 1.0), "timeout": (0.0, 0.0)}[kind]

    def metric(outcome: Outcome) -> float:
        wait_s = timeout_wait_s(outcome)
        predicted = chan_ramjee(_link(outcome), *shares, max_window(outcome), wait_s)
        return predicted.kbit_per_s(PACKET_BYTES)

    return metric


def accuracy(predicted: Metric) -> Metric:
    """1 - |model - simulation| / simulation, of the run's own throughput."""
    return lambda outcome: 1 - abs(predicted(outcome) / goodput_kbps(outcome) - 1)


def rate_share(rate: float) -> Metric:
    """Share of the slots in which this is the highest rate that the first HDR user can receive."""
    name = f"{102.4 if rate == 102.6 else rate} kbit/s"
    return lambda outcome: float(bearer(outcome, "downlink")["drc"][name])


FIRST, LAST = 0, -1


def found(which: int, values: Sequence[float], so: Callable[[float, float], bool]) -> Pick:
    """The first or last value where a condition holds for a pair of cells, by seed; else the other end."""

    def find(*run: float) -> float:
        known = [v for v, one, other in zip(values, run[::2], run[1::2], strict=True) if so(one, other)]
        return known[which] if known else values[-1 - which]

    return lambda estimates: by_seed(find, *estimates)


@cache
def _tcp() -> dict[str, Any]:
    """TCP of the base scenario."""
    tcp: dict[str, Any] = tomllib.loads(load(description("chan").scenario).text)["tcp"]
    return tcp


def _inputs(outcome: Outcome) -> Episodes:
    """What the run counted, with T0 as the paper measures it."""
    episodes = measured_episodes(outcome.results, outcome.results["flows"][0], _tcp())
    return replace(episodes, timeout_s=timeout_wait_s(outcome))


def _link(outcome: Outcome) -> Link:
    return Link(service_rate(outcome), link_delay_ms(outcome) / 1000, BUFFER_PACKETS)


def _packets(flow: Mapping[str, Any]) -> float:
    return float(flow["bytes_acked"]) / PAYLOAD_BYTES


def _episodes(outcome: Outcome) -> Mapping[str, Any]:
    episodes: Mapping[str, Any] | None = outcome.results["flows"][0]["loss_episodes"]
    if episodes is None:
        raise ValueError("the flow had no loss episodes")
    return episodes


GOODPUT = Measure("throughput", "kbit/s", goodput_kbps)
TD = Measure("fast retransmits", "1", fast_retransmits)
TO = Measure("timeouts", "1", timeouts)
WF = Measure("Wf", "packets", max_window)
RTT = Measure("mean rtt", "ms", rtt_ms)
