"""`airpath ping` behind a live link: round trips, with no program but airpath."""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path

import pytest

from live.harness import FAST, finish

# One way, in milliseconds; and what the machine may add to a round trip.
DELAY_MS, SLACK_MS = 20, 30
LINK = (*FAST, "--delay", f"{DELAY_MS}ms")
PING = "airpath ping --count 3 --interval 200ms"


def check(said: str, address: str) -> None:
    """Three answers from an address, each later than the delay of both ways."""
    found = json.loads(said)
    assert (found["host"], found["sent"], found["received"]) == (address, 3, 3)
    rtts = [answer["rtt_ms"] for answer in found["answers"]]
    assert [answer["number"] for answer in found["answers"]] == [1, 2, 3]
    assert min(rtts) >= 2 * DELAY_MS
    # The best of three: this is no test of the machine.
    assert min(rtts) < 2 * DELAY_MS + SLACK_MS
    assert found["rtt_ms"] == {
        "samples": 3,
        "mean": pytest.approx(sum(rtts) / 3),
        "min": min(rtts),
        "max": max(rtts),
    }


@pytest.mark.slow
def test_a_round_trip_takes_the_delay_of_both_ways_whatever_path_there_is(live):
    # The `airpath` that carries the link is found where PATH leads to none.
    environment = {**os.environ, "PATH": "/usr/bin:/bin"}
    outcome = live(*LINK, command=["sh", "-c", f"{PING} --json"], env=environment)
    assert outcome.code == 0, outcome.err
    check(outcome.out, "10.77.0.1")


@pytest.mark.slow
def test_the_other_version_of_ip_and_lines_for_people(live):
    outcome = live(*LINK, command=["sh", "-c", f"{PING} --payload 1000 $AIRPATH_SERVER6"])
    assert outcome.code == 0, outcome.err
    *answers, summary = outcome.out.splitlines()
    begins = [f"1008 bytes from fd61:6972:7061::1: icmp_seq={number} time=" for number in (1, 2, 3)]
    assert [line.startswith(begin) for line, begin in zip(answers, begins, strict=True)] == [True] * 3
    assert summary.startswith("fd61:6972:7061::1: 3 sent, 3 received, 0 % lost; round trip: min ")


@pytest.mark.slow
@pytest.mark.parametrize("address", ["$AIRPATH_SERVER", "$AIRPATH_SERVER6"])
def test_where_sockets_for_echo_are_refused_a_raw_one_does(address, live):
    options = ("--sysctl", "net.ipv4.ping_group_range=1 0")
    outcome = live(*LINK, *options, command=["sh", "-c", f"{PING} --json {address}"])
    assert outcome.code == 0, outcome.err
    check(outcome.out, "10.77.0.1" if address == "$AIRPATH_SERVER" else "fd61:6972:7061::1")


@pytest.mark.slow
def test_from_the_server_the_other_end_is_the_ue(live, tmp_path):
    begun, done = tmp_path / "begun", tmp_path / "done"
    # COMMAND begins when something listens.
    listens = f"{sys.executable} -m http.server --bind $AIRPATH_SERVER 8000"
    ping = f"{PING} --json > {done}.tmp; mv {done}.tmp {done}"
    server = f"{listens} & {wait_for(begun)}; {ping}; wait"
    outcome = live(*LINK, server=server, command=["sh", "-c", f"touch {begun}; {wait_for(done)}"])
    assert outcome.code == 0, outcome.err
    check(done.read_text(), "10.77.0.2")


def wait_for(file: Path) -> str:
    return f"until [ -e {file} ]; do sleep 0.02; done"


def test_no_answer_is_told_by_the_exit_status(live):
    # airpath's TCP endpoint does not answer ping: docs/live-tcp.md.
    words = ["airpath", "ping", "--count", "2", "--interval", "50ms", "--timeout", "100ms"]
    outcome = live(*LINK, "--sender", "airpath", command=words)
    assert (outcome.code, outcome.out) == (1, "10.77.0.1: 2 sent, 0 received, 100 % lost\n")


@pytest.mark.slow
def test_answers_come_one_by_one_and_an_interrupt_ends_with_the_summary(start):
    process = start(*LINK, command=["sh", "-c", "exec airpath ping --count 1000 --interval 50ms"])
    first = process.stdout.readline()
    assert first.startswith("64 bytes from 10.77.0.1: icmp_seq=1 time="), process.communicate()
    process.send_signal(signal.SIGINT)
    out, err = finish(process)
    assert process.returncode == 130, err
    assert " received, " in out.splitlines()[-1]
