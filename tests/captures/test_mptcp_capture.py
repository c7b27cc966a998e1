"""tshark reads Multipath TCP as it was sent: options of the handshakes, mappings, data ACKs."""

from __future__ import annotations

from pathlib import Path

import pytest
from tshark import fields, needs_tshark

import airpath

SCENARIO = """
duration = "10 s"
tcp.profile = "linux"
ue = [{ name = "phone", attach = ["one", "two"] }]
flow = [{ ue = "phone", over = ["one", "two"], direction = "DIRECTION", app.file.size = "300 kB" }]
[[way]]
name = "one"
wired = { rate = "10 Mbit/s", delay = "20 ms", loss = "1 %" }
[[way]]
name = "two"
wired = { rate = "5 Mbit/s", delay = "30 ms" }
"""
# Kind 30 alone, as a filter of tshark.
OPENS = "tcp.options.mptcp.subtype != 2"


@pytest.fixture(params=["downlink", "uplink"])
def capture(request, tmp_path) -> tuple[airpath.Result, Path]:
    """A run and its capture."""
    scenario = airpath.Scenario("mptcp", SCENARIO.replace("DIRECTION", request.param))
    result = airpath.run(scenario, seed=1, capture=True)
    file = tmp_path / "capture.pcapng"
    file.write_bytes(result.capture)
    return result, file


@needs_tshark
def test_handshakes_have_their_options_and_lengths(capture):
    _, file = capture
    asked = ["ip.len", "tcp.options.mptcp.subtype", "tcp.option_len"]
    rows = fields(file, f'frame.interface_name == "ue" and {OPENS}', asked)
    lengths = [(int(row[0]), int(row[1].split(",")[0], 0)) for row in rows]
    # IP bytes of SYN, SYN-ACK and ACK of each subflow, as of the kernel with timestamps.
    assert lengths[:3] == [(64, 0), (72, 0), (72, 0)]
    joined = [length for length, subtype in lengths if subtype == 1]
    assert joined == [72, 76, 76]


@pytest.mark.slow
@needs_tshark
def test_nothing_is_malformed_and_both_subflows_are_one_connection(capture):
    result, file = capture
    assert fields(file, "_ws.malformed", ["frame.number"]) == []
    # The first SYN has no key yet, so that tshark cannot name its connection.
    first_syn = "tcp.stream == 0 and tcp.flags.syn == 1 and tcp.flags.ack == 0"
    streams = fields(file, f"mptcp and not ({first_syn})", ["mptcp.stream", "tcp.stream"])
    assert {row[0] for row in streams} == {"0"}
    assert len({row[1] for row in streams}) == 2
    report = result.summary["flows"][0]["multipath"]
    assert all(subflow["bytes"] > 0 for subflow in report["subflows"])


@pytest.mark.slow
@needs_tshark
def test_mappings_cover_the_file_and_data_acks_reach_its_end(capture):
    result, file = capture
    sender = "server" if result.summary["flows"][0]["direction"] == "downlink" else "ue"
    at = f'frame.interface_name == "{sender}"'
    rows = fields(
        file,
        f"{at} and tcp.len > 0",
        ["tcp.options.mptcp.rawdataseqno", "tcp.options.mptcp.datalvllen", "tcp.len"],
    )
    assert all(row[1] == row[2] for row in rows)
    spans = sorted((int(row[0]), int(row[0]) + int(row[1])) for row in rows)
    first, end = spans[0][0], spans[0][0]
    for start, stop in spans:
        assert start <= end
        end = max(end, stop)
    assert end - first == 300_000
    acks = fields(
        file, f"{at} and tcp.len == 0 and tcp.options.mptcp.subtype == 2", ["tcp.options.mptcp.rawdataack"]
    )
    assert max(int(row[0]) for row in acks) == end
