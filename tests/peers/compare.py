"""Runs a configuration on ns-2 and on airpath with the same losses, several times.

`python tests/peers/compare.py [WORDS]` prints the table of all configurations whose names hold the words.
"""

from __future__ import annotations

import functools
import json
import math
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from configurations import CONFIGURATIONS, DRAWS, Configuration
from numpy.typing import NDArray

import airpath

SCRIPT = Path(__file__).with_name("dumbbell.tcl")
Counts = dict[str, float]
QUANTITIES = ("goodput_kbps", "retransmissions", "timeouts")

# A window of one segment draws from the loss stream once per RTT of 10 us, or per timeout of 1 ms.
ROUND_TRIP_S, TIMEOUT_S = 10e-6, 1e-3


@dataclass(frozen=True)
class Comparison:
    """One quantity of a configuration, over its runs: means, and the difference of run and run."""

    quantity: str
    ns2: float
    airpath: float
    # Standard error of the mean difference.
    standard_error: float

    @property
    def difference(self) -> float:
        return self.airpath - self.ns2


def compare(configuration: Configuration, *, same_losses: bool = True) -> list[Comparison]:
    """Run both, `runs` times each; without `same_losses` ns-2 draws its own."""
    seeds = range(1, configuration.runs + 1)
    with ThreadPoolExecutor(2) as pool:
        ours = list(pool.map(lambda seed: run_airpath(configuration, seed), seeds))
        theirs = list(pool.map(lambda seed: run_ns2(configuration, seed, same_losses=same_losses), seeds))
    return [
        _compare(quantity, [run[quantity] for run in theirs], [run[quantity] for run in ours], same_losses)
        for quantity in QUANTITIES
    ]


def _compare(quantity: str, ns2: list[float], ours: list[float], paired: bool) -> Comparison:
    if paired:
        variance = statistics.variance(a - b for a, b in zip(ours, ns2, strict=True))
    else:
        variance = statistics.variance(ours) + statistics.variance(ns2)
    means = statistics.mean(ns2), statistics.mean(ours)
    return Comparison(quantity, *means, math.sqrt(variance / len(ns2)))


def run_ns2(configuration: Configuration, seed: int, *options: str, same_losses: bool = True) -> Counts:
    command = ["ns", str(SCRIPT), *configuration.ns2_options, f"seed={seed}", *options]
    with tempfile.NamedTemporaryFile("w") as drops:
        if same_losses and configuration.loss_percent:
            lost = lost_packets(configuration.loss_percent, seed, configuration.most_packets)
            drops.write(" ".join(map(str, lost)))
            drops.flush()
            command.append(f"drops={drops.name}")
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    counted = json.loads(done.stdout.splitlines()[-1])
    goodput_kbps = counted["acked"] * configuration.payload * 8 / configuration.time / 1000
    return {"goodput_kbps": goodput_kbps, **{name: counted[name] for name in QUANTITIES[1:]}}


def run_airpath(configuration: Configuration, seed: int) -> Counts:
    (flow,) = airpath.run(configuration.scenario, seed, probes=()).flows
    return {
        "goodput_kbps": flow["bytes_acked"] * 8 / configuration.time / 1000,
        "retransmissions": flow["retransmissions"]["total"],
        "timeouts": flow["timeouts"],
    }


@functools.cache
def lost_packets(loss_percent: float, seed: int, packets: int) -> list[int]:
    """Numbers of the packets, of the first so many, that airpath's wire loses.

    A stream of random numbers belongs to the link and the seed, whatever crosses the link: a flow that
    sends one segment at a time shows it.
    """
    longest_s = math.ceil(packets * (ROUND_TRIP_S + loss_percent / 100 * TIMEOUT_S) * 1.2)
    scenario = airpath.Scenario("draws", DRAWS.format(duration_s=longest_s, loss_percent=loss_percent))
    trace = airpath.run(scenario, seed, probes=("segment_sent", "dropped")).trace
    sent_s, lost_s = trace["segment_sent"]["time_s"], trace["dropped"]["time_s"]
    lost = np.searchsorted(sent_s, lost_s)
    assert len(sent_s) >= packets
    assert (sent_s[lost] == lost_s).all()
    return [int(number) for number in lost[lost < packets]]


def sends_of_ns2(configuration: Configuration, seed: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """When ns-2's sender sent which segment: seconds, numbers."""
    times, numbers = [], []
    with tempfile.NamedTemporaryFile("r") as trace:
        run_ns2(configuration, seed, f"trace={trace.name}")
        for line in trace:
            event, time, source, _, kind, *_, number, _ = line.split()
            if (event, source, kind) == ("+", "0", "tcp"):
                times.append(float(time))
                numbers.append(int(number))
    return np.array(times), np.array(numbers)


def sends_of_airpath(
    configuration: Configuration, seed: int
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """When airpath's sender sent which segment: seconds, numbers."""
    sent = airpath.run(configuration.scenario, seed, probes=("segment_sent",)).trace["segment_sent"]
    return sent["time_s"], sent["seq"].astype(np.int64) // configuration.payload


def table(configurations: Iterable[Configuration]) -> Iterable[str]:
    """Lines of the comparison, the first naming the columns."""
    yield f"{'':38}" + "".join(f"{name:>16}: ns-2 airpath   diff s.e." for name in QUANTITIES)
    for configuration in configurations:
        cells = (
            f"{row.ns2:22.1f}{row.airpath:8.1f}{row.difference:+7.1f}{row.standard_error:5.2f}"
            for row in compare(configuration)
        )
        yield f"{configuration.name:38}" + "".join(cells)


if __name__ == "__main__":
    for line in table(one for one in CONFIGURATIONS if all(word in one.name for word in sys.argv[1:])):
        print(line, flush=True)
