"""The phases of a connection cover its life, and are the shares of its report in order."""

from __future__ import annotations

import json
import math

import pytest
from test_analyze import LINUX, SERVER, SHORT_QUEUE, UE, captured, of_interface

import airpath
from airpath import _core
from airpath.captures import analyze

PERSISTENT = {"flow.0.app.web.connections": "persistent", "flow.0.app.web.think": "300 ms"}
SHARE_OF = {"waiting": "application", "idle": "application", "pause": "application"}
"""Phases that are parts of one share; every other phase is the share of its name."""
OUTSIDE = {"handshake", "no_data", "other_direction"}
"""Phases in which the clock of the shares does not run."""


def pieces(one):
    """Phases of a connection as (start, end, phase)."""
    phases = one["phases"]
    return list(zip(phases["start_s"], phases["end_s"], phases["phase"], strict=True))


def check(one):
    """The phases have no gaps and no overlap, and sum to the shares of the sender's flow."""
    own = pieces(one)
    assert own[0][0] == 0 and all(start < end for start, end, _ in own)
    assert [end for _, end, _ in own[:-1]] == [start for start, _, _ in own[1:]]
    assert own[-1][1] >= one["duration_s"]
    (flow,) = (flow for flow in one["flows"] if flow["sender"] == one["phases"]["sender"])
    shares = flow["verdict"]["shares"]
    inside = [(end - start, phase) for start, end, phase in own if phase not in OUTSIDE]
    whole = math.fsum(seconds for seconds, _ in inside)
    for name, share in shares.items():
        found = math.fsum(seconds for seconds, phase in inside if SHARE_OF.get(phase, phase) == name)
        assert found / whole == pytest.approx(share, abs=1e-9), name
    turns = math.fsum(seconds for seconds, phase in inside if phase in ("waiting", "idle"))
    assert turns / whole >= flow["verdict"]["application"]["between_turns"] - 1e-9
    active = math.fsum(end - start for start, end, phase in own if phase not in ("idle", "no_data"))
    assert one["phases"]["active_s"] == pytest.approx(active, rel=1e-9)


@pytest.mark.parametrize("only", [None, SERVER, UE])
@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("umts-384", SHORT_QUEUE),
        ("umts-128-simple", LINUX | SHORT_QUEUE),
        ("umts-64", LINUX | {"flow.0.app.file.size": "300 kB"}),
        ("web", {}),
        ("web", PERSISTENT),
    ],
)
def test_phases_cover_a_connection_and_are_its_shares(name, changes, only, tmp_path):
    _, file = captured(tmp_path, name, changes)
    if only is not None:
        file.write_bytes(of_interface(file.read_bytes(), only))
    connections = analyze(file)["connections"]
    assert connections
    for one in connections:
        check(one)
        handshake, *_ = pieces(one)
        assert handshake[2] == "handshake"
        assert handshake[1] == pytest.approx(one["handshake_rtt_ms"] / 1000, abs=1e-6)


def test_a_response_is_waited_for_as_long_as_the_server_thinks(tmp_path):
    _, file = captured(tmp_path, "web", PERSISTENT)
    (one,) = analyze(file)["connections"]
    waits = [end - start for start, end, phase in pieces(one) if phase == "waiting"]
    # The page and its objects; at the server no round trip is part of it.
    assert len(waits) == 9
    assert all(0.3 - 1e-6 < seconds < 0.301 for seconds in waits)


@pytest.mark.parametrize("seed", [1, 2])
def test_a_request_that_comes_twice_is_not_waited_for(seed, tmp_path):
    """With seed 1 a spurious copy of a request arrives while the response is in flight."""
    scenario = airpath.load("hsdpa-3.6-still").with_("duration", "30 s")
    scenario = scenario.with_("flow.0.app", {"web": {"objects": 20, "object": "20 kB"}})
    file = tmp_path / "capture.pcapng"
    file.write_bytes(airpath.run(scenario, seed, probes=(), capture=True).capture)
    (one,) = analyze(file)["connections"]
    assert [
        end - start for start, end, phase in pieces(one) if phase == "waiting" and end - start > 1e-3
    ] == []


def test_a_handshake_without_an_answer_lasts_as_long_as_it_is_tried(tmp_path):
    _, file = captured(tmp_path, "umts-384", {"flow.0.app.file.size": "20 kB"})
    content, at, kept = file.read_bytes(), 0, b""
    packets = 0
    while at < len(content):
        kind = int.from_bytes(content[at : at + 4], "little")
        length = int.from_bytes(content[at + 4 : at + 8], "little")
        packets += kind == 6
        kept += content[at : at + length] if packets <= 2 else b""
        at += length
    file.write_bytes(kept)
    (one,) = analyze(file)["connections"]
    assert [phase for _, _, phase in pieces(one)] == ["handshake"]


def test_those_that_took_longest_are_described_beside_those_with_most_data(tmp_path):
    _, file = captured(tmp_path, "web", {})
    everything = {one["number"]: one for one in analyze(file)["connections"]}
    kept = {one["number"] for one in analyze(file, most=4)["connections"]}
    data = sorted(everything.values(), key=lambda one: (-one["payload_bytes"], one["number"]))
    rest = sorted(data[2:], key=lambda one: (-one["phases"]["active_s"], one["number"]))
    assert kept == {one["number"] for one in [*data[:2], *rest[:2]]}
    assert len(everything) == 9


def test_the_rows_of_a_run_are_those_of_its_capture(tmp_path):
    result, file = captured(tmp_path, "web", {})
    rows = json.loads(_core.waterfall(file))
    simulation = _core.Simulation(result.scenario.text, 1, waterfall=True)
    while not simulation.advance(0.7):
        pass
    assert json.loads(simulation.waterfall()) == rows
    report = analyze(file)
    assert [row["phases"] for row in rows] == [one["phases"] for one in report["connections"]]
    assert rows[0]["start_s"] == pytest.approx(report["start_unix_s"], abs=1e-9)


@pytest.mark.parametrize(
    ("name", "cell", "preset", "promotion_s"),
    [("umts-384", "dch", "qian-2010-carrier-1", 2.0), ("lte-10mhz-still", "lte", "huang-2012", 0.26)],
)
def test_a_promotion_after_a_silence_is_part_of_the_handshake(name, cell, preset, promotion_s, tmp_path):
    page = {"start": "30 s", "app": {"web": {"page": "10 kB", "objects": 0}}}
    activity = {f"radio.{cell}.activity.preset": preset}

    def handshake_s(changes):
        _, file = captured(tmp_path, name, {"flow": [page], "duration": "60 s"} | changes)
        file.write_bytes(of_interface(file.read_bytes(), UE))
        (one,) = analyze(file)["connections"]
        check(one)
        (_, end, phase), *_ = pieces(one)
        assert phase == "handshake"
        return end

    # Block errors fall differently in time: RLC repairs them within some TTIs.
    assert handshake_s(activity) - handshake_s({}) == pytest.approx(promotion_s, abs=0.12)


@pytest.mark.parametrize(
    ("name", "preset", "promotion_s"),
    [
        ("umts-384", "radio.dch.activity.preset=qian-2010-carrier-1", 2.0),
        ("lte-10mhz-still", "radio.lte.activity.preset=huang-2012", 0.26),
    ],
)
def test_a_page_after_a_silence_waits_for_the_promotion(name, preset, promotion_s, tmp_path):
    """After 30 s of silence the promotion is part of the handshake, and the first byte comes later by it."""
    page = {
        "duration": "60 s",
        "tcp.handshake": "three_way",
        "flow": [{"start": "30 s", "app": {"web": {"page": "10 kB", "objects": 0}}}],
    }
    key, value = preset.split("=")
    active, woken = (timeline(tmp_path, name, page | changes) for changes in ({}, {key: value}))
    assert [phase for *_, phase in active[:2]] == ["handshake", "no_data"]
    for (_, one, phase), (_, other, same) in zip(active[:2], woken[:2], strict=True):
        assert other - one == pytest.approx(promotion_s, abs=1e-3), phase
        assert phase == same


def timeline(folder, name, changes):
    """Phases of the one connection, from its SYN at the UE; the second ends with the page's first byte."""
    _, file = captured(folder, name, changes)
    [one] = analyze(file)["connections"]
    return pieces(one)
