"""A real UE of two interfaces: both links are in one namespace."""

from __future__ import annotations

import pytest
from programs import needs


@pytest.fixture
def scenario(tmp_path):
    file = tmp_path / "two.toml"
    file.write_text(
        """
duration = "5 s"
tcp.profile = "linux"
ue = [{ name = "other", attach = ["cell"] }, { name = "phone", attach = ["cell", "fixed"] }]
flow = [{ ue = "other", app.ping = {} }, { ue = "phone", over = "fixed", app.bulk = {} }]
[[way]]
name = "backhaul"
wired = { rate = "10 Mbit/s", delay = "20 ms" }
[[way]]
name = "fixed"
wired = { rate = "4 Mbit/s", delay = "5 ms", queue.droptail.packets = 40 }
[[cell]]
name = "cell"
behind = "backhaul"
radio.dch = { downlink.rate = "1 Mbit/s", uplink.rate = "1 Mbit/s" }
"""
    )
    return file


@pytest.mark.slow
def test_each_interface_has_its_device_addresses_and_path(scenario, live):
    """Round trips over the wire take 10 ms, those over the cell more than 40 ms."""
    command = ["sh", "-c", "airpath ping $AIRPATH_SERVER --count 3; airpath ping $AIRPATH_SERVER_1 --count 3"]
    outcome = live(scenario, "--ue", "phone", "--no-page", "--max-lateness", "1s", command=command, out=True)
    assert outcome.code == 0, outcome.err
    real = [flow for flow in outcome.results["flows"] if flow["app"] is None]
    # Numbers of interfaces: 0 is the other UE's.
    assert [(flow["ue"], flow["interface"], flow["ue_address"].partition(":")[0]) for flow in real] == [
        (1, "phone over cell", "10.77.0.2"),
        (2, "phone over fixed", "10.77.1.2"),
    ]
    for said in ("phone over cell.0 icmp", "phone over fixed.1 icmp", "phone over cell downlink bearer"):
        assert said in outcome.err
    over_cell, over_wire = (flow["one_way_delay_ms"]["min"] for flow in real)
    assert over_cell > 20 and 5 <= over_wire < 10
    assert {flow["ue"] for flow in outcome.results["flows"] if flow["app"]} == {0}
    assert all(outcome.live["outcomes"][way]["dropped"] == 0 for way in ("downlink", "uplink"))


@pytest.mark.slow
@needs("iperf3")
def test_two_links_carry_downloads_at_once(scenario, live):
    """Each download has the rate of its own link."""
    command = [
        "sh",
        "-c",
        "timeout 20 iperf3 -c $AIRPATH_SERVER -B $AIRPATH_UE -R -t 3 > /dev/null &"
        " timeout 20 iperf3 -p 5202 -c $AIRPATH_SERVER_1 -B $AIRPATH_UE_1 -R -t 3 > /dev/null; wait",
    ]
    server = "iperf3 -s -1 > /dev/null & exec iperf3 -s -1 -p 5202 > /dev/null"
    outcome = live(
        *(scenario, "--ue", "phone", "--no-page", "--max-lateness", "1s"),
        server=server,
        command=command,
        out=True,
    )
    assert outcome.code == 0, outcome.err
    assert outcome.live["valid"], outcome.live["invalid_because"]
    rates = {
        ue: max(
            flow["goodput_bps"] for flow in outcome.results["flows"] if flow["ue"] == ue and not flow["app"]
        )
        for ue in (1, 2)
    }
    assert 0.8e6 < rates[1] < 1e6 and 3e6 < rates[2] < 4e6, rates
    states = outcome.events("tcp_state")
    assert set(states["ue"]) >= {1, 2}


def test_a_ue_that_is_not_there_is_refused(scenario, live):
    outcome = live(scenario, "--ue", "nobody", command=["true"])
    assert outcome.code == 2
    assert "--ue: there is no UE 'nobody'; write one of other, phone" in outcome.err
    outcome = live("umts-384", "--ue", "3", command=["true"])
    assert outcome.code == 2
    assert "write a number below 1" in outcome.err


@pytest.mark.slow
def test_another_ue_of_a_cell_may_be_real(live):
    """UE 2 of four: its packets are the command's, and those of UE 0 are simulated."""
    outcome = live(
        *("hsdpa-7.2-4ue", "--ue", 2, "--no-page", "--max-lateness", "1s"),
        command=["airpath", "ping", "--count", "3"],
        out=True,
    )
    assert outcome.code == 0, outcome.err
    assert [flow["ue"] for flow in outcome.results["flows"]][:2] == [2, 0]
