"""What a sweep costs beside a bare loop over the same runs, both on one processor.

    .venv/bin/python benches/sweep.py [--runs N] [--rounds N]

Prints seconds and the share that the sweep's machinery adds: processes, rows, files. To start a worker, some
0.4 s, is part of it. The driver wants a processor beside the worker's now and then: a busy machine shows it.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from pathlib import Path

from airpath import _core
from airpath.metrics import named
from airpath.sweep.driver import run_sweep
from airpath.sweep.plan import Plan, read_plan

# Downloads of 50 kB, some 0.2 ms each: the shorter the runs, the more the machinery counts.
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


def bare_seconds(plan: Plan) -> float:
    """How long the runs take without anything around them."""
    readers = [named(metric) for metric in plan.metrics]
    started = time.perf_counter()
    for point in plan.points:
        for seed in range(1, plan.rule.max_runs + 1):
            results = json.loads(_core.run(point.text, seed))
            for reader in readers:
                reader(results)
    return time.perf_counter() - started


def sweep_seconds(plan: Plan) -> float:
    """How long the sweep takes, from nothing to a folder with every row."""
    with tempfile.TemporaryDirectory() as folder:
        started = time.perf_counter()
        run_sweep(plan, Path(folder) / "out", 1)
        return time.perf_counter() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=5000, help="runs of each of 8 points")
    parser.add_argument("--rounds", type=int, default=3, help="how often both are measured, in turn")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "sweep.toml"
        path.write_text(SWEEP.format(runs=options.runs), encoding="utf-8")
        plan = read_plan(path)
    count = options.runs * len(plan.points)
    shares = []
    for _ in range(options.rounds):
        bare, sweep = bare_seconds(plan), sweep_seconds(plan)
        shares.append(sweep / bare - 1)
        print(
            f"{count} runs: bare {bare:.2f} s ({1e3 * bare / count:.3f} ms each), sweep {sweep:.2f} s, "
            f"{100 * shares[-1]:+.1f} %"
        )
    print(f"median {100 * statistics.median(shares):+.1f} %")


if __name__ == "__main__":
    main()
