"""Steer a sender step by step: AIMD beside CUBIC, and the rate of a call by its delay.

It requires Gymnasium: `pip install 'airpath[gym]'`.
"""

import airpath
import airpath.gym

COLUMN = {name: number for number, name in enumerate(airpath.gym.COLUMNS)}


def goodput(seen, action):
    """Reward of a transfer: Mbit/s acknowledged in the step."""
    return 8e-6 * seen[COLUMN["acked_bytes"]] / seen[COLUMN["elapsed_s"]]


def aimd(scenario, seed=1):
    """One segment more in each round trip, half of the window after a loss: RFC 5681 without slow start."""
    env = airpath.gym.Environment(scenario, window=(1, 1000), reward=goodput)
    seen, _ = env.reset(seed=seed)
    window, hold_s, ended = 10.0, 0.0, False
    while not ended:
        seen, _, terminated, truncated, _info = env.step([window])
        ended = terminated or truncated
        elapsed_s, rtt_s = seen[COLUMN["elapsed_s"]], seen[COLUMN["rtt_s"]]
        hold_s -= elapsed_s
        if seen[COLUMN["lost_bytes"]] > 0 and hold_s <= 0:
            window, hold_s = max(window / 2, 2.0), rtt_s
        elif rtt_s > 0:
            window = min(window + elapsed_s / rtt_s, 1000.0)
    return env.results()["flows"][0]


def paced_by_delay(scenario, seed=1):
    """A call: 5 % more in each step, 15 % less after a loss or 50 ms of queueing."""
    env = airpath.gym.Environment(
        scenario, rate=(100e3, 2.5e6), step="100 ms", reward=lambda seen, action: -seen[COLUMN["rtt_s"]]
    )
    seen, _ = env.reset(seed=seed)
    rate, ended = 300e3, False
    while not ended:
        seen, _, terminated, truncated, _info = env.step([rate])
        ended = terminated or truncated
        late = seen[COLUMN["rtt_s"]] > seen[COLUMN["least_rtt_s"]] + 0.05
        rate = min(max(rate * (0.85 if late or seen[COLUMN["lost_bytes"]] > 0 else 1.05), 100e3), 2.5e6)
    return env.results()["flows"][0]["call"]["downlink"]


if __name__ == "__main__":
    bulk = airpath.load("umts-384").with_("duration", "60 s").with_("flow.0.app", "bulk")
    cubic = airpath.run(bulk.with_("tcp.cc", "cubic"), probes=()).flows[0]
    for name, flow in {"AIMD": aimd(bulk), "CUBIC": cubic}.items():
        goodput_kbps, rtt_ms = flow["goodput_bps"] / 1e3, flow["rtt_ms"]["mean"]
        print(f"{name}: {goodput_kbps:.0f} kbit/s, round trips of {rtt_ms:.0f} ms on average")
    call = airpath.load("lte-10mhz").with_("duration", "60 s").with_("flow.0.app", "call")
    gcc = airpath.run(call, probes=()).flows[0]["call"]["downlink"]
    for name, media in {"steered": paced_by_delay(call), "gcc": gcc}.items():
        received_kbps = media["receiver"]["received_bps"] / 1e3
        delay_ms = media["receiver"]["frame_delay_ms"]["p95"]
        print(f"a call, {name}: {received_kbps:.0f} kbit/s, 95 % of frames within {delay_ms:.0f} ms")
