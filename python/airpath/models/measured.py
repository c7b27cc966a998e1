"""Inputs of the models from a run, and for each flow the models that apply and their predictions.

All inputs come from a run's results and its resolved scenario. A packet is a full segment of payload, so that
predictions can be compared with goodput.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from airpath import _core
from airpath.models.catalogue import MODELS, Model, Prediction
from airpath.models.inputs import Episodes, Link
from airpath.runs.metrics import bearer, with_specs

OPPOSITE = {"downlink": "uplink", "uplink": "downlink"}
TIMESTAMPS_BYTES = 12
UNSCALED_WINDOW_BYTES = 65_535
SHORT = {"web": "a page", "arrivals": "files over connections of their own"}
"""Applications whose flows are not one long transfer."""


@dataclass(frozen=True)
class FlowPredictions:
    """A flow of `results.json`, measured and predicted by each model, in the order of `MODELS`.

    `segment_bytes` is the payload of a full segment; without it, or without `episodes`, no model applies.
    `link` is the bottleneck as measured, or `no_link` says why it is not known.
    """

    flow: dict[str, Any] = field(repr=False)
    segment_bytes: int | None
    episodes: Episodes | None
    link: Link | None
    no_link: str | None
    predictions: tuple[Prediction, ...]

    @property
    def measured_kbit_per_s(self) -> float | None:
        """Goodput, payload in kbit/s; None if not known."""
        goodput = self.flow["goodput_bps"]
        return None if goodput is None else goodput / 1000

    def kbit_per_s(self, prediction: Prediction) -> float | None:
        """A prediction as payload in kbit/s; None if the model does not apply."""
        if prediction.throughput is None or self.segment_bytes is None:
            return None
        return prediction.throughput.kbit_per_s(self.segment_bytes)

    def relative_error(self, prediction: Prediction) -> float | None:
        """Predicted less measured, over measured; None if either is missing."""
        predicted, measured = self.kbit_per_s(prediction), self.measured_kbit_per_s
        return (predicted - measured) / measured if predicted is not None and measured else None


def predict_run(summary: dict[str, Any], scenario: dict[str, Any]) -> list[FlowPredictions]:
    """Apply every model to every flow of a run, from `results.json` and the resolved scenario."""
    return [
        predict_flow(summary, scenario, flow, spec)
        for flow, spec in with_specs(summary["flows"], scenario.get("flow", ()))
    ]


def predict_flow(
    summary: dict[str, Any], scenario: dict[str, Any], flow: dict[str, Any], spec: dict[str, Any] | None
) -> FlowPredictions:
    """Apply every model to one flow; `spec` is its entry in the scenario, None if it has none."""
    tcp = (spec or {}).get("tcp", scenario["tcp"])
    if never := _never(summary, flow, tcp):
        return FlowPredictions(
            flow, None, None, None, never, tuple(Prediction(m, None, never) for m in MODELS)
        )
    episodes = measured_episodes(summary, flow, tcp)
    link = measured_link(summary, scenario, flow)
    known_link, no_link = (link, None) if isinstance(link, Link) else (None, link)
    predictions = tuple(_predict(model, episodes, known_link, no_link) for model in MODELS)
    return FlowPredictions(flow, segment_bytes(tcp), episodes, known_link, no_link, predictions)


def measured_episodes(summary: dict[str, Any], flow: dict[str, Any], tcp: dict[str, Any]) -> Episodes:
    """Counts of a TCP flow's losses in a simulated run.

    `flow` is one of the `summary` with `loss_episodes`, `tcp` its parameters in the resolved scenario.
    """
    found, payload = flow["loss_episodes"], segment_bytes(tcp)
    events, rtt_ms = found["events"], flow["rtt_ms"]["mean"]
    # As for goodput: to the end of the transfer, or of the run.
    duration_s = flow["transfer_s"] or summary["simulated_s"] - flow["start_s"]
    return Episodes(
        packets=flow["bytes_acked"] / payload,
        duration_s=duration_s,
        fast_retransmits=flow["fast_retransmits"],
        timeouts=flow["timeouts"],
        rtt_s=None if rtt_ms is None else rtt_ms / 1000,
        timeout_s=found["mean_timeout_s"],
        single_share=found["single"] / events if events else None,
        double_share=found["double"] / events if events else None,
        max_window=found["max_window_rms_segments"],
        packets_per_ack=tcp["ack_every"],
        window_limit=window_limit(tcp),
    )


def measured_link(summary: dict[str, Any], scenario: dict[str, Any], flow: dict[str, Any]) -> Link | str:
    """The radio bearer of a flow, assumed to be its bottleneck, or why it is not known.

    tau-hat is the mean delay after transmission in both directions, with the wired link's delay both ways,
    without transmission times of ACKs.
    """
    direction = flow["direction"]
    if "cell" in scenario or "way" in scenario:
        return "the scenario has several ways or cells, and the model is of one"
    (kind,) = scenario["radio"]
    cell = scenario["radio"][kind]
    forward, reverse = (bearer(summary, flow["ue"], way) for way in (direction, OPPOSITE[direction]))
    if forward is None or reverse is None:
        return "the flow crosses no radio bearer"
    if any("split" in box for box in scenario["middlebox"]):
        return "a box splits the connection: its sender does not see the bearer"
    bearers = [(other["ue"], other["direction"]) for other in summary["flows"]]
    if bearers.count((flow["ue"], direction)) > 1:
        return "the bearer has other flows, and the model is of one"
    if kind == "evdo" and cell["ues"] > 1:
        return "the UEs share the channel, and the model is of one"
    mu = forward.get("service_rate_packets_per_s")
    delays_ms = [delay for way in (forward, reverse) if (delay := way.get("mean_delay_ms")) is not None]
    if not mu or len(delays_ms) < 2:
        return "the bearer's report has no service rate or no mean delay"
    waiting = buffer_packets(cell[direction]["queue"])
    if waiting is None:
        return "the bearer's buffer has no limit in packets"
    wired = scenario["wired"]
    wired_s = sum(_core.seconds(wired.get(way, wired)["delay"]) for way in OPPOSITE)
    return Link(mu, sum(delays_ms) / 1000 + wired_s, waiting)


def segment_bytes(tcp: dict[str, Any]) -> int:
    """Payload of a full segment: the MSS minus the timestamps option."""
    return _core.octets(tcp["mss"]) - (TIMESTAMPS_BYTES if tcp["timestamps"] else 0)


def window_limit(tcp: dict[str, Any]) -> int:
    """Largest window that receiver and sender allow, in whole segments, at least one."""
    limits = {key: value for key, value in tcp.items() if value != "absent"}
    advertised = _core.octets(limits.get("receive_buffer_max", tcp["receive_buffer"]))
    if not tcp["window_scaling"]:
        advertised = min(advertised, UNSCALED_WINDOW_BYTES)
    segments = max(1, advertised // segment_bytes(tcp))
    return int(min(segments, limits.get("max_window", segments)))


def buffer_packets(queue: dict[str, Any]) -> int | None:
    """Most packets that wait behind the one in service; None without a limit in packets."""
    droptail = queue.get("droptail", {})
    limit: int | None = droptail.get("packets")
    return None if limit is None else limit - int(droptail["in_service"] == "counted")


def _never(summary: dict[str, Any], flow: dict[str, Any], tcp: dict[str, Any]) -> str | None:
    """Why no model applies to a flow, if none does."""
    if "datagrams" in flow:
        return "a flow over datagrams: the models are of TCP"
    if "multipath" in flow:
        return "a connection over several paths: the models are of one path"
    if flow["app"] in SHORT:
        return f"{SHORT[flow['app']]}: the models are of one long transfer"
    found = flow.get("loss_episodes")
    if found is None:
        return "its loss episodes are not known: only simulated senders tell them"
    if not summary["complete"]:
        return "the run was stopped before its end"
    (cc,), (recovery,) = tcp["cc"], tcp["recovery"]
    if cc != "reno" or recovery == "tahoe":
        return f"{cc if cc != 'reno' else recovery}: the models are of Reno's halved window and fast recovery"
    if not flow["bytes_acked"]:
        return "nothing was acknowledged"
    return None if found["events"] else "nothing was lost"


def _predict(model: Model, episodes: Episodes, link: Link | None, no_link: str | None) -> Prediction:
    window, limit = episodes.max_window, episodes.window_limit
    has_limit = window is not None and limit is not None and window >= limit
    if has_limit and not model.knows_limit and not (model.needs_link and no_link):
        return Prediction(model, None, f"the window was limited to {limit} segments")
    return model.apply(episodes, link, no_link)
