"""Network namespaces that exist before a link is put into them, and what is to be found there."""

from __future__ import annotations

import contextlib
import ctypes
import json
import socket
import struct
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from programs import PATIENCE_S

from live.harness import wait_until

SLOW = ("--downlink-trace", "4 Mbit/s", "--uplink-trace", "2 Mbit/s", "--delay", "20ms")
"""A link of 40 ms of round trip."""

# Of the kernel's headers.
CLONE_NEWNET = 0x40000000
NETLINK_NETFILTER, NFTA_TABLE_NAME, NLMSG_DONE = 12, 1, 3

# Round trips of a datagram, 100 B or a fourth argument, in ms; or seconds of a download.
CLIENT = """
import os, socket, sys, time
kind, address, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
if kind == "rtt":
    with socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.settimeout(5)
        for _ in range(count):
            sent = os.urandom(int(*sys.argv[4:] or [100]))
            began = time.monotonic(); client.sendto(sent, (address, 7))
            assert client.recv(65535) == sent
            print(1000 * (time.monotonic() - began), flush=True)
else:
    with socket.create_connection((address, 9)) as client:
        client.settimeout(20)
        began = time.monotonic(); client.sendall(count.to_bytes(8, "big"))
        while count: count -= len(client.recv(1 << 16))
        print(time.monotonic() - began)
"""

STATE = """
ip -o addr; ip rule; ip -6 rule; ip route show table all; ip -6 route show table all
tc qdisc; cat /proc/net/netfilter/nfnetlink_queue
sysctl -ar '^net.ipv[46].(conf|ip_forward)' 2>/dev/null | grep -v -E 'stable_secret'
"""


def inside(pid: int) -> list[str]:
    """The beginning of a command that runs in the network namespace of a process."""
    return ["nsenter", "-t", str(pid), "-n"]


def tables_of(pid: int) -> list[str]:
    """Names of the tables of nftables in the network namespace of a process.

    A thread enters the namespace and ends: a process for it would take a hundred times as long.
    """
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(_tables_of, pid).result()


def _tables_of(pid: int) -> list[str]:
    """Enter the namespace, and ask by netlink: `nft` may not be there."""
    with open(f"/proc/{pid}/ns/net") as namespace:
        if ctypes.CDLL(None, use_errno=True).setns(namespace.fileno(), CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), f"the network namespace of process {pid} cannot be entered")
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_NETFILTER) as asked:
        return _names(asked)


def _names(asked: socket.socket) -> list[str]:
    # NFT_MSG_GETTABLE, NLM_F_REQUEST | NLM_F_DUMP.
    asked.send(struct.pack("=IHHIIBBH", 20, 10 << 8 | 1, 0x301, 1, 0, 0, 0, 0))
    names, done = [], False
    while not done:
        data = asked.recv(1 << 16)
        while data:
            length, kind = struct.unpack("=IH", data[:6])
            done = kind == NLMSG_DONE
            body = data[20:length]
            while body and not done:
                size, attribute = struct.unpack("=HH", body[:4])
                if attribute == NFTA_TABLE_NAME:
                    names.append(body[4 : size - 1].decode())
                body = body[(size + 3) & ~3 :]
            data = data[(length + 3) & ~3 :]
    return sorted(names)


def state_of(pid: int) -> str:
    """All in a namespace that a link could have left: links, addresses, rules, routes, queues, tables."""

    def said(*words: str) -> str:
        return subprocess.run([*inside(pid), *words], capture_output=True, text=True, check=True).stdout

    names = [link["ifname"] for link in json.loads(said("ip", "-j", "link"))]
    found = subprocess.run([*inside(pid), "sh", "-c", STATE], capture_output=True, text=True).stdout
    assert "qdisc" in found and "net.ipv4.conf" in found
    return f"{names}\n{found}\n{tables_of(pid)}"


def check_state(pid: int, before: str) -> None:
    """The namespace is as it was within a second: sockets of killed processes close one after the other."""
    with contextlib.suppress(AssertionError):
        wait_until(lambda: state_of(pid) == before, "the state before", 1)
    assert state_of(pid) == before


def is_carried(pid: int, port: int) -> bool:
    """Whether there is a connection to this port in the namespace of a process."""
    lines = Path(f"/proc/{pid}/net/tcp").read_text().splitlines()[1:]
    return any(line.split()[2].endswith(f":{port:04X}") and line.split()[3] == "01" for line in lines)


def is_in(pid: int) -> bool:
    """Whether there are rules of airpath in a namespace."""
    return any(name.startswith("airpath-") for name in tables_of(pid))


def client(pid: int, *words: str) -> list[float]:
    """Run the client in the namespace of a process."""
    command = [*inside(pid), sys.executable, "-c", CLIENT, *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S)
    assert done.returncode == 0, done.stderr
    return [float(line) for line in done.stdout.split()]


def rtt_ms(pid: int, address: str, count: int = 3) -> float:
    """The shortest round trip of a datagram to the echo at an address."""
    return min(client(pid, "rtt", address, str(count)))
