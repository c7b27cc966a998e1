"""Web pages: results, summary, files and captures of connections that carry data both ways."""

from __future__ import annotations

import json
from collections import Counter

import pytest
from programs import needs, tshark
from programs import tshark_count as count

import airpath
from airpath.report.catalogue import catalogue

# Lundsten's small file of 100 kB as a page with objects, on his bearer.
SCENARIO = """
duration = "10 min"
[wired]
delay = "75 ms"
[radio.dch.downlink]
rate = "384 kbit/s"
rlc.fixed_delay_arq = {}
channel.bernoulli.bler = "10 %"
[radio.dch.uplink]
rate = "64 kbit/s"
[[flow]]
app.web = { request = "300 B", page = "20 kB", objects = 8, object = "10 kB" }
"""
PER_OBJECT = ("flow.0.app.web.connections", "per_object")
FORMS = [
    [],
    [PER_OBJECT],
    [("flow.0.app.web.pipelining", True), ("tcp.initial_sequence", 4_294_960_000)],
    [PER_OBJECT, ("flow.0.app.web.sizes", "exponential"), ("tcp.timestamps", True)],
    [("flow.0.app.web.think", "1 s"), ("tcp.ip", "ipv6"), ("tcp.sack", True)],
]

needs_tshark = needs("tshark")


def scenario(*changes):
    changed = airpath.Scenario("page", SCENARIO)
    for path, value in changes:
        changed = changed.with_(path, value)
    return changed


def test_results_tell_of_the_page_at_its_first_connection():
    (flow,) = airpath.run(scenario(), seed=1, probes=()).flows
    page = flow["web"]
    assert flow["bytes_received"] == flow["bytes_to_send"] == 100_000
    assert (page["connections"], page["requests"], page["objects"]) == (1, 9, 8)
    # Two round trips of 150 ms on the wire before anything comes.
    assert 0.3 < page["first_byte_s"] < page["page_load_s"] < flow["transfer_s"]
    flows = airpath.run(scenario(PER_OBJECT), seed=1, probes=()).flows
    assert ["web" in flow for flow in flows] == [True] + 8 * [False]
    assert [flow["bytes_received"] for flow in flows] == [20_000] + 8 * [10_000]
    starts = [flow["start_s"] for flow in flows]
    assert starts == sorted(starts)
    assert starts[1] == starts[4] < starts[5]


def test_the_older_http_is_slower():
    """The claim of the thesis' section 5.4.1, one object at a time."""
    load = {
        form: airpath.run(scenario(*changes), seed=1, probes=()).flows[0]["web"]["page_load_s"]
        for form, changes in {
            "http 1.1": [],
            "http 1.0": [PER_OBJECT, ("flow.0.app.web.parallel", 1)],
        }.items()
    }
    # A handshake of at least 150 ms on the wire for each of eight objects.
    assert load["http 1.0"] > load["http 1.1"] + 8 * 0.15


def test_page_load_times_can_be_replicated():
    page = airpath.replicate(scenario(), lambda results: results["flows"][0]["web"]["page_load_s"])
    transfer = airpath.replicate(scenario(), lambda results: results["flows"][0]["transfer_s"])
    # 100 kB at 384 kbit/s take 2.1 s, nine requests on the wire 1.35 s.
    assert 2.1 + 1.35 < page.mean < transfer.mean < 20


def test_list_says_what_objects_may_be():
    components = {component["name"]: component for component in catalogue()["components"]}
    types = {parameter["name"]: parameter["type"] for parameter in components["web"]["parameters"]}
    assert types["objects"] == 'integer | list, each such as "64 kB"'
    assert types["connections"] == '"persistent" | "per_object" | "pool"'


@pytest.mark.slow
def test_summary_and_files_cope(airpath_command, tmp_path):
    file = tmp_path / "page.toml"
    file.write_text(SCENARIO)
    out = tmp_path / "out"
    outcome = airpath_command("run", file, "--out", out, "--set", "=".join(PER_OBJECT))
    assert outcome.code == 0
    assert (out / "plot.png").is_file()
    page = json.loads((out / "results.json").read_text())["flows"][0]["web"]
    rows = [line.split() for line in outcome.out.splitlines()]
    row = [f"{page['first_byte_s']:.3f}", f"{page['page_load_s']:.3f}", "9", "9", "0", "8"]
    assert ["0.0", "downlink", *row] in rows
    for form in ("csv", "ns2", "mm-link"):
        exported = tmp_path / form
        assert airpath_command("export", out, "--format", form, "--out", exported).code == 0
        assert exported.stat().st_size > 0


@pytest.mark.slow
@needs_tshark
@pytest.mark.parametrize("changes", FORMS)
def test_tshark_follows_both_directions(changes, tmp_path):
    result = airpath.run(scenario(*changes), seed=2, probes=(), capture=True)
    file = tmp_path / "page.pcapng"
    file.write_bytes(result.capture)
    assert count(file, "not tcp or _ws.malformed or ip.checksum.status == 0") == 0
    # The link layer retransmits radio losses and TCP retransmits nothing, so all payload is seen once.
    assert all(flow["retransmissions"]["total"] == 0 for flow in result.flows)
    assert result.flows[0]["web"]["request_retransmissions"] == 0
    for one in by_interface(file):
        assert count(one, "tcp.analysis.flags") == 0
        towards, behind = payloads(one)
        for number, flow in enumerate(result.flows):
            port = 49_152 + flow["flow"]
            requests = result.flows[0]["web"]["requests"] if len(result.flows) == 1 else 1
            assert towards[port] == flow["bytes_to_send"], number
            assert behind[port] == 300 * requests, number


@pytest.mark.slow
@needs_tshark
@pytest.mark.parametrize("changes", [[], [PER_OBJECT], [("flow.0.app.web.pipelining", True)]])
def test_tshark_counts_what_comes_again(changes, tmp_path):
    lossy = [
        ("wired.loss", "5 %"),
        ("tcp.mss", "200 B"),
        ("flow.0.app.web.request", "2 kB"),
        ("radio.dch.downlink.channel.bernoulli.bler", "0 %"),
    ]
    result = airpath.run(scenario(*changes, *lossy), seed=2, probes=(), capture=True)
    file = tmp_path / "page.pcapng"
    file.write_bytes(result.capture)
    at_ue, at_server = by_interface(file)
    # At the sender, repeated data is a retransmission, whatever tshark calls it.
    again = "tcp.len > 0 and (tcp.analysis.retransmission or tcp.analysis.out_of_order)"
    retransmitted = sum(flow["retransmissions"]["total"] for flow in result.flows)
    requested_again = result.flows[0]["web"]["request_retransmissions"]
    assert retransmitted > 0
    assert requested_again > 0
    assert count(at_server, f"{again} and tcp.srcport == 80") == retransmitted
    assert count(at_ue, f"{again} and tcp.dstport == 80") == requested_again
    dupacks = "tcp.analysis.duplicate_ack and tcp.dstport == 80"
    assert count(at_server, dupacks) == sum(flow["dupacks"] for flow in result.flows)


@pytest.mark.slow
@needs_tshark
def test_every_ack_that_tshark_sees_is_counted(tmp_path):
    result = airpath.run(scenario(), seed=2, probes=(), capture=True)
    file = tmp_path / "page.pcapng"
    file.write_bytes(result.capture)
    (flow,) = result.flows
    at_ue = 'frame.interface_name == "ue" and tcp.srcport != 80'
    # The third segment of the handshake is one more.
    pure_acks = count(file, f"{at_ue} and tcp.len == 0 and tcp.flags.syn == 0")
    assert pure_acks == flow["receiver"]["acks_sent"] + 1
    # Of nine requests, all except the first acknowledge earlier data.
    assert count(file, f"{at_ue} and tcp.len > 0 and tcp.ack == 1") == 1
    assert count(file, f"{at_ue} and tcp.len > 0") == 9


def by_interface(file):
    """A file for each interface: tshark follows a connection without regard to these."""
    for name in ("ue", "server"):
        tshark(file, f'frame.interface_name == "{name}"', "-w", file.with_suffix(f".{name}"))
    return file.with_suffix(".ue"), file.with_suffix(".server")


def payloads(file):
    """Bytes of payload by destination port, and by source port."""
    names = ("tcp.dstport", "tcp.srcport", "tcp.len")
    towards, behind = Counter(), Counter()
    for line in tshark(file, "tcp", "-T", "fields", *(f"-e{name}" for name in names)).splitlines():
        to_port, from_port, size = map(int, line.split())
        towards[to_port] += size
        behind[from_port] += size
    return towards, behind


MODERN = [
    ("flow.0.app.web.http", '"3"'),
    ("flow.0.app.web.composition", "mobile"),
    ("radio.dch.downlink.rate", "4 Mbit/s"),
]
"""A median mobile page over QUIC."""


@pytest.mark.slow
def test_a_page_over_http_3_reports_its_parts_and_quic(airpath_command, tmp_path):
    file = tmp_path / "page.toml"
    file.write_text(SCENARIO)
    out = tmp_path / "out"
    changes = [word for path, value in MODERN for word in ("--set", f"{path}={value}")]
    outcome = airpath_command("run", file, "--out", out, *changes)
    assert outcome.code == 0, outcome.err
    (flow,) = json.loads((out / "results.json").read_text())["flows"]
    page = flow["web"]
    assert (page["requests"], len(page["waterfall"])) == (66, 66)
    assert 0.15 < page["connect_s"] == page["tls_s"] < page["first_byte_s"] < page["blocking_s"]
    assert page["blocking_s"] < page["page_load_s"] == max(one["complete_s"] for one in page["waterfall"])
    # 2.56 MB at 4 Mbit/s take 5.1 s; congestion control and waiting for the server come on top.
    assert page["page_load_s"] > 5.1
    assert flow["bytes_received"] == flow["bytes_to_send"] == sum(one["bytes"] for one in page["waterfall"])
    assert flow["quic"]["server"]["packets_sent"] > flow["bytes_to_send"] / 1460
    for heading in ("connected", "TLS complete", "probe", "ACK packets"):
        assert heading in outcome.out


@pytest.mark.parametrize(
    ("name", "least"), [("web.page_load_s", 5.1), ("web.waterfall.*.complete_s", 1), ("web.blocking_s", 1)]
)
def test_parts_of_a_page_are_metrics(name, least):
    estimate = airpath.replicate(scenario(*MODERN), name, max_runs=4)
    assert estimate.mean > least


@pytest.mark.slow
@needs_tshark
def test_tshark_sees_quic_as_udp_without_faults(tmp_path):
    result = airpath.run(scenario(*MODERN), seed=2, probes=(), capture=True)
    file = tmp_path / "page.pcapng"
    file.write_bytes(result.capture)
    assert count(file, "not udp or _ws.malformed or ip.checksum.status == 0") == 0
    server = result.flows[0]["quic"]["server"]
    sent = 'frame.interface_name == "server" and udp.srcport == 80'
    assert count(file, sent) == server["datagrams_sent"]
