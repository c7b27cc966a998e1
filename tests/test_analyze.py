"""The analysis of our own captures finds what the runs have counted; and what a user sees of it."""

from __future__ import annotations

import json
import struct

import pytest
from conftest import check_error

import airpath
from airpath import analyze as package
from airpath.analyze import analyze
from airpath.analyze.page import render

OUT_OF_SEQUENCE = {"radio.dch.downlink.rlc.fixed_delay_arq.delivery": "out_of_sequence"}
SHORT_QUEUE = {"radio.dch.downlink.queue.droptail.packets": 6}
EIFEL = {"tcp.timestamps": True, "tcp.undo.eifel": "{}"}
DSACK = {"tcp.sack": True, "tcp.dsack": True, "tcp.undo.dsack": "{}"}
SACK = {"tcp.sack": True, "tcp.dsack": True, "tcp.recovery.sack": "{}"}
LINUX = {"tcp.profile": "linux"}
RFC = {"tcp.profile": "rfc"}
LINUX_RENO = {"tcp.profile": "linux-reno"}
WITHOUT_SACK = LINUX_RENO | {"tcp.recovery.newreno.variant": "linux", "tcp.sack": False}
CAUSES = ("total", "fast_retransmit", "partial_ack", "sack", "timeout", "go_back_n", "tail_loss_probe")


@pytest.fixture
def analyzed(tmp_path):
    """Run with changes; give the run's flow, the same of the analysis at each interface, and the file."""

    def make(name, changes, interfaces=("server",)):
        scenario = airpath.load(name)
        for path, value in (RFC | changes).items():
            scenario = scenario.with_(path, value)
        result = airpath.run(scenario, seed=1, probes=(), capture=True)
        file = tmp_path / "capture.pcapng"
        file.write_bytes(result.capture)
        report = analyze(file)
        found = [
            flow
            for interface in interfaces
            for connection in report["connections"]
            for flow in connection["flows"]
            if connection["interface"] == interface
        ]
        (flow,) = result.flows
        return flow, *found, file

    return make


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
        ("umts-128-simple", LINUX_RENO),
        ("umts-64", LINUX_RENO | SHORT_QUEUE),
        ("umts-128-simple", OUT_OF_SEQUENCE | SHORT_QUEUE),
        ("umts-128-simple", OUT_OF_SEQUENCE | WITHOUT_SACK),
        ("umts-64-simple", SHORT_QUEUE | WITHOUT_SACK),
        ("umts-384-simple", OUT_OF_SEQUENCE | EIFEL),
        ("alcaraz-384", {}),
        ("chan-variable-delay", {"duration": "900 s"}),
        ("chan-variable-rate", {"duration": "900 s"}),
        ("jayanathan-48", {}),
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
    # By RFC 5681 (2), as tshark counts; a scoreboard counts new SACK blocks, whatever the window, and where
    # many are lost that is another number.
    if "tcp.profile" not in changes and changes != SACK | SHORT_QUEUE:
        assert found["counters"]["dupacks"] == run["dupacks"]
    assert episodes(found) == {key: run["loss_episodes"][key] for key in episodes(found)}
    # T0 is the wait, and the timer's own value may have moved since; from a fast retransmit both are one.
    if name.startswith("chan"):
        assert found["loss_episodes"]["mean_timeout_s"] == run["loss_episodes"]["mean_timeout_s"]
    waits = (run["loss_episodes"]["mean_timeout_wait_s"], found["loss_episodes"]["mean_timeout_wait_s"])
    if not changes.keys() - {"duration"}:
        assert waits[0] == pytest.approx(waits[1], abs=1e-3)


@pytest.mark.parametrize(
    ("name", "changes"), [("umts-384", LINUX_RENO | SHORT_QUEUE), ("umts-128-simple", LINUX | SHORT_QUEUE)]
)
def test_only_a_cut_that_sends_nothing_again_is_hidden(name, changes, analyzed):
    # One recovery ends and the next begins with the same ACK, for what the first has sent again.
    run, found, _ = analyzed(name, changes)
    assert causes(found) == {cause: run["retransmissions"].get(cause, 0) for cause in CAUSES}
    hidden = {key: run["loss_episodes"][key] - count for key, count in episodes(found).items()}
    assert hidden == {"events": 1, "single": 1, "double": 0, "timeout": 0}


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
    run, server, ue, _ = analyzed("umts-384", {}, interfaces=("server", "ue"))
    assert ue["viewpoint"] == "receiver"
    assert ue["counters"]["segments"] == run["receiver"]["segments"]
    assert ue["retransmissions"]["total"] == server["retransmissions"]["total"]
    assert ue["retransmissions"]["spurious"]["total"] == run["receiver"]["duplicates"]
    assert ue["flight"]["window_limited_share"] is None


def test_reordering_by_the_radio_is_no_loss(analyzed):
    run, ue, _ = analyzed("umts-384-simple", OUT_OF_SEQUENCE | EIFEL, interfaces=("ue",))
    assert ue["reordering"]["late_segments"] > 50
    assert ue["retransmissions"]["total"] <= run["retransmissions"]["total"]


def test_verdicts_fit_what_was_built(analyzed):
    _, full, _ = analyzed("umts-128-simple", {"radio.dch.downlink.queue.droptail.packets": 60})
    assert full["verdict"]["limited_by"] in ("the link", "receive window")
    assert full["rate"]["bottleneck_bps"] == pytest.approx(128e3, rel=0.1)
    _, window, _ = analyzed("umts-384-simple", {"tcp.receive_buffer": "4 kB"})
    assert window["verdict"]["limited_by"] == "receive window"
    assert window["flight"]["window_limited_share"] > 0.5


def test_the_command_prints_a_table_and_writes_json_and_a_page(analyzed, tmp_path, airpath_command):
    _, found, file = analyzed("umts-384", {})
    done = airpath_command("analyze", file, "--out", tmp_path / "page")
    assert done.code == 0, done.err
    assert "loss episodes" in done.out and "2 TCP connections" in done.out
    written = json.loads((tmp_path / "page" / "analysis.json").read_text())
    (flow,) = next(one["flows"] for one in written["connections"] if one["interface"] == "server")
    assert flow["retransmissions"] == found["retransmissions"]
    said = {model["name"]: model["kbit_per_s"] for model in flow["models"]}
    assert any(kbit is not None and 50 < kbit < 2000 for kbit in said.values())
    page = (tmp_path / "page" / "index.html").read_text()
    assert page.count("<img") == 2 and "limited by" in page
    both = airpath_command("analyze", file, "--connection", 2, "--json", "--out", tmp_path / "both")
    assert [one["number"] for one in json.loads(both.out)["connections"]] == [2]
    assert "index.html" in both.err and (tmp_path / "both" / "index.html").exists()


def test_a_connection_that_is_not_there_is_named_with_those_that_are(analyzed, tmp_path, airpath_command):
    _, _, file = analyzed("umts-384", {})
    refused = airpath_command("analyze", str(file), "--connection", "7")
    check_error(refused, "--connection", "there is no 7", "choose from 1, 2")
    # The section header and the descriptions of interfaces, and no packet behind them.
    empty, content = tmp_path / "empty.pcapng", file.read_bytes()
    end = 0
    while int.from_bytes(content[end : end + 4], "little") != 6:
        end += int.from_bytes(content[end + 4 : end + 8], "little")
    empty.write_bytes(content[:end])
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
    whole = file.read_bytes()
    damaged = bytearray(whole[: len(whole) - 7])
    middle = len(damaged) // 2
    damaged[middle : middle + 200] = bytes(200)
    file.write_bytes(damaged)
    report = analyze(file)
    assert report["file"]["unreadable_bytes"] > 150
    assert report["file"]["ends_within_record"]
    assert middle - 200 < report["file"]["unreadable_from"] <= middle + 8
    assert report["packets"]["tcp"] > 4300
    assert "unreadable" in render(with_models(report), "x")


def with_models(report):
    from airpath.analyze.models import predictions

    for one in report["connections"]:
        for flow in one["flows"]:
            flow["models"] = predictions(flow)
    return report


def test_an_empty_capture_is_no_error(tmp_path):
    file = tmp_path / "empty.pcap"
    file.write_bytes(struct.pack("<IHHIIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1))
    assert package.analyze(file)["connections"] == []
