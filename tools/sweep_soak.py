"""Kills a sweep repeatedly and compares the final result with that of an undisturbed sweep.

    python tools/sweep_soak.py [--runs 10000] [--kills 6] [--seed 1] [--size '16 MB'] [--dask | --no-dask]

`airpath sweep` with two workers is killed (SIGKILL) at random moments: the driver, a worker, and of a Dask
cluster the scheduler, each as often as the others. The same command follows whenever it ended. Once with
processes on this machine and once with `dask scheduler` and two `dask worker`, unless one is asked for. Fails
if a value differs, if a run is missing or there twice, or if the sweep is over before the last kill, however
early that is.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pyarrow.dataset
from dask_cluster import Cluster

AIRPATH = Path(sys.executable).with_name("airpath")
POINTS = 8
SWEEP = """
scenario = "umts-384"
metrics = ["transfer_s", "goodput_bps", "retransmissions.total", "rtt_ms.mean"]
runs = {runs}

[set]
"flow.0.app.file.size" = "{size}"

[axes]
tcp.initial_window = [1, 2, 4, 10]
"radio.dch.downlink.channel.bernoulli.bler" = ["1 %", "10 %"]
"""
# The kills come within so much of the time that the undisturbed sweep takes.
WITHIN = 0.8
# If the sweep is still faster than that, half of it is tried, and so on.
ATTEMPTS = 4
GRACE_S = 900


class OverTooSoonError(Exception):
    """The sweep had ended before the last kill."""


def rows_of(out: Path) -> list[dict[str, object]]:
    """All rows of all files, as they are."""
    table = pyarrow.dataset.dataset(out / "runs", format="parquet").to_table()
    return table.sort_by([("point", "ascending"), ("seed", "ascending")]).to_pylist()


class Sweep:
    """The command `airpath sweep`, started again whenever it ended before its time."""

    def __init__(self, file: Path, out: Path, options: list[str]) -> None:
        self.command = [str(AIRPATH), "sweep", str(file), "--out", str(out), *options]
        self.starts = 0
        self.start()

    def start(self) -> None:
        """Start or resume."""
        self.starts += 1
        self.process = subprocess.Popen(
            self.command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    def workers(self) -> list[int]:
        """Processes that it started."""
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        return [int(child) for child in children.read_text().split()]

    def finish(self) -> tuple[int, str]:
        """Wait for its end: exit code and what it printed."""
        try:
            printed, errors = self.process.communicate(timeout=GRACE_S)
        finally:
            self.process.kill()
        return self.process.returncode, (printed + errors).strip()


def moments(count: int, seconds: float, chance: random.Random) -> list[float]:
    """How long to wait before each kill."""
    times = sorted(chance.uniform(0.02, 1) * seconds for _ in range(count))
    return [after - before for before, after in zip([0.0, *times], times, strict=False)]


def victims(count: int, kinds: list[str], chance: random.Random) -> list[str]:
    """Whom to kill, each kind as often as the others, in random order."""
    chosen = [kinds[i % len(kinds)] for i in range(count)]
    chance.shuffle(chosen)
    return chosen


def disturb(
    sweep: Sweep, plan: list[tuple[float, str]], cluster: Cluster | None, chance: random.Random
) -> int:
    """Carry out the kills; return how many runs had to be resumed."""
    workers = 2
    for wait, victim in plan:
        time.sleep(wait)
        if (code := sweep.process.poll()) is not None:
            why = f"the sweep was over before a {victim} was killed, code {code}: {sweep.finish()[1]}"
            raise SystemExit(why) if code else OverTooSoonError(why)
        if victim == "driver":
            sweep.process.kill()
            sweep.process.communicate()
            sweep.start()
        elif cluster is None:
            while not (pids := sweep.workers()) and sweep.process.poll() is None:  # It is just starting.
                time.sleep(0.01)
            if pids:
                os.kill(chance.choice(pids), signal.SIGKILL)
        elif victim == "worker":
            cluster.kill(chance.choice([name for name in cluster.processes if name != "scheduler"]))
            workers += 1
            cluster.start_worker(f"worker{workers}")
        else:
            cluster.kill("scheduler")
            code, printed = sweep.finish()
            if code != 2 or "--dask" not in printed:
                raise SystemExit(f"without its scheduler the sweep ended with code {code}: {printed}")
            for name in [name for name in cluster.processes if name != "scheduler"]:
                cluster.kill(name)
            cluster.start_scheduler()
            for _ in range(2):
                workers += 1
                cluster.start_worker(f"worker{workers}")
            for number in (workers - 1, workers):
                cluster.await_worker(f"worker{number}")
            sweep.start()
    return sweep.starts


def disturbed(
    file: Path, out: Path, plan: list[tuple[float, str]], cluster: Cluster | None, chance: random.Random
) -> tuple[int, int, str]:
    """Run the sweep through all kills: how often it was started, its last exit code, and what it printed."""
    options = ["--workers", "2"]
    if cluster is not None:
        for number in (1, 2):
            cluster.start_worker(f"worker{number}")
        for number in (1, 2):
            cluster.await_worker(f"worker{number}")
        options = ["--dask", cluster.address]
    sweep = Sweep(file, out, options)
    starts = disturb(sweep, plan, cluster, chance)
    return starts, *sweep.finish()


def soak(options: argparse.Namespace, folder: Path, with_dask: bool) -> None:
    """One sweep undisturbed, and the same one killed."""
    chance = random.Random(options.seed)
    file = folder / "sweep.toml"
    file.write_text(SWEEP.format(runs=options.runs // POINTS, size=options.size), encoding="utf-8")
    whole = folder / "whole"
    began = time.monotonic()
    code, printed = Sweep(file, whole, ["--workers", "2"]).finish()
    if code:
        raise SystemExit(f"the undisturbed sweep ended with code {code}: {printed}")
    seconds = time.monotonic() - began
    expected = rows_of(whole)
    kinds = ["driver", "worker"] + ["scheduler"] * with_dask
    for attempt in range(ATTEMPTS):
        killed = folder / f"killed{attempt}"
        within_s = seconds * WITHIN / 2**attempt
        plan = list(
            zip(moments(options.kills, within_s, chance), victims(options.kills, kinds, chance), strict=True)
        )
        began = time.monotonic()
        with Cluster(folder) if with_dask else contextlib.nullcontext() as cluster:
            try:
                starts, code, printed = disturbed(file, killed, plan, cluster, chance)
                break
            except OverTooSoonError as error:
                print(f"again with earlier kills: {error}", file=sys.stderr)
    else:
        raise SystemExit("the sweep was over before the last kill again and again: is it too short?")
    if code:
        raise SystemExit(f"the last sweep ended with code {code}: {printed}")
    found = rows_of(killed)
    where = "Dask" if with_dask else "local"
    told = ", ".join(f"{victim} after {wait:.2f} s" for wait, victim in plan)
    print(
        f"{where}: {len(expected)} runs, undisturbed {seconds:.1f} s; killed: {told}; "
        f"{starts} starts, {time.monotonic() - began:.1f} s, {len(list((killed / 'runs').iterdir()))} files"
    )
    print(f"{where}: the last command said: {printed}")
    if found != expected:
        differing = sum(a != b for a, b in zip(found, expected, strict=False))
        raise SystemExit(f"{where}: {len(found)} rows for {len(expected)}, {differing} of them differ")
    print(f"{where}: all {len(found)} rows are equal, value for value")


def main() -> None:
    """Read the options and do it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=10_000, help=f"in all, over {POINTS} points")
    parser.add_argument("--kills", type=int, default=6)
    parser.add_argument("--seed", type=int, default=1, help="of the moments and of who is killed")
    parser.add_argument("--size", default="16 MB", help="of each transfer")
    parser.add_argument("--dask", action=argparse.BooleanOptionalAction, help="only with, or only without")
    options = parser.parse_args()
    for with_dask in (False, True) if options.dask is None else (options.dask,):
        with tempfile.TemporaryDirectory() as folder:
            soak(options, Path(folder), with_dask)


if __name__ == "__main__":
    main()
