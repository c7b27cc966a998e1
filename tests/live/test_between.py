"""A gateway between two interfaces, for a phone or a machine on its far side."""

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

import pytest
from programs import PATIENCE_S, needs

from live.foreign import SLOW, check_state, client, inside, is_in, rtt_ms, state_of
from live.harness import AIRPATH, wait_until

pytestmark = [
    needs("ip", "nsenter", "unshare", "tc"),
    pytest.mark.skipif(
        sys.platform != "linux" or os.geteuid() != 0, reason="--between and its test need root on Linux"
    ),
]

# The gateway, with a phone behind `inside` and the world behind `outside`, which has no route to the phone,
# and a third machine behind `beside`.
GATEWAY = """
import os, socket, subprocess, sys, threading, time
def sh(words): subprocess.run(words, shell=True, check=True)
def child(name, own, other, own6, other6, *words):
    process = subprocess.Popen(["unshare", "-n", *(words or ["sleep", "600"])], stdout=subprocess.PIPE)
    while os.readlink(f"/proc/{process.pid}/ns/net") == os.readlink("/proc/self/ns/net"): time.sleep(0.01)
    enter = f"nsenter -t {process.pid} -n "
    sh(f"ip link add {name} type veth peer name eth0 netns {process.pid}")
    sh(f"ip addr add {own} dev {name}"); sh(f"ip -6 addr add {own6} dev {name} nodad")
    sh(f"ip link set {name} up")
    sh(enter + f"ip addr add {other} dev eth0"); sh(enter + f"ip -6 addr add {other6} dev eth0 nodad")
    sh(enter + "ip link set eth0 up"); sh(enter + "ip link set lo up")
    return process, enter
sh("ip link set lo up")
phone, enter = child("inside", "10.1.0.1/24", "10.1.0.2/24", "fd00:1::1/64", "fd00:1::2/64")
sh(enter + "ip route add default via 10.1.0.1"); sh(enter + "ip -6 route add default via fd00:1::1")
third, _ = child("beside", "10.2.0.1/24", "10.2.0.2/24", "fd00:2::1/64", "fd00:2::2/64")
world, enter = child("outside", "192.0.2.2/30", "192.0.2.1/30", "2001:db8::2/64", "2001:db8::1/64",
                     sys.executable, "-c", sys.argv[1])
print(phone.pid, third.pid, world.pid, flush=True)
sys.stdin.read()
[one.kill() for one in (phone, third, world)]
"""

# Echoes datagrams at port 7; at port 8 the answer is the address that they came from; streams at port 9.
WORLD = """
import socket, threading
def datagrams(family, port):
    with socket.socket(family, socket.SOCK_DGRAM) as server:
        if family == socket.AF_INET6: server.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        server.bind(("", port))
        while True:
            data, source = server.recvfrom(65535)
            server.sendto(data if port == 7 else source[0].encode(), source)
def serve(one):
    with one:
        try:
            while size := one.recv(8): one.sendall(bytes(int.from_bytes(size, "big")))
        except OSError: pass
for family in (socket.AF_INET, socket.AF_INET6):
    for port in (7, 8): threading.Thread(target=datagrams, args=(family, port), daemon=True).start()
with socket.socket() as server:
    server.bind(("", 9)); server.listen()
    while True:
        one, _ = server.accept()
        threading.Thread(target=serve, args=(one,), daemon=True).start()
"""

# Who the world sees; nothing if it does not answer.
WHO = """
import socket, sys
with socket.socket(socket.AF_INET6 if ":" in sys.argv[1] else socket.AF_INET, socket.SOCK_DGRAM) as client:
    client.settimeout(0.5)
    try:
        client.sendto(b"who", (sys.argv[1], 8)); print(client.recv(100).decode())
    except OSError: pass
"""


@dataclass
class Network:
    """Processes in the namespaces of the gateway, the phone, the third machine, and the world."""

    gateway: int
    phone: int
    third: int
    world: int

    def seen(self, pid: int, address: str = "192.0.2.1") -> str:
        """The address that the world sees when a process sends to it."""
        command = [*inside(pid), sys.executable, "-c", WHO, address]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


@pytest.fixture(scope="module")
def network() -> Iterator[Network]:
    with subprocess.Popen(
        ["unshare", "-n", sys.executable, "-c", GATEWAY, WORLD],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin and process.stdout
        made = Network(process.pid, *map(int, process.stdout.readline().split()))
        wait_until(lambda: made.seen(made.gateway) == "192.0.2.2", "the world")
        wait_until(lambda: "tentative" not in state_of(made.gateway), "addresses")
        yield made
        process.stdin.close()


@contextlib.contextmanager
def between(network: Network, *options: str) -> Iterator[subprocess.Popen[str]]:
    command = [*inside(network.gateway), AIRPATH, "live", *options, "--between", "inside", "outside"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        wait_until(lambda: is_in(network.gateway) or process.poll() is not None, "the rules")
        assert process.poll() is None, process.stderr and process.stderr.read()
        yield process
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
        process.communicate(timeout=PATIENCE_S)


@pytest.mark.slow
def test_a_phone_reaches_the_world_through_the_bearer_alone(network, tmp_path):
    before = state_of(network.gateway)
    assert network.seen(network.phone) == ""
    with between(network, *SLOW, "--max-lateness", "1s", "--out", str(tmp_path / "run")):
        assert network.seen(network.phone) == "192.0.2.2"
        assert network.seen(network.phone, "2001:db8::1") == "2001:db8::2"
        assert 40 < rtt_ms(network.phone, "192.0.2.1") < 60
        assert 40 < rtt_ms(network.phone, "2001:db8::1") < 60
        for address in ("192.0.2.1", "2001:db8::1"):
            # Longer than the MTU: in fragments.
            client(network.phone, "rtt", address, "1", "5000")
        (seconds,) = client(network.phone, "download", "192.0.2.1", "250000")
        assert 0.45 < seconds < 1.2
        # The gateway's own traffic and packets that it does not forward are not shaped.
        assert network.seen(network.gateway) == "192.0.2.2"
        assert rtt_ms(network.gateway, "192.0.2.1") < 10
        assert network.seen(network.third) == ""
    assert state_of(network.gateway) == before
    assert network.seen(network.phone) == ""
    results = json.loads((tmp_path / "run" / "results.json").read_text())
    (tcp,) = (flow for flow in results["flows"] if flow["protocol"] == "tcp")
    assert tcp["bytes_received"] >= 250_000
    assert results["live"]["valid"], results["live"]["invalid_because"]


@pytest.mark.slow
def test_addresses_stay_where_the_world_has_a_route_back(network):
    route = ["ip", "route", "add", "10.1.0.0/24", "via", "192.0.2.2"]
    subprocess.run([*inside(network.world), *route], check=True)
    try:
        with between(network, *SLOW, "--keep-addresses"):
            assert network.seen(network.phone) == "10.1.0.2"
            assert 40 < rtt_ms(network.phone, "192.0.2.1") < 60
    finally:
        route[2] = "del"
        subprocess.run([*inside(network.world), *route], check=True)


@pytest.mark.parametrize("kills", [1, pytest.param(6, marks=pytest.mark.slow)])
def test_nothing_is_left_of_a_killed_gateway(network, kills):
    before, draws = state_of(network.gateway), random.Random(kills)
    for _ in range(kills):
        with between(network, *SLOW) as link:
            assert network.seen(network.phone) == "192.0.2.2"
            time.sleep(draws.uniform(0, 0.3))
            link.kill()
            wait_until(lambda: not is_in(network.gateway), "the end of the rules", 1)
        check_state(network.gateway, before)
        assert network.seen(network.phone) == ""


@pytest.mark.slow
def test_what_is_no_gateway_is_refused_in_words(network):
    for names, words in [
        (("inside", "eth9"), "--between: there is no interface 'eth9'; write the names of two interfaces"),
        (("lo", "outside"), "--between: no packet is forwarded from 'lo' to 'outside'"),
    ]:
        command = [*inside(network.gateway), AIRPATH, "live", *SLOW, "--between", *names]
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S)
        assert done.returncode == 2 and words in done.stderr, done.stderr
    done = subprocess.run([AIRPATH, "live", *SLOW, "--keep-addresses"], capture_output=True, text=True)
    assert done.returncode == 2 and "--keep-addresses: there is no gateway" in done.stderr, done.stderr
