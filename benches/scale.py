"""What a machine simulates in an hour, from what this one does in a minute.

    .venv/bin/python benches/scale.py [--quick] [--rows N] [--json FILE]

Prints CPU time and instructions per packet, memory and cost with many UEs, what the driver of a sweep needs
for a row, sizes of files, and estimates for machines of 8, 64 and 1,000 cores (see docs/scale.md). CPU
time is the process's own; it still grows where others use the machine's caches and memory, so look at ratios.
Instructions need valgrind, and both instructions and memory need `cargo build --profile dist -p
airpath-bench`; without these they are left out.
"""

from __future__ import annotations

import argparse
import json
import pickle
import re
import resource
import shutil
import statistics
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

from sweep import SWEEP, plan_of

import airpath
from airpath import _core
from airpath.experiments.sweep import run as sweep_run
from airpath.experiments.sweep.plan import Plan, read_plan
from airpath.experiments.sweep.readers import ReadMetrics, Table
from airpath.experiments.sweep.run import run_sweep
from airpath.runner.work import Answer, Rows
from airpath.scenario import Scenario

RUNNER = Path(__file__).resolve().parent.parent / "target/dist/airpath-bench"

BULK = ("flow", "[{ ue = 'each', stagger = '10 ms', app = { bulk = {} } }]")
PAGE = "{ web = { page = '20 kB', objects = 16, object = '5 kB' } }"
HOPS = tuple((f"radio.dch.{way}.rlc", "{ none = {} }") for way in ("downlink", "uplink"))
NO_ERRORS = tuple((f"radio.dch.{way}.channel.bernoulli.bler", "0 %") for way in ("downlink", "uplink"))
# What each core simulates: name, bundled scenario, changes.
CELLS = (
    ("bearer without link layer", "umts-384", (*HOPS, *NO_ERRORS, BULK, ("duration", "1 h"))),
    ("one block in a TTI (lundsten)", "lundsten-dch", ()),
    ("RLC AM, 12 PDUs in a TTI", "umts-384", (BULK, ("duration", "1 h"))),
    ("the same, fading, ACK rate control and PDPC", "alcaraz-384-combined-1", (("duration", "1 h"),)),
    ("variable delay (chan)", "chan-variable-delay", ()),
    ("the same with the Ack Regulator", "chan-variable-delay-ar", ()),
    ("1xEV-DO, 8 users", "hdr-4", (("radio.evdo.ues", "8"), ("duration", "1 h"))),
    ("core network, RNC feedback", "jayanathan-46", ()),
    ("a web page over RLC AM", "umts-384", (("flow", f"[{{ app = {PAGE} }}]"),)),
    ("a file of 50 kB over RLC AM", "umts-384", (("flow.0.app.file.size", "50 kB"),)),
)
REPEATED_S = 0.2
"""Short runs are repeated, with seeds 1, 2, ..., until a sample has taken so long."""

MACHINES = (("laptop", 8), ("server", 64), ("cluster", 1000))


@dataclass
class Cost:
    """What a cell costs: CPU seconds, packets received, simulated seconds and UEs of a run; samples of it."""

    name: str
    text: str
    ues: int
    packets: float = 0
    simulated_s: float = 0
    samples: list[float] = field(default_factory=list)
    instructions: float | None = None

    @property
    def run_s(self) -> float:
        """CPU time of a run."""
        return statistics.median(self.samples)

    @property
    def us_per_packet(self) -> float:
        """CPU time of a packet."""
        return 1e6 * self.run_s / self.packets

    @property
    def s_per_ue_hour(self) -> float:
        """CPU time of an hour of one UE."""
        return self.run_s * 3600 / (self.simulated_s * self.ues)

    def sample(self) -> None:
        """Run it for a while and note the mean CPU time of a run."""
        packets = simulated_s = 0.0
        runs, started = 0, time.process_time()
        while runs == 0 or time.process_time() - started < REPEATED_S:
            runs += 1
            results = json.loads(_core.run(self.text, runs))
            packets += sum(flow["receiver"]["segments"] for flow in results["flows"])
            simulated_s += results["simulated_s"]
        self.samples.append((time.process_time() - started) / runs)
        self.packets, self.simulated_s = packets / runs, simulated_s / runs


def scenario_of(name: str, changes: tuple[tuple[str, str], ...]) -> Scenario:
    base = airpath.load(name)
    return Scenario(name, base.source, changes)


def measured_costs(rounds: int) -> list[Cost]:
    """CPU time of every cell; rounds go over all of them in turn."""
    costs = []
    for name, scenario, changes in CELLS:
        text = scenario_of(scenario, changes).text
        costs.append(Cost(name, text, 8 if "8 users" in name else 1))
    for _ in range(rounds):
        for cost in costs:
            cost.sample()
    return costs


def file_of(text: str, folder: Path) -> Path:
    path = folder / "scenario.toml"
    path.write_text(text, encoding="utf-8")
    return path


def count_instructions(costs: list[Cost], folder: Path) -> None:
    """Count the instructions of a packet; those of start-up count too, a thousandth or less."""
    if not RUNNER.is_file() or shutil.which("valgrind") is None:
        return
    for cost in costs:
        # A tenth of the long ones: valgrind takes 30 times as long.
        seconds = min(cost.simulated_s, 600)
        text = _core.resolve(cost.text, [("duration", f"{seconds:.0f} s")], None)
        results = json.loads(_core.run(text, 1))
        packets = sum(flow["receiver"]["segments"] for flow in results["flows"])
        command = ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"]
        done = subprocess.run(
            [*command, RUNNER, file_of(text, folder)], capture_output=True, text=True, check=True
        )
        counted = re.search(r"I\s+refs:\s+([\d,]+)", done.stderr)
        if counted:
            cost.instructions = float(counted[1].replace(",", "")) / packets


CROWD = """
duration = "{seconds} s"
[wired]
rate = "{mbps} Mbit/s"
delay = "75 ms"
{radio}
[tcp]
mss = "1460 B"
{tcp}
[[flow]]
ue = "each"
stagger = "1 ms"
app.bulk = {{}}
"""
DEDICATED = """
[radio.dch]
ues = {ues}
[radio.dch.downlink]
rate = "384 kbit/s"
{rlc}
queue.droptail.packets = 50
[radio.dch.uplink]
rate = "384 kbit/s"
{rlc}
"""
EVDO = """
[radio.evdo]
ues = {ues}
[radio.evdo.downlink]
queue.droptail.packets = 20
buffer = "per_flow"
[radio.evdo.uplink.channel.distribution]
rate.constant = "64 kbit/s"
"""
LTE = """
[radio.lte]
ues = {ues}
[radio.lte.downlink]
queue.droptail.packets = 100
"""
# Simulated seconds where UEs share a cell, and so its rate.
SHARED_S = {EVDO: 2000, LTE: 20}
AM = 'rlc.am = {{}}\nchannel.bernoulli.bler = "10 %"'
CROWDS = (
    (
        "bearers without link layer",
        DEDICATED.replace("{rlc}", 'delay = "60 ms"'),
        (1, 100, 1000, 10_000, 65_535),
    ),
    ("bearers with RLC AM", DEDICATED.replace("{rlc}", AM), (1, 100, 1000, 10_000)),
    ("users of one 1xEV-DO cell", EVDO, (1, 8, 32, 100, 400)),
    ("users of one LTE cell", LTE, (1, 10, 100, 400)),
)


def crowd_text(radio: str, ues: int) -> str:
    """A cell with so many UEs and a flow each, for so long that the runs have about as many packets."""
    seconds = SHARED_S.get(radio) or max(20, 20_000 // ues)
    text = CROWD.format(radio=radio.format(ues=ues), seconds=seconds, mbps=max(100, ues), tcp="")
    return str(_core.resolve(text, [], None))


def measure_crowds(most: int, folder: Path) -> None:
    """Cost and memory over the number of UEs, of a process for each."""
    heads = (
        ("UEs", 8),
        ("CPU us/packet", 15),
        ("packets", 12),
        ("CPU s", 8),
        ("peak MB", 9),
        ("kB/UE", 8),
        ("bound MB", 9),
    )
    print(f"\n{'UEs in a cell':32}" + "".join(f"{head:>{width}}" for head, width in heads))
    for name, radio, counts in CROWDS:
        first: tuple[int, float] | None = None
        for ues in counts:
            if ues > most:
                continue
            text = crowd_text(radio, ues)
            path, bound_mb = file_of(text, folder), _core.memory(text)[0] / 1e6
            done, cpu_s, peak_mb = run_alone([str(RUNNER), str(path)])
            packets = json.loads(done)["bytes_received"] / 1460
            first = first or (ues, peak_mb)
            grown = 1000 * (peak_mb - first[1]) / (ues - first[0]) if ues > first[0] else float("nan")
            cost = 1e6 * cpu_s / packets
            print(
                f"{name:32}{ues:8,}{cost:15.3f}{packets:12,.0f}{cpu_s:8.1f}{peak_mb:9.1f}{grown:8.1f}{bound_mb:9.1f}",
                flush=True,
            )


def run_alone(command: list[str]) -> tuple[str, float, float]:
    """Output, CPU seconds and peak memory in MB of a program, read from /proc while it runs."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    peak_kb = 0
    while process.poll() is None:
        try:
            found = re.search(r"VmHWM:\s+(\d+)", Path(f"/proc/{process.pid}/status").read_text())
        except OSError:
            found = None
        peak_kb = max(peak_kb, int(found[1])) if found else peak_kb
        time.sleep(0.002)
    assert process.stdout is not None
    output = process.stdout.read()
    if process.returncode != 0:
        sys.exit(f"{' '.join(command)}: exit code {process.returncode}")
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    total = used.ru_utime + used.ru_stime
    cpu_s, run_alone.before = total - run_alone.before, total  # type: ignore[attr-defined]
    return output, cpu_s, peak_kb * 1024 / 1e6


def table(seeds: Sequence[int]) -> Table:
    """What runs give."""
    numbers = (number for seed in seeds for number in (2.0 + seed % 97 / 31, 1e5 + seed % 89 / 7, 0.3))
    return Table(struct.pack(f"<{3 * len(seeds)}d", *numbers), 3)


class AnsweringPool:
    """Workers that have every answer at once; what they need for it is not the driver's time."""

    size, task_s = 64, 0.5

    def __init__(self, run_s: float) -> None:
        self._run_s = run_s
        self._answers: list[bytes] = []
        self.not_driver_s, self.tasks = 0.0, 0

    def __call__(self, *_: Any) -> AnsweringPool:
        return self

    def __enter__(self) -> AnsweringPool:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    @property
    def room(self) -> int:
        return 2 * self.size - len(self._answers)

    def hand_in(self, task: Any) -> None:
        pickle.dumps(task.runs)
        started = time.process_time()
        rows: list[Rows] = [(point, seeds, table(seeds)) for point, _, seeds in task.runs]
        self.tasks += 1
        self._answers.append(
            pickle.dumps(Answer(rows, self._run_s * sum(len(seeds) for _, seeds, _ in rows)))
        )
        self.not_driver_s += time.process_time() - started

    def answers(self, _timeout: float) -> list[Answer]:
        given, self._answers = self._answers, []
        return [pickle.loads(answer) for answer in given]


@dataclass(frozen=True)
class RowCost:
    """What a row costs its driver, in large tasks."""

    us: float
    memory_bytes: float
    disk_bytes: float


def driver_seconds(plan: Plan, out: Path, run_s: float) -> tuple[float, int, int]:
    """CPU time of a driver whose workers have every answer at once; its rows and their tasks."""
    pool = AnsweringPool(run_s)
    with mock.patch.object(sweep_run, "pool_of", pool):
        started = time.process_time()
        outcome = run_sweep(plan, out, pool.size)
    return time.process_time() - started - pool.not_driver_s, outcome.runs, pool.tasks


def measure_driver(rows: int, folder: Path) -> RowCost:
    """CPU time, memory and disk of a row: in large tasks, one by one, and one for each of many points."""
    driver_seconds(plan_of(folder, 1), folder / "first", 0.0005)  # What is loaded once is no row's.
    plan = plan_of(folder, max(1, rows // 8))
    before_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    used_s, runs, tasks = driver_seconds(plan, folder / "driver", 0.0005)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before_kb
    files = list((folder / "driver" / "runs").iterdir())
    disk = sum(file.stat().st_size for file in files)
    cost = RowCost(1e6 * used_s / runs, 1024 * grown / runs, disk / runs)
    print(
        f"Driver alone, {runs:,} rows of 3 metrics in {tasks:,} tasks: {cost.us:.1f} us of CPU a row "
        f"({1e6 / cost.us:,.0f} rows/s), {cost.memory_bytes:.0f} B of memory, {cost.disk_bytes:.0f} B of "
        f"disk, {len(files)} files"
    )
    again_s, *_ = driver_seconds(plan, folder / "driver", 0.0005)
    print(f"The same command again, with nothing left to do: {1e6 * again_s / runs:.1f} us of CPU a row")
    used_s, runs, _ = driver_seconds(plan_of(folder, max(1, rows // 80)), folder / "long runs", 10)
    print(f"The same with runs of 10 s, each a task: {1e6 * used_s / runs:.0f} us of CPU a row")
    used_s, runs, _ = driver_seconds(many_points(folder, rows // 10), folder / "points", 10)
    print(f"The same with {runs:,} points of a run each: {1e6 * used_s / runs:.0f} us of CPU a row")
    return cost


def many_points(folder: Path, count: int) -> Plan:
    """A plan of so many points with a run each."""
    path = folder / "points.toml"
    design = f'[random]\npoints = {count // 8}\n"wired.delay" = {{ min = "10 ms", max = "500 ms" }}\n[axes]'
    path.write_text(SWEEP.format(runs=1, size="50 kB").replace("[axes]", design), encoding="utf-8")
    return read_plan(path)


def measure_long_sweep(rows: int, folder: Path) -> None:
    """A sweep of so many rows, with all processors."""
    plan = plan_of(folder, max(1, rows // 8))
    outcome = run_sweep(plan, folder / "long")
    files = list((folder / "long" / "runs").iterdir())
    print(
        f"Sweep of {outcome.runs:,} downloads of 50 kB: {outcome.seconds:.1f} s, {len(files)} files, "
        f"{sum(file.stat().st_size for file in files) / 1e6:.1f} MB"
    )


def measure_plan(folder: Path) -> None:
    """What a point costs before its first run."""
    started = time.process_time()
    plan = many_points(folder, 16_000)
    used_s = time.process_time() - started
    text = sum(len(point.text) for point in plan.points) / len(plan.points)
    print(f"A point of a plan: {1e6 * used_s / len(plan.points):.0f} us, {text:.0f} B of text held in memory")


def print_costs(costs: list[Cost]) -> None:
    print(f"{'':46}{'CPU':>12}{'range':>16}{'instr.':>9}{'run':>9}{'CPU of a':>11}")
    print(f"{'':46}{'us/packet':>12}{'':>16}{'/packet':>9}{'ms':>9}{'UE-hour, ms':>12}")
    for cost in costs:
        low, high = (1e6 * chosen(cost.samples) / cost.packets for chosen in (min, max))
        counted = f"{cost.instructions:.0f}" if cost.instructions else "-"
        print(
            f"{cost.name:46}{cost.us_per_packet:12.3f}{f'{low:.3f}..{high:.3f}':>16}{counted:>9}"
            f"{1e3 * cost.run_s:9.2f}{1e3 * cost.s_per_ue_hour:12.1f}",
            flush=True,
        )


def run_and_read_s(cell: tuple[str, str, tuple[tuple[str, str], ...]], first_metric: str) -> float:
    """CPU time of a short run in a worker: the run and reading its metrics."""
    text = scenario_of(*cell[1:]).text
    values = ReadMetrics((first_metric, "goodput_bps", "rtt_ms.mean")).open()
    list(values(text, [0]))  # Where the metrics are is looked for once.
    count, started = 2000, time.process_time()
    list(values(text, range(1, count + 1)))
    return (time.process_time() - started) / count


def extrapolate(costs: list[Cost], row: RowCost) -> list[dict[str, Any]]:
    """What machines of so many such cores do in an hour, the driver's own core not taken off."""
    lines: list[dict[str, Any]] = []
    print(f"\n{'In an hour, of such cores':56}" + "".join(f"{f'{name}, {n:,}':>18}" for name, n in MACHINES))

    def line(what: str, each_s: float, per_run: float = 1, most: float = float("inf")) -> None:
        values = [min(cores * 3600 / each_s * per_run, most) for _, cores in MACHINES]
        lines.append({"what": what, **dict(zip((n for n, _ in MACHINES), values, strict=True))})
        cells = "".join(f"{f'{v:,.0f}' + ('*' if v == most else ''):>18}" for v in values)
        print(f"{what:56}{cells}")

    for cost in costs[:-2]:
        line(f"UE-hours, {cost.name}", cost.s_per_ue_hour)
    rows_per_hour = 3600e6 / row.us
    page = run_and_read_s(CELLS[-2], "web.page_load_s")
    download = run_and_read_s(CELLS[-1], "transfer_s")
    line(f"web pages (a row each, {1e3 * page:.3f} ms in a worker)", page, most=rows_per_hour)
    line("downloads of 50 kB (a row each)", download, most=rows_per_hour)
    for cost in costs:
        if cost.name in ("variable delay (chan)", "one block in a TTI (lundsten)"):
            line(f"runs of a cell, {cost.name}", cost.run_s, most=rows_per_hour)
    print("* as many rows as one driver takes in")
    short = row.us * 1e-6
    print(
        f"\nOne driver keeps {download / short:,.0f} such cores busy with downloads of 50 kB "
        f"({1e3 * download:.3f} ms), and 1,000 with runs of {1e6 * short:.1f} ms or more"
    )
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--quick", action="store_true", help="a look: fewer rounds, no instructions, 1,000 UEs"
    )
    parser.add_argument("--rows", type=int, default=100_000, help="rows of the long sweep")
    parser.add_argument("--json", type=Path, help="write costs and extrapolation there too")
    options = parser.parse_args()
    run_alone.before = 0.0  # type: ignore[attr-defined]
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        row = measure_driver(20_000 if options.quick else 800_000, folder)
        costs = measured_costs(2 if options.quick else 5)
        if not options.quick:
            count_instructions(costs, folder)
        print_costs(costs)
        if RUNNER.is_file():
            used = resource.getrusage(resource.RUSAGE_CHILDREN)
            run_alone.before = used.ru_utime + used.ru_stime  # type: ignore[attr-defined]
            measure_crowds(1000 if options.quick else 65_535, folder)
        print()
        measure_plan(folder)
        measure_long_sweep(options.rows, folder)
        lines = extrapolate(costs, row)
    if options.json:
        known = [{"cell": c.name, "us_per_packet": c.us_per_packet, "run_s": c.run_s} for c in costs]
        options.json.write_text(
            json.dumps({"costs": known, "row": vars(row), "hours": lines}, indent=2) + "\n"
        )


if __name__ == "__main__":
    main()
