"""Whatever ends a live run, at whatever moment: no process, namespace or device of it remains.

Processes are found by a marker in their environment, which everything that a run starts inherits, also
what has left its session and its parent. Namespaces and devices of a run have no names: they are there as
long as a process holds them, and the kernel's own count of namespaces shows that none is.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from programs import needs

from live.conftest import nothing_remains, starter
from live.harness import (
    FAST,
    GONE_WITHIN_S,
    PATIENCE_S,
    describe,
    finish,
    held_by,
    marked,
    still_held,
    without_power,
)

SEED = 2002
# So many runs at a time are killed, each victim so often, with and without power.
AT_ONCE, KILLS = 4, 4
# Daemons as they make themselves: a session of their own, and no parent.
DAEMON = "(setsid -f sleep 1000 > /dev/null 2>&1 < /dev/null &); "
SERVER = DAEMON + "sleep 1000 & exec iperf3 -s > /dev/null"
# Ends by itself or does not: some kills come while the run is ending.
COMMANDS = (DAEMON + "sleep 1000", DAEMON + "sleep 0.3", "sleep 0.1")

pytestmark = needs("setsid", "iperf3")


def children(pid: int) -> list[int]:
    """Processes that a process has started."""
    with contextlib.suppress(OSError):
        return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    return []


def victim_of(airpath: int, which: str) -> int | None:
    """The driver (the child that airpath starts), or init (the driver's child's child), if it is there."""
    found = [airpath]
    for _ in range({"airpath": 0, "driver": 1, "init": 3}[which]):
        found = [child for pid in found for child in children(pid)]
    return found[0] if found else None


def kill_a_run(number: int, which: str, launcher: list[str], folder: Path) -> str | None:
    """Start a run, kill a part of it after a random time, and say what remained of it, if anything did."""
    rng = random.Random(f"{SEED} {number} {which} {bool(launcher)}")
    # airpath is up after most of a second; the driver makes its link in some milliseconds. Kills with and
    # without power are in turn, and one is drawn from each of equal parts of either range.
    ranges = ((0, 1.5), (0.3, 1.0)) if which == "airpath" else ((0, 0.03), (0, 0.8))
    turn = 2 * number + bool(launcher)
    low, high = ranges[turn // 2 % 2]
    after_s = low + (high - low) * (turn // 4 * 2 + turn % 2 + rng.random()) / KILLS
    command = COMMANDS[turn % len(COMMANDS)]
    out = ["--out", str(folder / f"{which}{number}")] if turn % 8 in (0, 3, 5, 6) else []
    case = f"{which} after {after_s:.3f} s of {command!r}"
    with nothing_remains() as marker:
        process = starter(marker)(
            *FAST, *out, server=SERVER, command=["sh", "-c", command], launcher=launcher, drawn=True
        )
        deadline = time.monotonic() + PATIENCE_S
        while (victim := victim_of(process.pid, which)) is None and process.poll() is None:
            assert time.monotonic() < deadline, case
            time.sleep(0.001)
        # This wait is no synchronisation: the moment is what is drawn.
        time.sleep(after_s)
        before = held_by(marked(marker))
        with contextlib.suppress(ProcessLookupError):
            if victim is not None:
                os.kill(victim, signal.SIGKILL)
        killed_at = time.monotonic()
        finish(process)
        # A process that is just ending has no environment any more, and still its namespace.
        while (remaining := marked(marker)) or (still := still_held(before)):
            if time.monotonic() > killed_at + GONE_WITHIN_S:
                return f"{case}: {[describe(pid) for pid in remaining] or still}"
            time.sleep(0.01)
    return None


@pytest.mark.slow
@pytest.mark.parametrize("power", ["none", "root"] if os.geteuid() == 0 else ["none"])
def test_kill_9_at_any_moment_leaves_nothing(power, tmp_path):
    launcher = [] if power == "root" else without_power(tmp_path)
    cases = [(number, which) for number in range(KILLS) for which in ("airpath", "driver", "init")]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        found = list(pool.map(lambda case: kill_a_run(*case, launcher, tmp_path), cases))
    assert [failure for failure in found if failure] == []
    assert not Path("/sys/class/net/airpath0").exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("which", "code"),
    [
        ("driver", 2),
        ("init", 128 + signal.SIGKILL),
    ],
)
def test_a_run_whose_driver_or_init_is_killed_is_no_success(which, code, start):
    process = start(*FAST, command=["sh", "-c", "echo ready; sleep 1000"])
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    os.kill(victim_of(process.pid, which), signal.SIGKILL)
    _, err = finish(process)
    assert process.returncode == code, err


@needs("unshare")
@pytest.mark.slow
def test_the_kernel_counts_no_namespace_of_runs_that_were_killed(marker, tmp_path):
    # Where two networks are allowed, a run works only if none is left over from earlier runs.
    runs = Path(__file__).with_name("runs_within_a_limit.py")
    words = ["unshare", "--user", "--map-root-user", sys.executable, runs, marker, *FAST]
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=PATIENCE_S)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("command", ["true", DAEMON + "exit 0"])
def test_the_end_of_command_is_the_end_of_everything(command, live):
    # That nothing has the marker any more is looked at after every test.
    assert live(*FAST, server=SERVER, command=["sh", "-c", command]).code == 0
    assert not Path("/sys/class/net/airpath0").exists()


@pytest.mark.slow
def test_ctrl_c_ends_everything(start, marker):
    command = DAEMON + "trap 'exit 130' INT; echo ready; while :; do sleep 0.02; done"
    process = start(*FAST, server=SERVER, command=["sh", "-c", command])
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    # What ends must have been there: both shells, both daemons, the server.
    assert len(marked(marker)) >= 7
    assert len(held_by(marked(marker))) == 2
    process.send_signal(signal.SIGINT)
    finish(process)
    assert process.returncode == 130
