#!/usr/bin/env python3
"""ns-3's LTE as the yardstick of `radio.lte`: builds `lte.cc`, makes its runs and keeps the results.

    python benches/ns3/lte.py [--only WORDS] [--print]
    python benches/ns3/lte.py --airpath [--cpu] [--only WORDS]

Writes `lte.json`, which the comparison reads: the options and results of each run, without CPU time,
which is printed instead (user and system, microseconds per packet delivered). ns-3 is Debian's package
`libns3-dev`; the standard library suffices. `README.md` says what is set in all runs.

`--airpath` makes the same runs in airpath (`beside.py`) and prints them next to the results in `lte.json`;
`--cpu` also repeats ns-3's runs and measures the CPU time per packet of both.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from program import HERE, Options, build, rows, simulate, version

RESULTS = HERE / "lte.json"
MODULES = (
    *("core", "network", "internet", "mobility", "point-to-point", "traffic-control", "spectrum"),
    "lte",
)
SEGMENT = 1460
# Receive window in segments by number of UEs: the cell is never idle, and round trips stay short.
WINDOWS = {1: 180, 4: 90, 5: 90, 8: 45}
# At these distances in m the CQI that ns-3 reports selects I_TBS 26, 20, 18, 13, 8.
DISTANCES = "0,4800,6000,10000,20000"
# A CQI of 12 where 14 % of its blocks are lost at first.
WITH_ERRORS = {"errors": 1, "amc": "piro", "ber": 0.02, "distances": "5850"}


def udp(scheduler: str, ues: int, prbs: int = 25, distances: str = "0", **more: Any) -> Options:
    """Return a run in which each UE always has data waiting."""
    rate = 3 * 800 * prbs / (2 if "," in distances else ues)
    return {
        **{"traffic": "udp", "scheduler": scheduler, "ues": ues, "prbs": prbs, "distances": distances},
        **{"rlc": "um", "buffer": 100_000, "rate": rate / 2, "warmup": 2, "time": 6, **more},
    }


def tcp(scheduler: str, ues: int, prbs: int, rlc: str, **more: Any) -> Options:
    """Return a run of one download for each UE, or with `upload` of one upload."""
    return {
        **{"traffic": "tcp", "scheduler": scheduler, "ues": ues, "prbs": prbs, "rlc": rlc},
        **{"window": WINDOWS[ues] * SEGMENT, "buffer": 10_000_000, "warmup": 2, "time": 12, **more},
    }


def runs() -> dict[str, Options]:
    """Return all runs by name."""
    all_runs: dict[str, Options] = {}
    for ues in (1, 3, 4, 6, 8, 12):
        all_runs[f"udp-pf-25prb-{ues}ue"] = udp("pf", ues)
    for ues in (3, 4, 6, 8, 9, 12):
        all_runs[f"udp-rr-25prb-{ues}ue"] = udp("rr", ues)
    for ues in (1, 4, 8):
        all_runs[f"udp-pf-50prb-{ues}ue"] = udp("pf", ues, 50)
    for distance in DISTANCES.split(",")[1:]:
        all_runs[f"udp-pf-25prb-1ue-{distance}m"] = udp("pf", 1, distances=distance)
    for scheduler in ("pf", "rr"):
        all_runs[f"udp-{scheduler}-25prb-5ue-distances"] = udp(scheduler, 5, distances=DISTANCES)
        all_runs[f"tcp-{scheduler}-25prb-5ue-distances-um"] = tcp(scheduler, 5, 25, "um", distances=DISTANCES)
    for ues in (1, 4, 8):
        for prbs in (25, 50):
            for scheduler in ("pf", "rr"):
                all_runs[f"tcp-{scheduler}-{prbs}prb-{ues}ue-um"] = tcp(scheduler, ues, prbs, "um")
            all_runs[f"tcp-pf-{prbs}prb-{ues}ue-am"] = tcp("pf", ues, prbs, "am")
            all_runs[f"tcp-pf-{prbs}prb-{ues}ue-am-prohibit100"] = tcp(
                "pf", ues, prbs, "am", statusProhibitMs=100
            )
            all_runs[f"upload-udp-pf-{prbs}prb-{ues}ue"] = udp("pf", ues, prbs, upload=1, time=4)
        all_runs[f"upload-tcp-pf-25prb-{ues}ue-um"] = tcp("pf", ues, 25, "um", upload=1, time=6)
        for rlc in ("um", "am"):
            name = f"tcp-pf-25prb-{ues}ue-{rlc}"
            all_runs[f"{name}-10kib"] = tcp("pf", ues, 25, rlc, buffer=10_240)
            prohibit = {"statusProhibitMs": 100} if rlc == "am" else {}
            all_runs[f"{name}-errors"] = tcp("pf", ues, 25, rlc, **WITH_ERRORS, **prohibit)
    for prbs in (25, 50):
        all_runs[f"ping-{prbs}prb"] = {"traffic": "ping", "prbs": prbs, "segment": 1000, "time": 60}
    return all_runs


def cqi_tables() -> dict[str, Options]:
    """Return the options that query the minimum SINR of each CQI, for so many PRBs."""
    return {
        f"{amc}-{rbg}prb": {"traffic": "cqi", "amc": amc, "rbg": rbg, "prbs": prbs}
        for amc in ("mi", "piro")
        for rbg, prbs in ((2, 25), (24, 25), (48, 50))
    }


def summary(run: Options, result: dict[str, Any]) -> dict[str, Any]:
    """Return what is kept of a run: one value for each UE, in their order, of blocks with the data."""
    ues = result["ues"]
    data = [ue["up" if "upload" in run else "down"] for ue in ues]
    kept: dict[str, Any] = {
        "goodput_kBps": [round(ue["goodput_kBps"], 1) for ue in ues],
        "mac_kBps": [round(ue["mac_kBps"], 1) for ue in ues],
        "sinr_db": [round(ue["sinr_db"], 2) for ue in ues],
        "mcs": [int(max(blocks["mcs"], key=blocks["mcs"].get)) for blocks in data],
        "block_bytes": [int(max(blocks["sizes"], key=blocks["sizes"].get)) for blocks in data],
        "first_bler": [round(blocks["lost"][0] / blocks["sent"][0], 4) for blocks in data],
        "second_bler": [round(blocks["lost"][1] / max(1, blocks["sent"][1]), 4) for blocks in data],
        "uplink_blocks": [ue["up"]["sent"][0] for ue in ues],
        "drops": [ue["drops"] for ue in ues],
        "packets": result["packets"],
        "simulated_s": result["simulated_s"],
    }
    for key in ("rtt_ms", "down_ms", "up_ms"):
        if ues[0].get(key):
            # Mean, least and greatest.
            kept[key] = [[round(value, 2) for value in ue[key]] for ue in ues]
    return kept


def print_beside_airpath(only: str, ns3: Path | None) -> None:
    """Print a line for each run that airpath can make; CPU time with the program of ns-3."""
    import beside

    heads = ("goodput, kB/s", "RTT, ms", "CPU, us/packet")
    print(f"{'ns-3 and airpath':34}" + "".join(f"{head:>26}" for head in heads[: 2 + (ns3 is not None)]))
    for name, run in beside.runs().items():
        if not re.search(only, name):
            continue
        own = beside.outcome(run)
        pairs = [(sum(run["goodput_kBps"]), sum(own.goodput_kBps))]
        if own.rtt_ms:
            pairs.append((statistics.mean(ue[0] for ue in run["rtt_ms"]), statistics.mean(own.rtt_ms)))
        columns = "".join(f"{theirs:10.1f}{ours:8.1f}{ours / theirs:8.3f}" for theirs, ours in pairs)
        if ns3:
            result = simulate(ns3, run["options"])
            theirs, ours = result["cpu_s"] * 1e6 / result["packets"], cpu_of_airpath(beside, run)
            columns = f"{columns:52}{theirs:10.1f}{ours:8.3f}{theirs / ours:8.0f}"
        print(f"{name:34}{columns}", flush=True)


def cpu_of_airpath(beside: Any, run: dict[str, Any]) -> float:
    """Return the CPU time of a packet, microseconds; the warm-up does not count."""
    longer = 200
    costs = [runner(beside.scenario(run, seconds)) for seconds in (run["options"]["warmup"], longer)]
    (first_cpu, first_bytes), (cpu, received) = costs
    return (cpu - first_cpu) * 1e6 / ((received - first_bytes) / SEGMENT)


def runner(scenario: str) -> tuple[float, int]:
    """Run a scenario with `airpath-bench`, which has no Python in it; CPU seconds and bytes received."""
    target = os.environ.get("CARGO_TARGET_DIR", HERE.parent.parent / "target")
    with tempfile.NamedTemporaryFile("w", suffix=".toml") as file:
        file.write(scenario)
        file.flush()
        before = os.times()
        command = [str(Path(target, "release", "airpath-bench")), file.name]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
        after = os.times()
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    return cpu, json.loads(done.stdout)["bytes_received"]


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description="Run ns-3's LTE.")
    parser.add_argument("--only", default="", help="runs with this regular expression in their names")
    parser.add_argument("--print", action="store_true", help="write no results")
    parser.add_argument(
        "--airpath", action="store_true", help="print airpath next to the stored results of ns-3"
    )
    parser.add_argument("--cpu", action="store_true", help="with --airpath: also CPU time")
    parser.add_argument("--release", help="ns-3's version, if pkg-config does not know it")
    parser.add_argument("flags", nargs="*", help="of the compiler, after --, where ns-3 is elsewhere")
    return parser.parse_args()


def main() -> None:
    """Make the runs, print a line for each and write the results."""
    options = arguments()
    if options.airpath:
        return print_beside_airpath(
            options.only, build("lte", MODULES, options.flags) if options.cpu else None
        )
    program = build("lte", MODULES, options.flags)
    results: dict[str, Any] = {"ns3": "", "cqi": {}, "runs": {}}
    if RESULTS.is_file():
        results = json.loads(RESULTS.read_text(encoding="utf-8"))
    release = options.release or version()
    if not options.only:
        results["ns3"] = release
        results["cqi"] = {name: simulate(program, table)["cqi"] for name, table in cqi_tables().items()}
    print(f"{'run':38}{'goodput':>10}{'blocks':>10}{'RTT':>8}{'CPU':>12}")
    print(f"{'':38}{'kB/s':>10}{'kB/s':>10}{'ms':>8}{'us/packet':>12}", flush=True)
    for name, run in runs().items():
        if not re.search(options.only, name):
            continue
        result = simulate(program, run)
        kept = summary(run, result)
        other = {"ns3": release} if release != results["ns3"] else {}
        results["runs"][name] = {"options": run, **other, **kept}
        rtt = statistics.mean(ue[0] for ue in kept["rtt_ms"]) if "rtt_ms" in kept else 0
        print(
            f"{name:38}{sum(kept['goodput_kBps']):10.1f}{sum(kept['mac_kBps']):10.1f}{rtt:8.1f}"
            f"{result['cpu_s'] * 1e6 / result['packets']:12.1f}",
            flush=True,
        )
        if not options.print:
            tables = f'"cqi": {rows(results["cqi"])},\n"runs": {rows(results["runs"])}'
            RESULTS.write_text(f'{{"ns3": "{results["ns3"]}",\n{tables}}}\n', encoding="utf-8")


if __name__ == "__main__":
    try:
        main()
    except (OSError, subprocess.CalledProcessError) as error:
        sys.exit(f"lte: {error}")
