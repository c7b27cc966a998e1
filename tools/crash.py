"""Kills airpath's commands at any change of their folders, and has changes fail: what is there then is whole.

    python tools/crash.py [--times 200] [--seed 1] [--again 4] [COMMAND...]

Each command is disturbed at changes drawn by the seed (`tools/faults.c`, loaded into its processes): half
of the times it is killed, otherwise the disk is full from then on, or an fsync fails. After a kill the
folder is judged twice: as it is, and as a power cut would leave it, with no octet that fsync had not
brought to the disk. A failure must end the command with one line and a status. Either way what readers take
is the earlier result, the new one, or nothing. Each fourth time (`--again`) the same command follows
undisturbed, and must give what it gives elsewhere. `--full` times the folder is a small disk that fills up
by itself (a tmpfs in a namespace). The studio, which changes nothing, is killed at moments while it makes
runs.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import hashlib
import json
import os
import random
import shutil
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

import forks
from dask_cluster import Cluster
from studio_soak import Studio
from websockets.exceptions import WebSocketException

from airpath.captures import analyze
from airpath.cli import main as cli
from airpath.errors import AirpathError
from airpath.experiments.sweep.store import read_manifest, read_rows
from airpath.runs.finished import FinishedRun

HERE = Path(__file__).resolve().parent
AIRPATH = (sys.executable, "-m", "airpath")
SIZE_BYTES = 30_000
SIZE = f"flow.0.app.file.size='{SIZE_BYTES} B'"
CAPTURES = ("reno/live-1/capture.pcapng", "reno/simulated-1/capture.pcapng")
SWEEP = """
scenario = "umts-384"
metrics = ["transfer_s", "retransmissions.total"]
runs = 5
[set]
"flow.0.app.file.size" = "30 kB"
[axes]
tcp.initial_window = {windows}
"""
WITH = ("kill", "kill", "ENOSPC", "EIO")
KILLED, BAD = -9, 2
LIMIT_S = 600


class Broken(Exception):
    """What is there is neither whole nor nothing."""


@dataclass(frozen=True)
class Case:
    """A command that writes into a folder.

    `earlier` are the words of the command that makes the earlier result, `words` those of the one that is
    disturbed, with "{out}" for the folder. `judge` names what readers take of it, or says "nothing"; it
    raises a `Broken`. `is_alike` says whether the command gives the same files each time, as live runs do
    not.
    """

    earlier: tuple[str, ...]
    words: tuple[str, ...]
    judge: Callable[[Path], str]
    is_alike: bool = True


def digest(*files: Path) -> str:
    """Name a result by its files."""
    return hashlib.sha256(b"".join(hashlib.sha256(file.read_bytes()).digest() for file in files)).hexdigest()


def judge_run(out: Path) -> str:
    """Read a run as every command does that is given one."""
    try:
        run = FinishedRun.open(out)
    except AirpathError:
        return "nothing"
    files = [out / name for name in run.manifest["files"]]
    for file in files:
        if not file.is_file() or file.stat().st_size != run.manifest["files"][str(file.relative_to(out))]:
            raise Broken(f"{file} is not as the manifest says")
    _ = run.summary, run.scenario
    for kind in run.kinds:
        _ = sum(piece.num_rows for piece in run.pieces(kind))
    return digest(*(file for file in files if file.name != "page.html"))


def judge_comparison(out: Path) -> str:
    """Read a comparison, and the captures that it was made from."""
    found = judged_by("comparison.json", *CAPTURES)(out)
    if found != "nothing":
        json.loads((out / "reno/live-1/results.json").read_text())
        for name in CAPTURES:
            (one,) = analyze(out / name, 1)["connections"]
            if sum(flow["bytes_acked"] for flow in one["flows"]) < SIZE_BYTES:
                raise Broken(f"{out / name} lacks part of the transfer")
    return found


def judged_by(last: str, *others: str) -> Callable[[Path], str]:
    """Judge a folder with JSON that is there last, and files that belong to it."""

    def judge(out: Path) -> str:
        if not (out / last).exists():
            return "nothing"
        json.loads((out / last).read_text())
        for name in others:
            if not (out / name).exists():
                raise Broken(f"{last} is there, and {name} is not")
        return digest(out / last, *(out / name for name in others))

    return judge


def judge_sweep(out: Path) -> str:
    """Read a sweep as `airpath results` does; return the number of rows, which must never decrease."""
    manifest = read_manifest(out, must_exist=False)
    if manifest is None:
        return "nothing"
    rows, _, warnings = read_rows(out, manifest)
    if warnings:
        raise Broken("; ".join(warnings))
    return json.dumps([len(manifest["points"]), sum(len(seeds) for _, seeds, _ in rows)])


def make_runs(folder: Path) -> None:
    """Make what the studio and `analyze` read."""
    for seed in (1, 2):
        call(("run", "umts-384", "--set", SIZE, "--seed", str(seed), "--out", str(folder / f"made-{seed}")))


def cases(folder: Path) -> dict[str, Case]:
    """Say how commands are called."""
    captures = [str(folder / f"made-{seed}" / "capture.pcapng") for seed in (1, 2)]
    sweeps = []
    for windows in ([1], [1, 4]):
        sweeps.append(folder / f"sweep-{len(windows)}.toml")
        sweeps[-1].write_text(SWEEP.format(windows=windows))
    run = ("run", "umts-384", "--set", SIZE, "--force", "--out", "{out}", "--seed")
    analyze = ("analyze", "--force", "--out", "{out}")
    # One reading has as many files as all, and a shorter journal.
    one = ("--quick", "--workers", "1")
    paper = ("reproduce", "lundsten", "--table", "3", *one, "--force", "--out", "{out}", "--runs")
    compare = (
        "compare",
        "umts-384",
        "--set",
        SIZE,
        "--cc",
        "reno",
        "--runs",
        "1",
        "--force",
        "--out",
        "{out}",
    )
    sweep = ("--out", "{out}")
    on_dask = (*sweep, "--dask", "{scheduler}")
    return {
        "run": Case((*run, "1"), (*run, "2"), judge_run),
        "reproduce": Case((*paper, "1"), (*paper, "2"), judged_by("report.json", "index.html")),
        "compare": Case(compare, compare, judge_comparison, is_alike=False),
        "analyze": Case(
            (*analyze, captures[0]), (*analyze, captures[1]), judged_by("analysis.json", "index.html")
        ),
        "sweep": Case(
            ("sweep", str(sweeps[0]), *sweep),
            ("sweep", str(sweeps[1]), *sweep, "--workers", "1"),
            judge_sweep,
        ),
        "sweep-dask": Case(
            ("sweep", str(sweeps[0]), *sweep), ("sweep", str(sweeps[1]), *on_dask), judge_sweep
        ),
    }


def faults(library: Path, out: Path, counter: Path, synced: Path, with_: str, at: int) -> dict[str, str]:
    """The environment of a program that is disturbed: `tools/faults.c`."""
    return {
        "LD_PRELOAD": str(library),
        "FAULT_FOLDER": str(out),
        "FAULT_COUNTER": str(counter),
        "FAULT_AT": str(at),
        "FAULT_WITH": with_,
        "FAULT_SYNCED": str(synced),
    }


def count_of(counter: Path) -> int:
    """How many changes were counted."""
    return int(struct.unpack("Q", counter.read_bytes())[0])


def keep_as_synced(out: Path, synced: Path) -> None:
    """Treat the folder's contents as written to disk."""
    for file in out.rglob("*"):
        if file.is_file():
            shutil.copyfile(file, synced / str(file.stat().st_ino))


def cut_power(out: Path, synced: Path) -> None:
    """Leave of every file what fsync had brought to the disk, and its name."""
    for file in out.rglob("*"):
        if file.is_file():
            kept = synced / str(file.stat().st_ino)
            file.write_bytes(kept.read_bytes() if kept.exists() else b"")


def fork(run: Callable[[], object], environment: Mapping[str, str]) -> tuple[int, str]:
    """Run something in a fork of this process, which has imported what takes a second, with nothing to read.

    Returns its status and its error output once all its processes have ended. Where `environment` names
    this process's `LD_PRELOAD`, the fork is disturbed.
    """
    heard, said = os.pipe()

    def begin() -> None:
        os.environ.update(environment)
        if library := environment.get("LD_PRELOAD"):
            ctypes.CDLL(library).faults_begin()
        run()

    child = forks.fork(begin, LIMIT_S, said)
    os.close(said)
    with open(heard, encoding="utf-8") as errors:
        text = errors.read()  # Until all its processes have ended.
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status), text


def call(words: Sequence[str], environment: Mapping[str, str] = MappingProxyType({})) -> tuple[int, str]:
    """Call airpath in a fork; return its status and error output."""
    return fork(lambda: cli.main(list(words)), environment)


class Disturbed:
    """A case in a folder of its own, disturbed again and again."""

    def __init__(self, name: str, case: Case, folder: Path, library: Path, scheduler: str, seed: int) -> None:
        self.name, self.case, self._folder, self._library = name, case, folder, library
        self._chance = random.Random(f"{name} {seed}")
        self._scheduler = scheduler
        self.counted: Counter[str] = Counter()
        self.earlier, self.new = folder / "earlier", folder / "new"
        self._done(call(self._words(case.earlier, self.earlier)))
        shutil.copytree(self.earlier, self.new)
        self._done(call(self._words(case.words, self.new)))
        self.changes = {kind: self._changes(kind) for kind in ("kill", "EIO")}

    def once(self, again: bool) -> None:
        """Disturb the command once, and judge."""
        kind, with_earlier = self._chance.choice(WITH), self._chance.random() < 0.5
        at = self._chance.randint(1, self.changes["EIO" if kind == "EIO" else "kill"])
        over = "over an earlier result" if with_earlier else "in no folder"
        where = f"{self.name}: {kind} at change {at}, {over}"
        with self._room(with_earlier) as out:
            status, said = self._call(out, kind, at)
            self.counted[kind] += 1
            found = self._judge(out, where, with_earlier)
            self._judge_end(where, kind, status, said, found)
            if kind == "kill" and status == KILLED:
                cut_power(out, self._folder / "synced")
                self._judge(out, f"{where}, and no power", with_earlier)
            if again:
                self.counted["again"] += 1
                status, said = call(self._words(self.case.words, out))
                if status or (self.case.is_alike and files_of(out) != files_of(self.new)):
                    raise Broken(f"{where}: the same command again ended with {status}: {said}")
                self._judge(out, where, with_earlier)
                if strays := [str(file) for file in out.rglob(".*")]:
                    raise Broken(f"{where}: the same command again leaves {', '.join(strays)}")

    def fill(self) -> None:
        """Have a small disk fill up."""
        whole = sum(file.stat().st_size for file in self.new.rglob("*") if file.is_file())
        kib = self._chance.randint(4, max(8, whole // 1024))
        with self._room(False) as out:
            out.mkdir()
            disk = out.with_name("disk")
            disk.mkdir(exist_ok=True)
            mounted = (
                'mount -t tmpfs -o size="$1"k none "$2" && shift && cd / && out=$1 && to=$2 && shift 2 && '
            )
            script = f'{mounted} "$@"; status=$?; cp -a "$out"/. "$to"; exit $status'
            words = [*AIRPATH, *self._words(self.case.words, disk)]
            done = subprocess.run(
                ["unshare", "-rm", "sh", "-c", script, "sh", str(kib), str(disk), str(out), *words],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                text=True,
                timeout=LIMIT_S,
            )
            where = f"{self.name}: a disk of {kib} KiB"
            self.counted["full"] += 1
            self._judge_end(where, "ENOSPC", done.returncode, done.stderr, self._judge(out, where, False))

    def _words(self, words: Sequence[str], out: Path) -> list[str]:
        return [word.format(out=out, scheduler=self._scheduler) for word in words]

    def _done(self, ended: tuple[int, str]) -> None:
        if ended[0]:
            raise SystemExit(f"{self.name}: undisturbed, it ended with {ended[0]}: {ended[1]}")

    def _changes(self, kind: str) -> int:
        with self._room(True) as out:
            self._done(self._call(out, kind, 0))
            return count_of(self._folder / "counter")

    @contextlib.contextmanager
    def _room(self, with_earlier: bool) -> Iterator[Path]:
        out = self._folder / "out"
        shutil.rmtree(out, ignore_errors=True)
        if with_earlier:
            shutil.copytree(self.earlier, out)
        synced = self._folder / "synced"
        shutil.rmtree(synced, ignore_errors=True)
        synced.mkdir()
        keep_as_synced(out, synced)
        yield out

    def _call(self, out: Path, kind: str, at: int) -> tuple[int, str]:
        counter = self._folder / "counter"
        counter.write_bytes(bytes(8))
        environment = faults(self._library, out, counter, self._folder / "synced", kind, at)
        return call(self._words(self.case.words, out), environment)

    def _judge(self, out: Path, where: str, with_earlier: bool) -> str:
        """What is there: the earlier result, the new one, or nothing."""
        try:
            found = self.case.judge(out)
        except Exception as error:
            raise Broken(f"{where}: {type(error).__name__}: {error}") from error
        if found == "nothing":
            return self._count(found)
        if with_earlier and found == self.case.judge(self.earlier):
            return self._count("earlier")
        if found == self.case.judge(self.new) or not self.case.is_alike:
            return self._count("new")
        if self.case.judge is judge_sweep:
            _, rows = json.loads(found)
            before, after = (json.loads(judge_sweep(each))[1] for each in (self.earlier, self.new))
            if before * with_earlier <= rows <= after:
                return self._count("some rows")
        raise Broken(f"{where}: what is there is neither the earlier result nor the new one: {found}")

    def _count(self, found: str) -> str:
        self.counted[found] += 1
        return found

    def _judge_end(self, where: str, kind: str, status: int, said: str, found: str) -> None:
        if status == 0:
            self.counted["ended well"] += 1
            if found != "new":
                raise Broken(f"{where}: it ended well, and there is {found}")
            return
        if kind == "kill" and status == KILLED:
            return
        errors = [line for line in said.splitlines() if line.startswith("error: ")]
        if status != BAD or len(errors) != 1 or "Traceback" in said or "Exception ignored" in said:
            raise Broken(f"{where}: it ended with {status} and said: {said}")


def files_of(out: Path) -> dict[str, str]:
    """Files of a result by name, except for files with clock times; for a sweep, its rows."""
    if (out / "runs").is_dir():
        manifest = read_manifest(out)
        assert manifest is not None
        rows, _, _ = read_rows(out, manifest)
        values = [(job, seeds, *map(list, found)) for job, seeds, found in rows]
        return {"rows": hashlib.sha256(repr(values).encode()).hexdigest()}
    timed = {"manifest.json", "page.html"} if (out / "manifest.json").exists() else set()
    files = (file for file in out.rglob("*") if file.is_file() and file.name not in timed)
    return {str(file.relative_to(out)): digest(file) for file in files}


def disturb(name: str, disturbed: Disturbed, times: int, again: int, full: int) -> None:
    """Disturb a command many times, and tell what was found."""
    began = time.monotonic()
    for time_ in range(times):
        disturbed.once(again > 0 and time_ % again == 0)
    for _ in range(full):
        disturbed.fill()
    counts = disturbed.changes
    told = ", ".join(f"{kind} {count}" for kind, count in sorted(disturbed.counted.items()))
    print(
        f"{name}: {times + full} times in {time.monotonic() - began:.0f} s, of {counts['kill']} changes, "
        f"{counts['EIO']} of them fsync: {told}",
        flush=True,
    )


def studio(folder: Path, library: Path, times: int, seed: int) -> None:
    """Kill a studio at moments, while a client edits and runs: in its folder nothing is ever changed."""
    chance, began, runs = random.Random(f"studio {seed}"), time.monotonic(), Counter[str]()
    home, counter = folder / "home", folder / "counter"
    home.mkdir()
    for number, case in enumerate(("made-1", "made-2")):
        shutil.copytree(folder.parent / case, home / f"run-{number}")
    before = {file: digest(file) for file in home.rglob("*") if file.is_file()}
    counter.write_bytes(bytes(8))
    environment = {"LD_PRELOAD": str(library), "FAULT_FOLDER": str(home), "FAULT_COUNTER": str(counter)}

    def start() -> Studio:
        own = environment | {"HOME": str(home), "TMPDIR": str(home)}
        return Studio("run-0", "run-1", cwd=home, stderr=subprocess.DEVNULL, env=os.environ | own)

    with start():
        begins_s = time.monotonic() - began
    for _ in range(times):
        studio = start()
        killer = threading.Timer(chance.uniform(0.1, 3) * begins_s, studio.process.kill)
        killer.start()
        # Whatever the client was about when the server went: it has gone.
        with contextlib.suppress(OSError, ValueError, WebSocketException), studio, studio.client() as client:
            for run in range(10_000):
                client.run("open", name=f"run-{run % 2}")
                client.run(base="umts-384", set=["duration=1 s"], seed=run)
                runs["runs"] += 1
        killer.join()
        studio.process.wait()
        if {file: digest(file) for file in home.rglob("*") if file.is_file()} != before:
            raise Broken("the studio changed a file")
        for number in range(2):
            FinishedRun.open(home / f"run-{number}")
    if count := count_of(counter):
        raise Broken(f"the studio made {count} changes in its folder")
    print(
        f"studio: {times} times in {time.monotonic() - began:.0f} s, {runs['runs']} runs, no change",
        flush=True,
    )


def build(folder: Path) -> Path:
    """Compile what counts and disturbs."""
    library = folder / "faults.so"
    flags = ("-std=c11", "-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC")
    subprocess.run(["cc", *flags, "-o", library, HERE / "faults.c", "-ldl"], check=True)
    return library


def main() -> None:
    """Read the options and do it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("commands", nargs="*", help="all if absent")
    parser.add_argument("--times", type=int, default=200)
    parser.add_argument("--full", type=int, default=10, help="disks that fill up by themselves")
    parser.add_argument("--again", type=int, default=4, help="how often the same command follows; 0 never")
    parser.add_argument("--seed", type=int, default=1, help="of the moments and of what happens")
    options = parser.parse_args()
    if "LD_PRELOAD" not in os.environ:
        with tempfile.TemporaryDirectory() as folder:
            loaded = {"LD_PRELOAD": str(build(Path(folder)))}
            sys.exit(subprocess.run([sys.executable, *sys.argv], env=os.environ | loaded).returncode)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary).resolve()
        library, there = Path(os.environ["LD_PRELOAD"]), cases(folder)
        forks.preload()
        names = options.commands or (*there, "studio")
        if {"analyze", "studio"} & set(names):
            make_runs(folder)
        for name in names:
            own = folder / name
            own.mkdir()
            if name == "studio":
                studio(own, library, options.times, options.seed)
                continue
            with Cluster(own) if name == "sweep-dask" else contextlib.nullcontext() as cluster:
                if cluster:
                    cluster.start_worker("worker")
                    cluster.await_worker("worker")
                scheduler = cluster.address if cluster else ""
                disturbed = Disturbed(name, there[name], own, library, scheduler, options.seed)
                disturb(name, disturbed, options.times, options.again, options.full)


if __name__ == "__main__":
    main()
