"""iperf3 through a live link: results say what it says, of both versions of its protocol and both ways."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from programs import needs

from live.harness import AIRPATH, FAST, as_root, check_books, without_power

pytestmark = needs("iperf3")
AVAILABLE = Path("/proc/sys/net/ipv4/tcp_available_congestion_control").read_text(encoding="ascii").split()
SERVER = "exec iperf3 -s -1 > /dev/null"


def iperf3(*arguments: object) -> list[str]:
    """A COMMAND that prints what iperf3 measured as JSON."""
    words = " ".join(str(argument) for argument in arguments)
    return ["sh", "-c", f"exec timeout 40 iperf3 -c $AIRPATH_SERVER -J {words}"]


@pytest.mark.slow
@pytest.mark.parametrize("congestion_control", ["reno", "cubic"])
def test_a_download_is_the_flow_that_iperf3_measured(congestion_control, live):
    command = iperf3("-R", "-t", 1, "-C", congestion_control)
    outcome = live(*FAST, server=SERVER, command=command, out=True)
    assert outcome.code == 0, outcome.out
    measured = json.loads(outcome.out)["end"]
    flow, control = outcome.flows("tcp")
    assert measured["sender_tcp_congestion"] == flow["congestion_control"] == congestion_control
    assert flow["direction"] == "downlink"
    assert control["bytes_received"] < 10_000
    # Some bytes arrive after the client has stopped counting.
    assert flow["bytes_received"] >= measured["sum_received"]["bytes"] > 0
    assert flow["bytes_acked"] <= flow["bytes_received"]
    assert flow["retransmissions"]["total"] == measured["sum_sent"]["retransmits"]
    kernel = outcome.live["kernel"]
    assert kernel["server"]["PassiveOpens"] == kernel["ue"]["ActiveOpens"] == 2
    assert kernel["server"]["OutSegs"] >= flow["segments_sent"] - flow["retransmissions"]["total"]
    assert kernel["server"].get("RetransSegs", 0) >= flow["retransmissions"]["total"]
    check_books(outcome.results)


@pytest.mark.slow
def test_both_ways_at_once_are_two_flows(live):
    outcome = live(*FAST, server=SERVER, command=iperf3("--bidir", "-t", 1), out=True)
    assert outcome.code == 0, outcome.out
    measured = json.loads(outcome.out)["end"]
    flows = {flow["direction"]: flow for flow in outcome.flows("tcp")[:2]}
    assert set(flows) == {"downlink", "uplink"}
    assert flows["uplink"]["bytes_received"] >= measured["sum_received"]["bytes"] > 0
    assert flows["downlink"]["bytes_received"] >= measured["sum_received_bidir_reverse"]["bytes"] > 0
    check_books(outcome.results)


@pytest.mark.slow
def test_datagrams_that_a_full_buffer_drops_are_those_that_iperf3_misses(live):
    link = ("--downlink-trace", "100 Mbit/s", "--uplink-trace", "5 Mbit/s")
    queue = ("--uplink-queue", "droptail", "--uplink-queue-args", "packets=10")
    command = iperf3("-u", "-b", "10M", "-l", 1200, "-t", 1)
    outcome = live(*link, *queue, server=SERVER, command=command, out=True)
    assert outcome.code == 0, outcome.out
    measured = json.loads(outcome.out)["end"]["sum"]
    (flow,) = outcome.flows("udp")
    assert flow["direction"] == "uplink"
    assert flow["congestion_control"] is None
    # All datagrams of its test, and the one with which it begins.
    assert flow["segments_sent"] >= measured["packets"]
    dropped = flow["segments_sent"] - flow["receiver"]["segments"]
    # iperf3 does not notice datagrams lost after the last one that arrives.
    assert 0 < measured["lost_packets"] <= dropped
    check_books(outcome.results)


@pytest.mark.slow
@pytest.mark.parametrize("power", ["root", "none"])
def test_the_command_of_the_manual_works_with_and_without_power(power, live, tmp_path):
    home = tmp_path / "home"
    home.mkdir(mode=0o755)
    launcher = as_root() if power == "root" else without_power(home)
    command = ["sh", "-c", "iperf3 -c $AIRPATH_SERVER -R -t 5 -C reno -J"]
    folder = home / "out"
    outcome = live(*("umts-384", "--out", folder), server="iperf3 -s -1", command=command, launcher=launcher)
    assert outcome.code == 0, outcome.err
    results = json.loads((folder / "results.json").read_text())
    assert results["live"]["user_namespace"] == (power == "none")
    flow = max(results["flows"], key=lambda flow: flow["bytes_received"])
    assert (flow["direction"], flow["congestion_control"]) == ("downlink", "reno")
    # 384 kbit/s of the bearer are no more than 48 kB per second, and TCP needs a second to get going.
    assert 4 * 24_000 < flow["bytes_received"] < results["simulated_s"] * 48_000


@pytest.mark.slow
@pytest.mark.parametrize("name", AVAILABLE)
def test_the_congestion_control_that_cc_names_is_what_the_kernel_runs(name, live):
    outcome = live(*FAST, "--cc", name, server=SERVER, command=iperf3("-R", "-t", 1), out=True)
    assert outcome.code == 0, outcome.out
    measured = json.loads(outcome.out)["end"]
    assert measured["sender_tcp_congestion"] == outcome.flows("tcp")[0]["congestion_control"] == name


def test_doctor_tries_every_congestion_control_that_the_kernel_lists():
    done = subprocess.run([AIRPATH, "doctor", "--json"], capture_output=True, text=True, timeout=60)
    (check,) = (found for found in json.loads(done.stdout) if found["check"] == "congestion control")
    assert (check["ok"], check["found"]) == (True, f"--cc may be {', '.join(AVAILABLE)}")


@pytest.mark.slow
def test_a_congestion_control_that_the_kernel_lacks_is_refused_with_those_that_it_has(live):
    outcome = live(*FAST, "--cc", "nosuch", command=["true"])
    assert outcome.code != 0
    assert "the kernel has no 'nosuch' for TCP" in outcome.err
    assert all(name in outcome.err for name in AVAILABLE)


@pytest.mark.slow
def test_a_scenario_whose_congestion_control_is_not_the_kernels_says_so(live):
    chosen = ("umts-384", "--set", "tcp.cc=westwood")
    outcome = live(*chosen, "--cc", "reno", command=["true"])
    said = "the scenario says westwood, and the kernel's TCP runs reno\n"
    assert (outcome.code, said in outcome.err) == (0, True), outcome.err
    outcome = live(*chosen, command=["true"])
    assert (outcome.code, "; --cc chooses another" in outcome.err) == (0, True), outcome.err
    outcome = live("umts-384", "--set", "tcp.cc=reno", "--cc", "reno", command=["true"])
    assert (outcome.code, "the scenario says" in outcome.err) == (0, False), outcome.err
