"""Gives airpath's commands hostile inputs and signals at random moments, and counts what they break.

    python tools/attack.py [--inputs 2000] [--signals 200] [--seed 1] [--keep DIR]

An input is a file or folder that airpath wrote, or a scenario or sweep, damaged at random: octets, lines,
values of JSON and TOML, numbers beyond every range, links, pipes and folders where files were; or words of
a command line. Each runs in a fork with limits of time and memory. A signal reaches a command of its own
at a moment drawn by the seed. What is counted: how commands ended, and among them tracebacks, panics,
statuses that docs/reference/errors.md has not, ends by a signal that was not sent, hangs, and unfinished
files. `--keep` copies the inputs that broke something. Octets are the fuzz targets' (`make fuzz`), kills in
the middle of a change those of `tools/crash.py`.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import forks

from airpath import _core
from airpath.cli import main as cli

LIMIT_S, LIMIT_BYTES = 20, 4 << 30
STATUSES = {0, 2, 130, 141}
NO_PROGRAM = {126, 127}
"""Statuses of `live` too, whose COMMAND is not there or no program."""
LOCKS = (".unfinished", ".lock", "lock")
BROKEN = re.compile(r"Traceback|panicked|Error\(|RuntimeWarning|Fatal Python")
HUGE = (
    "0",
    "-1",
    "1e400",
    "9" * 30,
    "18446744073709551615",
    "nan",
    "inf",
    '""',
    "[]",
    "{}",
    "true",
    '"\\u0000"',
)
UNITS = (
    '"1 ns"',
    '"1e18 s"',
    '"1000 Gbit/s"',
    '"1 bit/s"',
    '"0 B"',
    '"9 GB"',
    '"100 %"',
    '"-1 s"',
    '"umts-384"',
)
SWEEP = """\
scenario = "umts-64-simple"
metrics = ["goodput_bps", "timeouts"]
runs = 2
set.duration = "3 s"
axes."radio.dch.downlink.channel.bernoulli.bler" = ["0 %", "10 %"]
"""


class Attack:
    """Makes inputs by a seed in a folder of its own."""

    def __init__(self, place: Path, seed: int) -> None:
        self.place, self.random = place, random.Random(seed)
        self.good = place / "good"
        self.good.mkdir()
        (self.good / "sweep.toml").write_text(SWEEP)
        (self.good / "long.toml").write_text(SWEEP.replace("3 s", "1000 s").replace("runs = 2", "runs = 500"))
        short = ("--set", "duration=2 s")
        self._make("run", "umts-384", *short, "--out", str(self.good / "run"))
        self._make(
            "sweep", str(self.good / "sweep.toml"), "--out", str(self.good / "swept"), "--workers", "1"
        )

    def _make(self, *words: str) -> None:
        subprocess.run((sys.executable, "-m", "airpath", *words), check=True, capture_output=True)

    def inputs(self) -> Iterator[tuple[str, list[str]]]:
        """Yield a kind of input and the words of a command that reads it, without end."""
        kinds: list[Callable[[Path], list[str]]] = [
            self.scenario,
            self.sweep,
            self.run_folder,
            self.sweep_folder,
            self.capture,
            self.changes,
            self.words,
        ]
        number = 0
        while True:
            make = kinds[number % len(kinds)]
            number += 1
            folder = self.place / "input"
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            yield make.__name__, make(folder)

    def scenario(self, folder: Path) -> list[str]:
        """Damage a bundled scenario."""
        file = folder / "s.toml"
        text = self.random.choice(list(_core.bundled().values()))
        file.write_bytes(self._damaged(text.encode()))
        short = ("--set", "duration=1 s") if self.random.random() < 0.8 else ()
        command = self.random.choice((["config"], ["run", *short], ["predict", *short]))
        return [command[0], str(file), *command[1:]]

    def sweep(self, folder: Path) -> list[str]:
        """Damage a sweep's file."""
        file = folder / "s.toml"
        file.write_bytes(self._damaged(SWEEP.encode()))
        return ["sweep", str(file), "--out", str(folder / "out"), "--workers", "1"]

    def run_folder(self, folder: Path) -> list[str]:
        """Damage a file of a run's folder."""
        run = folder / "run"
        shutil.copytree(self.good / "run", run)
        self._spoil(run)
        out = "--out", str(folder / "o.png")
        words: list[list[str]] = [["page", *out], ["predict"], ["export", *out]]
        words += [["overlay", str(self.good / "run"), *out]]
        command = self.random.choice(words)
        return [command[0], str(run), *command[1:]]

    def sweep_folder(self, folder: Path) -> list[str]:
        """Damage a file of a sweep's folder."""
        swept = folder / "swept"
        shutil.copytree(self.good / "swept", swept)
        self._spoil(swept)
        again = ["sweep", str(self.good / "sweep.toml"), "--out", str(swept), "--workers", "1"]
        plot = ["plot", str(swept), "--out", str(folder / "f.svg")]
        return self.random.choice((["results", str(swept)], ["results", str(swept), "--json"], plot, again))

    def capture(self, folder: Path) -> list[str]:
        """Damage a capture."""
        file = folder / "c.pcapng"
        file.write_bytes(self._damaged((self.good / "run" / "capture.pcapng").read_bytes()))
        more = self.random.choice(([], ["--json"], ["--page", str(folder / "a.html")]))
        return ["analyze", str(file), *more]

    def changes(self, _folder: Path) -> list[str]:
        """Draw keys and values of a scenario."""
        known = [
            "tcp.cc",
            "flow.0.app.file.size",
            "radio.dch.downlink.rate",
            "wired.queue",
            "duration",
            "flow",
        ]
        parts = ["0", "-1", "99999999999", "", ".", "a" * 5000, "é", '"', "]", "radio", "rlc", "queue"]
        set_ = []
        for _ in range(self.random.randint(1, 4)):
            key = self.random.choice(known) if self.random.random() < 0.6 else ""
            more = [self.random.choice(parts) for _ in range(self.random.randint(0, 40 if not key else 2))]
            value = self.random.choice((*HUGE, *UNITS)).strip('"')
            set_ += ["--set", f"{'.'.join(filter(None, [key, *more]))}={value}"]
        name = self.random.choice(list(_core.bundled()))
        return [self.random.choice(("config", "run")), name, *set_, "--set", "duration=1 s"]

    def words(self, folder: Path) -> list[str]:
        """Draw words of a command line."""
        some = [
            "--seed",
            "--out",
            "--runs",
            "--json",
            "--set",
            "--port",
            "--workers",
            "--page",
            "--",
            "-",
            "",
            "--help",
        ]
        some += [
            "\udcff",
            "\n",
            "umts-384",
            "/dev/zero",
            "/proc/kmsg",
            "/",
            "..",
            str(folder),
            "1e9",
            "-1",
            "9" * 40,
        ]
        commands = [
            name for name in cli.COMMANDS if name not in ("studio", "reproduce", "scorecard", "compare")
        ]
        command = self.random.choice(commands)
        words = [self.random.choice(some) for _ in range(self.random.randint(0, 5))]
        return [command, *words, *(["--set", "duration=1 s"] if command == "run" else [])]

    def _spoil(self, folder: Path) -> None:
        files = [file for file in sorted(folder.rglob("*")) if file.is_file() and file.suffix != ".html"]
        for file in self.random.sample(files, self.random.randint(1, 2)):
            match self.random.randint(0, 9):
                case 0:
                    file.unlink()
                    os.mkfifo(file)
                case 1:
                    file.unlink()
                    file.symlink_to(self.random.choice(("/dev/zero", "/etc/passwd", "nowhere", file.name)))
                case 2:
                    file.unlink()
                    file.mkdir()
                case 3 | 4 | 5 if file.suffix == ".json":
                    file.write_text(json.dumps(self._changed(json.loads(file.read_text()))))
                case _:
                    file.write_bytes(self._damaged(file.read_bytes()))

    def _changed(self, content: object) -> object:
        """Put another value somewhere into JSON."""
        items = (
            list(content)
            if isinstance(content, dict)
            else range(len(content))
            if isinstance(content, list)
            else []
        )
        if not items or self.random.random() < 0.15:
            return self.random.choice(
                (None, -1, 0, 1e308, 2**70, "x", "../../x", "\x1b[2J", [], {}, True, 0.5, [[]] * 9)
            )
        key = self.random.choice(items)
        content[key] = self._changed(content[key])  # type: ignore[index]
        return content

    def _damaged(self, octets: bytes) -> bytes:
        """Damage text or octets at one place or two."""
        for _ in range(self.random.randint(1, 2)):
            at, end = sorted(self.random.randint(0, len(octets)) for _ in range(2))
            values = list(re.finditer(rb"(?<== ).+|(?<=: )[^,\n]+", octets))
            match self.random.randint(0, 7):
                case 0:
                    octets = octets[:at] + bytes([self.random.randint(0, 255)]) + octets[at + 1 :]
                case 1:
                    octets = octets[:at] + octets[min(end, at + 50) :]
                case 2:
                    octets = octets[:at] + octets[at:end][:200] * self.random.choice((2, 50)) + octets[end:]
                case 3:
                    octets = octets[:at]
                case 4 if len(octets) > 4:
                    place = self.random.randrange(len(octets) - 4)
                    octets = octets[:place] + b"\xff\xff\xff\x7f" + octets[place + 4 :]
                case _ if values:
                    value = self.random.choice(values)
                    other = self.random.choice((*HUGE, *UNITS)).encode()
                    octets = octets[: value.start()] + other + octets[value.end() :]
        return octets


def end_of(words: list[str], errors: Path) -> str:
    """Run a command in a fork, and say how it ended: a status, or what is wrong with its end."""

    def run() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (LIMIT_BYTES, LIMIT_BYTES))
        cli.main(words)

    with errors.open("w+") as said:
        child = forks.fork(run, LIMIT_S, said.fileno())
        _, status = os.waitpid(child, 0)
        said.seek(0)
        code, text = os.waitstatus_to_exitcode(status), said.read()
        return f"status {code}" if words[0] == "live" and code in NO_PROGRAM else judged(code, text)


def judged(code: int, said: str, sent: int = 0) -> str:
    """Name how a command ended that was sent a signal, or none."""
    if BROKEN.search(said) and not (sent == signal.SIGINT and is_of_python(said)):
        return "traceback"
    if code == -signal.SIGALRM:
        return "hang"
    if code in STATUSES or (code < 0 and -code == sent):
        return f"status {code}"
    return f"wrong status {code}"


def is_of_python(said: str) -> bool:
    """Whether a traceback is that of Python, which Ctrl-C ended before a module of airpath ran."""
    return said.rstrip().endswith("KeyboardInterrupt") and not re.search(r'File "[^"]*/airpath/', said)


def signals_to(attack: Attack, count: int) -> Iterator[tuple[str, list[str], str]]:
    """Send signals to commands: yield the signal, the words and how the command ended."""
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL)
    for number in (signal.SIGINT, signal.SIGHUP):
        # As the commands inherit it: a shell's background ignores the first, `nohup` the second.
        signal.signal(number, signal.SIG_DFL)
    good = attack.good
    for number in range(count):
        out = attack.place / "out"
        shutil.rmtree(out, ignore_errors=True)
        sent = numbers[number % len(numbers)]
        long = ("--set", "duration=100000 s", "--set", "flow.0.app=bulk")
        words = attack.random.choice(
            (
                ["run", "umts-384", *long, "--out", str(out)],
                ["run", "umts-384", *long],
                ["sweep", str(good / "long.toml"), "--out", str(out), "--workers", "2"],
                ["studio", str(good / "run"), "--no-browser"],
                ["analyze", str(good / "run" / "capture.pcapng")],
                ["live", "umts-384", "--", "sleep", "5"],
            )
        )
        process = subprocess.Popen(
            (sys.executable, "-m", "airpath", *words),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        # A third of the moments in the time that imports take, and none before Python has started.
        time.sleep(attack.random.uniform(0.06, 3.0 if number % 3 else 0.5))
        process.send_signal(sent)
        try:
            _, said = process.communicate(timeout=LIMIT_S)
            end = judged(process.returncode, said, sent)
            # A program of `live` ends by the signal, and live with it: 128 + the signal's number.
            if words[0] == "live" and process.returncode in (128 + sent, -sent):
                end = f"status {process.returncode}"
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            end = "hang"
        if end != "hang" and sent != signal.SIGKILL and any((out / name).exists() for name in LOCKS):
            end = "leftover files"
        yield f"{sent.name} to {words[0]}", words, end


def main() -> int:
    """Attack, print the counts, and return 1 if anything broke."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--inputs", type=int, default=2000)
    parser.add_argument("--signals", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path)
    given = parser.parse_args()
    counts: Counter[tuple[str, str]] = Counter()
    broken = 0
    with tempfile.TemporaryDirectory() as place:
        attack = Attack(Path(place), given.seed)
        forks.preload()
        errors = Path(place) / "errors"
        os.chdir(place)
        for number, (kind, words) in zip(range(given.inputs), attack.inputs(), strict=False):
            end = end_of(words, errors)
            counts[kind, end] += 1
            if not end.startswith("status"):
                broken += 1
                print(f"{end}: {words}\n{errors.read_text(errors='replace')[-700:]}", flush=True)
                if given.keep:
                    subprocess.run(("cp", "-a", Path(place) / "input", given.keep / str(number)), check=True)
        for kind, words, end in signals_to(attack, given.signals):
            counts[kind, end] += 1
            if not end.startswith("status"):
                broken += 1
                print(f"{end}: {kind}: {words}", flush=True)
    for (kind, end), count in sorted(counts.items()):
        print(f"{kind:24} {end:16} {count:6}")
    print(f"{sum(counts.values())} inputs and signals, {broken} broke something")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
