#!/usr/bin/env python3
"""The kernel's Multipath TCP beside airpath's, over the same two paths: goodput with intervals.

Each row has two paths and a file, and runs as `airpath compare` runs it, with CUBIC; some rows have a small
receive buffer in addition. Run N has a file N times 50 kB smaller, as the end of a file over a slow path
depends on its size; cells have the seed N in both. The difference is paired by run.

The server writes with a blocking socket, as much as the send buffer takes: one that polls is woken up as
early, but single writes of 64 kB leave less to a fast path (10 + 1 Mbit/s: 9.1 instead of 9.7 Mbit/s).

Needs Linux with MPTCP, `ip` with `mptcp`, and the prerequisites of `airpath doctor`; without them it exits
with a message.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from airpath.errors import LiveError
from airpath.experiments.versus_kernel.campaign import Variant, run_all
from airpath.experiments.versus_kernel.judgement import judge
from airpath.experiments.versus_kernel.multipath import check_kernel
from airpath.experiments.versus_kernel.tcp import LINUX_SYSCTLS, KernelTcp
from airpath.scenario import Scenario

ROOT = Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT / "tools"))

SMALLER_B = 50_000
LTE = """
radio.lte.uplink.bler = "10 %"
radio.lte.downlink.blocks.bandwidth = "{mhz} MHz"
radio.lte.downlink.queue.droptail.bytes = "1 MB"
radio.lte.downlink.reception = {{ mean_sinr = "15 dB", diversity = 2, fading.jakes.doppler = "5.6 Hz" }}
"""
UMTS = """
[cell.radio.dch.downlink]
rate = "384 kbit/s"
delay = "15 ms"
queue.droptail.packets = 30
rlc.am = { tti = "10 ms", pdu = "42 B", timer_poll = "150 ms", timer_status_prohibit = "100 ms" }
channel.bernoulli.bler = "10 %"
[cell.radio.dch.uplink]
rate = "64 kbit/s"
delay = "15 ms"
rlc.am = { tti = "20 ms", pdu = "42 B", timer_poll = "150 ms", timer_status_prohibit = "100 ms" }
channel.bernoulli.bler = "10 %"
"""


def wire(number: int, mbps: int, delay_ms: int, buffer_kb: int) -> str:
    """Write a way of this rate, one-way delay and buffer."""
    queue = f'queue.droptail = {{ packets = 10000, bytes = "{buffer_kb} kB" }}'
    link = f'rate = "{mbps} Mbit/s", delay = "{delay_ms} ms", {queue}'
    return f'[[way]]\nname = "path{number}"\nwired = {{ {link} }}\n'


def cell(number: int, delay_ms: int, radio: str) -> str:
    """Write a cell behind a wire of this delay."""
    link = f'wired = {{ rate = "1 Gbit/s", delay = "{delay_ms} ms" }}'
    return f'[[cell]]\nname = "path{number}"\n{link}\n{radio}'


FAR = wire(0, 10, 10, 100) + wire(1, 10, 100, 300)
LTE_10 = cell(0, 15, LTE.format(mhz=10))
# What a row is, its paths, the file in MB, and the largest receive buffer, bytes.
ROWS: dict[str, tuple[str, int, int | None]] = {
    "10 + 10 Mbit/s, 20 ms each way": (wire(0, 10, 20, 100) + wire(1, 10, 20, 100), 20, None),
    "20 Mbit/s, 10 ms + 5 Mbit/s, 50 ms": (wire(0, 20, 10, 100) + wire(1, 5, 50, 100), 15, None),
    "10 + 1 Mbit/s, 20 ms each way": (wire(0, 10, 20, 100) + wire(1, 1, 20, 100), 10, None),
    "10 + 10 Mbit/s, 10 and 100 ms, tcp_rmem 64 kB": (FAR, 6, 65_536),
    "10 + 10 Mbit/s, 10 and 100 ms, tcp_rmem 128 kB": (FAR, 6, 131_072),
    "LTE of 10 MHz + LTE of 5 MHz": (
        cell(0, 15, LTE.format(mhz=10)) + cell(1, 15, LTE.format(mhz=5)),
        10,
        None,
    ),
    "LTE of 10 MHz + UMTS of 384 kbit/s": (cell(0, 15, LTE.format(mhz=10)) + cell(1, 75, UMTS), 10, None),
}
# Share of a receive buffer that is data: 38784 of 65536 B in captures of Linux 6.18 behind a TUN device.
DATA_SHARE = 38_784 / 65_536


def scenario(paths: str, size_b: int, buffer_b: int | None) -> str:
    """Write the scenario of one run."""
    tcp = 'profile = "linux"'
    if buffer_b is not None:
        window = f'"{round(buffer_b * DATA_SHARE)} B"'
        tcp += f", receive_buffer = {window}, receive_buffer_max = {window}"
    return f"""
duration = "120 s"
tcp = {{ {tcp} }}
ue = [{{ name = "phone", attach = ["path0", "path1"] }}]
[[flow]]
ue = "phone"
over = ["path0", "path1"]
multipath.scheduler = "linux"
app.file.size = "{size_b} B"
{paths}"""


def job(paths: str, size_b: int, buffer_b: int | None) -> Variant:
    """Say what runs in both worlds: this file, and for the kernel the largest receive buffer in bytes."""
    made = Scenario("mptcp", scenario(paths, size_b, buffer_b))
    sysctls = LINUX_SYSCTLS | (
        {} if buffer_b is None else {"net.ipv4.tcp_rmem": f"4096 {buffer_b} {buffer_b}"}
    )
    return Variant("cubic", "cubic", None, made, made, KernelTcp("cubic", sysctls))


def obstacle() -> str:
    """Say what keeps us from measuring; empty if nothing does."""
    try:
        check_kernel()
    except LiveError as error:
        return str(error)
    doctor = [str(ROOT / ".venv/bin/airpath"), "doctor"]
    done = subprocess.run(doctor, capture_output=True, text=True, timeout=60, check=False)
    return "" if done.returncode == 0 else "airpath doctor says that live does not work here"


def measure(name: str, runs: int, workers: int) -> dict[str, Any]:
    """Run a row, simulated and live; print its line and give the figures."""
    paths, mb, buffer_b = ROWS[name]
    jobs = [
        (job(paths, mb * 1_000_000 - number * SMALLER_B, buffer_b), number) for number in range(1, runs + 1)
    ]
    with tempfile.TemporaryDirectory() as folder:
        outcomes = run_all(jobs, Path(folder), workers)
    if len(outcomes.seeds("cubic")) < 2:
        raise SystemExit(f"mptcp_kernel.py: {name}: too few runs of {runs} were valid")
    (goodput, *_) = judge(outcomes, "cubic", 0)
    ours, kernel, apart = goodput.pair.a, goodput.pair.b, goodput.pair.relative
    assert apart is not None
    best, worst = max(kernel.values) / 1e6, min(kernel.values) / 1e6
    line = f"{kernel.mean / 1e6:6.2f} ± {kernel.half_width / 1e6:4.2f} ({worst:.2f} to {best:.2f})"
    line += f"  {ours.mean / 1e6:6.2f} ± {ours.half_width / 1e6:4.2f}  {100 * apart.mean:+6.1f} %"
    line += f" ({100 * apart.ci_low:+.1f} to {100 * apart.ci_high:+.1f})  {kernel.n}"
    print(f"{name:48} {line}", flush=True)
    return {"kernel_bps": list(kernel.values), "simulated_bps": list(ours.values), "relative": apart.mean}


def main() -> None:
    """Measure all rows, print a table, and write it down."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--runs", type=int, default=20, help="of each kind and row")
    parser.add_argument("--rows", default="", metavar="TEXT", help="only rows whose name has this text")
    parser.add_argument("--workers", type=int, default=4, help="live runs side by side")
    parser.add_argument("--json", type=Path, default=ROOT / "build" / "mptcp-kernel.json", metavar="FILE")
    options = parser.parse_args()
    if missing := obstacle():
        import left_out

        left_out.note("Multipath TCP beside the kernel's", missing)
        print(f"mptcp_kernel: not measured: {missing}")
        return
    heads = "kernel (range)                simulated      difference            runs"
    print(f"{'Mbit/s, mean and 95 % interval':48} {heads}")
    rows = [name for name in ROWS if options.rows in name]
    figures = {name: measure(name, options.runs, options.workers) for name in rows}
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
