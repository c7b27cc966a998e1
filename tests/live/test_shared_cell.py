"""A real UE in a cell of LTE that it shares with simulated ones."""

from __future__ import annotations

import json
import tomllib

import pytest
from programs import needs

import airpath

pytestmark = needs("iperf3")
SERVER = "exec iperf3 -s -1 > /dev/null"
COMMAND = ["sh", "-c", "exec timeout 40 iperf3 -c $AIRPATH_SERVER -J -R -t 2"]
OTHERS = 3
# Of 4 UEs under the same conditions one gets a quarter: proportional fair.
CELL = f"""
[radio.lte]
ues = {OTHERS + 1}
[radio.lte.downlink]
blocks.bandwidth = "5 MHz"
queue.droptail.bytes = "100 kB"
reception.mean_sinr = "12 dB"
"""
FLOWS = """
[[flow]]
ue = "each"
app.bulk = {}
[[flow]]
ue = 2
start = "1 s"
app.cbr = {}
"""


@pytest.fixture
def measured(live, tmp_path):
    """Let iperf3 load at UE 0; the outcome, and what it measured in bit/s."""

    def call(flows):
        scenario = tmp_path / "cell.toml"
        scenario.write_text(CELL + flows)
        options = ("--force", "--no-page", "--max-lateness", "1s")
        outcome = live(scenario, *options, server=SERVER, command=COMMAND, out=True)
        assert outcome.code == 0, outcome.err
        assert outcome.live["valid"], outcome.live["invalid_because"]
        return outcome, json.loads(outcome.out)["end"]["sum_received"]["bits_per_second"]

    return call


@pytest.mark.slow
@pytest.mark.parametrize("scenario", ["hsdpa-7.2-4ue", "lte-10mhz-10ue"])
def test_bundled_cells_take_a_real_ue_among_simulated_ones(scenario, live):
    """The first UE's flow is the command's, those of the others are the scenario's."""
    options = ("--no-page", "--max-lateness", "1s")
    outcome = live(scenario, *options, server=SERVER, command=COMMAND, out=True)
    assert outcome.code == 0, outcome.err
    assert outcome.live["valid"], outcome.live["invalid_because"]
    flows = [flow for flow in tomllib.loads(airpath.load(scenario).text)["flow"] if flow["ue"] > 0]
    found = [flow for flow in outcome.results["flows"] if flow["app"] is not None]
    assert [(flow["ue"], flow["app"]) for flow in found] == [(flow["ue"], *flow["app"]) for flow in flows]
    pairs = zip(found, flows, strict=True)
    early = [now["bytes_received"] for now, flow in pairs if flow["start"] in ("0 s", "1 s")]
    assert early
    assert all(early)
    carried = json.loads(outcome.out)["end"]["sum_received"]["bytes"]
    assert outcome.live["ends"]["ue"]["received_bytes"] > carried > 0


def check_report(text):
    """Real flows come before simulated ones."""
    lines = [line.split() for line in text.splitlines()]
    named = [line[:2] for line in lines if line and line[0].replace(".", "", 1).isdigit()]
    assert [name for name, _ in named[:2]] == ["0.1", "0.0"]
    assert sorted(named[2:]) == [[name, "simulated"] for name in ("1.0", "2.0", "2.1", "3.0")]
    assert "UE 1 downlink bearer" in text
    assert "UE 1 uplink bearer" not in text


@pytest.mark.slow
def test_simulated_ues_take_their_share_of_a_real_ones_cell(measured):
    _, alone = measured("[[flow]]\napp.bulk = {}\n")
    outcome, shared = measured(FLOWS)
    assert shared < 0.6 * alone
    flows = outcome.results["flows"]
    real = [flow for flow in flows if flow["ue"] == 0]
    assert [flow["protocol"] for flow in real] == ["tcp", "tcp"]
    assert flows[: len(real)] == real
    simulated = {(flow["ue"], flow["flow"]): flow for flow in flows[len(real) :]}
    assert [simulated[key]["app"] for key in sorted(simulated)] == ["bulk", "bulk", "cbr", "bulk"]
    bearers = next(element for element in outcome.results["elements"] if "ues" in element)["ues"]
    for (ue, number), flow in simulated.items():
        assert flow["bytes_received"] > 0
        assert flow["bytes_received"] < bearers[ue]["downlink"]["bytes_delivered"], (ue, number)
    received = outcome.events("segment_received")
    assert set(received["ue"]) == {0, 1, 2, 3}
    # The view is of UE 0 only, and so are the counters of the real ends.
    assert outcome.live["ends"]["ue"]["received_bytes"] == bearers[0]["downlink"]["bytes_delivered"]
    check_report(outcome.err)
