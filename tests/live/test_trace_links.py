"""Links by mahimahi's trace files: what a line lets pass, and the end of a trace."""

from __future__ import annotations

import sys

import pytest

from live.harness import check_books, needs

# Sends datagrams of 72 bytes, 100 of IP, to a port where nobody listens.
SEND = """
import os, socket
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
    for _ in range(200):
        udp.sendto(bytes(72), (os.environ["AIRPATH_SERVER"], 9))
"""


def trace(tmp_path, *times_ms: int):
    """A trace file: an opportunity at each of these times."""
    file = tmp_path / "trace"
    file.write_text("".join(f"{time}\n" for time in times_ms))
    return file


@pytest.mark.parametrize(("opportunity_bytes", "delivered"), [(1500, 10 * 1500 // 100), (1504, 10 * 1504 // 104)])
def test_a_line_lets_1500_bytes_of_ip_pass_or_1504_with_4_more_a_packet(
    opportunity_bytes, delivered, live, tmp_path
):
    # The first lines come when all is in the buffer. What is left of a line counts for the next packet.
    file = trace(tmp_path, *range(2000, 2010))
    link = ("--uplink-trace", file, "--once", "--downlink-trace", "10 Mbit/s")
    send = [sys.executable, "-c", SEND]
    outcome = live(*link, "--opportunity-bytes", opportunity_bytes, "--duration", "3s", out=True,
                   command=["sh", "-c", '"$@"; while :; do sleep 0.05; done', "sh", *send])
    bearer = outcome.results["elements"][1]["ues"][0]["uplink"]
    assert bearer["sdus_delivered"] == delivered
    assert bearer["opportunities"] == 10
    assert check_books(outcome.results) == {"downlink": 0, "uplink": 200 - delivered}


@needs("ping")
def test_a_trace_begins_again_where_it_ends(live, tmp_path):
    file = trace(tmp_path, *range(1, 101))
    link = ("--uplink-trace", file, "--downlink-trace", file)
    outcome = live(*link, command=["sh", "-c", "exec ping -q -c 6 -i 0.1 -W 5 $AIRPATH_SERVER"], out=True)
    assert "6 received" in outcome.out
    assert outcome.results["elements"][1]["ues"][0]["uplink"]["opportunities"] > 400
