#!/usr/bin/env python3
"""ns-3's CoDel, FQ-CoDel and PIE as the yardstick of airpath's: builds `queues.cc` and makes its runs.

    python benches/ns3/queues.py [--only WORDS]
    python benches/ns3/queues.py --airpath [--only WORDS]

Writes `queues.json`: for each run its options, the start times of its flows in each repetition, and its
results. `--airpath` makes the same runs in airpath (`beside.py`) and prints them next to the results in
`queues.json`. ns-3 is Debian's package `libns3-dev`. `README.md` says what is set in all runs.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import re
import statistics
import subprocess
import sys
from typing import Any

from program import HERE, Options, build, rows, simulate, version

RESULTS = HERE / "queues.json"
MODULES = ("core", "network", "internet", "point-to-point", "traffic-control")
DISCIPLINES = ("codel", "fq_codel", "pie")
# Flows at each rate, kbit/s.
FLOWS = {2000: (1, 4), 10_000: (1, 8)}
REPETITIONS = 10
# What is kept of each repetition, and how it is printed.
FIGURES = {
    "goodput_kbps": "goodput, kbit/s",
    "wait_ms": "wait, ms",
    "wait_95_ms": "95 %, ms",
    "drops": "drops",
    "sparse_wait_ms": "sparse, ms",
}


def runs() -> dict[str, tuple[int, Options]]:
    """Return the number of flows and the options of all runs by name."""
    all_runs: dict[str, tuple[int, Options]] = {}
    for rate, numbers in FLOWS.items():
        mbit = rate // 1000
        for load in (1.1, 1.5):
            for discipline in DISCIPLINES:
                flows = 3 if discipline == "fq_codel" else 1
                options = {"discipline": discipline, "traffic": "udp", "rate": rate, "load": load}
                all_runs[f"udp-{discipline}-{mbit}mbit-{load}"] = flows, {**options, "delayMs": 20}
        for delay in (20, 50):
            for flows in numbers:
                # Drop tail shows what the two TCPs have in it.
                for discipline in ("droptail", *DISCIPLINES):
                    options = {"discipline": discipline, "rate": rate, "delayMs": delay}
                    if discipline == "droptail":
                        options["packets"] = 5 * mbit
                    name = f"tcp-{discipline}-{mbit}mbit-{2 * delay}ms-{flows}"
                    all_runs[name] = flows, {**options, "traffic": "tcp", "time": 100}
        sparse = {"discipline": "fq_codel", "rate": rate, "delayMs": 20, "sparse": 61}
        all_runs[f"udp-fq_codel-{mbit}mbit-0.9-sparse"] = 4, {**sparse, "traffic": "udp", "load": 0.9}
        all_runs[f"tcp-fq_codel-{mbit}mbit-40ms-4-sparse"] = 4, {**sparse, "traffic": "tcp", "time": 100}
    return all_runs


def starts(name: str, flows: int) -> list[list[float]]:
    """Return when the flows of each repetition start, seconds."""
    draws = random.Random(name)
    return [[round(draws.uniform(0.5, 2.5), 6) for _ in range(flows)] for _ in range(REPETITIONS)]


def summary(result: dict[str, Any], options: Options) -> dict[str, float]:
    """Return what is kept of a repetition."""
    found = {key: value for key, value in result["all"].items() if key in FIGURES}
    if "sparse" in options:
        found["sparse_wait_ms"] = result["flows"][-1]["wait_ms"]
    return found


def print_beside_airpath(only: str) -> None:
    """Print a line for each run: ns-3's mean, airpath's, and their ratio with its standard error."""
    import beside

    print(f"{'ns-3 and airpath':30}" + "".join(f"{head:>32}" for head in FIGURES.values()))
    for name, run in beside.queue_runs().items():
        if not re.search(only, name):
            continue
        own = beside.queue_outcome(run)
        columns = [compared(run[key], own[key]) for key in FIGURES if key in run]
        print(f"{name:30}" + "".join(columns), flush=True)


def compared(theirs: list[float], ours: list[float]) -> str:
    """Return both means and the second over the first, with the standard error of that ratio."""
    means = [statistics.mean(values) for values in (theirs, ours)]
    if not means[0]:
        return f"{means[0]:10.4g}{means[1]:9.4g}{'':13}"
    errors = [
        statistics.stdev(values) / len(values) ** 0.5 / mean
        for values, mean in zip((theirs, ours), means, strict=True)
    ]
    ratio = means[1] / means[0]
    return f"{means[0]:10.4g}{means[1]:9.4g}{ratio:7.3f} ±{ratio * math.hypot(*errors):.3f}"


def main() -> None:
    """Make the runs, print a line for each and write the results."""
    parser = argparse.ArgumentParser(description="Run ns-3's queue disciplines.")
    parser.add_argument("--only", default="", help="runs with this regular expression in their names")
    parser.add_argument(
        "--airpath", action="store_true", help="print airpath next to the stored results of ns-3"
    )
    parser.add_argument("flags", nargs="*", help="of the compiler, after --, where ns-3 is elsewhere")
    options = parser.parse_args()
    if options.airpath:
        return print_beside_airpath(options.only)
    program = build("queues", MODULES, options.flags)
    results: dict[str, Any] = {}
    if RESULTS.is_file():
        results = json.loads(RESULTS.read_text(encoding="utf-8"))["runs"]
    for name, (flows, run) in runs().items():
        if not re.search(options.only, name):
            continue
        times = starts(name, flows)
        found = []
        for seed, at in enumerate(times, start=1):
            result = simulate(program, {**run, "starts": ",".join(map(str, at)), "seed": seed})
            found.append(summary(result, run))
        by_figure = {key: [each[key] for each in found] for key in found[0]}
        results[name] = {"options": run, "starts": times, **by_figure}
        means = "".join(f"{statistics.mean(values):12.5g}" for values in by_figure.values())
        print(f"{name:30}{means}", flush=True)
        RESULTS.write_text(f'{{"ns3": "{version()}",\n"runs": {rows(results)}}}\n', encoding="utf-8")


if __name__ == "__main__":
    try:
        main()
    except (OSError, subprocess.CalledProcessError) as error:
        sys.exit(f"queues: {error}")
