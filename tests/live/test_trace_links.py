"""Links by mahimahi's trace files: what a line lets pass, and the end of a trace."""

from __future__ import annotations

import signal
import sys

import pytest
from programs import needs

from live.harness import check_books

# Sends datagrams of 72 bytes, 100 of IP, to a port without listener.
SEND = """
import os, socket
# 10 * 1500 / 100 of them fit into ten lines, or 10 * 1504 / 104.
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
    for _ in range(200):
        udp.sendto(bytes(72), (os.environ["AIRPATH_SERVER"], 9))
"""


def trace(tmp_path, *times_ms: int):
    """A trace file: an opportunity at each of these times."""
    file = tmp_path / "trace"
    file.write_text("".join(f"{time}\n" for time in times_ms))
    return file


def uplink(outcome) -> dict[str, int]:
    """What the uplink's bearer counted."""
    return outcome.results["elements"][1]["ues"][0]["uplink"]


@pytest.mark.slow
@pytest.mark.parametrize(("opportunity_bytes", "delivered"), [(1500, 150), (1504, 144)])
def test_a_line_lets_1500_bytes_of_ip_pass_or_1504_with_4_more_a_packet(
    opportunity_bytes, delivered, live, tmp_path
):
    # The first lines come when all is in the buffer. What is left of a line counts for the next packet.
    file = trace(tmp_path, *range(2000, 2010))
    link = ("--uplink-trace", file, "--once", "--downlink-trace", file)
    command = ["sh", "-c", f"{sys.executable} -c '{SEND}'; while :; do sleep 0.05; done"]
    outcome = live(*link, "--opportunity-bytes", opportunity_bytes, out=True, command=command)
    assert outcome.live["ended_by"] == "trace"
    assert outcome.results["complete"] is True
    assert uplink(outcome)["sdus_delivered"] == delivered
    assert uplink(outcome)["opportunities"] == 10
    assert check_books(outcome.results)["uplink"] == 200 - delivered


@pytest.mark.slow
@needs("ping")
def test_a_run_ends_with_a_trace_that_does_not_repeat(live, tmp_path):
    file = trace(tmp_path, *range(1, 3001))
    link = ("--uplink-trace", file, "--downlink-trace", file, "--once")
    command = ["sh", "-c", "ping -q -c 1 -W 5 $AIRPATH_SERVER; echo $MAHIMAHI_BASE; exec sleep 1000"]
    outcome = live(*link, out=True, command=command)
    assert "1 received" in outcome.out and outcome.out.endswith("\n10.77.0.1\n")
    assert (outcome.code, outcome.live["ended_by"]) == (128 + signal.SIGTERM, "trace")
    assert uplink(outcome)["opportunities"] == 3000


@pytest.mark.slow
def test_a_rate_does_not_end_with_a_trace_that_does(live, tmp_path):
    link = ("--uplink-trace", trace(tmp_path, *range(1, 301)), "--downlink-trace", "10 Mbit/s", "--once")
    outcome = live(*link, out=True, command=["sleep", "1000"])
    assert (outcome.code, outcome.live["ended_by"]) == (128 + signal.SIGTERM, "trace")
    assert uplink(outcome)["opportunities"] == 300


@needs("ping")
def test_a_trace_begins_again_where_it_ends(live, tmp_path):
    file = trace(tmp_path, *range(1, 101))
    link = ("--uplink-trace", file, "--downlink-trace", file)
    outcome = live(*link, command=["sh", "-c", "exec ping -q -c 6 -i 0.1 -W 5 $AIRPATH_SERVER"], out=True)
    assert "6 received" in outcome.out
    assert uplink(outcome)["opportunities"] > 400


@pytest.mark.slow
@needs("ping")
def test_a_link_begins_at_the_offset_in_its_recordings(live, tmp_path):
    """Nothing passes in the first minute of either recording."""
    series = tmp_path / "rate.csv"
    series.write_text("time_s,rate_kbps\n0,0\n60,1000\n120,1000\n")
    link = ("--uplink-trace", trace(tmp_path, *range(60_000, 90_000)), "--downlink-trace", series)
    command = ["sh", "-c", "exec ping -q -c 2 -i 0.1 -W 5 $AIRPATH_SERVER"]
    outcome = live(*link, "--trace-offset", "60s", out=True, command=command)
    assert "2 received" in outcome.out
    assert uplink(outcome)["opportunities"] > 100
