#!/usr/bin/env python3
"""GCC of another implementation beside ours: aiortc's, on the receiver's side, over the same packets.

`aiortc_gcc.py arrivals` feeds made-up arrivals to aiortc's detector, and writes when it changes its mind:
crates/core/src/controller/gcc/aiortc.csv. A test of our detector makes the same arrivals and reads it.
aiortc has the Kalman filter of draft-ietf-rmcat-gcc, where ours has libwebrtc's trendline.

`aiortc_gcc.py calls` drives a source of video by aiortc's estimate over `airpath.Net`, and simulates calls
with our controller over the same links. It prints a table.

`aiortc_gcc.py live` makes real calls by aiortc over live links, and simulates them: VP8 of 250 to 1500
kbit/s, which are aiortc's limits, uplink. Each takes a minute.

Needs `pip install aiortc`.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import statistics
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path

import real_call
from aiortc import rate

import airpath
from airpath.stats.estimate import estimate

ROOT = Path(__file__).resolve().parent.parent
ARRIVALS = ROOT / "crates/core/src/controller/gcc/aiortc.csv"
USAGES = {
    rate.BandwidthUsage.NORMAL: "normal",
    rate.BandwidthUsage.OVERUSING: "over",
    rate.BandwidthUsage.UNDERUSING: "under",
}
PACKET = 1200
GROUP_MS = 10.0
TICKS = 1 << 18
"""Units of aiortc's sending times, per second."""
FRAMES_PER_S = 30
PACING = 2.5
FEEDBACK_NS = 50_000_000
HIGHEST_BPS = 5_000_000
PEER = Path(__file__).with_name("aiortc_peer.py")
LIVE_S = 40
PATIENCE_S = 60
VP8 = {"start_rate": "500 kbit/s", "min_rate": "250 kbit/s", "max_rate": "1500 kbit/s"}
"""aiortc's limits of its VP8 encoder (`codecs/vpx.py`)."""
LIVE_LINKS = {
    "0.6 Mbit/s": real_call.link((0, 0.6)),
    "1 Mbit/s": real_call.link((0, 1)),
    "lte-10mhz": airpath.load("lte-10mhz"),
}


def queued(share: Callable[[float], float], jitter: Callable[[int], float] = lambda _: 0.0) -> list[float]:
    """Delays, ms, of packets each 10 ms at this share of the capacity, by the time in s."""
    delays, queue = [], 0.0
    for n in range(1200):
        queue = max(0.0, queue + GROUP_MS * (share(n * GROUP_MS / 1000) - 1.0))
        delays.append(50.0 + queue + jitter(n))
    return delays


PATTERNS = {
    "below": queued(lambda _: 0.9),
    "jitter": queued(lambda _: 0.9, lambda n: 3.0 * abs(math.sin(1.7 * n))),
    "ramp": queued(lambda at: 1.1 if at >= 6 else 0.9),
    "steep": queued(lambda at: 2.0 if at >= 6 else 0.9),
    "slow": queued(lambda at: 1.005 if at >= 6 else 0.9),
    "drain": queued(lambda at: 1.2 if 6 <= at < 8 else 0.7),
}


def usages(delays_ms: list[float]) -> Iterator[tuple[float, str]]:
    """Sending time of each packet, ms, and what aiortc's detector says after it."""
    arrivals = rate.InterArrival(rate.TIMESTAMP_GROUP_LENGTH_MS * (1 << 26) // 1000, rate.TIMESTAMP_TO_MS)
    filtered, detector = rate.OveruseEstimator(), rate.OveruseDetector()
    for n, delay in enumerate(delays_ms):
        sent = n * GROUP_MS
        at = round(sent + delay)
        deltas = arrivals.compute_deltas(round(sent * (1 << 26) / 1000) % (1 << 32), at, PACKET)
        if deltas is not None:
            ticks_ms = deltas.timestamp * rate.TIMESTAMP_TO_MS
            filtered.update(deltas.arrival_time, ticks_ms, deltas.size, detector.state(), at)
            detector.detect(filtered.offset(), ticks_ms, filtered.num_of_deltas(), at)
        yield sent, USAGES[detector.state()]


def write_arrivals() -> None:
    """Write the file that the test reads."""
    lines = ["# Usage by aiortc's detector from this sending time on, ms: benches/aiortc_gcc.py arrivals."]
    for name, delays in PATTERNS.items():
        for usage, packets in itertools.groupby(usages(delays), lambda packet: packet[1]):
            lines.append(f"{name},{next(packets)[0]:.0f},{usage}")
    ARRIVALS.write_text("\n".join(lines) + "\n")
    print(ARRIVALS.relative_to(ROOT))


def driven(scenario: airpath.Scenario, seconds: float, seed: int) -> tuple[list[float], list[float]]:
    """Target of each frame, bit/s, and frame delays, ms, of a source that follows aiortc uplink."""
    net = airpath.Net(scenario, seed)
    src, dst = (net.address(0), 5004), (net.address("server"), 5004)
    estimator = rate.RemoteBitrateEstimator()
    target, now, next_frame, next_send = 300_000, 0, 0, 0
    queue: deque[tuple[int, int]] = deque()
    feedback: deque[tuple[int, int]] = deque()
    missing: dict[int, list[int]] = {}
    targets, delays = [], []
    while True:
        due = [next_frame, *([max(next_send, now)] if queue else []), *(at for at, _ in list(feedback)[:1])]
        until = min(due)
        if until >= seconds * 1e9:
            return targets, delays
        arrival = net.advance(max(until, now))
        if arrival is not None:
            now, packet = arrival.at, arrival.packet
            frame, sent = int.from_bytes(packet[28:32], "big"), int.from_bytes(packet[32:40], "big")
            missing[frame][1] -= 1
            if missing[frame][1] == 0:
                delays.append((now - missing[frame][0]) / 1e6)
            ticks = round(sent / 1e9 * TICKS) & 0xFFFFFF
            if found := estimator.add(round(now / 1e6), ticks, len(packet) - 28, 1):
                feedback.append((now + FEEDBACK_NS, found[0]))
            continue
        now = max(until, now)
        while feedback and feedback[0][0] <= now:
            target = min(HIGHEST_BPS, feedback.popleft()[1])
        if next_frame <= now:
            size = max(100, target // 8 // FRAMES_PER_S)
            parts = -(-size // PACKET)
            missing[len(targets)] = [now, parts]
            queue.extend((len(targets), min(PACKET, size - PACKET * part)) for part in range(parts))
            targets.append(float(target))
            next_frame += 10**9 // FRAMES_PER_S
        if queue and next_send <= now:
            frame, size = queue.popleft()
            payload = frame.to_bytes(4, "big") + now.to_bytes(8, "big") + bytes(max(0, size + 20 - 12))
            net.send(now, 0, payload, src, dst)
            next_send = now + int(len(payload) * 8 / (PACING * target) * 1e9)


def tell_calls(runs: int, seconds: float = 60.0) -> None:
    """Rates and delays of both over the same links, after the first third."""
    print("| uplink | aiortc, Mbit/s | airpath, Mbit/s | aiortc, delay p50 / p95, ms | airpath |")
    print("|---|---|---|---|---|", flush=True)
    links = {"1 Mbit/s": real_call.link((0, 1)), "3 Mbit/s": real_call.link((0, 3))}
    links |= {name: airpath.load(name) for name in ("lte-10mhz", "hsdpa-3.6", "umts-384")}
    for title, scenario in links.items():
        theirs, ours, delays = [], [], []
        for seed in range(1, runs + 1):
            targets, found = driven(scenario, seconds, seed)
            theirs.append(statistics.fmean(targets[len(targets) // 3 :]) / 1e6)
            call = real_call.simulated(scenario, "gcc", seconds, seed)
            ours.append(statistics.fmean(call.target_bps[int(seconds / 3) :]) / 1e6)
            found.sort()
            delays.append((found[len(found) // 2], found[len(found) * 95 // 100], call.p50_ms, call.p95_ms))
        means = [real_call.shown(estimate(values)) for values in (theirs, ours)]
        p50, p95, own_p50, own_p95 = (statistics.fmean(values) for values in zip(*delays, strict=True))
        both = f"{p50:.0f} / {p95:.0f} | {own_p50:.0f} / {own_p95:.0f}"
        print(f"| {title} | {means[0]} | {means[1]} | {both} |", flush=True)


def made(scenario: airpath.Scenario, seed: int) -> tuple[list[float], float, float, float]:
    """Targets of a real call by second, bit/s; median and 95th percentile of its delays, ms; its start, s."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        with airpath.RadioLink(scenario, Path(name) / "link", seed=seed) as path:
            began = time.time()
            ends = {"callee": path.server, "caller": path.ue}
            words = {
                role: [sys.executable, str(PEER), role, path.server.address, str(LIVE_S)] for role in ends
            }
            callee = path.server.popen(words["callee"], stdout=subprocess.PIPE)
            time.sleep(2)
            caller = path.ue.popen(words["caller"], stdout=subprocess.PIPE)
            told = {
                role: json.loads(end.communicate(timeout=LIVE_S + PATIENCE_S)[0])
                for role, end in (("caller", caller), ("callee", callee))
            }
        if not path.results["live"]["valid"]:
            print("NOT VALID: packets left too late", file=sys.stderr)
    delays = sorted(told["callee"]["delays_ms"])
    middle, late = delays[len(delays) // 2], delays[len(delays) * 95 // 100]
    return told["caller"]["target_bps"], middle, late, told["caller"]["began"] - began


def compared(title: str, scenario: airpath.Scenario, runs: int) -> str:
    """Row of a table: mean target from 10 s on and frame delays of real calls and of simulated ones."""
    rows = []
    for seed in range(1, runs + 1):
        targets, p50, p95, start_s = made(scenario, seed)
        app = {"call": {"controller": "gcc", **VP8, "both_ways": False, "audio": False}}
        flow = {"direction": "uplink", "start": f"{start_s:.3f} s", "app": app}
        whole = scenario.with_("flow", [flow]).with_("duration", f"{start_s + LIVE_S:.3f} s")
        call = airpath.run(whole, seed).flows[0]["call"]["uplink"]
        own, own_targets = call["receiver"]["frame_delay_ms"], call["sender"]["target_bps_per_second"]
        rates = [statistics.fmean(each[10:]) / 1e6 for each in (targets, own_targets)]
        rows.append((*rates, p50, p95, own["p50"], own["p95"]))
        print(f"{title}, run {seed}: {rows[-1]}", file=sys.stderr, flush=True)
    mean, own_mean, p50, p95, own_p50, own_p95 = (
        real_call.shown(estimate(values)) for values in zip(*rows, strict=True)
    )
    return f"| {title} | {mean} | {own_mean} | {p50}; {p95} | {own_p50}; {own_p95} |"


def tell_live(runs: int) -> None:
    """Print the table of real and simulated calls."""
    print("| uplink | aiortc, Mbit/s | airpath, Mbit/s | aiortc, delay p50; p95, ms | airpath |")
    print("|---|---|---|---|---|", flush=True)
    for title, scenario in LIVE_LINKS.items():
        print(compared(title, scenario, runs), flush=True)


def main() -> None:
    """Write the arrivals, or print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("what", choices=["arrivals", "calls", "live"])
    parser.add_argument("--runs", type=int, default=5, metavar="N", help="calls over each link [default: 5]")
    arguments = parser.parse_args()
    if arguments.what == "arrivals":
        write_arrivals()
    elif arguments.what == "live":
        tell_live(arguments.runs)
    else:
        tell_calls(arguments.runs)


if __name__ == "__main__":
    sys.exit(main())
