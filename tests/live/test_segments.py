"""Segments of up to 64 kB, as the kernel hands them over: the link carries the packets in them one by one."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest
from programs import needs

from live.harness import check_books
from live.packets import read

pytestmark = needs("iperf3")
MTU = 1500
SERVER = "exec iperf3 -s -1 > /dev/null"
# No queue drops anything, and only the machine limits the rate.
WIDE = """
[wired]
[radio.dch.downlink]
rate = "40 Gbit/s"
delay = "0.1 ms"
queue.droptail = { packets = 20000, in_service = "excluded" }
[radio.dch.uplink]
rate = "40 Gbit/s"
delay = "0.1 ms"
queue.droptail = { packets = 20000, in_service = "excluded" }
[[flow]]
app.bulk = {}
"""


@pytest.mark.slow
@pytest.mark.parametrize(("rate", "bps", "seconds"), [("100 Mbit/s", 1e8, 1), ("384 kbit/s", 384e3, 3)])
def test_each_packet_of_a_download_has_a_time_of_its_own_and_reaches_the_kernel_as_a_single_one(
    rate, bps, seconds, live
):
    link = ("--downlink-trace", rate, "--uplink-trace", "100 Mbit/s", "--snaplen", 2000)
    command = ["sh", "-c", f"exec timeout 40 iperf3 -c $AIRPATH_SERVER -R -t {seconds} > /dev/null"]
    outcome = live(*link, server=SERVER, command=command, out=True)
    assert outcome.code == 0, outcome.err
    packets = read(outcome.folder / "capture.pcapng")
    assert max(len(packet.octets) for packet in packets) == MTU
    assert all(packet.has_right_checksums() for packet in packets[:1000])
    arrived = [packet for packet in packets if packet.end == "ue" and packet.is_downlink and packet.is_tcp]
    full = [packet.at_s for packet in arrived if len(packet.octets) == MTU]
    assert len(full) > 20
    # Traces count whole packets to a millisecond.
    assert min(after - before for before, after in pairwise(full)) > 0.9 * MTU * 8 / bps
    flow, _ = outcome.flows("tcp")
    # The kernel counts merged packets as one, and late packets are merged. A busy kernel may not have counted
    # packets after iperf3's last message.
    control = arrived[0].connection
    last = max(at for at, packet in enumerate(arrived) if packet.is_data and packet.connection == control)
    late = sum(count for until_us, count in outcome.live["lateness_us"]["histogram"] if until_us > 100)
    assert outcome.live["kernel"]["ue"]["InSegs"] + late > last
    assert last > 0.9 * len(arrived)
    assert flow["receiver"]["out_of_order"] == 0
    # What the receiver has twice, a sender that waited for long has sent twice.
    assert flow["receiver"]["duplicates"] <= flow["retransmissions"]["total"]


@pytest.mark.parametrize("version", [4, 6])
def test_where_many_packets_leave_together_none_is_lost_or_changed(version, live, tmp_path):
    wide = tmp_path / "wide.toml"
    wide.write_text(WIDE, encoding="utf-8")
    server = "$AIRPATH_SERVER6" if version == 6 else "$AIRPATH_SERVER"
    command = ["sh", "-c", f"exec timeout 40 iperf3 -{version} -c {server} -R -t 1 -J"]
    outcome = live(wide, "--probes", "", server=SERVER, command=command, out=True)
    assert outcome.code == 0, outcome.out
    measured = json.loads(outcome.out)["end"]
    flow = outcome.flows("tcp")[0]
    assert flow["bytes_received"] >= measured["sum_received"]["bytes"] > 0
    # Fewer bytes to a packet than the MTU allows: none was counted that stands for many.
    assert flow["segments_sent"] >= flow["bytes_received"] / (MTU - 40)
    kernel = outcome.live["kernel"]
    assert all("InCsumErrors" not in kernel[end] and "InErrs" not in kernel[end] for end in ("server", "ue"))
    assert all(end["refused_by_kernel"] == 0 for end in outcome.live["ends"].values())
    check_books(outcome.results)
