"""Files through a live link with concurrent datagrams and pings, and the outcome of every packet."""

from __future__ import annotations

import hashlib
import json
import random
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from airpath.captures import analyze
from live.harness import Outcome, finish
from live.packets import Blank, Captured, Passage, nothing, passage, read

SCRIPT = Path(__file__).with_name("transfer.py")
# Room for everything, and 60 ms there and back.
LINK = """
[radio.dch.downlink]
rate = "4 Mbit/s"
delay = "30 ms"
queue.droptail.packets = 200
[radio.dch.uplink]
rate = "1 Mbit/s"
delay = "30 ms"
[[flow]]
app.bulk = {}
"""


@dataclass(frozen=True)
class Transfer:
    """A transfer through a live link, and everything that passed its ends."""

    outcome: Outcome

    @cached_property
    def packets(self) -> list[Captured]:
        """What passed, whole, in its order."""
        return read(self.outcome.folder / "capture.pcapng")

    @cached_property
    def client(self) -> dict[str, Any]:
        """What the client says."""
        found: dict[str, Any] = json.loads(self.outcome.out)
        return found

    def at(self, end: str, downlink: bool) -> list[Captured]:
        """TCP at an end, one way."""
        mine = (packet for packet in self.packets if packet.end == end and packet.is_tcp)
        return [packet for packet in mine if packet.is_downlink == downlink]

    def box(self, name: str) -> dict[str, Any]:
        """A middlebox's counters."""
        elements = self.outcome.results["elements"]
        found: dict[str, Any] = next(part for part in elements if part["element"] == f"middlebox.{name}")
        return found

    @property
    def dropped_by_the_buffer(self) -> int:
        """Packets for which the downlink's buffer had no room."""
        cell = next(part for part in self.outcome.results["elements"] if part["element"].startswith("radio."))
        found: int = cell["ues"][0]["downlink"]["sdus_dropped"]
        return found

    @property
    def median_delay_s(self) -> float:
        """From when the server sent a segment of data until it arrived, in the middle."""
        sent = {one.octets: one.at_s for one in self.at("server", downlink=True)}
        return median(one.at_s - sent[one.octets] for one in self.at("ue", downlink=True) if one.is_data)

    @property
    def kernel(self) -> dict[str, int]:
        """What the server's kernel counted."""
        found: dict[str, int] = self.outcome.live["kernel"]["server"]
        return found

    @property
    def download(self) -> dict[str, Any]:
        """The analysis of the largest flow, from the server's end of the capture."""
        connections = analyze(self.outcome.folder / "capture.pcapng")["connections"]
        here = (flow for one in connections for flow in one["flows"] if flow["interface"] == "server")
        found: dict[str, Any] = max(here, key=lambda flow: flow["bytes_acked"])
        return found


Carry = Callable[..., Transfer]


@pytest.fixture
def carry(start, tmp_path) -> Carry:
    """Transfer a file through a scenario; it arrives unchanged, and so do concurrent datagrams.

    Other than "get" and "put", the client runs the transfer.py command of that name.
    """

    def call(
        scenario: str,
        size: int,
        *client: object,
        what: str = "get",
        sysctls: tuple[str, ...] = (),
        congestion_control: str = "reno",
    ) -> Transfer:
        here = tmp_path / f"run-{len(list(tmp_path.iterdir()))}"
        came = here / "came"
        came.mkdir(parents=True)
        (here / "link.toml").write_text(scenario)
        file, got = here / "file", here / "got"
        file.write_bytes(random.Random(size).randbytes(size))
        control = f"--congestion-control {congestion_control}"
        program = f"{sys.executable} {SCRIPT}"
        words = " ".join(str(word) for word in client)
        run = f"{program} {what} {file if what == 'put' else got} {control} --datagrams 30 {words}"
        command = [
            "sh",
            "-c",
            f"ping -q -i 0.05 -c 20 -W 20 $AIRPATH_SERVER > /dev/null & {run}; status=$?; wait; exit $status",
        ]
        options = [word for setting in sysctls for word in ("--sysctl", setting)]
        process = start(
            *(here / "link.toml", "--out", here / "out", "--snaplen", 2000, "--probes", "", *options),
            server=f"exec {program} serve {file} {came} {control}",
            command=command,
        )
        out, err = finish(process)
        assert process.returncode == 0, err
        done = Transfer(Outcome(process.returncode, out, err, here / "out"))
        arrived = {"get": [got], "put": list(came.iterdir())}.get(what)
        if arrived is not None:
            assert arrived
            for one in arrived:
                assert hashlib.sha256(one.read_bytes()).digest() == hashlib.sha256(file.read_bytes()).digest()
        assert done.client["datagrams"]["spoiled"] == 0 < done.client["datagrams"]["came_back"]
        return done

    return call


def check_nothing_else(done: Transfer, downlink: Blank = nothing, uplink: Blank = nothing) -> list[Passage]:
    """Only what these boxes may write differs between the two ends; gives what became of the packets."""
    assert done.packets
    assert [packet for packet in done.packets if not packet.has_right_checksums()] == []
    found = [passage(done.packets, True, downlink), passage(done.packets, False, uplink)]
    for one in found:
        assert one.as_sent > 0
        others = [packet for packet in one.made if not packet.is_tcp]
        others += [after for _, after in one.changed if not after.is_tcp]
        assert others == [], "what is not TCP was touched"
    return found


def check_delays_and_drops(done: Transfer) -> list[Passage]:
    """A box that delays or drops has changed no octet, made nothing, and let nothing overtake."""
    found = check_nothing_else(done)
    for one in found:
        assert one.changed == one.made == []
        assert one.overtaken == 0
    return found


def retransmitted(done: Transfer) -> int:
    """Data segments of the server that contained only data sent before."""
    latest: dict[object, int] = {}
    again = 0
    for packet in done.at("server", downlink=True):
        if packet.is_data:
            before = latest.get(packet.connection)
            if before is not None and (packet.end_seq - before - 1) % 2**32 >= 2**31:
                again += 1
            else:
                latest[packet.connection] = packet.end_seq
    return again
