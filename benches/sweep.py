"""What a sweep costs beside a bare loop over the same runs, both on one processor.

    .venv/bin/python benches/sweep.py [--runs N] [--rounds N]

Prints seconds and the share that the sweep's machinery adds: processes, rows, files, and to start a worker.
The bare loop calls what workers call, `_core.measure`, with seeds by the hundred. Of both also the CPU time,
which depends less on what else the machine does: of the sweep that of driver and worker together. Beside them
the loop that a user would write, which reads the scenario and the whole results at every run.
"""

from __future__ import annotations

import argparse
import json
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
# Downloads of 50 kB, some 0.1 ms each: the shorter the runs, the more the machinery counts.
SWEEP = """
scenario = "umts-384"
metrics = ["transfer_s", "goodput_bps", "rtt_ms.mean"]
runs = {runs}

[set]
"flow.0.app.file.size" = "50 kB"

[axes]
tcp.initial_window = [1, 2, 4, 10]
"radio.dch.downlink.channel.bernoulli.bler" = ["1 %", "10 %"]
"""


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


def main() -> None:
    """Measure all three in turn, several times."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=5000, help="runs of each of 8 points")
    parser.add_argument("--rounds", type=int, default=3, help="how often all are measured, in turn")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "sweep.toml"
        path.write_text(SWEEP.format(runs=options.runs), encoding="utf-8")
        plan = read_plan(path)
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
    print("median " + ", ".join(f"{statistics.median(kept):+.1f} % {name}" for name, kept in shares.items()))


if __name__ == "__main__":
    main()
