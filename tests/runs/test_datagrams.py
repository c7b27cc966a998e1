"""Flows without TCP: results, summary and files say what there is to say, and no more."""

from __future__ import annotations

import json

import pytest

import airpath
from airpath.runs import metrics

# A call and a ping concurrent with a download.
SCENARIO = """
duration = "20 s"
[wired]
delay = "30 ms"
loss = "5 %"
[radio.dch.downlink]
rate = "128 kbit/s"
[[flow]]
app.cbr = { rate = "16 kbit/s", size = "200 B" }
[[flow]]
app.ping = { interval = "500 ms" }
[[flow]]
app.bulk = {}
"""


def test_results_have_what_applies():
    call, ping, bulk = airpath.run(airpath.Scenario("call", SCENARIO), probes=()).flows
    assert "datagrams" not in bulk
    assert call["datagrams"]["sent"] == 201
    assert call["datagrams"]["answers"] is None
    assert 0 < call["datagrams"]["received"] < 201
    assert metrics.carried_bytes(call) == call["bytes_received"] == 172 * call["datagrams"]["received"]
    assert metrics.retransmission_share(call) == 0
    assert call["rtt_ms"].pop("samples") == 0
    assert set(call["rtt_ms"].values()) == {None}
    assert ping["rtt_ms"]["samples"] == ping["datagrams"]["answers"] > 0
    assert ping["rtt_ms"]["min"] > ping["datagrams"]["delay_ms"]["min"] > 30


@pytest.mark.slow
def test_summary_and_files_cope(airpath_command, tmp_path):
    scenario = tmp_path / "call.toml"
    scenario.write_text(SCENARIO)
    outcome = airpath_command("run", scenario, "--out", tmp_path / "out")
    assert outcome.code == 0
    assert (tmp_path / "out" / "plot.png").is_file()
    counts = json.loads((tmp_path / "out" / "results.json").read_text())["flows"][0]["datagrams"]
    rows = (line.split() for line in outcome.out.splitlines())
    lines = [row for row in rows if row[1:2] == ["downlink"]]
    # Performance of three flows, their delays, segments of one, packets of two.
    three = ["0.0", "0.1", "0.2"]
    assert [line[0] for line in lines] == [*three, *three, "0.2", "0.0", "0.1"]
    expected = [str(counts[which]) for which in ("sent", "received", "lost")]
    assert lines[7][2:6] == [*expected, "-"]
