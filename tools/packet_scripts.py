"""Receivers under scripts of segments that both see, ours and the kernel's: `make soak`.

    python tools/packet_scripts.py [--scripts 1000] [--seed 1]

A script is a stream of segments with gaps, duplicates, overlaps and pauses, drawn from its seed. What the
RFCs leave no freedom in is judged of both: the number acknowledged (RFC 9293, 3.10.7.4), an ACK at once for
what is out of order or fills a gap (RFC 5681, 4.2), the first SACK block and, up to three, all of them
(RFC 2018, 4), the block of a duplicate (RFC 2883, 4), an ACK for everything within half a second (RFC 9293,
3.8.6.3), and that the right edge of the window stays. How they acknowledge in-order data is not compared.
"""

from __future__ import annotations

import argparse
import itertools
import json
import random
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

LIVE = Path(__file__).resolve().parent.parent / "tests" / "live"
PATIENCE_S = 120
AT_ONCE_S, REST_S = 0.05, 0.7
MOST_AT_ONCE = 100
LISTENER = """
import pathlib, socket, sys, threading, time
def read(sock):
    with sock:
        try:
            while sock.recv(65536): pass
        except OSError: pass
own = socket.create_server(("0.0.0.0", 9), backlog=256)
def serve():
    while True: threading.Thread(target=read, args=(own.accept()[0],), daemon=True).start()
threading.Thread(target=serve, daemon=True).start()
pathlib.Path(sys.argv[2]).touch()
while not pathlib.Path(sys.argv[1]).exists(): time.sleep(0.1)
"""
Step = tuple[int, int, bool, float]


def drawn(seed: int) -> list[Step]:
    """A script: segments of a stream until all of it has come, then its end."""
    rng = random.Random(seed)
    edges = [0]
    for _ in range(rng.randint(4, 10)):
        edges.append(edges[-1] + rng.choice([1, 100, 536, 1460, rng.randint(1, 1460)]))
    left = list(itertools.pairwise(edges))
    sent: list[tuple[int, int]] = []
    steps: list[Step] = []
    while left:
        # Mostly one of the next few.
        start, end = left.pop(min(len(left) - 1, rng.choice([0, 0, 0, 1, 2, 3])))
        if sent and rng.random() < 0.2:
            again = rng.choice(sent)
            steps.append((again[0], again[1] - again[0], False, AT_ONCE_S))
        if rng.random() < 0.15:
            # It begins before its place, with what may have come.
            start = max(0, start - rng.randint(1, 300), end - 1460)
        sent.append((start, end))
        steps.append((start, end - start, False, AT_ONCE_S))
        if rng.random() < 0.15:
            steps.append((0, -1, False, REST_S))
    steps.append((edges[-1], 0, True, AT_ONCE_S))
    return [*steps, (0, -1, False, REST_S)]


def answers(scripts: list[list[Step]], ours: bool, folder: Path) -> list[list[list[dict[str, Any]]]]:
    """What a receiver answers to each step of each script, over a live link."""
    plan, out, scenario = folder / "plan.json", folder / "out.json", folder / "link.toml"
    ready = folder / "ready"
    for file in (out, ready):
        file.unlink(missing_ok=True)
    plan.write_text(json.dumps({"theirs": "10.77.0.2", "ready": str(ready), "scripts": scripts}))
    ways = [f'[radio.dch.{way}]\nrate = "100 Mbit/s"\ndelay = "1 ms"' for way in ("downlink", "uplink")]
    tcp = '[tcp]\nprofile = "linux"\ndsack = true\n[[flow]]\napp.bulk = {}\n'
    scenario.write_text("\n".join([*ways, tcp]))
    peer = [sys.executable, str(LIVE / "scripted_peer.py"), str(plan), str(out)]
    command = [sys.executable, "-P", str(LIVE / "undrawn.py"), "live", str(scenario), "--no-view"]
    # The kernel answers what is out of its window each time.
    command += ["--sysctl", "net.ipv4.tcp_invalid_ratelimit=0", "--cc", "cubic", "--max-lateness", "1s"]
    if ours:
        ready.touch()
        command += ["--receiver", "airpath", "--", *peer]
    else:
        command += [
            "--server",
            "exec " + " ".join(peer),
            "--",
            sys.executable,
            "-c",
            LISTENER,
            str(out),
            str(ready),
        ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    if not out.exists():
        raise RuntimeError(done.stderr)
    told: list[list[list[dict[str, Any]]]] = json.loads(out.read_text())
    return told


def judged(steps: list[Step], told: list[list[dict[str, Any]]]) -> list[str]:
    """Violations of the RFCs in a receiver's responses to a script."""
    wrong: list[str] = []
    has: set[int] = set()
    nxt = edge = 0
    is_over = False
    for number, ((offset, length, fin, _), heard) in enumerate(zip(steps, told, strict=False)):
        came = set(range(offset, offset + max(length, 0)))
        duplicate = sorted(came & has)
        had_gap, before = max(has, default=-1) >= nxt, nxt
        has |= came
        while nxt in has:
            nxt += 1
        is_over |= fin
        end = nxt + is_over
        acks = [one["ack"] for one in heard]
        at = f"step {number}"
        if any(ack > end for ack in acks):
            wrong.append(f"{at}: acknowledges {max(acks)} of {end}")
        is_at_once = length > 0 and (offset > before or had_gap or len(duplicate) == length)
        if (is_at_once or fin) and (not acks or acks[-1] < nxt):
            wrong.append(f"{at}: {acks[-1:] or 'nothing'} where {nxt} is to be acknowledged at once")
        if is_at_once and heard:
            blocks = [tuple(block) for block in heard[-1]["blocks"]]
            wrong += [f"{at}: {what}" for what in about_blocks(blocks, has, nxt, offset, length, duplicate)]
        for one in heard:
            right = one["ack"] + one["window"]
            # Its scale is not known before all is over: none was offered.
            if right < edge:
                wrong.append(f"{at}: the window's right edge goes from {edge} to {right}")
            edge = max(edge, right)
    last = [one["ack"] for heard in told for one in heard]
    if not last or last[-1] != nxt + 1:
        wrong.append(f"at rest {last[-1:]} of {nxt + 1} is acknowledged")
    return wrong


def about_blocks(
    blocks: list[tuple[int, ...]], has: set[int], nxt: int, offset: int, length: int, duplicate: list[int]
) -> list[str]:
    """What is wrong with SACK blocks behind a segment."""
    true, start = [], None
    for at in range(nxt, max(has) + 2):
        if at in has and start is None:
            start = at
        if at not in has and start is not None:
            true.append((start, at))
            start = None
    # RFC 2883 (4): the first block lies below the ACK, or within the second.
    is_within = len(blocks) > 1 and blocks[1][0] <= blocks[0][0] and blocks[0][1] <= blocks[1][1]
    if duplicate and blocks and (blocks[0][1] <= nxt or is_within):
        told, *blocks = blocks
        if not all(at in duplicate for at in range(*told)):
            return [f"D-SACK {told} for {duplicate[0]} to {duplicate[-1] + 1}"]
    elif len(duplicate) == length:
        return [f"no D-SACK for {offset} to {offset + length}"]
    wrong = [f"block {block} of {true}" for block in blocks if block not in true]
    of_this = next((block for block in true if block[0] <= offset < block[1]), None)
    if of_this and (not blocks or blocks[0] != of_this):
        wrong.append(f"first block {blocks[:1]} where {of_this} has just come")
    if len(true) <= 3 and len(blocks) < len(true) and len(duplicate) < length:
        wrong.append(f"blocks {blocks} of {true}")
    return wrong


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scripts", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    seeds = range(options.seed, options.seed + options.scripts)
    counts: Counter[str] = Counter()
    for first in seeds[::MOST_AT_ONCE]:
        batch = seeds[first - options.seed :][:MOST_AT_ONCE]
        scripts = [drawn(seed) for seed in batch]
        with tempfile.TemporaryDirectory() as folder:
            both = [answers(scripts, ours, Path(folder)) for ours in (True, False)]
        for place, seed in enumerate(batch):
            for name, told in zip(("airpath", "kernel"), both, strict=True):
                wrong = judged(scripts[place], told[place])
                counts[name] += bool(wrong)
                for line in wrong:
                    print(f"seed {seed}, {name}: {line}", flush=True)
    print(f"{options.scripts} scripts; violations of the RFCs: {dict(counts)}")
    sys.exit(1 if counts["airpath"] else 0)


if __name__ == "__main__":
    main()
