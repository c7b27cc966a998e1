"""The files of a live run agree with each other, with the kernel, and with an independent reader.

All tests look at one run: a download by cubic through a short drop-tail buffer, until nothing is in flight.
"""

from __future__ import annotations

import json
import re

import pytest
from conftest import WRITTEN
from programs import needs, tshark, tshark_count

from live.conftest import starter
from live.harness import Outcome, check_books, finish

# Neither trace nor wired link delays anything; what delays is the buffer: 30 packets at 10 Mbit/s are 36 ms.
LINK = ("--downlink-trace", "10 Mbit/s", "--uplink-trace", "10 Mbit/s")
QUEUE = ("--downlink-queue", "droptail", "--downlink-queue-args", "packets=30")
# The server ends after one client. Once iperf3 has ended, all its packets are in the path, and a ping
# leaves the buffer after them.
DOWNLOAD = """
iperf3 -c $AIRPATH_SERVER -R -t 2 -C cubic -J
while grep -qx iperf3 /proc/[0-9]*/comm 2> /dev/null; do sleep 0.02; done
until ping -q -c 1 -W 1 $AIRPATH_SERVER > /dev/null; do :; done
"""

pytestmark = needs("iperf3", "ping")


@pytest.fixture(scope="module")
def lossy(module_marker, tmp_path_factory) -> Outcome:
    """The run."""
    folder = tmp_path_factory.mktemp("lossy")
    process = starter(module_marker)(
        *(*LINK, *QUEUE, "--out", folder),
        server="exec iperf3 -s -1",
        command=["sh", "-c", DOWNLOAD],
        drawn=True,
    )
    out, err = finish(process)
    assert process.returncode == 0, err
    return Outcome(process.returncode, out, err, folder)


@pytest.fixture(scope="module")
def download(lossy):
    """The flow that carried the data."""
    flow = lossy.flows("tcp")[0]
    assert flow["retransmissions"]["total"] > 0
    return flow


def at(lossy, interface, tmp_path):
    """What one end saw, in a file of its own: tshark follows connections without regard to interfaces."""
    file = tmp_path / f"{interface}.pcapng"
    tshark(lossy.folder / "capture.pcapng", f'frame.interface_name == "{interface}"', "-w", file)
    return file


@pytest.mark.slow
def test_a_live_run_leaves_the_files_of_a_simulated_one(lossy):
    assert {str(file.relative_to(lossy.folder)) for file in lossy.folder.rglob("*.*")} == WRITTEN
    assert (lossy.folder / "plot.png").read_bytes().startswith(b"\x89PNG")
    manifest = json.loads((lossy.folder / "manifest.json").read_text())
    assert manifest["live"]["server"] == "exec iperf3 -s -1"
    assert manifest["interrupted"] is False
    assert lossy.live["lost_records"] == 0


@pytest.mark.slow
def test_real_flows_have_the_delays_of_the_path(lossy):
    flow = max(lossy.flows("tcp"), key=lambda flow: flow["bytes_received"])
    delay, queueing = flow["one_way_delay_ms"], flow["queueing_delay_ms"]
    # Segments with data alone: as many as the receiver got.
    assert delay["samples"] >= flow["receiver"]["segments"] > 100
    assert delay["min"] <= delay["p50"] <= delay["p90"] <= delay["p95"] <= delay["p99"] <= delay["max"]
    # The path adds only constant delays to the delay of the bearer.
    events = lossy.events("bearer_delivered")
    through = [
        waited / 1e6
        for waited, way, number in zip(events["delay_ns"], events["direction"], events["flow"], strict=True)
        if (way, number) == (flow["direction"], flow["flow"])
    ]
    rounding = 1e-9  # Of times in nanoseconds, converted to milliseconds.
    assert delay["max"] >= max(through) - rounding and delay["min"] >= min(through) - rounding
    assert queueing["p95"] == pytest.approx(delay["p95"] - delay["min"])
    assert lossy.results["jain_index"]["downlink"] <= 1


def test_every_packet_was_delivered_dropped_or_is_still_held(lossy):
    held = check_books(lossy.results)
    assert held["downlink"] == 0
    ends = lossy.live["ends"]
    dropped = ends["server"]["sent"] - ends["ue"]["received"]
    assert dropped == len(lossy.events("dropped")["time_ns"]) > 0


def test_the_kernel_dropped_nothing_on_its_own(lossy):
    for end in lossy.live["ends"].values():
        assert end["tun_dropped"] == end["refused_by_kernel"] == 0
    assert lossy.live["kernel"]["server"]["RetransSegs"] >= lossy.flows("tcp")[0]["retransmissions"]["total"]


def test_times_of_each_kind_of_event_ascend(lossy):
    kinds = [file.stem for file in lossy.folder.glob("trace/*.parquet")]
    happened = {kind: lossy.events(kind)["time_ns"] for kind in kinds}
    happened = {kind: times for kind, times in happened.items() if times}
    assert {"tcp_state", "rtt_sample", "segment_sent", "bearer_enqueued", "dropped"} <= happened.keys()
    for kind, times in happened.items():
        assert times == sorted(times), kind
        assert times[0] >= 0 and times[-1] <= lossy.results["simulated_s"] * 1e9, kind


def test_the_trace_has_every_segment_and_every_sample_that_results_count(lossy):
    sent, samples = lossy.events("segment_sent"), lossy.events("rtt_sample")
    for flow in lossy.flows("tcp"):
        mine = [
            cause for cause, number in zip(sent["cause"], sent["flow"], strict=True) if number == flow["flow"]
        ]
        assert len(mine) >= flow["segments_sent"]
        assert mine.count("retransmission") >= flow["retransmissions"]["total"]
        rtts = [
            rtt
            for rtt, number in zip(samples["rtt_us"], samples["flow"], strict=True)
            if number == flow["flow"]
        ]
        assert len(rtts) >= flow["rtt_ms"]["samples"]
    bearer = lossy.results["elements"][1]["ues"][0]
    enqueued, delivered = (lossy.events(f"bearer_{what}")["direction"] for what in ("enqueued", "delivered"))
    for direction in ("downlink", "uplink"):
        assert enqueued.count(direction) == bearer[direction]["sdus_in"]
        assert delivered.count(direction) == bearer[direction]["sdus_delivered"]


def test_acks_of_the_kernel_and_their_sack_blocks_are_recorded(lossy, download):
    acks, blocks = lossy.events("ack_received"), lossy.events("sack_block")
    rows = [row for row, number in enumerate(acks["flow"]) if number == download["flow"]]
    assert sum(acks["duplicate"][row] for row in rows) >= download["dupacks"] > 0
    assert max(acks["acked"][row] for row in rows) >= download["bytes_acked"] > 0
    assert set(blocks["packet"]) <= set(acks["packet"]) and len(blocks["packet"]) > 0
    assert all(left < right for left, right in zip(blocks["left"], blocks["right"], strict=True))


def test_an_exported_capture_names_every_packet_that_was_dropped(lossy, airpath_command, tmp_path):
    out = tmp_path / "comments.pcapng"
    assert airpath_command("export", lossy.folder, "--format", "pcapng", "--out", out) == (0, "", "")
    dropped = lossy.events("dropped")
    for packet, reason in zip(dropped["packet"], dropped["reason"], strict=True):
        said = rb"packet %d, dropped at \S+ after [0-9.]+ s, \w+: %s" % (packet, reason.encode())
        # At the end that sent it.
        assert len(re.findall(said, out.read_bytes())) == 1


def test_the_kernels_state_of_tcp_is_sampled(lossy, download):
    state = lossy.events("tcp_state")
    rows = [row for row, flow in enumerate(state["flow"]) if flow == download["flow"]]
    # Polled 50 times per second, over two seconds; a busy machine takes fewer samples.
    assert len(rows) > 20

    def column(name):
        return [state[name][row] for row in rows]

    assert all(1 <= cwnd < 10_000 for cwnd in column("tcpi_snd_cwnd"))
    assert any(ssthresh < 10_000 for ssthresh in column("tcpi_snd_ssthresh"))
    # Nothing is faster than a packet of 1500 bytes at 10 Mbit/s, but the handshake's.
    settled = column("tcpi_rtt")[2:]
    assert all(1200 <= rtt < 1_000_000 for rtt in settled)
    assert all(rto >= 200_000 for rto in column("tcpi_rto"))
    # Open, Disorder, CWR, Recovery, Loss; losses were repaired.
    states = set(column("tcpi_ca_state"))
    assert states <= {0, 1, 2, 3, 4} and states & {3, 4}
    acked = column("snd_una")
    assert acked == sorted(acked)
    assert 0 < acked[-1] <= download["bytes_received"] + 1


@pytest.mark.slow
@needs("tshark")
def test_tshark_counts_the_retransmissions_that_results_count(lossy, download, tmp_path):
    server = at(lossy, "server", tmp_path)
    port = download["ue_address"].rpartition(":")[2]
    # tshark calls an early retransmission "out of order": captures/test_capture.py. SYN and FIN have no data.
    again = "(tcp.analysis.retransmission or tcp.analysis.out_of_order) and tcp.len > 0"
    assert tshark_count(server, f"{again} and tcp.dstport == {port}") == download["retransmissions"]["total"]
    data = f"tcp.len > 0 and tcp.dstport == {port}"
    assert tshark_count(server, data) == download["segments_sent"]


@pytest.mark.slow
@needs("tshark")
def test_the_capture_has_every_packet_at_either_end_and_none_is_malformed(lossy, tmp_path):
    for name, source in (("server", "10.77.0.1"), ("ue", "10.77.0.2")):
        file, end = at(lossy, name, tmp_path), lossy.live["ends"][name]
        assert tshark_count(file, f"ip.src == {source}") == end["sent"]
        assert tshark_count(file, f"ip.dst == {source}") == end["received"]
        assert tshark_count(file, "_ws.malformed or not ip") == 0
    file = lossy.folder / "capture.pcapng"
    sizes = tshark(file, "frame.cap_len > 128", "-T", "fields", "-e", "frame.number")
    assert sizes == ""


@pytest.mark.slow
@needs("tshark")
def test_checksums_in_a_capture_of_whole_packets_are_right(live, tmp_path):
    command = ["sh", "-c", "exec iperf3 -c $AIRPATH_SERVER -n 50K"]
    link = (*LINK, "--snaplen", 1500)
    outcome = live(*link, server="exec iperf3 -s -1 > /dev/null", command=command, out=True)
    assert outcome.code == 0, outcome.err
    file = outcome.folder / "capture.pcapng"
    options = ("-o", "tcp.check_checksum:TRUE", "-o", "ip.check_checksum:TRUE", "-T", "fields")
    # A kernel may write either of the two zeros of one's complement (RFC 1624).
    columns = tshark(
        file, "tcp && !tcp.checksum.ffff", *options, "-e", "tcp.checksum.status", "-e", "ip.checksum.status"
    )
    assert set(columns.split()) == {"1"}


@pytest.mark.slow
@needs("tshark")
def test_packets_in_the_tunnels_of_the_iu_are_those_of_both_ends(live):
    pings = ("ping", "-q", "-c", "20", "-i", "0.05", "-s", "600", "10.77.0.1")
    alone = ("radio.dch.ues=1", 'umts.qos=["interactive"]', "flow=[{}]")
    changes = (word for change in alone for word in ("--set", change))
    options = (*changes, "--capture-iu", "--snaplen", "2000")
    outcome = live("umts-network", *options, command=list(pings), out=True)
    assert outcome.code == 0, outcome.err
    file = outcome.folder / "capture.pcapng"

    def echoes(interface, *more, options=()):
        here = f'icmp and frame.interface_name == "{interface}"'
        fields = (arg for field in ("icmp.type", "icmp.seq", "icmp.checksum", *more) for arg in ("-e", field))
        return tshark(file, here, *options, "-T", "fields", *fields).splitlines()

    checksums = ("icmp.checksum.status", "udp.checksum.status")
    checked = ("-o", "udp.check_checksum:TRUE")
    in_tunnels = [line.removesuffix("\t1\t1") for line in echoes("iu", *checksums, options=checked)]
    assert len(in_tunnels) == 40
    assert sorted(in_tunnels) == sorted(echoes("ue")) == sorted(echoes("server"))


@pytest.mark.slow
@needs("tshark")
def test_packets_put_together_from_their_pdus_are_those_of_both_ends(live):
    pings = ("ping", "-q", "-c", "20", "-i", "0.05", "-s", "600", "10.77.0.1")
    outcome = live("umts-384", "--capture-rlc", command=list(pings), out=True)
    assert outcome.code == 0, outcome.err
    file = outcome.folder / "capture.pcapng"
    fields = ("icmp.type", "icmp.seq", "icmp.checksum")

    def echoes(interface, *more):
        arguments = (arg for field in (*fields, *more) for arg in ("-e", field))
        here = f'icmp and frame.interface_name == "{interface}"'
        return tshark(file, here, "--enable-heuristic", "rlc_udp", "-T", "fields", *arguments).splitlines()

    # tshark has all octets of them here: the checksum is over the payload.
    on_air = [line.removesuffix("\t1") for line in echoes("rlc", "icmp.checksum.status")]
    assert len(on_air) == 40
    assert sorted(on_air) == sorted(echoes("ue")) == sorted(echoes("server"))
