"""A packet has the same ID in the trace, in captures and in qlog, as tshark reads them.

Comments of an exported capture say where and why packets were dropped.
"""

from __future__ import annotations

import io
import json

import pyarrow.parquet as pq
import pytest
from conftest import check_error
from tshark import fields, needs_tshark

import airpath
from airpath.runs.export.qlog import write_qlog
from airpath.runs.export.source import Run
from airpath.runs.folder import run_to_folder

pytestmark = pytest.mark.usefixtures("undrawn")

# A queue that overflows, a link that loses packets, and a box that makes and keeps some.
DROPS = {
    "umts-384": {"duration": "20 s", "radio.dch.downlink.queue.droptail.packets": 8},
    "umts-snoop": {"duration": "20 s", "wired.loss": 0.02},
}


# ACKs that come to the sender of a download.
TO_THE_SERVER = "frame.interface_name == server && tcp.len == 0 && tcp.flags.ack == 1 && tcp.flags.syn == 0"


def rows_of(folder, kind):
    return pq.read_table(folder / "trace" / f"{kind}.parquet").to_pylist()


@pytest.fixture(params=DROPS)
def folder(request, tmp_path):
    scenario = airpath.load(request.param)
    for key, value in DROPS[request.param].items():
        scenario = scenario.with_(key, value)
    run_to_folder(scenario, 1, tmp_path / "run")
    return tmp_path / "run"


@pytest.mark.slow
@needs_tshark
def test_dropped_packets_say_where_and_why_and_nothing_else_changes(folder, airpath_command, tmp_path):
    file = tmp_path / "commented.pcapng"
    assert airpath_command("export", folder, "--format", "pcapng", "--out", file) == (0, "", "")
    run = Run.open(folder)
    dropped = {row["packet"]: row for row in rows_of(folder, "dropped")}
    sent = rows_of(folder, "segment_sent")
    names = ("frame.interface_name", "frame.packet_id", "tcp.seq", "frame.comment")
    told = fields(file, "frame", names)
    # The segments of the trace are those of the capture, number by number.
    data = [(int(own), int(seq) - 1) for side, own, seq, _ in told if side == "server" and int(seq) > 0]
    assert {(row["packet"], row["seq"]) for row in sent} <= set(data)
    told_drops = set()
    for _, own, _, comment in told:
        number, _, what = comment.partition(", ")
        assert number == f"packet {own}"
        if drop := dropped.get(int(own)):
            told_drops.add(int(own))
            at = f"{drop['time_ns'] / 1e9:.6f}"
            node = run.nodes[drop["element"]]
            assert what == f"dropped at {node} after {at} s, {drop['direction']}: {drop['reason']}"
        else:
            assert what == ""
    # Hosts sent all of these except for the copies that a middlebox makes.
    made = {row["packet"] for row in rows_of(folder, "made")}
    assert told_drops == dropped.keys() - made and len(told_drops) > 3
    # Apart from the comments the frames are identical.
    frame = ("frame.time_epoch", "frame.packet_id", "frame.len", "ip.id", "tcp.seq", "tcp.options")
    assert fields(file, "frame", frame) == fields(folder / "capture.pcapng", "frame", frame)


@pytest.mark.slow
@needs_tshark
@pytest.mark.parametrize("name", ["umts-384", "umts-384-simple"])
def test_acks_and_sack_blocks_of_the_trace_and_of_qlog_are_those_of_the_capture(name, tmp_path):
    folder = tmp_path / "run"
    scenario = (
        airpath.load(name).with_("duration", "10 s").with_("tcp.profile", "linux").with_("wired.loss", 0.01)
    )
    run_to_folder(scenario, 1, folder)
    names = ("frame.packet_id", "tcp.ack", "tcp.options.sack_le", "tcp.options.sack_re")
    in_capture = []
    for own, ack, *edges in fields(folder / "capture.pcapng", TO_THE_SERVER, names):
        # Relative numbers count the SYN; those of SACK blocks are relative too.
        sides = [[int(edge) - 1 for edge in side.split(",") if edge] for side in edges]
        in_capture.append((int(own), int(ack) - 1, list(zip(*sides, strict=True))))
    blocks = {}
    for row in rows_of(folder, "sack_block"):
        blocks.setdefault(row["packet"], []).append((row["left"], row["right"]))
    rows = rows_of(folder, "ack_received")
    assert [(row["packet"], row["acked"], blocks.get(row["packet"], [])) for row in rows] == in_capture
    run = Run.open(folder)
    (flow,) = run.summary["flows"]
    assert blocks and sum(row["duplicate"] for row in rows) == flow["dupacks"] > 0
    out = io.BytesIO()
    write_qlog(run, out, direction="downlink")
    events = [json.loads(record) for record in out.getvalue().split(b"\x1e")[2:]]
    acks = [event for event in events if event["name"] == "quic:packet_received"]
    assert [ack["packet"] for ack in acks] == [own for own, _, _ in in_capture]
    # A duplicate ACK names the segment before its number, and what its blocks have that is new.
    sent = {}
    for event in events:
        if event["name"] == "quic:packet_sent":
            (frame,) = event["data"]["frames"]
            start = frame["offset"]
            sent[event["data"]["header"]["packet_number"]] = (start, start + frame["raw"]["payload_length"])
    for ack, row in zip(acks, rows, strict=True):
        ranges = ack["data"]["frames"][0].get("acked_ranges", [])
        for start, end in (
            sent[n] for first, *last in ranges for n in range(first, (last or [first])[0] + 1)
        ):
            named = any(left <= start and end <= right for left, right in blocks.get(row["packet"], []))
            assert end <= row["acked"] or named
        assert len(ranges) >= row["duplicate"] * (row["acked"] > 0)


def test_a_capture_that_is_damaged_or_missing_is_refused(folder, airpath_command, tmp_path):
    capture = folder / "capture.pcapng"
    whole = capture.read_bytes()
    for damaged in (whole[:-7], whole[: len(whole) // 2] + b"\0" * 40):
        capture.write_bytes(damaged)
        outcome = airpath_command("export", folder, "--format", "pcapng", "--out", tmp_path / "out")
        assert outcome.code == 2 and "capture.pcapng: cannot be read" in outcome.err
        assert "Traceback" not in outcome.err
    capture.unlink()
    outcome = airpath_command("export", folder, "--format", "pcapng")
    check_error(outcome, str(folder), "holds no capture.pcapng", "airpath run --out")
