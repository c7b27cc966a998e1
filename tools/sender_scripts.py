"""Senders under scripts of ACKs that both see, ours and the kernel's: `make soak`.

    python tools/sender_scripts.py [--scripts 300] [--seed 1] [--without-sack]

A script is a list of ACKs, SACK blocks, duplicates, ACKs out of order, windows and silences, drawn from its
seed; at the end everything is acknowledged. Both senders are Reno as in Linux (`tcp.profile = "linux-reno"`),
without tail loss probes and restarts after pauses, and with a timeout of 3 s, so that steps do not depend on
the clock.

Of both is judged what RFCs leave no freedom in: the right edge of the window (RFC 9293, 3.8.6), nothing again
that was acknowledged, new data without gaps; before a timeout nothing SACKed again (RFC 2018, 8), and a fast
retransmit behind three segments SACKed where nothing came out of order (RFC 8985, 6.2); the oldest segment at
a timeout (RFC 6298, 5.4), and that all data comes.

Then both are compared, step by step: new segments and retransmissions, in order. A script is compared up to
the first step in which one of them sends a single segment more: windows are fractions of a segment here, and
whole ones in Linux. Other differences are reported, but are no failure: docs/models/linux-tcp.md.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

LIVE = Path(__file__).resolve().parent.parent / "tests" / "live"
PATIENCE_S = 200
MOST_AT_ONCE = 100
MSS, WINDOW, OCTETS, INITIAL = 1000, 30, 100_000, 10
LAST = 16
"""Steps that acknowledge everything."""
SYSCTLS = {"early_retrans": 0, "slow_start_after_idle": 0, "no_metrics_save": 1, "rto_min_us": 3_000_000}
SCENARIO = """
[radio.dch.downlink]
rate = "1 Gbit/s"
delay = "1 ms"
[radio.dch.uplink]
rate = "1 Gbit/s"
delay = "1 ms"
[tcp]
profile = "linux-reno"
idle_restart = "off"
rto.min = "3 s"
recovery.rack.tail_loss_probe = false
[[flow]]
app.file.size = "{octets} B"
"""
# One segment per packet: otherwise Linux sends several as one packet, and defers them.
SERVER = """
import pathlib, socket, subprocess, sys, threading
for _, device in socket.if_nameindex():
    subprocess.run(["ip", "link", "set", device, "gso_max_segs", "1"], check=True)
def serve(sock):
    with sock:
        try:
            sock.sendall(bytes(int(sys.argv[2])))
            sock.recv(1)
        except OSError: pass
own = socket.create_server(("0.0.0.0", 5001), backlog=256)
own.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
own.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"reno")
pathlib.Path(sys.argv[1]).touch()
while True: threading.Thread(target=serve, args=(own.accept()[0],), daemon=True).start()
"""
Step = tuple[str, *tuple[int, ...]]
Sent = list[tuple[int, int]]


def drawn(seed: int) -> list[Step]:
    """A script."""
    rng = random.Random(seed)
    steps: list[Step] = [("ack", rng.choice([1, 2, 3, 5, 10]))]
    for _ in range(rng.randint(5, 25)):
        # Each silence doubles the timeout.
        most = steps.count(("silence",)) < 2
        match rng.choices(["ack", "sack", "dup", "old", "window", "silence"], [8, 6, 2, 1, 1, most])[0]:
            case "ack":
                steps.append(("ack", rng.choice([1, 1, 2, 2, 2, 3, 5, 20])))
            case "sack":
                steps.append(("sack", rng.choice([1, 1, 2, 3, 5]), rng.choice([1, 1, 1, 2, 3, 6])))
            case "old":
                steps.append(("old", rng.choice([1, 2, 3])))
            case "window":
                steps.append(("window", rng.choice([2, 5, 10, 20, 40])))
            case other:
                steps.append((other,))
    return [*steps, ("window", WINDOW), *[("ack", OCTETS // MSS)] * LAST]


def answers(scripts: list[list[Step]], ours: bool, sack: bool, folder: Path) -> list[list[Sent]]:
    """What a sender sends at first and behind each step of each script, over a live link."""
    plan, out, scenario = folder / "plan.json", folder / "out.json", folder / "link.toml"
    ready, server = folder / "ready", folder / "server.py"
    for file in (out, ready):
        file.unlink(missing_ok=True)
    known = {"theirs": "10.77.0.1", "port": 5001, "ready": str(ready), "mss": MSS, "window": WINDOW}
    plan.write_text(json.dumps({**known, "sack": sack, "scripts": scripts}))
    text = SCENARIO.format(octets=OCTETS)
    scenario.write_text(text if sack else text.replace("recovery.rack.tail_loss_probe = false", ""))
    server.write_text(SERVER)
    command = [sys.executable, "-P", str(LIVE / "undrawn.py"), "live", str(scenario), "--no-view"]
    command += ["--max-lateness", "1s", "--probes", ""]
    for name, value in SYSCTLS.items():
        command += ["--sysctl", f"net.ipv4.tcp_{name}={value}"]
    if ours:
        ready.touch()
        command += ["--sender", "airpath"]
    else:
        command += ["--server", f"exec {sys.executable} {server} {ready} {OCTETS}"]
    command += ["--", sys.executable, str(LIVE / "scripted_receiver.py"), str(plan), str(out)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    if not out.exists():
        raise RuntimeError(done.stderr)
    told: list[list[list[list[int]]]] = json.loads(out.read_text())
    return [[[(start, length) for start, length in sent] for sent in one] for one in told]


class Judge:
    """A receiver's feedback, and the sender's violations of the RFCs."""

    def __init__(self, sack: bool) -> None:
        self.sack = sack
        self.una = self.high = self.top = 0
        """Acknowledged, sent, and the highest segment that came out of order."""
        self.edge = self.window = WINDOW * MSS
        self.held: set[int] = set()
        """Segments that came out of order."""
        self.again: set[int] = set()
        self.has_waited = self.is_reordered = False
        self.wrong: list[str] = []

    def step(self, step: Step, sent: Sent) -> None:
        """Take a step of the script and the segments sent after it."""
        # Segments that a timer sent before the ACK arrived are judged by the state before it.
        known, held = self.una, set(self.held)
        self._tell(step)
        news = [start for start, _ in sent]
        for start, length in sent:
            if start + length > self.edge:
                self.wrong.append(f"{start} to {start + length} is beyond {self.edge}")
            if start < known:
                self.wrong.append(f"{start} again, below {known}")
            if self.sack and start in held & self.held and not self.has_waited:
                self.wrong.append(f"{start} again, and it was SACKed")
        if step == ("silence",) and self.una < self.high:
            self.has_waited = True
            # Where something is lost already, another timer may run.
            if not self.held and self.una not in self.again and news[:1] != [self.una]:
                self.wrong.append(f"a timeout of {self.una} sends {news[:1]}")
        is_plain = self.sack and not self.is_reordered and not self.has_waited
        is_lost = len(self.held) >= 3 and self.una not in self.again and self.una not in news
        if is_plain and step[0] in ("sack", "ack") and is_lost:
            self.wrong.append(
                f"{len(self.held)} segments SACKed above {self.una}, and it is not retransmitted"
            )
        self.again.update(start for start in news if start < self.high)
        self.high = max([self.high, *(start + length for start, length in sent)])

    def _tell(self, step: Step) -> None:
        """The receiver's part."""
        came: set[int] = set()
        match step:
            case ("ack", more):
                to = min(self.high, self.una + more * MSS)
                came = set(range(self.una, to, MSS)) - self.held
                self.una = to
                while self.una in self.held:
                    self.una += MSS
                self.held = {at for at in self.held if at > self.una}
            case ("sack", behind, count):
                start = self.una + behind * MSS
                came = set(range(start, min(self.high, start + count * MSS), MSS)) - self.held
                self.held |= came
            case ("window", segments):
                self.window = segments * MSS
        self.is_reordered |= any(at < self.top for at in came - self.again)
        self.top = max([self.top, *self.held])
        if step[0] in ("ack", "sack", "window"):
            self.edge = max(self.edge, self.una + self.window)


def judged(steps: list[Step], told: list[Sent], sack: bool) -> list[str]:
    """Violations of the RFCs in a sender's responses to a script."""
    judge = Judge(sack)
    for number, (step, sent) in enumerate(zip([("opening",), *steps], told, strict=True)):
        known, end = len(judge.wrong), judge.high
        for start, length in sent:
            if start > end:
                judge.wrong.append(f"{start} is sent, and {end} to there is not")
            end = max(end, start + length)
        judge.step(step, sent)
        judge.wrong[known:] = [f"step {number}, {step}: {what}" for what in judge.wrong[known:]]
    if judge.high != OCTETS:
        judge.wrong.append(f"{judge.high} of {OCTETS} octets have come")
    return judge.wrong


def difference(steps: list[Step], ours: list[Sent], theirs: list[Sent]) -> tuple[int, str] | None:
    """The first step that is answered differently, and how: nothing if by a segment more or less."""
    for number, pair in enumerate(zip(ours, theirs, strict=True)):
        # How often in a silence depends on the clock.
        is_silent = number and steps[number - 1] == ("silence",)
        own, other = (list(dict.fromkeys(sent)) if is_silent else sent for sent in pair)
        if own != other:
            less, more = sorted((own, other), key=len)
            if len(more) == len(less) + 1 and [one for one in more if one in less] == less:
                return number, ""
            numbers = [" ".join(str(start // MSS) for start, _ in sent) for sent in (own, other)]
            told = ", ".join(" ".join(map(str, step)) for step in steps[:number])
            return number, f"after {told}: {numbers[0] or 'nothing'}; kernel: {numbers[1] or 'nothing'}"
    return None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scripts", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--without-sack", action="store_true")
    options = parser.parse_args()
    sack = not options.without_sack
    seeds = range(options.seed, options.seed + options.scripts)
    counts: Counter[str] = Counter()
    for first in seeds[::MOST_AT_ONCE]:
        batch = seeds[first - options.seed :][:MOST_AT_ONCE]
        scripts = [drawn(seed) for seed in batch]
        with tempfile.TemporaryDirectory() as folder:
            both = [answers(scripts, ours, sack, Path(folder)) for ours in (True, False)]
        for place, seed in enumerate(batch):
            pair: list[Any] = [told[place] for told in both]
            for name, told in zip(("airpath", "kernel"), pair, strict=True):
                wrong = judged(scripts[place], told, sack)
                counts[f"{name} violates the RFCs"] += bool(wrong)
                for line in wrong:
                    print(f"seed {seed}, {name}: {line}", flush=True)
            found = difference(scripts[place], *pair)
            counts["alike" if not found else "alike up to a segment" if not found[1] else "different"] += 1
            counts["steps alike"] += found[0] if found else len(pair[0])
            if found and found[1]:
                print(f"seed {seed}, {found[1]}", flush=True)
    print(f"{options.scripts} scripts: {dict(counts)}")
    sys.exit(1 if counts["airpath violates the RFCs"] else 0)


if __name__ == "__main__":
    main()
