"""The throughput models with inputs from a capture."""

from __future__ import annotations

from typing import Any

from airpath.models.catalogue import MODELS
from airpath.models.inputs import Episodes, Link

NEVER_LOST = "nothing was lost"


def episodes_of(flow: dict[str, Any]) -> Episodes | None:
    """Counts of a flow's losses; None if they do not suffice for any model."""
    found, causes = flow["loss_episodes"], flow["retransmissions"]["by_cause"]
    rtt, seconds = flow["rtt"]["forward_ms"], flow["duration_s"]
    if rtt is None or not seconds or not flow["bytes_acked"] or flow["viewpoint"] in ("receiver", "between"):
        return None
    packets = flow["bytes_acked"] / flow["segment_bytes"]
    # Segments per ACK: receivers acknowledge each or every second.
    per_ack = packets / max(1, flow["counters"]["pure_acks"] - flow["counters"]["dupacks"])
    window = flow["flight"]["max_window_bytes"]
    return Episodes(
        packets=packets,
        duration_s=seconds,
        fast_retransmits=causes["fast_retransmit"],
        timeouts=causes["timeout"],
        rtt_s=rtt["mean"] / 1000,
        timeout_s=found["mean_timeout_s"],
        single_share=found["p1"],
        double_share=found["p2"],
        max_window=found["max_window_rms_segments"],
        packets_per_ack=2 if per_ack > 1.5 else 1,
        window_limit=None if window is None else max(1, window // flow["segment_bytes"]),
    )


def link_of(flow: dict[str, Any]) -> Link | None:
    """The estimated bottleneck; its buffer is the queue of the longest round trips."""
    rate, rtt = flow["rate"]["bottleneck_bps"], flow["rtt"]
    if not rate or rtt["min_ms"] is None or rtt["queueing_ms"] is None:
        return None
    packets_per_s = rate / 8 / flow["segment_bytes"]
    propagation_s = max(0.0, rtt["min_ms"] / 1000 - 1 / packets_per_s)
    return Link(packets_per_s, propagation_s, packets_per_s * rtt["queueing_ms"]["p95"] / 1000)


def predictions(flow: dict[str, Any]) -> list[dict[str, Any]]:
    """Prediction of each model for a flow of the analysis, or why it does not apply."""
    episodes, link = episodes_of(flow), link_of(flow)
    goodput = flow["goodput_bps"]
    said = []
    for model in MODELS:
        kbit, reason = None, None
        if episodes is None:
            reason = "its sender's losses and round trips are not known from here"
        elif not flow["loss_episodes"]["events"]:
            reason = NEVER_LOST
        elif model.needs_link and link is None:
            reason = "the bottleneck's rate is not known"
        elif model.needs_timeout and episodes.timeout_s is None:
            reason = "no timeout was seen, and the model needs its length"
        else:
            try:
                kbit = model.predict(episodes, link).kbit_per_s(flow["segment_bytes"])
            except ValueError as error:
                reason = str(error).partition(";")[0]
        off = None if kbit is None or not goodput else kbit * 1000 / goodput - 1
        said.append({"name": model.name, "kbit_per_s": kbit, "relative_error": off, "reason": reason})
    return said
