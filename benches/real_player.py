#!/usr/bin/env python3
"""dash.js in Chromium over a live link, and the simulated player over the same link.

`real_player.py` plays adaptive video under dash.js' rules over links of constant and changing rate and over
an LTE cell, and simulates `app.adaptive_video` over the same links. It prints a table. It has the
prerequisites of `airpath doctor`, needs chromium, and `npm` to fetch dash.js; a run takes two minutes.

The video is a picture without motion: each segment has the octets of its level exactly, as in the
simulation. What it shows is of no interest to a player.
"""

from __future__ import annotations

import argparse
import io
import itertools
import json
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import real_call
from PIL import Image

import airpath
from airpath.stats.estimate import estimate

PAGE = Path(__file__).with_name("real_player.html")
DASH = "dashjs@5.1.1"
SCRIPT = "package/dist/modern/umd/dash.all.min.js"
LEVELS_KBPS = (300, 750, 1200, 1850, 2850, 4300)
"""The ladder of `app.adaptive_video`: Pensieve's."""
SEGMENT_S = 4
PICTURES_PER_S = 5
BUFFER_S = 30
RULES = ("bola", "throughput")


def element(name: bytes, body: bytes) -> bytes:
    """An element of EBML, with a length of eight octets."""
    return name + (1 << 56 | len(body)).to_bytes(8, "big") + body


def number(name: bytes, value: int) -> bytes:
    return element(name, value.to_bytes(4, "big"))


def picture() -> bytes:
    """A key frame of VP8: what a WebP image without alpha holds behind its headers."""
    file = io.BytesIO()
    Image.new("RGB", (64, 36), (30, 120, 90)).save(file, "WEBP", quality=10)
    data = file.getvalue()
    at = data.index(b"VP8 ") + 4
    return data[at + 4 : at + 4 + int.from_bytes(data[at : at + 4], "little")]


PICTURE = picture()


def initialization() -> bytes:
    """Header, and a segment of unknown length with a track of VP8 (WebM)."""
    video = element(b"\xe0", number(b"\xb0", 64) + number(b"\xba", 36))
    track = element(
        b"\xae",
        number(b"\xd7", 1) + number(b"\x73\xc5", 1) + number(b"\x83", 1) + element(b"\x86", b"V_VP8") + video,
    )
    header = (
        number(b"\x42\x86", 1)
        + number(b"\x42\xf7", 1)
        + number(b"\x42\xf2", 4)
        + number(b"\x42\xf3", 8)
        + element(b"\x42\x82", b"webm")
        + number(b"\x42\x87", 2)
        + number(b"\x42\x85", 2)
    )
    info = element(b"\x15\x49\xa9\x66", number(b"\x2a\xd7\xb1", 1_000_000))
    unknown = b"\x18\x53\x80\x67" + b"\x01" + b"\xff" * 7
    return element(b"\x1a\x45\xdf\xa3", header) + unknown + info + element(b"\x16\x54\xae\x6b", track)


def segment(index: int, octets: int) -> bytes:
    """A cluster of four seconds, filled up to this length."""
    blocks = b"".join(
        element(b"\xa3", b"\x81" + (n * 1000 // PICTURES_PER_S).to_bytes(2, "big") + b"\x80" + PICTURE)
        for n in range(SEGMENT_S * PICTURES_PER_S)
    )
    body = number(b"\xe7", index * SEGMENT_S * 1000) + blocks
    filling = octets - len(body) - 12 - 9
    return element(b"\x1f\x43\xb6\x75", body + element(b"\xec", bytes(filling)))


def manifest(seconds: int) -> str:
    """The levels, as DASH describes them."""
    levels = "".join(
        f'<Representation id="{at}" bandwidth="{kbps * 1000}" width="64" height="36"/>'
        for at, kbps in enumerate(LEVELS_KBPS)
    )
    return (
        '<?xml version="1.0"?><MPD xmlns="urn:mpeg:dash:schema:mpd:2011" type="static" minBufferTime="PT2S" '
        f'profiles="urn:mpeg:dash:profile:isoff-live:2011" mediaPresentationDuration="PT{seconds}S"><Period>'
        '<AdaptationSet mimeType="video/webm" codecs="vp8" segmentAlignment="true" startWithSAP="1">'
        f'<SegmentTemplate timescale="1" duration="{SEGMENT_S}" startNumber="0" '
        'initialization="$RepresentationID$.webm" media="$RepresentationID$-$Number$.webm"/>'
        f"{levels}</AdaptationSet></Period></MPD>"
    )


@dataclass(frozen=True)
class Session:
    """What became of a player."""

    startup_s: float
    mean_mbps: float
    switches: float
    stalls: float
    stall_s: float

    def measures(self) -> dict[str, float]:
        """Numbers by their names."""
        return {
            "startup, s": self.startup_s,
            "mean rate of the segments, Mbit/s": self.mean_mbps,
            "switches": self.switches,
            "stalls": self.stalls,
            "stalled, s": self.stall_s,
        }


@dataclass
class Service:
    """What the player fetches and tells."""

    script: bytes
    seconds: int
    log: list[dict[str, Any]] = field(default_factory=list)
    levels: list[int] = field(default_factory=list)

    def body(self, name: str) -> tuple[bytes, str]:
        """A file and its type."""
        if name == "player":
            return PAGE.read_bytes(), "text/html"
        if name == "dash.all.min.js":
            return self.script, "text/javascript"
        if name == "manifest.mpd":
            return manifest(self.seconds).encode(), "application/dash+xml"
        level, _, index = name.removesuffix(".webm").partition("-")
        if not index:
            return initialization(), "video/webm"
        self.levels.append(int(level))
        return segment(int(index), LEVELS_KBPS[int(level)] * 1000 * SEGMENT_S // 8), "video/webm"

    def handler(self) -> type[BaseHTTPRequestHandler]:
        service = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_: object) -> None:
                """Say nothing."""

            def answer(self, body: bytes, kind: str, code: int = 200) -> None:
                self.send_response(code)
                self.send_header("content-type", kind)
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def do_GET(self) -> None:
                name = self.path.partition("?")[0].strip("/")
                if name == "favicon.ico":
                    return self.answer(b"", "text/plain", 404)
                return self.answer(*service.body(name))

            def do_POST(self) -> None:
                service.log.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
                self.answer(b"", "text/plain")

        return Handler


def fetched() -> bytes:
    """dash.js, from npm's registry."""
    with tempfile.TemporaryDirectory() as folder:
        words = ["npm", "pack", "--silent", DASH]
        done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=True)
        with tarfile.open(Path(folder) / done.stdout.split()[-1]) as package:
            script = package.extractfile(SCRIPT)
            assert script is not None
            return script.read()


def read(log: Sequence[dict[str, Any]], levels: Sequence[int], ended_s: float) -> Session:
    """Make a session of what the page has told; `ended_s` by its clock."""
    errors = [entry["message"] for entry in log if entry["what"] == "error"]
    if errors:
        raise RuntimeError(f"dash.js failed: {errors[0]}")
    times = {what: [entry["at"] for entry in log if entry["what"] == what] for what in ("begun", "playing")}
    if not times["playing"] or not levels:
        raise RuntimeError("the player did not begin to play")
    stalls, since = [], None
    for entry in log:
        if entry["what"] == "stalled":
            since = entry["at"]
        elif entry["what"] == "resumed" and since is not None:
            stalls.append(entry["at"] - since)
            since = None
    if since is not None:
        stalls.append(ended_s - since)
    rates = [LEVELS_KBPS[level] / 1000 for level in levels]
    switches = sum(before != after for before, after in itertools.pairwise(levels))
    startup_s = times["playing"][0] - times["begun"][0]
    return Session(startup_s, statistics.fmean(rates), switches, len(stalls), sum(stalls))


def real(scenario: airpath.Scenario, rule: str, seconds: int, seed: int, script: bytes) -> Session:
    """Play by dash.js at the UE."""
    service = Service(script, 10 * seconds)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        folder = Path(name)
        with airpath.RadioLink(scenario, folder / "link", seed=seed, cc="cubic") as path:
            url = f"http://{path.server.address}:{real_call.PORT}/player?rule={rule}&buffer={BUFFER_S}"
            words = [*real_call.BROWSER, f"--user-data-dir={folder / 'browser'}", url]
            quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
            with real_call.serving(path.server, service.handler()):
                process = path.ue.popen(words, **quiet)
                try:
                    deadline = time.monotonic() + real_call.PATIENCE_S
                    while not service.log and time.monotonic() < deadline:
                        time.sleep(0.05)
                    time.sleep(seconds)
                finally:
                    process.terminate()
                    process.wait(real_call.PATIENCE_S)
        if not path.results["live"]["valid"]:
            print("NOT VALID: packets left too late", file=sys.stderr)
        begun = next((entry["at"] for entry in service.log if entry["what"] == "begun"), 0.0)
        return read(service.log, service.levels, begun + seconds)


def simulated(
    scenario: airpath.Scenario, rule: str, seconds: int, seed: int, start_s: float = 0.0
) -> Session:
    """Simulate a player over the same link, with Linux's TCP."""
    app = {"adaptive_video": {"rule": rule, "buffer": f"{BUFFER_S} s"}}
    flow = {"start": f"{start_s:g} s", "app": app}
    scenario = scenario.with_("flow", [flow]).with_("duration", f"{start_s + seconds:g} s")
    found = airpath.run(scenario.with_("tcp", {"profile": "linux"}), seed).flows[0]["video"]
    return Session(
        found["startup_s"],
        found["mean_rate_bps"] / 1e6,
        found["switches"],
        found["stalls"],
        found["stall_s"],
    )


def table(title: str, rule: str, pairs: Sequence[tuple[Session, Session]]) -> Iterator[str]:
    """Rows of real and simulated sessions, with 95 % confidence intervals."""
    yield f"| {title}, `{rule}`, {len(pairs)} pairs | dash.js | airpath |"
    yield "|---|---|---|"
    rows = [[session.measures() for session in pair] for pair in pairs]
    for name in rows[0][0]:
        both = [real_call.shown(estimate(row[side][name] for row in rows)) for side in (0, 1)]
        yield f"| {name} | {both[0]} | {both[1]} |"


def main() -> None:
    """Play, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument(
        "--runs", type=int, default=10, metavar="N", help="sessions of each kind [default: 10]"
    )
    parser.add_argument("--seconds", type=int, default=60, metavar="S", help="of each session [default: 60]")
    arguments = parser.parse_args()
    script = fetched()
    links = {
        "2 Mbit/s": real_call.link((0, 2), direction="downlink"),
        "4, 1, 4 Mbit/s": real_call.link((0, 4), (20, 1), (40, 4), direction="downlink"),
        "lte-10mhz-drive": airpath.load("lte-10mhz-drive"),
    }
    for title, scenario in links.items():
        for rule in RULES:
            pairs = []
            for seed in range(1, arguments.runs + 1):
                played = real(scenario, rule, arguments.seconds, seed, script)
                print(f"{title}, {rule}, run {seed}: {played}", file=sys.stderr, flush=True)
                pairs.append((played, simulated(scenario, rule, arguments.seconds, seed)))
            print("\n".join(table(title, rule, pairs)), end="\n\n", flush=True)


if __name__ == "__main__":
    main()
