"""Steps per second of `airpath.gym`: CPU time of one environment, its reward included, without learning.

Each row has 10^5 steps of a long transfer with a constant window; the median of five counts.
"""

from __future__ import annotations

import statistics
import time

import numpy as np

import airpath
from airpath.gym import Environment

STEPS = 100_000
ROWS = (
    ("umts-384", 20, {"step": "10 ms"}),
    ("umts-384", 20, {"step": "1 s", "reports": 1}),
    ("lte-10mhz", 50, {"step": "1 ms"}),
    ("lte-10mhz", 50, {"step": "10 ms"}),
    ("nr-n78-100mhz", 500, {"step": "1 ms"}),
)


def steps_per_second(scenario: str, segments: int, length: dict[str, object]) -> float:
    """Run the steps once."""
    endless = airpath.load(scenario).with_("flow.0.app", "bulk").with_("duration", "100000 s")
    env = Environment(endless, reward=lambda seen, action: float(seen[2]), window=(1, 1000), **length)
    env.reset(seed=1)
    action = np.array([segments], dtype=np.float32)
    begin_s = time.process_time()
    for _ in range(STEPS):
        env.step(action)
    return STEPS / (time.process_time() - begin_s)


if __name__ == "__main__":
    for scenario, segments, length in ROWS:
        rate = statistics.median(steps_per_second(scenario, segments, length) for _ in range(5))
        print(f"{scenario}, {segments} segments, {length}: {rate:,.0f} steps/s")
