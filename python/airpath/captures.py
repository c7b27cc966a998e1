"""Explains the TCP connections and UDP conversations of a pcap or pcapng file: losses, delays, models.

The analysis is Rust (`crates/analyze`); this module reads it and adds the throughput models.
"""

from __future__ import annotations

import errno
import json
import os
import select
from pathlib import Path
from typing import Any

from airpath import _core
from airpath.errors import ScenarioError
from airpath.files.atomic import is_descriptor
from airpath.files.text import open_to_read
from airpath.models.catalogue import MODELS, Model, Prediction
from airpath.models.inputs import Episodes, Link
from airpath.runs.renamed import current

MOST_CONNECTIONS = 100
"""Connections described in full: those with most data."""
CAUSES = {
    "fast_retransmit": "fast retransmit",
    "partial_ack": "partial ACK",
    "sack": "SACK",
    "timeout": "timeout",
    "go_back_n": "go-back-N",
    "tail_probe": "tail loss probe",
    "other": "unknown cause",
}
"""Causes of retransmissions, and what they are called."""
NEVER_LOST = "nothing was lost"
LIMITS = {
    "application": "application",
    "receive_window": "receive window",
    "congestion_window": "congestion window",
    "slow_start": "slow start",
    "loss": "loss",
    "timeouts": "timeouts",
    "link": "link",
    "unknown": "unknown",
}
"""Keys of `verdict.shares` (shares of a flow's time by the sender's limit) and their names."""
MOST_ELSEWHERE = 0.25
"""Models of losses do not apply to a flow that something else limited for a larger share of its time."""
FEWEST_LOSSES = 10
"""Minimum number of fast retransmits and timeouts for a loss rate: its standard error is then a third."""


def analyze(capture: str | os.PathLike[str], most: int = MOST_CONNECTIONS) -> dict[str, Any]:
    """Analyze the TCP connections and UDP conversations in a capture.

    Parameters
    ----------
    capture : path
        A pcap or pcapng file, or one compressed by gzip or Zstandard.
    most : int
        Connections and conversations to describe in full, of each; the others are summed up.

    Returns
    -------
    dict
        As `airpath analyze --json` writes it, without the models' predictions; see docs/analyze.md.

    Raises
    ------
    ScenarioError
        If the file is not a capture.
    OSError
        If it cannot be read.
    """
    if not 0 <= most < 2**32:
        raise ScenarioError("most", f"{most} is out of range", "write a number of connections, 0 or more")
    path = Path(capture)
    # Opened here too: Python's errors name the file, and a pipe in a folder is refused.
    with open_to_read(path) as file:
        if os.name == "posix" and not is_descriptor(path) and not select.select([file], [], [], 0)[0]:
            # A file of the kernel, such as /proc/kmsg: the core would wait for its content.
            raise OSError(errno.EAGAIN, "has nothing to read", str(path))
    try:
        report = current(json.loads(_core.analyze(path, most)))
    except ValueError as error:
        raise ScenarioError(str(path), str(error), "name a file that tcpdump or Wireshark wrote") from error
    return report


def episodes_of(flow: dict[str, Any]) -> Episodes | None:
    """Counts of a flow's losses; None if they do not suffice for any model."""
    found, causes = flow["loss_episodes"], flow["retransmissions"]["by_cause"]
    rtt, seconds = flow["rtt"]["forward_ms"], flow["duration_s"]
    if rtt is None or not seconds or not flow["bytes_acked"] or flow["viewpoint"] in ("receiver", "between"):
        return None
    packets = flow["bytes_acked"] / flow["segment_bytes"]
    # Segments per ACK: receivers acknowledge each or every second.
    per_ack = packets / max(1, flow["counters"]["pure_acks"] - (flow["counters"]["dupacks"] or 0))
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
    """The estimated bottleneck; its buffer is the queue at the maximum RTT."""
    rate, rtt = flow["rate"]["bottleneck_bps"], flow["rtt"]
    if not rate or rtt["min_ms"] is None or rtt["queueing_ms"] is None:
        return None
    packets_per_s = rate / 8 / flow["segment_bytes"]
    propagation_s = max(0.0, rtt["min_ms"] / 1000 - 1 / packets_per_s)
    return Link(packets_per_s, propagation_s, packets_per_s * rtt["queueing_ms"]["p95"] / 1000)


def why_not(flow: dict[str, Any], model: Model) -> str | None:
    """Return the assumption of a model that a flow of the analysis breaks; None if it breaks none that shows.

    All models assume a sender that always has data, and a window that losses alone determine: [mathis1997]
    section 2, [padhye1998] section 2, [misra1999]. They need a rate of losses.
    """
    causes, shares = flow["retransmissions"]["by_cause"], flow["verdict"]["shares"]
    losses = causes["fast_retransmit"] + causes["timeout"]
    if not flow["loss_episodes"]["events"]:
        return NEVER_LOST
    if losses < FEWEST_LOSSES:
        return f"{losses} loss indications are too few for a loss rate: at least {FEWEST_LOSSES}"
    if shares is None:
        return "what limited its sender is not known from here"
    if (idle := shares["application"]) > MOST_ELSEWHERE:
        return f"the sender had nothing to send for {100 * idle:.0f} % of the time: no bulk transfer"
    if (full := shares["receive_window"]) > MOST_ELSEWHERE and not model.knows_limit:
        return f"the receive window was full for {100 * full:.0f} % of the time, and the model has none"
    return None


def predictions(flow: dict[str, Any]) -> list[dict[str, Any]]:
    """Prediction of each model for a flow of the analysis, or why it does not apply."""
    episodes, link, goodput = episodes_of(flow), link_of(flow), flow["goodput_bps"]
    said = []
    for model in MODELS:
        if episodes is None:
            one = Prediction(model, None, "its sender's losses and round trips are not known from here")
        elif reason := why_not(flow, model):
            one = Prediction(model, None, reason)
        else:
            one = model.apply(episodes, link, "the bottleneck's rate is not known")
        kbit = None if one.throughput is None else one.throughput.kbit_per_s(flow["segment_bytes"])
        off = None if kbit is None or not goodput else kbit * 1000 / goodput - 1
        said.append({"name": model.name, "kbit_per_s": kbit, "relative_error": off, "reason": one.reason})
    return said
