"""What a command costs around its run: start-up, and the files of `--out`. Part of `make bench`.

    .venv/bin/python benches/command.py

Prints the CPU time of short commands, such as a sweep of eight runs; then that of a run with everything
that `--out` writes, over that of the same run without, and the bytes of its files for each packet. What a
short run takes, such as the drawing of its picture, is taken off both.
"""

from __future__ import annotations

import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from sweep import plan_of

import airpath
from airpath import _core
from airpath.runs.folder import run_to_folder
from airpath.studio.page import page_of_folder

SAMPLES = 5
COMMANDS = (
    (sys.executable, "-c", "pass"),
    (sys.executable, "-m", "airpath", "--help"),
    (sys.executable, "-m", "airpath", "run", "umts-384", "--json"),
    (sys.executable, "-m", "airpath", "sweep", "sweep.toml", "--workers", "1"),
)
# A download over RLC AM that lasts as long as the run.
SECONDS, SHORT = 6000, 60
FLOW = "[{ app = { bulk = {} } }]"


def cpu_s(command: tuple[str, ...], folder: str) -> float:
    """CPU seconds of a command and of the processes that it starts."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, cwd=folder, capture_output=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measure_start() -> None:
    """What short commands cost."""
    for command in COMMANDS:
        samples = []
        for _ in range(SAMPLES):
            with tempfile.TemporaryDirectory() as folder:
                plan_of(Path(folder), runs=1)
                samples.append(cpu_s(command, folder))
        name = " ".join(command).replace(f"{sys.executable} -m ", "").replace(sys.executable, "python")
        print(f"{name}: {statistics.median(samples):.2f} s of CPU", flush=True)


def timed_run(seconds: int, folder: Path | None) -> tuple[float, float]:
    """CPU seconds of a run, with all files if there is a folder for them, and its packets."""
    scenario = airpath.load("umts-384").with_("flow", FLOW).with_("duration", f"{seconds} s")
    started = time.process_time()
    if folder is None:
        results = json.loads(_core.run(scenario.text, 1))
    else:
        run_to_folder(scenario, 1, folder, page=page_of_folder)
        results = json.loads((folder / "results.json").read_text())
    used_s = time.process_time() - started
    return used_s, sum(flow["receiver"]["segments"] for flow in results["flows"])


def measure_files() -> None:
    """What `--out` costs."""
    ratios, fixed, sizes = [], [], {}
    with tempfile.TemporaryDirectory() as folder:
        timed_run(SHORT, Path(folder, "first"))  # What is loaded once is no run's.
        for sample in range(SAMPLES):
            out = Path(folder, str(sample))
            (bare_s, packets), (used_s, _) = timed_run(SECONDS, None), timed_run(SECONDS, out)
            (short_s, _), (fixed_s, _) = timed_run(SHORT, None), timed_run(SHORT, Path(folder, f"{sample}s"))
            ratios.append((used_s - fixed_s) / (bare_s - short_s))
            fixed.append(fixed_s - short_s)
        for entry in sorted(out.iterdir()):
            files = [file for file in (entry, *entry.rglob("*")) if file.is_file()]
            sizes[entry.name] = sum(file.stat().st_size for file in files) / packets
    shown = ", ".join(f"{name} {size:.0f}" for name, size in sizes.items() if size >= 1)
    print(
        f"--out (RLC AM, {SECONDS} s): {statistics.median(ratios):.1f} times the CPU time of a bare run "
        f"({min(ratios):.1f} .. {max(ratios):.1f}), and {statistics.median(fixed):.2f} s; "
        f"bytes a packet: {shown}"
    )


if __name__ == "__main__":
    measure_start()
    measure_files()
