"""What TCP sees of a link: transfers over opportunities, with two congestion controls and two queues.

The path is symmetric: one-way delays of 17 ms, an uplink of 12 Mbit/s, and a buffer of 1 MB or CoDel.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from airpath.recordings.recording import PACKET_BITS, Recording
from airpath.runs.memory import run
from airpath.scenario import Scenario

Counts = NDArray[np.int32]

WINDOW_S = 60
STEP_S = 30
CONTROLS = {"CUBIC": "linux", "BBR": "linux-bbr"}
QUEUES = {"drop-tail": {"droptail": {"bytes": "1 MB"}}, "CoDel": {"codel": {}}}
SETUPS = tuple((control, queue) for control in CONTROLS for queue in QUEUES)
PATH = """\
duration = "60 s"
wired = { rate = "10 Gbit/s", delay = "14 ms" }
[radio.variable.downlink]
delay = "3 ms"
[radio.variable.uplink]
delay = "3 ms"
[tcp]
profile = "linux"
[[flow]]
app.bulk = {}
"""
FEWEST_SAMPLES = 5
"""With fewer round trips a transfer has stood still: it counts as one of the whole window."""
PAGE_BYTES = 1_000_000
PAGE_EVERY_S = 10
PAGE_PATIENCE = 3
"""A page begins at the first multiple of `PAGE_EVERY_S` at which the one before it is done, if that takes so
many times as long as at the mean rate: each is alone on the link."""


@dataclass(frozen=True)
class Felt:
    """What a transfer saw in a window of 60 s.

    Parameters
    ----------
    goodput : float
        Mbit/s.
    rtt_p50, rtt_p95, rtt_max : float
        Median, 95th percentile and maximum of the RTT in ms.
    timeouts : float
        Timeouts per minute.
    """

    goodput: float
    rtt_p50: float
    rtt_p95: float
    rtt_max: float
    timeouts: float


METRICS = ("goodput", "rtt_p50", "rtt_p95", "rtt_max")
"""Metrics whose ratios are compared."""


def windows(counts: Counts) -> list[Counts]:
    """Windows of 60 s, about one each 30 s; the whole of a shorter recording.

    The recording is taken as a circle. Its ends then count as much as its middle, and the mean over windows
    is that of the recording within 0.5 %; else it is off by up to 11 % in recordings of eight minutes.
    """
    length = 1000 * WINDOW_S
    if len(counts) <= length:
        return [counts]
    number = max(2, round(len(counts) / (1000 * STEP_S)))
    circle = np.concatenate((counts, counts[:length]))
    starts = [index * len(counts) // number for index in range(number)]
    return [circle[start : start + length] for start in starts]


def link_of(counts: Counts) -> dict[str, object]:
    """A channel of these opportunities, which plays once."""
    text = Recording("", "", counts).text()
    end = f"{len(counts)}\n"
    text = text if text.endswith(end) and text != end else text + end
    return {"trace_file": {"trace": text, "spacing": "at_once"}}


def path_of(channel: object, setup: tuple[str, str]) -> Scenario:
    """A path over a channel with a congestion control and a queue."""
    control, queue = setup
    path = Scenario("recording", PATH).with_("tcp.profile", CONTROLS[control])
    path = path.with_("radio.variable.downlink.queue", QUEUES[queue])
    return path.with_("radio.variable.downlink.channel", channel)


def feel(scenario: Scenario, seed: int = 1) -> Felt:
    """Run a transfer."""
    result = run(scenario, seed, probes=("rtt_sample",))
    seconds = float(result.summary["simulated_s"])
    rtt_ms = result.trace["rtt_sample"]["rtt_us"] / 1e3
    if len(rtt_ms) < FEWEST_SAMPLES:
        rtt_ms = np.full(FEWEST_SAMPLES, 1000 * seconds)
    p50, p95 = np.percentile(rtt_ms, [50, 95])
    flow = result.flows[0]
    goodput = flow["goodput_bps"] / 1e6
    return Felt(goodput, float(p50), float(p95), float(rtt_ms.max()), flow["timeouts"] * 60 / seconds)


def page_interval_s(counts: Counts) -> float:
    """Interval of pages in seconds on a link with these opportunities, so that each page is alone."""
    mean_bps = float(counts.sum()) / len(counts) * 1000 * PACKET_BITS
    longest_s = PAGE_PATIENCE * 8 * PAGE_BYTES / mean_bps if mean_bps > 0 else WINDOW_S
    return min(PAGE_EVERY_S * math.ceil(longest_s / PAGE_EVERY_S), WINDOW_S)


def pages(channel: object, every_s: float, seed: int = 1) -> list[float]:
    """Times in seconds of pages of 1 MB in a window; an unfinished one counts the rest of the window."""
    number = max(1, int((WINDOW_S - 0.6 * every_s) // every_s))
    flows = [
        {"app": {"file": {"size": f"{PAGE_BYTES} B"}}, "start": f"{0.5 + index * every_s:g} s"}
        for index in range(number)
    ]
    scenario = path_of(channel, ("CUBIC", "drop-tail")).with_("flow", flows)
    return [
        WINDOW_S - flow["start_s"] if flow["transfer_s"] is None else flow["transfer_s"]
        for flow in run(scenario, seed, probes=()).flows
    ]


Model = Callable[[int], object]
"""Channel of a link in its seed-th window."""


def felt_of(link: Model, number: int, setup: tuple[str, str], is_seeded: bool = False) -> list[Felt]:
    """Transfers over so many windows of a link."""
    return [feel(path_of(link(index), setup), index + 1 if is_seeded else 1) for index in range(number)]


def middle(felt: Sequence[Felt], metric: str) -> float:
    """Mean goodput or timeouts, geometric mean of an RTT, over windows."""
    values = [float(getattr(one, metric)) for one in felt]
    if metric in ("goodput", "timeouts"):
        return math.fsum(values) / len(values)
    return math.exp(math.fsum(map(math.log, values)) / len(values))


def error(said: float, true: float) -> float:
    """Error as the logarithm of the ratio, without sign; NaN where one is not positive."""
    return abs(math.log(said / true)) if said > 0 and true > 0 else math.nan


def median(values: Iterable[float]) -> float:
    """Median of the values that are known."""
    known = [value for value in values if not math.isnan(value)]
    return float(np.median(known)) if known else math.nan
