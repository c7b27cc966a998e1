"""What is read off a run: the columns of the paper's tables, and what the models predict for it."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from airpath.experiments.papers.base.cell import Metric, Outcome
from airpath.experiments.papers.base.paired import by_seed
from airpath.models import MODELS, Episodes, Link, chan_ramjee
from airpath.models.measured import measured_episodes
from airpath.scenario import load
from airpath.stats.estimate import Estimate
from airpath.stats.replication import Results

BASE = "chan-variable-delay"
"""Base scenario of the paper."""

PACKET_BYTES, PAYLOAD_BYTES = 1000, 960
BUFFER_PACKETS = 10
"""Buffer of Tables 1 to 3."""

Pick = Callable[[Sequence[Estimate]], Estimate]
"""What follows from the estimates of several cells."""


def packets(outcome: Outcome) -> float:
    """Packets acknowledged, all flows together."""
    return sum(_packets(flow) for flow in outcome.results["flows"])


def goodput_kbps(outcome: Outcome) -> float:
    """Packets acknowledged in time, with their headers, all flows together, kbit/s."""
    return packets(outcome) * PACKET_BYTES * 8 / 1000 / _duration_s(outcome.results)


def goodput_per_flow_kbps(outcome: Outcome) -> float:
    """The mean over the flows, kbit/s."""
    return goodput_kbps(outcome) / len(outcome.results["flows"])


def fast_retransmits(outcome: Outcome) -> float:
    """TD: every fast retransmit of the first flow."""
    return float(_flow(outcome)["fast_retransmits"])


def timeouts(outcome: Outcome) -> float:
    """TO: every timeout of the first flow."""
    return float(_flow(outcome)["timeouts"])


def rtt_ms(outcome: Outcome) -> float:
    """Mean of the round-trip time samples, of the flows' means, milliseconds."""
    means = [float(flow["rtt_ms"]["mean"]) for flow in outcome.results["flows"]]
    return sum(means) / len(means)


def timeout_wait_s(outcome: Outcome) -> float:
    """T0 as Table 1 has it: mean time from the last fast retransmit to the timeout, seconds; or 0."""
    return float(_episodes(outcome)["mean_timeout_wait_s"] or 0.0)


def loss_events(outcome: Outcome) -> float:
    """Loss events of the first flow."""
    return float(_episodes(outcome)["events"])


def single_share(outcome: Outcome) -> float:
    """p1: share of the loss events with one fast retransmit and no timeout."""
    return _share(outcome, "single")


def double_share(outcome: Outcome) -> float:
    """p2: share of those with several fast retransmits and no timeout."""
    return _share(outcome, "double")


def timeout_share(outcome: Outcome) -> float:
    """p3: share of those with a timeout."""
    return _share(outcome, "timeout")


def max_window(outcome: Outcome) -> float:
    """Wf: root mean square of the window before the first cut of each event, packets."""
    return float(_episodes(outcome)["max_window_rms_segments"])


def service_rate(outcome: Outcome) -> float:
    """mu-hat: packets served per second of service."""
    return float(_bearer(outcome, "downlink")["service_rate_packets_per_s"])


def max_throughput_kbps(outcome: Outcome) -> float:
    """What a link that is never idle carries, kbit/s."""
    return service_rate(outcome) * PACKET_BYTES * 8 / 1000


def link_delay_ms(outcome: Outcome) -> float:
    """tau-hat: mean delay of both ways as realised, without transmission, milliseconds."""
    return sum(float(_bearer(outcome, way)["mean_delay_ms"]) for way in ("downlink", "uplink"))


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


def peak_held_acks(outcome: Outcome) -> float:
    """Most ACKs that the regulator held at once."""
    return float(_regulated(outcome)["peak_held_acks"])


def held_acks(outcome: Outcome) -> float:
    """ACKs that the regulator did not let go at once."""
    return float(_regulated(outcome)["acks_held"])


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

    def metric(outcome: Outcome) -> float:
        return predict(_inputs(outcome), _link(outcome)).kbit_per_s(PACKET_BYTES)

    return metric


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

    def metric(outcome: Outcome) -> float:
        return 1 - abs(predicted(outcome) / goodput_kbps(outcome) - 1)

    return metric


def percent(share: Metric) -> Metric:
    """The same in percent."""

    def metric(outcome: Outcome) -> float:
        return 100 * share(outcome)

    return metric


def share_of_200_kbps(outcome: Outcome) -> float:
    """Throughput in percent of the mean rate of the links whose rate or delay varies."""
    return goodput_kbps(outcome) / 2


def least(pick: Pick) -> Pick:
    """The least of what a pick gives for each pair of cells, in order."""
    return lambda estimates: min(_pairs(pick, estimates), key=lambda known: known.mean)


def most(pick: Pick) -> Pick:
    """The most of what a pick gives for each pair of cells, in order."""
    return lambda estimates: max(_pairs(pick, estimates), key=lambda known: known.mean)


def first_where(values: Sequence[float], so: Callable[[float, float], bool]) -> Pick:
    """The first value at which something is so of a pair of cells, seed by seed; the last if never."""
    return lambda estimates: _found(values, so, estimates, first=True)


def last_where(values: Sequence[float], so: Callable[[float, float], bool]) -> Pick:
    """The last value at which something is so of a pair of cells, seed by seed; the first if never."""
    return lambda estimates: _found(values, so, estimates, first=False)


def _found(
    values: Sequence[float],
    so: Callable[[float, float], bool],
    estimates: Sequence[Estimate],
    *,
    first: bool,
) -> Estimate:
    def find(*run: float) -> float:
        known = [v for v, one, other in zip(values, run[::2], run[1::2], strict=True) if so(one, other)]
        if not known:
            return values[-1] if first else values[0]
        return known[0] if first else known[-1]

    return by_seed(find, *estimates)


def _pairs(pick: Pick, estimates: Sequence[Estimate]) -> list[Estimate]:
    return [pick(estimates[i : i + 2]) for i in range(0, len(estimates), 2)]


@cache
def _tcp() -> dict[str, Any]:
    """TCP of the base scenario."""
    tcp: dict[str, Any] = tomllib.loads(load(BASE).text)["tcp"]
    return tcp


def _inputs(outcome: Outcome) -> Episodes:
    """What the run counted, with T0 as the paper measures it."""
    episodes = measured_episodes(outcome.results, outcome.results["flows"][0], _tcp())
    return replace(episodes, timeout_s=timeout_wait_s(outcome))


def _link(outcome: Outcome) -> Link:
    return Link(service_rate(outcome), link_delay_ms(outcome) / 1000, BUFFER_PACKETS)


def _flow(outcome: Outcome) -> Mapping[str, Any]:
    flow: Mapping[str, Any] = outcome.results["flows"][0]
    return flow


def _packets(flow: Mapping[str, Any]) -> float:
    return float(flow["bytes_acked"]) / PAYLOAD_BYTES


def _episodes(outcome: Outcome) -> Mapping[str, Any]:
    episodes: Mapping[str, Any] | None = _flow(outcome)["loss_episodes"]
    if episodes is None:
        raise ValueError("the flow had no loss episodes")
    return episodes


def _share(outcome: Outcome, kind: str) -> float:
    episodes = _episodes(outcome)
    return float(episodes[kind]) / float(episodes["events"])


def _regulated(outcome: Outcome) -> Mapping[str, Any]:
    """What the Ack Regulator says of the first flow."""
    box = next(e for e in outcome.results["elements"] if e["element"] == "middlebox.ack_regulator")
    flow: Mapping[str, Any] = box["flows"][0]
    return flow


def _bearer(outcome: Outcome, direction: str) -> Mapping[str, Any]:
    cell = next(e for e in outcome.results["elements"] if e["element"].startswith("radio."))
    bearer: Mapping[str, Any] = cell["ues"][0][direction]
    return bearer


def _duration_s(results: Results) -> float:
    return float(results["simulated_s"])
