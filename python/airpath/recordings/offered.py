"""What the link of a scenario carries: a recording of it, as one would record a real link.

A channel of opportunities says what it offers. Any other link is recorded by a run: a sender of datagrams
keeps its buffer full, and each 1500 bytes that leave are an opportunity.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from airpath import _core
from airpath.errors import ScenarioError
from airpath.files.text import parse_toml
from airpath.recordings.recording import Recording
from airpath.runs.memory import run
from airpath.scenario import Scenario

Direction = Literal["downlink", "uplink"]
PACKET_BYTES = 1500
MOST_BPS = 2_000_000_000
FIRST_BPS = 2_000_000
"""Rate of the datagrams of the first try."""
FULL_SHARE = 0.5
"""The buffer stays full while the link carries less than this share of the sent data."""
LARGE_FROM_BPS = 500_000_000
"""At so many times this rate, datagrams are as many times larger: most are dropped, and each costs time."""
TRY_S = 5.0
"""Length of the runs that look for the rate."""


def record(scenario: Scenario, seconds: float, seed: int = 1, direction: Direction = "downlink") -> Recording:
    """Record what the UE of a scenario's first flow can receive, or send.

    Parameters
    ----------
    scenario : Scenario
        A sender of datagrams replaces the flows of that UE; the flows of others are load, as they are.
    seconds : float
        Length of the recording.
    seed : int
        Seed of the run.
    direction : {"downlink", "uplink"}

    Raises
    ------
    ScenarioError
        If the scenario's link carries nothing.
    """
    offered = _core.opportunities(scenario.text, seed, 0, direction == "uplink", round(1000 * seconds))
    if offered is not None:
        return Recording(scenario.name, "opportunities of the channel", offered.astype(np.int32))
    rate = FIRST_BPS
    while rate < MOST_BPS and _mean_bps(carried(scenario, TRY_S, seed, direction, rate)) > FULL_SHARE * rate:
        rate = min(MOST_BPS, 4 * rate)
    packet_bytes = PACKET_BYTES * max(1, rate // LARGE_FROM_BPS)
    counts = carried(scenario, seconds, seed, direction, rate, packet_bytes)
    if counts.sum() == 0:
        what = f"its {direction} carried nothing in {seconds:g} s"
        raise ScenarioError(scenario.name, what, "choose the other --direction, or more --seconds")
    return Recording(scenario.name, "a run that keeps the link busy", counts)


def _mean_bps(counts: NDArray[np.int32]) -> float:
    return float(counts.sum()) * 8 * PACKET_BYTES / (len(counts) / 1000)


def carried(
    scenario: Scenario,
    seconds: float,
    seed: int,
    direction: Direction,
    rate_bps: int,
    packet_bytes: int = PACKET_BYTES,
) -> NDArray[np.int32]:
    """Run a sender of datagrams at a rate; opportunities in each millisecond.

    Larger packets cost less; an opportunity counts when its last packet has arrived.
    """
    text = parse_toml(scenario.text)
    ue = text["flow"][0]["ue"]
    others = [flow for flow in text["flow"] if flow["ue"] != ue]
    sender = {"cbr": {"rate": f"{rate_bps} bit/s", "size": f"{packet_bytes} B"}}
    flows = [{"ue": ue, "direction": direction, "app": sender}, *others]
    changed = scenario.with_("flow", flows).with_("duration", f"{seconds:g} s")
    # Of "each" the first one is looked at.
    number = ue if isinstance(ue, int) else 0
    # A packet of a split bearer goes over one of two cells, or both; PDCP delivers it once.
    interfaces = [one for one in text.get("ue", []) for _ in one["attach"]]
    kind = "pdcp_delivered" if interfaces and "split" in interfaces[number] else "bearer_delivered"
    events = run(changed, seed, probes=(kind,)).trace[kind]
    mine = (events["ue"] == number) & (events["direction"] == direction)
    at_ms = (events["time_s"][mine] * 1000).astype(np.int64)
    total = np.arange(1, len(at_ms) + 1) * packet_bytes // PACKET_BYTES
    times = np.repeat(at_ms, np.diff(total, prepend=0))
    return np.bincount(times, minlength=round(1000 * seconds)).astype(np.int32)
