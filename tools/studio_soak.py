"""Has ten clients edit and run scenarios in one studio for a long time, and watches its memory: `make soak`.

    python tools/studio_soak.py [--seconds 600] [--clients 10] [--seed 1]

Each client sets values, sees what they resolve to, runs, opens the run that is in a folder, cancels some
runs, and now and then goes away in the middle of one and comes back. Fails if an answer is missing or is an
error, if the same scenario with the same seed gives other octets or other results than before, or if the
server takes more memory than in the first minute, as `live_soak.py` says.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import random
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from live_soak import AIRPATH, WARM_UP_S, growth, rss_bytes
from websockets.sync.client import connect

from airpath.runs.folder import run_to_folder

SCENARIOS = ("umts-384", "hdr-4", "lte-10mhz-still")
DELAYS_MS, DURATIONS_S, SEEDS = (20, 60, 120), (2, 5), 5
ANSWER_S = 120


class Studio:
    """The command `airpath studio`; a context manager that ends it."""

    def __init__(self, *named: object, **options: Any) -> None:
        words = [str(word) for word in (AIRPATH, "studio", "--no-browser", *named)]
        self.process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, **options)

    def __enter__(self) -> Studio:
        assert self.process.stdout is not None
        address = self.process.stdout.readline().strip()
        self.origin = address.partition("/?")[0]
        with urllib.request.urlopen(address, timeout=ANSWER_S) as page:
            self._cookie = page.headers["Set-Cookie"].split(";")[0]
            self._key = page.read().decode().partition('name="airpath-key" content="')[2].partition('"')[0]
        return self

    def __exit__(self, *_exception: object) -> None:
        self.process.terminate()
        try:
            self.process.wait(ANSWER_S)
        finally:
            self.process.kill()
            self.process.wait()

    @contextlib.contextmanager
    def client(self) -> Iterator[Client]:
        """A client that is let in."""
        with connect(
            self.origin.replace("http", "ws", 1) + f"/socket?key={self._key}",
            origin=self.origin,
            additional_headers={"Cookie": self._cookie},
            compression=None,
            max_size=None,
            open_timeout=ANSWER_S,
        ) as socket:
            yield Client(socket)


class Client:
    """One of the clients of a studio."""

    def __init__(self, socket: Any) -> None:
        self._socket, self._id = socket, 0

    def say(self, do: str, **fields: Any) -> int:
        """Send a request; return the ID that its responses carry."""
        self._id += 1
        self._socket.send(json.dumps({"do": do, "id": self._id, **fields}))
        return self._id

    def cancel(self, asked: int) -> None:
        """Cancel a run; messages in transit still arrive."""
        self._socket.send(json.dumps({"do": "cancel", "id": asked}))

    def hear(self, asked: int) -> Any:
        """The next message about a request: octets of events, or something told."""
        while True:
            match self._socket.recv(ANSWER_S):
                case bytes(data) if data[-4:] == asked.to_bytes(4, "little"):
                    return data[:-4]
                case str(data) if (told := json.loads(data))["id"] == asked:
                    return told

    def resolved(self, base: str, changes: list[str]) -> Any:
        """What a scenario with changes resolves to."""
        heard = self.hear(self.say("resolve", base=base, set=changes))
        if "answer" not in heard:
            raise RuntimeError(f"to {base} with {changes} the studio said {heard}")
        return heard["answer"]

    def run(self, do: str = "run", **fields: Any) -> tuple[str, dict[str, Any]]:
        """Wait for a run; return a digest of its events, and its facts."""
        asked = self.say(do, **fields)
        events, told = hashlib.sha256(), {}
        while True:
            match self.hear(asked):
                case bytes(chunk):
                    events.update(chunk)
                case {"again": True}:
                    events = hashlib.sha256()
                case {"run": run}:
                    told = run
                case {"ended": True}:
                    return events.hexdigest(), told
                case {"progress": _}:
                    pass
                case other:
                    raise RuntimeError(f"to {do} {fields} the studio said {other}")


class Clients:
    """Clients that work until a moment; what they counted, what they found, and what was wrong."""

    def __init__(self, studio: Studio, until: float) -> None:
        self._studio, self._until = studio, until
        self._lock = threading.Lock()
        self.counted: Counter[str] = Counter()
        self.found: dict[str, Any] = {}
        self.wrong: list[str] = []

    def work(self, chance: random.Random) -> None:
        """Be one client after the other."""
        try:
            while time.monotonic() < self._until and not self.wrong:
                with self._studio.client() as client:
                    self._count("connections")
                    while time.monotonic() < self._until and self._once(client, chance):
                        pass
        except Exception as error:
            self.wrong.append(f"{type(error).__name__}: {error}")

    def _once(self, client: Client, chance: random.Random) -> bool:
        """Edit and run once; return whether to keep this connection."""
        base, seed = chance.choice(SCENARIOS), chance.randint(1, SEEDS)
        changes = [f"wired.delay={chance.choice(DELAYS_MS)} ms", f"duration={chance.choice(DURATIONS_S)} s"]
        drawn = chance.random()
        if drawn < 0.1:
            self._same("the folder", client.run("open", name="run"))
            self._count("opened")
            return True
        self._same(f"resolve {base} {changes}", client.resolved(base, changes))
        if drawn < 0.2:
            asked = client.say("run", base=base, set=["duration=1000 h"], seed=seed)
            client.hear(asked)
            if drawn < 0.13:
                self._count("left")
                return False
            client.cancel(asked)
            self._count("cancelled")
            return True
        events, told = client.run(base=base, set=changes, seed=seed)
        self._same(f"run {base} {changes} {seed}", (events, told["summary"]))
        self._count("runs")
        return True

    def _count(self, what: str) -> None:
        with self._lock:
            self.counted[what] += 1

    def _same(self, what: str, found: Any) -> None:
        with self._lock:
            if self.found.setdefault(what, found) != found:
                self.wrong.append(f"{what}: it is not as it was before")


def soak(seconds: float, clients: int, seed: int, folder: Path) -> list[str]:
    """Let clients work, print figures, and give what is wrong."""
    run = folder / "run"
    run_to_folder(SCENARIOS[0], 1, run)
    samples = []
    with Studio("run", cwd=folder) as studio:
        until = time.monotonic() + seconds
        all_ = Clients(studio, until)
        threads = [
            threading.Thread(target=all_.work, args=(random.Random(f"{seed} {number}"),))
            for number in range(clients)
        ]
        for thread in threads:
            thread.start()
        while time.monotonic() < until and not all_.wrong:
            time.sleep(1)
            samples.append(rss_bytes(studio.process.pid) or 0.0)
        for thread in threads:
            thread.join(2 * ANSWER_S)
            if thread.is_alive():
                all_.wrong.append("a client waits for an answer that does not come")
        with studio.client() as client:
            client.run("open", name="run")
    counts = ", ".join(f"{count} {what}" for what, count in sorted(all_.counted.items()))
    print(f"== studio, {clients} clients for {seconds:g} s: {counts}; {len(all_.found)} different answers")
    warm_up_s = min(WARM_UP_S, seconds / 2)
    first, most, allowed = growth(samples, warm_up_s)
    print(f"studio: at most {first / 1e6:.1f} MB in {warm_up_s:g} s, at most {most / 1e6:.1f} MB later")
    tenths = (samples[len(samples) * tenth // 10] / 1e6 for tenth in range(10) if samples)
    print("  by tenths of the time, MB:", *(f"{size:.1f}" for size in tenths))
    if most - first > allowed or not samples:
        all_.wrong.append(
            f"the studio grew by {(most - first) / 1e6:.1f} MB, {allowed / 1e6:.1f} MB are allowed"
        )
    if studio.process.returncode:
        all_.wrong.append(f"the studio ended with status {studio.process.returncode}")
    return all_.wrong


def main() -> None:
    """Read the options and do it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--clients", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1, help="of what each client does")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="airpath-soak-") as folder:
        wrong = soak(options.seconds, options.clients, options.seed, Path(folder))
    for what in wrong:
        print(f"soak: {what}", file=sys.stderr)
    if wrong:
        sys.exit(1)
    print("soak: the studio's memory is flat, and every answer came")


if __name__ == "__main__":
    main()
