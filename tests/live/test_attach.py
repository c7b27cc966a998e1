"""A link between a namespace that exists already and its world."""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from programs import PATIENCE_S, needs

from airpath.runs.metrics import bearer
from live.foreign import CLIENT, SLOW, check_state, client, inside, is_carried, is_in, rtt_ms, state_of
from live.harness import AIRPATH, wait_until

pytestmark = [
    needs("ip", "nsenter", "unshare"),
    pytest.mark.skipif(
        sys.platform != "linux" or os.geteuid() != 0, reason="--attach and its test need root on Linux"
    ),
]

# In a namespace of its own: two others with a device each, this one between; prints their numbers and waits.
# The other end echoes datagrams and streams.
WORLD = """
import os, socket, subprocess, sys, threading, time
def sh(words): subprocess.run(words, shell=True, check=True)
def child(number):
    process = subprocess.Popen(["unshare", "-n", "sleep", "600"])
    while os.readlink(f"/proc/{process.pid}/ns/net") == os.readlink("/proc/self/ns/net"): time.sleep(0.01)
    sh(f"ip link add veth{number} type veth peer name eth0 netns {process.pid}")
    sh(f"ip addr add 192.0.2.{4 * number + 1}/30 dev veth{number}")
    sh(f"ip -6 addr add 2001:db8:{number}::1/64 dev veth{number} nodad")
    sh(f"ip link set veth{number} up")
    enter = f"nsenter -t {process.pid} -n "
    sh(enter + f"ip addr add 192.0.2.{4 * number + 2}/30 dev eth0")
    sh(enter + f"ip -6 addr add 2001:db8:{number}::2/64 dev eth0 nodad")
    sh(enter + "ip link set eth0 up"); sh(enter + "ip link set lo up")
    sh(enter + f"ip route add default via 192.0.2.{4 * number + 1}")
    # The default of many distributions.
    sh(enter + "sysctl -qw net.ipv4.conf.all.rp_filter=1")
    return process
sh("ip link set lo up")
children = [child(0), child(1)]
def datagrams(family):
    with socket.socket(family, socket.SOCK_DGRAM) as server:
        if family == socket.AF_INET6: server.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        server.bind(("", 7))
        while True: server.sendto(*server.recvfrom(65535))
def stream():
    with socket.socket() as server:
        server.bind(("", 9)); server.listen()
        while True:
            one, _ = server.accept()
            threading.Thread(target=serve, args=(one,), daemon=True).start()
def serve(one):
    with one:
        try:
            while size := one.recv(8):
                one.sendall(bytes(int.from_bytes(size, "big")))
        except OSError: pass
for family in (socket.AF_INET, socket.AF_INET6):
    threading.Thread(target=datagrams, args=(family,), daemon=True).start()
threading.Thread(target=stream, daemon=True).start()
print(*(one.pid for one in children), flush=True)
sys.stdin.read()
[one.kill() for one in children]
"""


@dataclass
class World:
    """Namespaces of two programs, and the one between them."""

    target: int
    other: int
    middle: int

    def client(self, pid: int, *words: str) -> list[float]:
        return client(pid, *words)

    def rtt_ms(self, pid: int, address: str = "192.0.2.1", count: int = 3) -> float:
        return rtt_ms(pid, address, count)

    def state(self) -> str:
        return state_of(self.target)


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    with subprocess.Popen(
        ["unshare", "-n", sys.executable, "-c", WORLD],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin and process.stdout
        target, other = map(int, process.stdout.readline().split())
        made = World(target, other, process.pid)
        # Link-local addresses are tentative for a second (RFC 4862, 5.4).
        wait_until(lambda: "inet6 fe80" in (now := made.state()) and "tentative" not in now, "addresses")
        yield made
        process.stdin.close()


@contextlib.contextmanager
def attached(world: World, *options: str) -> Iterator[subprocess.Popen[str]]:
    command = [AIRPATH, "live", *options, "--attach", str(world.target)]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        wait_until(lambda: is_in(world.target) or process.poll() is not None, "the rules")
        assert process.poll() is None, process.stderr and process.stderr.read()
        yield process
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
        process.communicate(timeout=PATIENCE_S)


@pytest.mark.slow
def test_a_running_process_is_behind_the_bearer_and_out_again(world, tmp_path):
    before = world.state()
    assert world.rtt_ms(world.target) < 10
    with attached(world, *SLOW, "--max-lateness", "1s", "--out", str(tmp_path / "run")):
        assert 40 < world.rtt_ms(world.target) < 60
        # Traffic of others is not touched.
        assert world.rtt_ms(world.other, "192.0.2.5") < 10
        (seconds,) = world.client(world.target, "download", "192.0.2.1", "500000")
        assert 0.95 < seconds < 1.6
    assert world.state() == before
    assert world.rtt_ms(world.target) < 10
    results = json.loads((tmp_path / "run" / "results.json").read_text())
    (tcp,) = (flow for flow in results["flows"] if flow["protocol"] == "tcp")
    assert tcp["bytes_received"] >= 500_000
    assert results["live"]["valid"], results["live"]["invalid_because"]


@pytest.mark.slow
def test_ipv6_passes_the_bearer_too(world):
    with attached(world, *SLOW):
        assert 40 < world.rtt_ms(world.target, "2001:db8:0::1") < 60


@pytest.mark.slow
@pytest.mark.parametrize("address", ["192.0.2.1", "2001:db8:0::1"])
def test_datagrams_above_the_mtu_pass_in_fragments(world, address, tmp_path):
    with attached(world, *SLOW, "--out", str(tmp_path / "run")):
        world.client(world.target, "rtt", address, "3", "5000")
    results = json.loads((tmp_path / "run" / "results.json").read_text())
    assert all(end["refused_by_kernel"] == 0 for end in results["live"]["ends"].values())
    for way in ("downlink", "uplink"):
        # Four fragments of at most 1500 B of each of three datagrams.
        assert bearer(results, 0, way)["sdus_delivered"] >= 3 * 4
        assert results["live"]["outcomes"][way]["dropped"] == 0


def test_a_connection_goes_on_when_the_link_comes_and_goes(world):
    """1 MB: some of it before the link is there, some over it, the rest after it was killed."""
    enter = [*inside(world.target), sys.executable, "-c", CLIENT]
    with attached(world, *SLOW) as link:
        client = subprocess.Popen(
            [*enter, "download", "192.0.2.1", "8000000"], stdout=subprocess.PIPE, text=True
        )
        wait_until(lambda: is_carried(world.target, 9), "the connection")
        time.sleep(0.5)
        assert client.poll() is None
        link.kill()
    said, _ = client.communicate(timeout=PATIENCE_S)
    assert 0.4 < float(said) < 10


# Datagrams every 5 ms until the end of the standard input; prints how many were lost, and the maximum
# RTT.
BESIDE = """
import select, socket, sys, time
lost, longest = 0, 0.0
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
    client.settimeout(1)
    while not select.select([sys.stdin], [], [], 0.005)[0]:
        began = time.monotonic(); client.sendto(b"x" * 100, ("192.0.2.5", 7))
        try: client.recv(2000)
        except TimeoutError: lost += 1
        longest = max(longest, time.monotonic() - began)
print(lost, longest)
"""


@pytest.mark.slow
@pytest.mark.parametrize("kills", [3, pytest.param(24, marks=pytest.mark.slow)])
def test_nothing_is_left_after_kills_at_any_time(world, kills, record_property):
    """Kills of the command or of the driver, from its start on; others notice nothing.

    Each kind of kill has its moments spread over its range, one drawn from each of equal parts.
    """
    before, draws = world.state(), random.Random(kills)
    parts = -(-kills // 3)
    beside = [*inside(world.other), sys.executable, "-c", BESIDE]
    shaped, freed = 0, []
    with subprocess.Popen(beside, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdin and other.stdout
        for number in range(kills):
            command = [AIRPATH, "live", *SLOW, "--attach", str(world.target)]
            with subprocess.Popen(command, stderr=subprocess.DEVNULL) as link:
                # At any time after its start, and each third one in its work, however slow the machine is.
                if number % 3 == 2:
                    wait_until(lambda: is_in(world.target), "the rules")
                share = (number // 3 + draws.random()) / parts
                time.sleep(share * (2.5 if number % 3 < 2 else 0.5))
                shaped += is_in(world.target)
                children = Path(f"/proc/{link.pid}/task/{link.pid}/children").read_text().split()
                os.kill(int(children[0]) if number % 2 and children else link.pid, signal.SIGKILL)
                killed = time.monotonic()
                wait_until(lambda: not is_in(world.target), "the end of the rules", 1)
                freed.append(time.monotonic() - killed)
                link.wait(PATIENCE_S)
            check_state(world.target, before)
        other.stdin.close()
        lost, longest = other.stdout.read().split()
    record_property("figures", f"{shaped} of {kills} were shaped, freed after {max(freed):.2f} s at most")
    print(
        f"{shaped} of {kills} were shaped, freed after {max(freed):.2f} s at most; others: {lost} {longest}"
    )
    assert shaped
    assert int(lost) == 0
    assert world.rtt_ms(world.target) < 10


@pytest.mark.slow
def test_what_cannot_be_attached_is_refused_in_words(world):
    for target, words in [
        ("999999999", "ns/net: No such"),
        ("no-such-name", "/run/netns/no-such-name: No such"),
    ]:
        done = subprocess.run(
            [AIRPATH, "live", *SLOW, "--attach", target], capture_output=True, text=True, timeout=PATIENCE_S
        )
        assert done.returncode == 2 and words in done.stderr, done.stderr
    done = subprocess.run(
        [AIRPATH, "live", *SLOW, "--attach", str(world.target), "--server", "true"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2 and "--server: with --attach the other end is the world" in done.stderr
