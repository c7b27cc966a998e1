"""What tests of live runs use: starting runs, reading what they leave, finding what remains of them."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from programs import PATIENCE_S, require

AIRPATH = str(Path(sys.executable).with_name("airpath"))
# The same command, much faster: it draws no pictures.
UNDRAWN = (sys.executable, "-P", str(Path(__file__).with_name("undrawn.py")))
# A link that is never the bottleneck.
FAST = ("--downlink-trace", "100 Mbit/s", "--uplink-trace", "100 Mbit/s")
# Nothing of a run is there any more so long after its end, in seconds.
GONE_WITHIN_S = 5
# In the environment of everything that a test starts, and so of everything that this starts.
MARKER = "AIRPATH_TEST_MARKER"
NOBODY = 65534
TUN = Path("/dev/net/tun")
# A user without any power but to read the interpreter, wherever that lies.
WITHOUT_POWER = (
    *("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"),
    *("--bounding-set=-all,+dac_read_search", "--inh-caps=-all,+dac_read_search"),
    "--ambient-caps=-all,+dac_read_search",
)
OPAQUE = ("other_protocol", "encrypted", "fragment", "malformed")


def as_root() -> list[str]:
    """What makes a command root's; skips the test where there is no way."""
    if os.geteuid() == 0:
        return []
    if shutil.which("sudo") and not subprocess.run(["sudo", "-n", "true"], capture_output=True).returncode:
        return ["sudo", "-n", f"--preserve-env={MARKER}"]
    pytest.skip("needs root, or sudo without a password")


def without_power(home: Path) -> list[str]:
    """What takes all power from a command, and gives the folder to whom it will be run as."""
    if os.geteuid() != 0:
        return []
    require("setpriv")
    if not TUN.stat().st_mode & stat.S_IWOTH:
        pytest.skip(f"only root may use {TUN}: chmod 0666 {TUN}")
    os.chown(home, NOBODY, NOBODY)
    return [*WITHOUT_POWER, "env", f"HOME={home}"]


@dataclass(frozen=True)
class Outcome:
    """How a run ended, and where its files are."""

    code: int
    out: str
    err: str
    folder: Path

    @property
    def results(self) -> dict[str, Any]:
        """What results.json says."""
        found: dict[str, Any] = json.loads((self.folder / "results.json").read_text())
        return found

    @property
    def live(self) -> dict[str, Any]:
        """The part of it that only live runs have."""
        found: dict[str, Any] = self.results["live"]
        return found

    def flows(self, protocol: str) -> list[dict[str, Any]]:
        """Flows of a protocol, largest first."""
        flows = [flow for flow in self.results["flows"] if flow.get("protocol") == protocol]
        return sorted(flows, key=lambda flow: flow["bytes_received"], reverse=True)

    def events(self, kind: str) -> dict[str, list[Any]]:
        """Columns of one kind of event in the trace."""
        table = pq.read_table(self.folder / "trace" / f"{kind}.parquet")
        columns: dict[str, list[Any]] = table.to_pydict()
        return columns


def finish(process: subprocess.Popen[str], patience_s: float = PATIENCE_S) -> tuple[str, str]:
    """Wait for the end of a process and give its output; one that does not end fails the test."""
    try:
        return process.communicate(timeout=patience_s)
    except subprocess.TimeoutExpired:
        process.kill()
        out, err = process.communicate(timeout=PATIENCE_S)
        pytest.fail(f"did not end within {patience_s} s:\n{out}\n{err}")


def wait_until(true: Callable[[], Any], what: str, patience_s: float = PATIENCE_S) -> Any:
    """Ask again and again until there is something; give it."""
    deadline = time.monotonic() + patience_s
    while not (found := true()):
        assert time.monotonic() < deadline, f"not within {patience_s} s: {what}"
        time.sleep(0.01)
    return found


def each_process() -> Iterator[int]:
    """Numbers of all processes."""
    yield from (int(name) for name in os.listdir("/proc") if name.isdecimal())


def marked(marker: str) -> list[int]:
    """Processes with this marker in their environment or their arguments."""
    found = []
    for pid in each_process():
        for file in ("environ", "cmdline"):
            with contextlib.suppress(OSError):
                if marker.encode() in Path(f"/proc/{pid}/{file}").read_bytes():
                    found.append(pid)
                    break
    return [pid for pid in found if pid != os.getpid()]


def describe(pid: int) -> str:
    """A process, for a failing test's message."""
    with contextlib.suppress(OSError):
        return f"{pid}: {Path(f'/proc/{pid}/cmdline').read_bytes().replace(bytes(1), b' ').decode()}"
    return f"{pid}: gone meanwhile"


def network_namespaces() -> dict[str, list[int]]:
    """All network namespaces that a process is in or holds a descriptor of, with these processes."""
    found: dict[str, list[int]] = {}
    for pid in each_process():
        with contextlib.suppress(OSError):
            links = [f"/proc/{pid}/ns/net", *(f"/proc/{pid}/fd/{fd}" for fd in os.listdir(f"/proc/{pid}/fd"))]
            for link in links:
                with contextlib.suppress(OSError):
                    if (name := os.readlink(link)).startswith("net:["):
                        found.setdefault(name, []).append(pid)
    return found


# A process, and when it started: numbers of processes are used again.
Holder = tuple[int, str]


def holder(pid: int) -> Holder:
    """A process, so that it is not mistaken for a later one with the same PID."""
    with contextlib.suppress(OSError):
        return pid, Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    return pid, "gone"


def held_by(pids: list[int]) -> dict[str, set[Holder]]:
    """Network namespaces of these processes, except our own, with all their holders."""
    ours, among = os.readlink("/proc/self/ns/net"), set(pids)
    return {
        name: {holder(pid) for pid in holders}
        for name, holders in network_namespaces().items()
        if among & set(holders) and name != ours
    }


def still_held(before: dict[str, set[Holder]]) -> dict[str, set[Holder]]:
    """Namespaces that one of their earlier holders still holds.

    A new holder of the same number may be unrelated: the kernel reuses namespace numbers at once,
    and who may enter one held it before or descends from such a process, and has the marker.
    """
    now = network_namespaces()
    found = {name: {holder(pid) for pid in now.get(name, [])} & holders for name, holders in before.items()}
    return {name: holders for name, holders in found.items() if holders}


def check_books(results: dict[str, Any]) -> dict[str, int]:
    """Every packet that came in came out, was dropped, or is still held; gives what is held, by direction.

    Needs a wired link without delay: packets in transit there are not counted.
    """
    link = next(element for element in results["elements"] if element["element"] == "link")
    bearers = next(element for element in results["elements"] if "ues" in element)["ues"][0]
    ends = results["live"]["ends"]
    assert link["dropped_queue_full"] == link["dropped_loss"] == 0
    held = {}
    for direction, source, sink in (("downlink", "server", "ue"), ("uplink", "ue", "server")):
        bearer = bearers[direction]
        # Downlink packets pass the wired link first, uplink packets pass it last.
        before, after = (link[direction]["packets_sent"], ends[sink]["received"])
        if direction == "uplink":
            before, after = ends[source]["sent"], link[direction]["packets_sent"]
        assert before == bearer["sdus_in"] + bearer["sdus_dropped"], direction
        assert after == bearer["sdus_delivered"], direction
        assert ends[source]["sent"] >= before and ends[sink]["received"] <= after, direction
        held[direction] = bearer["sdus_in"] - bearer["sdus_delivered"] - bearer["sdus_discarded"]
        assert held[direction] >= 0
        lost = bearer["sdus_dropped"] + bearer["sdus_discarded"]
        assert ends[source]["sent"] == ends[sink]["received"] + lost + held[direction], direction
    return held
