"""The cost of a sweep compared with a bare loop over the same runs, and the gain of a second worker.

    .venv/bin/python benches/sweep.py [--runs N] [--rounds N]

First, with one worker on one processor, the seconds and the share that the sweep's machinery adds: processes,
rows, files, and to start a worker. The bare loop calls what workers call, `_core.measure`, with seeds by the
hundred. For both also the CPU time, which depends less on other load; the sweep's is that of driver and
worker together. For comparison the loop that a user would write, which reads the scenario and the whole
results at every run.

Then the rows that two workers make in the time of one, with runs of some 50 us and of some 1 ms. Driver and
workers need two processors to themselves, so the limit by CPU time is printed, too: twice the workers'
share of it. Part of `make bench`.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from airpath import _core
from airpath.experiments.sweep.plan import Plan, read_plan
from airpath.experiments.sweep.readers import ReadMetrics
from airpath.experiments.sweep.run import run_sweep
from airpath.runs.metrics import named

BLOCK = 100
# The shorter the runs, the more the machinery counts.
SHORT, LONGER = "50 kB", "1500 kB"
# So many short runs take as long as one longer one.
SHORT_PER_LONGER = 20
SWEEP = """
scenario = "umts-384"
metrics = ["transfer_s", "goodput_bps", "rtt_ms.mean"]
runs = {runs}

[set]
"flow.0.app.file.size" = "{size}"

[axes]
tcp.initial_window = [1, 2, 4, 10]
"radio.dch.downlink.channel.bernoulli.bler" = ["1 %", "10 %"]
"""


def plan_of(folder: Path, runs: int, size: str = SHORT) -> Plan:
    """The sweep with so many runs of each of its 8 points, downloads of this size."""
    path = folder / "sweep.toml"
    path.write_text(SWEEP.format(runs=runs, size=size), encoding="utf-8")
    return read_plan(path)


def bare(plan: Plan) -> None:
    """The runs without anything around them."""
    values = ReadMetrics(plan.metrics).open()
    for point in plan.points:
        for first in range(1, plan.rule.max_runs + 1, BLOCK):
            seeds = range(first, min(first + BLOCK, plan.rule.max_runs + 1))
            list(values(point.text, seeds))


def plain(plan: Plan) -> None:
    """The runs as a user's own loop makes them."""
    readers = [named(metric) for metric in plan.metrics]
    for point in plan.points:
        for seed in range(1, plan.rule.max_runs + 1):
            results = json.loads(_core.run(point.text, seed))
            for reader in readers:
                reader(results)


def sweep(plan: Plan) -> None:
    """The sweep, from nothing to a folder with every row."""
    with tempfile.TemporaryDirectory() as folder:
        run_sweep(plan, Path(folder) / "out", 1)


def cpu_s() -> float:
    """CPU time of this process and of those of its children that ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in used)


def measured(work: Callable[[Plan], None], plan: Plan) -> tuple[float, float]:
    """Seconds that something takes, by the clock and of CPU time."""
    before, started = cpu_s(), time.perf_counter()
    work(plan)
    return time.perf_counter() - started, cpu_s() - before


def measure_workers(plan: Plan, rounds: int) -> None:
    """The sweep with one worker and with two, in turn."""
    seconds: dict[int, list[float]] = {1: [], 2: []}
    driver_s, all_s = -time.process_time(), -cpu_s()
    with tempfile.TemporaryDirectory() as folder:
        for turn in range(rounds):
            for workers, known in seconds.items():
                known.append(run_sweep(plan, Path(folder) / f"{workers}-{turn}", workers).seconds)
    driver_s, all_s = driver_s + time.process_time(), all_s + cpu_s()
    count = plan.rule.max_runs * len(plan.points)
    each_ms = 1e3 * (all_s - driver_s) / (2 * rounds * count)
    ratios = sorted(one / two for one, two in zip(*seconds.values(), strict=True))
    by_cpu = 2 * (all_s - driver_s) / all_s
    print(
        f"{count} runs of {each_ms:.3f} ms: two workers {statistics.median(ratios):.2f} times one "
        f"({ratios[0]:.2f} .. {ratios[-1]:.2f}; load {os.getloadavg()[0]:.1f}), by CPU time {by_cpu:.2f}"
    )


def main() -> None:
    """Measure everything in turn, several times."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=5000, help="runs of each of 8 points")
    parser.add_argument("--rounds", type=int, default=3, help="how often all are measured, in turn")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        plan = plan_of(Path(folder), options.runs)
        short = plan_of(Path(folder), 3 * options.runs)
        longer = plan_of(Path(folder), max(3 * options.runs // SHORT_PER_LONGER, 1), LONGER)
    count = options.runs * len(plan.points)
    shares: dict[str, list[float]] = {"by the clock": [], "of CPU time": [], "beside a user's loop": []}
    for _ in range(options.rounds):
        (alone, alone_cpu), (swept, swept_cpu), (own, _) = (
            measured(work, plan) for work in (bare, sweep, plain)
        )
        for kept, share in zip(
            shares.values(), (swept / alone, swept_cpu / alone_cpu, swept / own), strict=True
        ):
            kept.append(100 * (share - 1))
        print(
            f"{count} runs: bare {alone:.2f} s, CPU {alone_cpu:.2f} s ({1e3 * alone_cpu / count:.3f} ms each)"
            f"; sweep {swept:.2f} s, CPU {swept_cpu:.2f} s; a user's loop {own:.2f} s; "
            + ", ".join(f"{kept[-1]:+.1f} % {name}" for name, kept in shares.items())
        )
    print("Median: " + ", ".join(f"{statistics.median(kept):+.1f} % {name}" for name, kept in shares.items()))
    for plan in (short, longer):
        measure_workers(plan, options.rounds)


if __name__ == "__main__":
    main()
