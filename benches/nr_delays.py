"""One-way delays of calls over bundled 5G cells, compared with recordings of real ones.

    .venv/bin/python benches/nr_delays.py [--seconds S] [--seed N] [--controller NAME] [--json]

For each cell and direction the percentiles of the recording and of the model. The clocks of the recording's
two ends were set by NTP, so that its spread says more than its place: one offset is added to the model. The
error is the mean distance of the percentiles from 1 to 95 % after the offset, the spread the distance of 5
and 95 %.

With --controller the scenario's fixed rates become a call in both directions under a rate controller: its
own rate and its own frames.

The recording is Domino's (arXiv 2505.14540, MIT licence): WebRTC between a phone or a dongle on 5G and a
wired host. The rates of its calls, the grants and the radio are not known: docs/models/nr.md lists what was
assumed.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass

import numpy as np

import airpath

PERCENTILES = (1, 5, 25, 50, 75, 95, 99)
# Percentiles whose distances count; the last one is shown.
COUNTED = 6

# By scenario: the cell's name in the recording, and its delays in ms at PERCENTILES.
RECORDED = {
    "nr-n41-100mhz-call": (
        "T-Mobile, TDD 100 MHz",
        {
            "downlink": (12.4, 12.8, 14.4, 16.4, 17.8, 20.7, 24.4),
            "uplink": (16.7, 19.4, 26.0, 31.8, 39.4, 53.8, 72.5),
        },
    ),
    "nr-n78-20mhz-private": (
        "Mosolabs, TDD 20 MHz",
        {
            "downlink": (3.5, 4.3, 6.4, 8.2, 9.8, 12.0, 13.5),
            "uplink": (26.5, 28.8, 35.6, 40.0, 43.5, 49.6, 56.6),
        },
    ),
}

# Seconds at the beginning that do not count.
WARM_UP = 2


@dataclass(frozen=True)
class Comparison:
    """A direction of a cell: delays in ms at PERCENTILES, recorded and measured."""

    recorded: np.ndarray
    measured: np.ndarray

    @property
    def offset(self) -> float:
        """What is added to the measured delays, ms."""
        return float(np.mean((self.recorded - self.measured)[:COUNTED]))

    @property
    def error(self) -> float:
        """Mean distance of the percentiles that count, after the offset, ms."""
        return float(np.mean(np.abs(self.recorded - self.measured - self.offset)[:COUNTED]))

    @property
    def spreads(self) -> tuple[float, float]:
        """Distance of the percentiles 5 and 95, recorded and measured, ms."""
        low, high = PERCENTILES.index(5), PERCENTILES.index(95)
        return (
            float(self.recorded[high] - self.recorded[low]),
            float(self.measured[high] - self.measured[low]),
        )


def compare(
    name: str, seconds: float = 60, seed: int = 1, controller: str | None = None
) -> dict[str, Comparison]:
    """Run a scenario and compare the delays of UE 0's bearers with the recording.

    The wire's delay is a constant, which the offset has. With a controller the flows become a call.
    """
    scenario = airpath.load(name).with_("duration", f"{seconds:g} s")
    if controller is not None:
        scenario = scenario.with_("flow", [{"app": {"call": {"controller": controller}}}])
    trace = airpath.run(scenario, seed=seed, probes=("bearer_delivered",)).trace["bearer_delivered"]
    counts = (trace["ue"] == 0) & (trace["time_s"] > WARM_UP)
    return {
        direction: Comparison(
            np.array(recorded),
            np.percentile(trace["delay_ns"][counts & (trace["direction"] == direction)] / 1e6, PERCENTILES),
        )
        for direction, recorded in RECORDED[name][1].items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--controller", metavar="NAME", help="a call under this rate controller")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    rows = []
    for name, (cell, _) in RECORDED.items():
        for direction, own in compare(name, arguments.seconds, arguments.seed, arguments.controller).items():
            rows.append(
                {
                    "scenario": name,
                    "cell": cell,
                    "direction": direction,
                    "recorded_ms": own.recorded.tolist(),
                    "measured_ms": own.measured.round(1).tolist(),
                    "offset_ms": round(own.offset, 1),
                    "error_ms": round(own.error, 2),
                    "spreads_ms": [round(spread, 1) for spread in own.spreads],
                }
            )
    if arguments.json:
        print(json.dumps(rows))
        return
    for row in rows:
        print(f"{row['cell']}, {row['direction']} ({row['scenario']})")
        for title, values in (("recorded", row["recorded_ms"]), ("measured", row["measured_ms"])):
            print(f"  {title}  " + "  ".join(f"{value:5.1f}" for value in values))
        spread, own = row["spreads_ms"]
        print(f"  offset {row['offset_ms']} ms, error {row['error_ms']} ms, spread {own} of {spread} ms")


if __name__ == "__main__":
    main()
