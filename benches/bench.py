#!/usr/bin/env python3
"""Speed and memory of airpath compared with ns-2: what `make bench` runs.

Each tool runs the same workload (see `WORKLOADS`) for the same simulated time, as a process of its own and
with tracing off. Reported is process CPU time (user and system) per packet delivered in order:

* start-up does not count: a run of one simulated second is taken off CPU time and packets alike;
* the simulated time is at least the workload's, and so long that each sample lasts at least 2 s of CPU time
  (`--quick`: a tenth, and 0.3 s);
* samples of the tools are interleaved, so that a change of the machine's speed hits all of them, and the
  median of five counts (`--quick`: three);
* ns-2 runs with each of its schedulers Heap and Calendar, and the faster one counts for the workload;
  a workload that ns-2 has not is held against ns-2's cost of another, in the same run, and one with 1000 UEs
  against airpath's own with one.

Instructions per packet follow, compared with the last release, if valgrind is available (`instructions.py`).
Peak memory is that of a run of the workload's own simulated time. Linux only; the standard library only. ns-2
is Debian's package `ns2`; without it the ratios are left out.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import math
import os
import resource
import shutil
import signal
import statistics
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import instructions

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path.append(str(ROOT / "tools"))
import left_out  # noqa: E402

# Simulated seconds of each workload. The ns-2 workloads have packets of 576 bytes and pure ACKs of 40, one
# ACK per segment, bearers of 384 kbit/s and 60 ms with a queue of 50 packets, and 75 ms of wire.
WORKLOADS = {
    "W1": 3600,  # one flow, window 122 segments: overflows the queue
    "W1b": 3600,  # one flow, window 25 segments: no loss
    "W2": 600,  # W1 with RLC AM in the radio hop: a PDU of 480 bytes every 10 ms, a tenth of them lost
    "W2b": 600,  # W1b with the same RLC AM
    "W2u": 600,  # W2 in UMTS: GTP-U over two legs, feedback from the RNC
    "W3": 600,  # 100 UEs with a bearer and a flow each, one wire of 100 Mbit/s
    "T1R4": 3600,  # one flow over a link of variable delay, row 4 of Table 1 of the paper `chan`
    "W3x1000": 20,  # W3 with 1000 UEs and a wire of 1 Gbit/s
    "W2x1000": 20,  # the same with the radio hop of W2
    "HDR8": 3600,  # eight users of a cell of 1xEV-DO with a flow each, packets of 1000 bytes
    "HSDPA8": 600,  # eight UEs of a cell of HSDPA with a flow each, packets of 1500 bytes
    "LTE10": 600,  # ten UEs of a cell of LTE with 50 resource blocks, packets of 1500 bytes
    "NR10": 60,  # ten UEs of a cell of NR with 273 resource blocks, packets of 1500 bytes
    "NR1G": 20,  # one of it near the peak
    "NRU1": 20,  # datagrams of 1428 bytes at 400 Mbit/s, with RLC UM, to one UE of a cell of NR with 100 MHz
    "NRU4": 20,  # to four
    "NRU10": 20,  # to ten
}
# Workloads that ns-2 has not, and whose cost is held against ns-2's on another.
HELD_AGAINST = {
    **{"W2": "W1", "W2b": "W1b", "W2u": "W1", "T1R4": "W1"},
    **dict.fromkeys(("HDR8", "HSDPA8", "LTE10", "NR10", "NR1G"), "W1"),
}
# CPU time of 5G-LENA 4.0 per packet of the same workload, us: measured once, on ns-3.44 with -O2, on a
# machine with two processors such as these. Its build gave 392.7 Mbit/s at most.
LENA_US = {"NRU1": 57.0, "NRU4": 96.0, "NRU10": 274.0}
# What a packet costs with so many UEs, over what it costs with one.
OVER_ONE_UE = {"W3x1000": "W1", "W2x1000": "W2"}

START_UP_SECONDS = 1
# Simulated seconds after which 1000 flows, which start 10 ms apart, have all run for a while.
ALL_STARTED = 20
START_UPS = 5
SCHEDULERS = ("Heap", "Calendar")
PR_SET_CHILD_SUBREAPER = 36


class BenchError(Exception):
    """A run that cannot be made or read; the message is for the user."""


@dataclass(frozen=True)
class Run:
    """One process, from start to end."""

    cpu_s: float
    peak_rss_mb: float
    packets: int


@dataclass(frozen=True)
class Tool:
    """A simulator: its name in results, and the command that runs a workload."""

    name: str
    command: tuple[str, ...]
    workload_option: str
    time_option: str
    note: str = ""

    def run(self, workload: str, seconds: int) -> Run:
        """Simulate `seconds` of a workload."""
        options = [f"{self.workload_option}{workload}", *f"{self.time_option}{seconds}".split()]
        command = [*self.command, *options]
        output, usage = measure(command)
        try:
            packets = int(json.loads(output.splitlines()[-1])["packets"])
        except (IndexError, KeyError, TypeError, ValueError) as error:
            raise BenchError(f"{' '.join(command)}: no result in its output: {output!r}") from error
        return Run(usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024 / 1e6, packets)


def airpath_bench(program: Path) -> Tool:
    """Return airpath's own workload runner."""
    return Tool("airpath", (str(program),), "", "--time ")


def ns2(program: str, scheduler: str) -> Tool:
    """Return ns-2 with one of its schedulers."""
    command = (program, str(HERE / "dumbbell.tcl"), f"scheduler={scheduler}")
    return Tool("ns2", command, "workload=", "time=", f"scheduler {scheduler}")


def measure(command: list[str]) -> tuple[str, resource.struct_rusage]:
    """Run a command and return its output and what it used.

    The kernel starts the peak memory of a process at that of the process it was forked from, and Python needs
    more than what is measured here. So a shell forks the command and leaves it to us, its subreaper.
    """
    shell = subprocess.Popen(
        ["sh", "-c", '"$@" &', "sh", *command], stdout=subprocess.PIPE, text=True, process_group=0
    )
    assert shell.stdout is not None
    try:
        output = shell.stdout.read()
        ended = [os.wait4(-1, 0), os.wait4(-1, 0)]
    except BaseException:
        os.killpg(shell.pid, signal.SIGKILL)
        raise
    shell.returncode = 0
    [(status, usage)] = [(status, usage) for pid, status, usage in ended if pid != shell.pid]
    if status != 0:
        raise BenchError(f"{' '.join(command)}: failed with {os.waitstatus_to_exitcode(status)}")
    return output, usage


class Contestant:
    """One tool on one workload, with its samples."""

    def __init__(self, tool: Tool, workload: str) -> None:
        self.tool = tool
        self.workload = workload
        starts = [tool.run(workload, START_UP_SECONDS) for _ in range(START_UPS)]
        self.start_up = min(starts, key=lambda run: run.cpu_s)
        self.samples: list[Run] = []

    def cpu_s(self, run: Run) -> float:
        """Return the CPU time of a run in seconds, without start-up."""
        return run.cpu_s - self.start_up.cpu_s

    def us_per_packet(self, run: Run) -> float:
        """Return the CPU time for each delivered packet in microseconds, without start-up."""
        return self.cpu_s(run) * 1e6 / (run.packets - self.start_up.packets)

    def needed_seconds(self, least: int, sample_cpu_s: float) -> int:
        """Return how long to simulate for a sample of the given CPU time."""
        seconds = least
        while (cpu_s := self.cpu_s(self.tool.run(self.workload, seconds))) < sample_cpu_s:
            # A tenth more than needed: the next run may be a little faster.
            seconds = math.ceil(seconds * 1.1 * sample_cpu_s / max(cpu_s, sample_cpu_s / 100))
        return seconds


def compare(tools: list[Tool], workload: str, quick: bool) -> list[dict[str, str | float]]:
    """Measure the tools on one workload, print a line for each and return their rows."""
    standard = WORKLOADS[workload]
    sample_cpu_s, samples, least = (0.3, 3, max(standard // 10, ALL_STARTED)) if quick else (2.0, 5, standard)
    contestants = [Contestant(tool, workload) for tool in tools]
    seconds = max(contestant.needed_seconds(least, sample_cpu_s) for contestant in contestants)
    for _ in range(samples):
        for contestant in contestants:
            contestant.samples.append(contestant.tool.run(workload, seconds))
    rows: list[dict[str, str | float]] = []
    for contestant in contestants:
        tool = contestant.tool
        costs = [contestant.us_per_packet(run) for run in contestant.samples]
        packets = contestant.samples[0].packets
        peak_rss_mb = tool.run(workload, standard).peak_rss_mb
        row: dict[str, str | float] = {
            "workload": workload,
            "tool": tool.name,
            "cpu_us_per_packet": round(statistics.median(costs), 4),
            "packets": packets,
            "peak_rss_mb": round(peak_rss_mb, 2),
        }
        rows.append(row)
        print(
            f"{workload:10}{tool.name:8}{row['cpu_us_per_packet']:10.3f}{min(costs):9.3f} ..{max(costs):6.3f}"
            f"{seconds:11,}{packets:13,}{peak_rss_mb:8.1f}   {tool.note}",
            flush=True,
        )
    return rows


def cost(row: dict[str, str | float]) -> float:
    """Return the CPU time per delivered packet of a row."""
    return float(row["cpu_us_per_packet"])


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description="Compare airpath with ns-2.")
    add = parser.add_argument
    add("--quick", action="store_true", help="short samples: a look, not a measurement")
    add("--workload", action="append", choices=WORKLOADS, help="only this one; may be repeated")
    add("--airpath", type=Path, default=ROOT / "target/dist/airpath-bench", help="airpath's runner")
    add("--ns2", default="ns", help="ns-2's program (default: ns)")
    add("--json", type=Path, default=ROOT / "build/bench.json", help="where the rows go")
    return parser.parse_args()


def main() -> None:
    """Measure, print a table and the ratios, and write the rows."""
    options = arguments()
    workloads = options.workload or list(WORKLOADS)
    if not options.airpath.is_file():
        raise BenchError(f"{options.airpath} is missing: run `make bench`, which builds it")
    if ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise BenchError("this kernel has no subreapers (Linux 3.4): peak memory cannot be measured")
    airpath = airpath_bench(options.airpath)
    program = shutil.which(options.ns2)
    if program is None:
        left_out.note("speed compared with ns-2", left_out.why("ns") or f"no program {options.ns2}")
        print(f"ns-2 is left out: no program '{options.ns2}'. On Debian: apt-get install ns2\n")

    print(f"{'':18}{'CPU us per packet':>26}{'simulated':>12}{'packets':>13}{'peak':>8}")
    print(
        f"{'workload':10}{'tool':8}{'median':>10}{'range':>13}{'s':>14}{'delivered':>13}{'MB':>8}", flush=True
    )
    rows: list[dict[str, str | float]] = []
    ratios = []
    own_cost: dict[str, float] = {}
    ns2_cost: dict[str, float] = {}
    for workload in workloads:
        tools = [airpath]
        if program is not None and workload not in HELD_AGAINST | OVER_ONE_UE | LENA_US:
            tools += [ns2(program, scheduler) for scheduler in SCHEDULERS]
        own, *others = compare(tools, workload, options.quick)
        rows.append(own)
        own_cost[workload] = cost(own)
        if others:
            fastest = min(others, key=cost)
            rows.append(fastest)
            ns2_cost[workload] = cost(fastest)
            ratios.append(f"{workload}: ns-2 needs {cost(fastest) / cost(own):.1f} times the CPU of airpath")
        elif (other := HELD_AGAINST.get(workload)) in ns2_cost:
            share = cost(own) / ns2_cost[other]
            ratios.append(f"{workload}: airpath needs {share:.2f} of the CPU per packet of ns-2's {other}")
        elif workload in LENA_US:
            times = LENA_US[workload] / cost(own)
            ratios.append(
                f"{workload}: 5G-LENA needed {LENA_US[workload]:.0f} us, {times:.0f} times the CPU of airpath"
            )
        elif (one := OVER_ONE_UE.get(workload)) in own_cost:
            ratios.append(f"{workload}: a packet costs {cost(own) / own_cost[one]:.1f} times one of {one}")
    print("", *ratios, sep="\n")
    if shutil.which("valgrind"):
        counted = [workload for workload in workloads if workload in instructions.WORKLOADS]
        instructions.print_beside_record(
            {workload: instructions.per_packet(options.airpath, workload) for workload in counted}
        )
    else:
        left_out.note("instructions of a packet", left_out.why("valgrind"))

    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")
    print(f"Rows written to {os.path.relpath(options.json)}")


if __name__ == "__main__":
    try:
        main()
    except BenchError as error:
        sys.exit(f"bench: {error}")
    except KeyboardInterrupt:
        sys.exit(130)
