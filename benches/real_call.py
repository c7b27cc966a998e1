#!/usr/bin/env python3
"""A call between two Chromium browsers over a live link, and the simulated call over the same link.

`real_call.py` makes calls with both of Chromium's rate controllers over links of constant and stepped
capacity and over an LTE cell. The caller is the UE, and sends video uplink. It prints a table of the real
and of the simulated calls. It has the prerequisites of `airpath doctor`, needs chromium, and takes seven
minutes for each of the runs. Makes the tables of docs/calls.md.

The caller draws the time of capture into each picture, and the callee reads it: frame delays do not depend
on anything that the browsers estimate. Both run on this machine, and share a clock.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import airpath
from airpath.stats.estimate import Estimate, estimate

PAGE = Path(__file__).with_name("real_call.html")
PORT = 8000
PATIENCE_S = 30
"""A browser may take so long to start, and the other one to answer."""
HIGHEST_BPS = 5_000_000
TRIALS = {
    "gcc": "",
    "scream": "WebRTC-RFC8888CongestionControlFeedback/Enabled,offer:true/WebRTC-Bwe-ScreamV2/mode:always/",
}
"""Field trials of Chromium that choose a controller."""
BROWSER = (
    *("chromium", "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"),
    *("--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"),
    *("--disable-features=WebRtcHideLocalIpsWithMdns", "--autoplay-policy=no-user-gesture-required"),
    *("--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream"),
)


def link(*steps: tuple[float, float], direction: str = "uplink") -> airpath.Scenario:
    """The reference path of RFC 8867: this capacity, Mbit/s, from these times on, s, in a direction."""
    rows = "".join(f"{at:g},{mbps * 1e3:g}\n" for at, mbps in steps)
    octets = min(mbps for _, mbps in steps) * 1e6 * 0.3 / 8
    fast = {"delay": "25 ms", "channel": {"series": {"rows": "time_s,rate_kbps\n0,100000\n"}}}
    slow = {
        "delay": "25 ms",
        "channel": {"series": {"rows": f"time_s,rate_kbps\n{rows}"}},
        "queue": {"droptail": {"packets": "absent", "bytes": f"{octets:.0f} B"}},
    }
    scenario = airpath.load("lte-10mhz")
    scenario = scenario.with_("wired", {"delay": "25 ms"})
    both = {"downlink": fast, "uplink": fast, direction: slow}
    return scenario.with_("radio", {"variable": both})


def app(controller: str) -> dict[str, Any]:
    """The simulated call: video alone, one way, with the limits of the real one."""
    rates = {
        "start_rate": "300 kbit/s",
        "min_rate": "50 kbit/s",
        "max_rate": f"{HIGHEST_BPS // 1_000_000} Mbit/s",
    }
    return {"call": {"controller": controller, **rates, "both_ways": False, "audio": False}}


@dataclass(frozen=True)
class Call:
    """What became of a call; times count from its first packet of media."""

    target_bps: list[float]
    """Mean target rate of each second."""
    p50_ms: float
    """Median time from the capture of a frame until it could be decoded."""
    p95_ms: float
    """Its 95th percentile."""
    freezes: int
    freeze_s: float
    start_s: float
    """When it began, in seconds of the link."""
    deviation: float = math.nan
    """Mean deviation of a frame's size from the mean of the frames around it, as a share."""
    valid: bool = True


def deviation(sizes: Sequence[int]) -> float:
    """Mean deviation of frame sizes from the mean of the 15 before and the 15 after, as a share."""
    around = [statistics.fmean(sizes[at - 15 : at + 16]) for at in range(15, len(sizes) - 15)]
    shares = [abs(size / mean - 1) for size, mean in zip(sizes[15:], around, strict=False)]
    return statistics.fmean(shares) if shares else math.nan


def read(log: Sequence[dict[str, Any]], link_began: float) -> Call:
    """Make a call of what both pages have reported; `link_began` in seconds of the clock."""
    errors = [entry["error"] for entry in log if "error" in entry]
    if errors:
        raise RuntimeError(f"the call failed: {errors[0]}")
    caller = [stats for entry in log for stats in entry.get("seen", ())]
    began = next((stats["at"] for stats in caller if stats.get("bytesSent")), None)
    callee = [entry for entry in log if entry.get("role") == "callee" and "framesDecoded" in entry]
    if began is None or not callee:
        raise RuntimeError("no media arrived within the time of the call")
    seconds: dict[int, list[float]] = {}
    for stats in caller:
        if stats["at"] >= began and stats.get("estimate"):
            seconds.setdefault(int((stats["at"] - began) / 1000), []).append(stats["estimate"])
    # A stamp that could not be read is that of another hour.
    delays = sorted(frame[1] for entry in log for frame in entry.get("frames", ()) if frame[1] < 60_000)
    sizes = [size for entry in log for _, size, is_key in entry.get("sizes", ()) if not is_key]
    return Call(
        [min(statistics.fmean(seconds[second]), HIGHEST_BPS) for second in sorted(seconds)],
        delays[len(delays) // 2],
        delays[len(delays) * 95 // 100],
        callee[-1]["freezeCount"],
        callee[-1]["totalFreezesDuration"],
        began / 1000 - link_began,
        deviation(sizes),
    )


@dataclass
class Signalling:
    """What the pages tell each other and us."""

    log: list[dict[str, Any]] = field(default_factory=list)
    descriptions: dict[str, bytes] = field(default_factory=dict)
    changed: threading.Condition = field(default_factory=threading.Condition)

    def handler(self) -> type[BaseHTTPRequestHandler]:
        signalling = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_: object) -> None:
                """Say nothing."""

            def answer(self, body: bytes, kind: str) -> None:
                self.send_response(200)
                self.send_header("content-type", kind)
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def do_GET(self) -> None:
                name = self.path.partition("?")[0].strip("/")
                if name == "call":
                    self.answer(PAGE.read_bytes(), "text/html")
                else:
                    self.answer(signalling.wait(name), "application/json")

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                signalling.add(self.path.strip("/"), body)
                self.answer(b"", "text/plain")

        return Handler

    def add(self, name: str, body: bytes) -> None:
        with self.changed:
            if name == "log":
                self.log.append(json.loads(body))
            else:
                self.descriptions[name] = body
            self.changed.notify_all()

    def wait(self, name: str) -> bytes:
        """Wait for a description of the other page."""
        with self.changed:
            self.changed.wait_for(lambda: name in self.descriptions, PATIENCE_S)
        return self.descriptions.get(name, b"null")

    def ended(self, patience_s: float) -> bool:
        """Wait until the caller has reported, or a page has failed."""
        with self.changed:
            return self.changed.wait_for(
                lambda: any("seen" in entry or "error" in entry for entry in self.log), patience_s
            )


class Server(ThreadingHTTPServer):
    """A server whose clients may leave in the middle of an answer."""

    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


@contextmanager
def serving(end: Any, handler: type[BaseHTTPRequestHandler]) -> Iterator[None]:
    """Answer requests at an end of the link."""
    with Server((end.address, PORT), handler, bind_and_activate=False) as server:
        server.socket.close()
        server.socket = end.socket()
        server.socket.bind((end.address, PORT))
        server.socket.listen()
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield
        finally:
            server.shutdown()


@contextmanager
def browser(end: Any, role: str, address: str, seconds: float, trials: str, folder: Path) -> Iterator[None]:
    """Chromium at an end of the link."""
    url = f"http://{address}:{PORT}/call?role={role}&max_bps={HIGHEST_BPS}&seconds={seconds:g}"
    words = [
        *BROWSER,
        f"--unsafely-treat-insecure-origin-as-secure=http://{address}:{PORT}",
        f"--user-data-dir={folder / role}",
        *([f"--force-fieldtrials={trials}"] if trials else []),
        url,
    ]
    process = end.popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield
    finally:
        process.terminate()
        process.wait(PATIENCE_S)


def real(scenario: airpath.Scenario, controller: str, seconds: float, seed: int = 1) -> Call:
    """Make a call by Chromium; the UE sends video."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        folder, signalling = Path(name), Signalling()
        with airpath.RadioLink(scenario, folder / "link", seed=seed) as path:
            began = time.time()
            arguments = (path.server.address, seconds, TRIALS[controller], folder)
            with (
                serving(path.server, signalling.handler()),
                browser(path.server, "callee", *arguments),
                browser(path.ue, "caller", *arguments),
            ):
                signalling.ended(seconds + 2 * PATIENCE_S)
                # The callee's last report may be in transit.
                time.sleep(0.5)
        call = read(signalling.log, began)
        return replace(call, valid=path.results["live"]["valid"])


def simulated(
    scenario: airpath.Scenario, controller: str, seconds: float, seed: int, like: Call | None = None
) -> Call:
    """Simulate the call over the same link. It begins when `like` began, with frames that vary as much."""
    start_s = like.start_s if like else 4.0
    call = app(controller)
    if like and not math.isnan(like.deviation):
        call["call"]["frame_deviation"] = round(like.deviation, 3)
    flow = {"direction": "uplink", "start": f"{start_s:.3f} s", "app": call}
    scenario = scenario.with_("flow", [flow]).with_("duration", f"{start_s + seconds:.3f} s")
    found = airpath.run(scenario, seed).flows[0]["call"]["uplink"]
    received = found["receiver"]
    delays = received["frame_delay_ms"]
    return Call(
        found["sender"]["target_bps_per_second"],
        delays["p50"],
        delays["p95"],
        received["freezes"],
        received["freeze_s"],
        start_s,
    )


@dataclass(frozen=True)
class Case:
    """A link, and what is read from a call over it."""

    title: str
    scenario: airpath.Scenario
    seconds: float
    capacity: tuple[tuple[float, float], ...] = ()
    """Capacity, Mbit/s, from times of the link on, s; none of a cell."""

    def measures(self, call: Call) -> dict[str, float]:
        """Numbers of a call by their names; rates in Mbit/s, times in s, delays in ms."""
        mbps = [bps / 1e6 for bps in call.target_bps]
        found = {"mean target, Mbit/s": statistics.fmean(mbps[10:])}
        if len(self.capacity) == 1:
            ((_, capacity),) = self.capacity
            found["time to 80 % of the capacity, s"] = first(mbps, lambda rate: rate >= 0.8 * capacity)
            found["highest target, of the capacity"] = max(mbps) / capacity
        if len(self.capacity) == 3:
            down, up = (int(at - call.start_s) for at, _ in self.capacity[1:])
            slow, fast = (mbps for _, mbps in self.capacity[1:])
            found["mean target"] = statistics.fmean(mbps[10:down])
            found["after the step down, s"] = last(mbps[down:up], lambda rate: rate > 1.2 * slow)
            found["mean target, slow"] = statistics.fmean(mbps[down + 5 : up])
            found["80 % after the step up, s"] = first(mbps[up:], lambda rate: rate >= 0.8 * fast)
            del found["mean target, Mbit/s"]
        return {
            **found,
            "frame delay, median, ms": call.p50_ms,
            "95 %, ms": call.p95_ms,
            "frozen, s": call.freeze_s,
        }


def first(values: Sequence[float], holds: Callable[[float], bool]) -> float:
    """The index of the first value for which this holds, or their number."""
    return next((float(at) for at, value in enumerate(values) if holds(value)), float(len(values)))


def last(values: Sequence[float], holds: Callable[[float], bool]) -> float:
    """The index after the last value for which this holds, or 0."""
    return max((float(at + 1) for at, value in enumerate(values) if holds(value)), default=0.0)


STEPS = ((0.0, 3.0), (20.0, 1.0), (40.0, 3.0))
CASES = (
    Case("1 Mbit/s", link((0.0, 1.0)), 40, ((0.0, 1.0),)),
    Case("3 Mbit/s", link((0.0, 3.0)), 40, ((0.0, 3.0),)),
    Case("3, 1, 3 Mbit/s", link(*STEPS), 60, STEPS),
    Case("lte-10mhz", airpath.load("lte-10mhz"), 40),
)


def table(case: Case, controller: str, pairs: Sequence[tuple[Call, Call]]) -> Iterator[str]:
    """Rows of real and simulated calls, with 95 % confidence intervals."""
    yield f"| {case.title}, `{controller}`, {len(pairs)} pairs | Chromium | airpath |"
    yield "|---|---|---|"
    rows = [[case.measures(call) for call in pair] for pair in pairs]
    for name in rows[0][0]:
        both = [estimate(row[side][name] for row in rows) for side in (0, 1)]
        yield f"| {name} | {' | '.join(shown(one) for one in both)} |"


def shown(one: Estimate) -> str:
    """A mean and half of its interval."""
    digits = 0 if abs(one.mean) >= 20 else 2
    half = (one.ci_high - one.ci_low) / 2
    return f"{one.mean:.{digits}f}" + (f" ± {half:.{digits}f}" if len(one.values) > 1 else "")


def main() -> None:
    """Make the calls and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--runs", type=int, default=5, metavar="N", help="calls of each kind [default: 5]")
    parser.add_argument("--controller", choices=TRIALS, action="append", help="repeatable [default: both]")
    arguments = parser.parse_args()
    for case in CASES:
        for controller in arguments.controller or TRIALS:
            pairs = []
            for seed in range(1, arguments.runs + 1):
                made = real(case.scenario, controller, case.seconds, seed)
                late = "" if made.valid else " (NOT VALID: packets left too late)"
                print(f"{case.title}, {controller}, run {seed}{late}", file=sys.stderr, flush=True)
                pairs.append((made, simulated(case.scenario, controller, case.seconds, seed, made)))
            print("\n".join(table(case, controller, pairs)), end="\n\n", flush=True)


if __name__ == "__main__":
    main()
