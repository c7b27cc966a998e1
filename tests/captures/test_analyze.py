"""The analysis of our own captures finds what the runs have counted; and what a user sees of it."""

from __future__ import annotations

import base64
import json
import re
import struct
import zlib

import pytest
from conftest import check_error

import airpath
from airpath import captures as package
from airpath.captures import analyze
from airpath.report.capture import in_words, rows
from airpath.report.conversation import directions
from airpath.studio.page import capture_page

OUT_OF_SEQUENCE = {"radio.dch.downlink.rlc.fixed_delay_arq.delivery": "out_of_sequence"}
SHORT_QUEUE = {"radio.dch.downlink.queue.droptail.packets": 6}
EIFEL = {"tcp.timestamps": True, "tcp.undo.eifel": "{}"}
DSACK = {"tcp.sack": True, "tcp.dsack": True, "tcp.undo.dsack": "{}"}
SACK = {"tcp.sack": True, "tcp.dsack": True, "tcp.recovery.sack": "{}"}
LINUX = {"tcp.profile": "linux"}
RFC = {"tcp.profile": "rfc"}
LINUX_RENO = {"tcp.profile": "linux-reno"}
WITHOUT_SACK = LINUX_RENO | {"tcp.recovery": {"newreno": {"variant": "linux"}}, "tcp.sack": False}
ENHANCED_PACKET, SERVER, UE = 6, 0, 1
WEB = """
duration = "10 min"
[wired]
delay = "75 ms"
[radio.dch.downlink]
rate = "384 kbit/s"
queue.droptail.packets = 8
rlc.fixed_delay_arq = {}
channel.bernoulli.bler = "10 %"
[radio.dch.uplink]
rate = "64 kbit/s"
[[flow]]
app.web = { request = "300 B", page = "20 kB", objects = 8, object = "10 kB", connections = "per_object" }
"""
CAUSES = ("total", "fast_retransmit", "partial_ack", "sack", "timeout", "go_back_n", "tail_loss_probe")


@pytest.fixture
def analyzed(tmp_path):
    """Run with changes; give the run's flow, that of the analysis (of one interface or all), the file."""

    def make(name, changes, only=None):
        result, file = captured(tmp_path, name, changes)
        if only is not None:
            file.write_bytes(of_interface(file.read_bytes(), only))
        (connection,) = analyze(file)["connections"]
        (flow,), (found,) = result.flows, connection["flows"]
        return flow, found, file

    return make


def captured(tmp_path, name, changes):
    """Run with changes; give the result and the file of its capture."""
    scenario = airpath.Scenario("page", WEB) if name == "web" else airpath.load(name)
    for path, value in (RFC | changes).items():
        scenario = scenario.with_(path, value)
    result = airpath.run(scenario, seed=1, probes=(), capture=True)
    file = tmp_path / "capture.pcapng"
    file.write_bytes(result.capture)
    return result, file


def of_interface(content, number):
    """Take the packets of the other interfaces out of a capture."""
    kept, at = b"", 0
    while at < len(content):
        kind, length, first = struct.unpack_from("<III", content, at)
        if kind != ENHANCED_PACKET or first == number:
            kept += content[at : at + length]
        at += length
    return kept


def causes(flow):
    again = flow["retransmissions"]
    counts = {"total": again["total"], **again["by_cause"]}
    assert counts["other"] == 0
    counts["tail_loss_probe"] = counts["tail_probe"]
    return {cause: counts[cause] for cause in CAUSES}


def episodes(flow):
    return {key: flow["loss_episodes"][key] for key in ("events", "single", "double", "timeout")}


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("umts-384", {}),
        ("umts-384", SHORT_QUEUE),
        ("umts-384", SHORT_QUEUE | {"tcp.timestamps": True}),
        ("umts-384", SHORT_QUEUE | {"tcp.ip": "ipv6", "tcp.initial_sequence": 4_294_900_000}),
        ("umts-384", SACK),
        ("umts-384", SACK | SHORT_QUEUE),
        ("umts-384-simple", SACK | SHORT_QUEUE),
        ("umts-384", EIFEL),
        ("umts-384", LINUX),
        ("umts-384", LINUX | SHORT_QUEUE),
        ("umts-384", LINUX_RENO | SHORT_QUEUE),
        ("umts-128-simple", LINUX | SHORT_QUEUE),
        ("umts-128-simple", LINUX_RENO),
        ("umts-64", LINUX_RENO | SHORT_QUEUE),
        ("umts-128-simple", OUT_OF_SEQUENCE | SHORT_QUEUE),
        ("umts-128-simple", OUT_OF_SEQUENCE | WITHOUT_SACK),
        ("umts-64-simple", SHORT_QUEUE | WITHOUT_SACK),
        ("umts-384-simple", OUT_OF_SEQUENCE | EIFEL),
        ("alcaraz-384", {}),
        ("chan-variable-delay", {"duration": "900 s"}),
        ("chan-variable-rate", {"duration": "900 s"}),
        ("jayanathan-46", {}),
        ("lundsten-dch", {}),
        ("zhang-dch", {}),
    ],
)
def test_the_senders_side_shows_what_the_run_counted(name, changes, analyzed):
    run, found, _ = analyzed(name, changes)
    assert found["counters"]["segments"] == run["segments_sent"]
    assert found["bytes_acked"] == run["bytes_acked"]
    assert causes(found) == {cause: run["retransmissions"].get(cause, 0) for cause in CAUSES}
    assert found["retransmissions"]["by_cause"]["timeout"] == run["timeouts"]
    # By RFC 5681 (2), as tshark counts; a scoreboard counts new SACK blocks, whatever the window.
    if changes.keys().isdisjoint({"tcp.profile", "tcp.recovery.sack"}):
        assert found["counters"]["dupacks"] == run["dupacks"]
    # A recovery of Linux may begin with the ACK that ends another and send nothing again: that is hidden.
    hidden = run["fast_retransmits"] - run["retransmissions"]["fast_retransmit"]
    assert hidden == 0 or "tcp.profile" in changes
    counted = {key: run["loss_episodes"][key] for key in episodes(found)}
    assert episodes(found) == counted | {key: counted[key] - hidden for key in ("events", "single")}
    # T0 is the wait, and the timer's own value may have moved since; from a fast retransmit both are one.
    if name.startswith("chan"):
        assert found["loss_episodes"]["mean_timeout_s"] == run["loss_episodes"]["mean_timeout_s"]
    waits = (run["loss_episodes"]["mean_timeout_wait_s"], found["loss_episodes"]["mean_timeout_wait_s"])
    if not changes.keys() - {"duration"}:
        assert waits[0] == pytest.approx(waits[1], abs=1e-3)


def test_what_a_paced_sender_repeats_is_no_timeout(analyzed):
    """BBR repeats lost retransmissions when its pace lets it, not when an ACK comes."""
    lossy = {"tcp.cc": "bbr", "wired.loss": "20 %", "duration": "20 s"}
    run, found, _ = analyzed("lte-10mhz", LINUX | lossy)
    assert found["retransmissions"]["total"] == run["retransmissions"]["total"] > 500
    assert found["retransmissions"]["by_cause"]["timeout"] == run["timeouts"]


@pytest.mark.parametrize(
    ("name", "changes"), [("umts-384", {"tcp.timestamps": True}), ("umts-384", SACK), ("variable-3g", {})]
)
def test_round_trips_are_the_senders(name, changes, analyzed):
    run, found, _ = analyzed(name, changes)
    forward = found["rtt"]["forward_ms"]
    # The sender's first sample is the handshake's, which the analysis keeps apart.
    assert forward["samples"] + 1 == run["rtt_ms"]["samples"]
    mean = (forward["mean"] * forward["samples"] + found["rtt"]["min_ms"]) / (forward["samples"] + 1)
    # A sender with timestamps reads a clock of milliseconds.
    assert mean == pytest.approx(run["rtt_ms"]["mean"], abs=1.0 if "tcp.timestamps" in changes else 1e-6)
    assert found["viewpoint"] == "sender"


@pytest.mark.parametrize("changes", [SACK, SHORT_QUEUE | DSACK])
def test_dsacks_tell_of_every_segment_sent_in_vain(changes, analyzed):
    run, found, _ = analyzed("umts-384", changes)
    assert run["receiver"]["duplicates"] > 0
    assert found["retransmissions"]["spurious"]["total"] == run["receiver"]["duplicates"]


def test_spurious_fast_retransmits_are_those_that_the_sender_undoes(analyzed):
    run, found, _ = analyzed("umts-384-simple", OUT_OF_SEQUENCE | EIFEL)
    spurious = found["retransmissions"]["spurious"]
    assert run["spurious_fast_retransmits"] > 5
    assert spurious["fast_retransmits"] == run["spurious_fast_retransmits"]
    assert spurious["timeouts"] == run["spurious_timeouts"]


def test_at_the_receiver_what_was_lost_is_known_from_gaps(analyzed):
    run, ue, _ = analyzed("umts-384", {}, only=UE)
    assert ue["viewpoint"] == "receiver" and ue["interface"] == "ue"
    assert ue["at_receiver"] is None and ue["path"] is None
    assert ue["counters"]["segments"] == run["receiver"]["segments"]
    assert ue["retransmissions"]["total"] == run["retransmissions"]["total"]
    assert ue["retransmissions"]["spurious"]["total"] == run["receiver"]["duplicates"]
    assert ue["flight"]["window_limited_share"] is None


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("umts-384", {}),
        ("umts-384", {"flow.0.direction": "uplink", "flow.0.app.file.size": "400 kB"}),
        ("umts-384", {"wired.loss": "1 %"}),
        ("umts-384", {"wired.loss": "3 %", **SACK, "tcp.ip": "ipv6"}),
        ("umts-384", SHORT_QUEUE | {"tcp.timestamps": True, "tcp.initial_sequence": 4_294_900_000}),
        ("umts-384-simple", OUT_OF_SEQUENCE | EIFEL),
        ("umts-128-simple", LINUX | SHORT_QUEUE),
        ("umts-handover", {}),
        ("umts-network", {}),
        ("umts-snoop", {}),
        ("variable-3g", {}),
        ("lundsten-dch", {}),
        ("chan-variable-delay", {"duration": "300 s"}),
        ("web", {}),
        ("web", {"wired.loss": "2 %", "tcp.timestamps": True}),
    ],
)
def test_a_connection_seen_at_both_ends_is_one_and_each_view_has_its_ends_counts(name, changes, tmp_path):
    result, file = captured(tmp_path, name, changes)
    report = analyze(file)
    lost, perhaps = 0, 0
    flows = [flow for flow in result.flows if "datagrams" not in flow]
    assert report["connections_seen"] == len(report["connections"]) == len(flows)
    for run, connection in zip(by_port(flows), sorted(report["connections"], key=ports), strict=True):
        path = (
            ["ue", "server"]
            if connection["client"].startswith(("10.64", "[fd00::1:0:"))
            else ["server", "ue"]
        )
        assert [view["interface"] for view in connection["views"]] == path
        sender, receiver = ("server", "ue") if run["direction"] == "downlink" else ("ue", "server")
        (found,) = (flow for flow in connection["flows"] if flow["interface"] == sender)
        came, data, acks = found["at_receiver"], found["path"]["data"], found["path"]["acks"]
        # Without a handshake or timestamps its place is known only relative to the other.
        assert found["viewpoint"] in ("sender", "unknown") and came["interface"] == receiver
        # As the sender counted.
        assert found["counters"]["segments"] == run["segments_sent"]
        assert found["bytes_acked"] == run["bytes_acked"]
        again = found["retransmissions"]
        assert again["total"] == run["retransmissions"]["total"]
        assert again["by_cause"]["timeout"] == run["timeouts"]
        marks = [sum(marks["count"]) for marks in again["over_time"].values()]
        assert marks == list(again["by_cause"].values())
        # As the receiver did.
        assert came["segments"] == run["receiver"]["segments"]
        assert came["duplicates"] == run["receiver"]["duplicates"]
        if "web" not in name:
            # The last ACK of the handshake is another.
            is_opener = connection["opening"] == "whole" and run["direction"] == "downlink"
            assert came["pure_acks"] == run["receiver"]["acks_sent"] + is_opener
            # M-TCP changes acknowledgment numbers.
            assert (acks is None) == (name == "umts-handover")
            if acks is not None:
                assert missing(acks) == came["pure_acks"] - found["counters"]["pure_acks"]
        # Between them.
        assert missing(data) == run["segments_sent"] - run["receiver"]["segments"]
        assert sum(found["path"]["lost_over_time"]["count"]) == data["lost"]
        if data["added"] == 0:
            assert again["spurious"]["total"] == min(again["total"], run["receiver"]["duplicates"])
        if acks is not None:
            both = data["delay_ms"]["min"] + acks["delay_ms"]["min"]
            assert both <= found["rtt"]["forward_ms"]["min"] + 1e-6
            lost += data["lost"] + acks["lost"]
            perhaps += data["in_transit"] + acks["in_transit"]
    if name in ("umts-384", "umts-384-simple", "umts-128-simple", "web"):
        # A segment dropped shortly before the end might as well be in flight.
        assert lost <= dropped(result) <= lost + perhaps


def missing(passed):
    """Packets fewer at the far interface."""
    return passed["lost"] + passed["in_transit"] - passed["added"]


def by_port(flows):
    """In the order of the ports at the UEs, and of the UEs."""
    return sorted(flows, key=lambda flow: (flow["ue"], flow["flow"]))


def ports(connection):
    address, _, port = connection["client"].rpartition(":")
    return address, int(port)


def dropped(result):
    """Packets that the link and the bearers' buffers dropped."""
    link, cell = result.summary["elements"]
    buffers = sum(ue[way]["sdus_dropped"] for ue in cell["ues"] for way in ("downlink", "uplink"))
    return link["dropped_loss"] + link["dropped_queue_full"] + buffers


@pytest.mark.parametrize("changes", [{}, {"tcp.timestamps": True}, {"flow.0.direction": "uplink"}])
def test_the_legs_of_a_split_connection_are_two(changes, tmp_path):
    split = {"middlebox": '[{ split = { delay = "30 ms" } }]', "flow.0.app.file.size": "300 kB"}
    result, file = captured(tmp_path, "umts-384", split | changes)
    (run,), report = result.flows, analyze(file)
    assert report["connections_seen"] == 2
    legs = {view["interface"]: one for one in report["connections"] for view in one["views"]}
    assert legs.keys() == {"server", "ue"}
    near, far = ("server", "ue") if run["direction"] == "downlink" else ("ue", "server")
    assert [flow["counters"]["segments"] for flow in legs[near]["flows"]] == [run["segments_sent"]]
    assert [flow["counters"]["segments"] for flow in legs[far]["flows"]] == [run["receiver"]["segments"]]
    assert all(flow["at_receiver"] is None for leg in legs.values() for flow in leg["flows"])


def test_rewritten_addresses_make_another_connection(tmp_path):
    _, file = captured(tmp_path, "umts-384", {"flow.0.app.file.size": "100 kB"})
    content, at = bytearray(file.read_bytes()), 0
    while at < len(content):
        kind, length, interface = struct.unpack_from("<III", content, at)
        if kind == ENHANCED_PACKET and interface == SERVER:
            addresses = slice(at + 40, at + 48)
            content[addresses] = content[addresses].replace(bytes([10, 64, 0, 1]), bytes([10, 64, 0, 9]))
        at += length
    file.write_bytes(content)
    views = [[view["interface"] for view in one["views"]] for one in analyze(file)["connections"]]
    assert views == [["ue"], ["server"]]


def test_reordering_by_the_radio_is_no_loss(analyzed):
    run, ue, _ = analyzed("umts-384-simple", OUT_OF_SEQUENCE | EIFEL, only=UE)
    assert ue["reordering"]["late_segments"] > 50
    assert ue["retransmissions"]["total"] <= run["retransmissions"]["total"]


def test_verdicts_fit_what_was_built(analyzed):
    _, full, _ = analyzed("umts-128-simple", {"radio.dch.downlink.queue.droptail.packets": 60})
    assert full["verdict"]["limited_by"] in ("the link", "receive window")
    assert full["rate"]["bottleneck_bps"] == pytest.approx(128e3, rel=0.1)
    _, window, _ = analyzed("umts-384-simple", {"tcp.receive_buffer": "4 kB"})
    assert window["verdict"]["limited_by"] == "receive window"
    assert window["flight"]["window_limited_share"] > 0.5


def test_the_command_prints_a_table_or_json_and_writes_a_page(analyzed, tmp_path, airpath_command):
    _, found, file = analyzed("umts-384", {})
    done = airpath_command("analyze", str(file), "--out", str(tmp_path / "page"))
    assert done.code == 0, done.err
    assert "loss episodes" in done.out and "1 TCP connection\n" in done.out
    assert f"{found['path']['data']['lost']} segments lost" in done.out
    assert f"{found['at_receiver']['duplicates']} duplicates" in done.out
    assert "index.html" in done.out
    written = json.loads((tmp_path / "page" / "analysis.json").read_text())
    (flow,) = written["connections"][0]["flows"]
    assert flow["retransmissions"] == found["retransmissions"]
    # Three losses make no loss rate.
    assert {model["kbit_per_s"] for model in flow["models"]} == {None}
    assert "no model applies: 3 loss indications are too few" in done.out
    page = (tmp_path / "page" / "index.html").read_text()
    told = in_page(page)
    (row,) = rows(written)[0]
    assert told["name"] == "capture.pcapng" and told["notes"] == []
    assert told["report"]["connections"][0]["flows"][0]["says"] == in_words(row)
    both = airpath_command("analyze", str(file), "--json", "--out", str(tmp_path / "both"))
    assert json.loads(both.out) == written
    assert "index.html" in both.err and "loss episodes" not in both.err
    assert (tmp_path / "both" / "index.html").read_text() == page


def in_page(page):
    """What a page has of the analysis."""
    (block,) = re.findall('data-of="report">([^<]*)<', page)
    return json.loads(zlib.decompress(base64.b64decode(block)))


@pytest.mark.slow
def test_what_took_longest_comes_first_and_small_ones_are_folded(tmp_path, airpath_command):
    changes = {"flow.0.app.web.objects": 2, "flow.0.app.web.object": "400 kB"}
    _, file = captured(tmp_path, "web", changes)
    report = with_models(analyze(file))
    flows, small = rows(report)
    seconds = [one["phases"]["active_s"] for one, _ in flows]
    assert len(flows) == 3 and seconds == sorted(seconds, reverse=True)
    assert all(flow["sender"] == "client" for _, flow in small)
    done = airpath_command("analyze", str(file))
    assert f"and {len(small)} small flows with" in done.out
    in_report = in_page(capture_page(report, "x").decode())["report"]["connections"]
    assert sum(len(one["flows"]) for one in in_report) == len(flows) + len(small)
    of_one = airpath_command("analyze", str(file), "--connection", str(flows[0][0]["number"]))
    assert of_one.out.count("limited by too little data") == 1


BESIDE = """
duration = "6 s"
tcp.profile = "linux"
radio.dch.downlink = { rate = "8 Mbit/s", queue.droptail.packets = 100 }
[[flow]]
app.file.size = "3 MB"
[[flow]]
start = "500 ms"
app.web = { page = "6 kB", objects = 4, object = "4 kB", think = "900 ms", connections = "per_object" }
"""


def test_connections_of_a_page_are_shown_beside_a_flow_with_far_more_data(tmp_path, airpath_command):
    file = tmp_path / "capture.pcapng"
    file.write_bytes(airpath.run(airpath.Scenario("page", BESIDE), probes=(), capture=True).capture)
    report = analyze(file)
    flows, small = rows(report)
    data = sorted(max(flow["bytes_acked"], flow["bytes_known"]) for _, flow in flows)
    assert len(flows) == len(report["connections"]) == 6 and data[-2] < 0.01 * data[-1]
    assert all(flow["sender"] == "server" for _, flow in flows)
    assert all(flow["sender"] == "client" for _, flow in small) and len(small) == 5
    seconds = [one["phases"]["active_s"] for one, _ in flows]
    assert seconds == sorted(seconds, reverse=True)
    lines = airpath_command("analyze", str(file)).out.splitlines()
    table = [line.split() for line in lines if line.split()[1:3] == ["10.0.0.1:80", ">"]]
    assert [int(row[0]) for row in table] == [one["number"] for one, _ in flows]
    assert [row[4] for row in table] == [f"{own:.3f}" for own in seconds]


def test_conversations_that_last_longest_come_first():
    flow = {"sender": "client", "bytes": 9, "rate_bps": None, "datagrams": 1, "path": None}
    short = {"number": 1, "client": "a:1", "server": "b:1", "quic": None, "spin": None, "duration_s": 0.5}
    long = {**short, "number": 2, "duration_s": 4.0}
    small = {**flow, "bytes": 1}
    report = {"conversations": [{**short, "flows": [flow]}, {**long, "flows": [small, flow]}]}
    found = [(one["number"], own["bytes"]) for one, own in directions(report)]
    assert found == [(2, 9), (2, 1), (1, 9)]


@pytest.mark.parametrize("width", [60, 80])
def test_the_table_fits_and_labels_are_text(width, tmp_path, airpath_command, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(width))
    _, file = captured(tmp_path, "umts-384", {"tcp.ip": "ipv6", "flow.0.app.file.size": "100 kB"})
    server = of_interface(file.read_bytes(), SERVER)
    file.write_bytes(server.replace(b"server\0\0", b"[/x]\x1b\n\0\0"))
    done = airpath_command("analyze", str(file))
    assert done.code == 0, done.err
    (one,) = analyze(file)["connections"]
    text = " ".join(done.out.split())
    assert one["client"].startswith("[fd") and f"{one['server']} > {one['client']}" in text
    assert "[/x]\\x1b\\n" in done.out and "\x1b" not in done.out
    table = done.out[: done.out.index("\n\n")].splitlines()
    assert max(map(len, table)) <= width
    for word in ("goodput", "segments", "spurious", "timeout", "limited by"):
        assert word in done.out


def test_a_connection_that_is_not_there_is_named_with_those_that_are(analyzed, tmp_path, airpath_command):
    _, _, file = analyzed("umts-384", {})
    refused = airpath_command("analyze", str(file), "--connection", "7")
    check_error(refused, "--connection", "there is no 7", "choose from 1")
    # The section header and the descriptions of interfaces, and no packet after them.
    empty = tmp_path / "empty.pcapng"
    empty.write_bytes(of_interface(file.read_bytes(), None))
    refused = airpath_command("analyze", str(empty), "--connection", "1")
    check_error(refused, "--connection", "there is no 1", "no TCP connection")


def test_what_is_no_capture_is_refused(tmp_path, airpath_command):
    text = tmp_path / "notes.txt"
    text.write_text("no capture\n" * 10)
    check_error(airpath_command("analyze", text), str(text), "does not begin like a pcap", "tcpdump")
    absent = tmp_path / "absent.pcap"
    check_error(airpath_command("analyze", absent), str(absent), "No such file", "check the path")


def test_a_damaged_capture_gives_what_can_be_read(analyzed, tmp_path):
    _, _, file = analyzed("umts-384", {})
    whole, before = file.read_bytes(), analyze(file)["packets"]["tcp"]
    damaged = bytearray(whole[: len(whole) - 7])
    middle = len(damaged) // 2
    damaged[middle : middle + 200] = bytes(200)
    file.write_bytes(damaged)
    report = analyze(file)
    assert report["file"]["unreadable_bytes"] > 150
    assert report["file"]["ends_within_record"]
    assert middle - 200 < report["file"]["unreadable_from"] <= middle + 8
    assert before - 10 < report["packets"]["tcp"] < before
    assert any(
        "unreadable" in note for note in in_page(capture_page(with_models(report), "x").decode())["notes"]
    )


def with_models(report):
    from airpath.captures import predictions

    for one in report["connections"]:
        for flow in one["flows"]:
            flow["models"] = predictions(flow)
    return report


def test_an_empty_capture_is_no_error(tmp_path):
    file = tmp_path / "empty.pcap"
    file.write_bytes(struct.pack("<IHHIIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1))
    assert package.analyze(file)["connections"] == []
