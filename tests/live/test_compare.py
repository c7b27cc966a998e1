"""`airpath compare` with real transfers of the kernel's TCP: short ones, over quick links."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from programs import needs, tshark

from airpath.captures import analyze
from airpath.errors import LiveError
from airpath.experiments.versus_kernel.runs import Processes, run_live_once
from airpath.experiments.versus_kernel.tcp import KernelTcp
from airpath.files.atomic import temporary
from airpath.scenario import Scenario
from live.harness import AIRPATH, MARKER, PATIENCE_S, finish, wait_until

# Seconds of a run: long enough for a loss of the first slow start and its repair.
LINK = """
duration = "6 s"
[wired]
delay = "20 ms"
[radio.dch.downlink]
rate = "1 Mbit/s"
queue.droptail.packets = 20
[radio.dch.uplink]
rate = "256 kbit/s"
"""
DOWNLOAD = LINK + "[[flow]]\napp.file.size = '200 kB'\n"
ATTEMPTS = 3
"""A live run on a busy machine may be too late to be valid, which these tests are not about."""


@pytest.fixture
def compare(marker, tmp_path):
    """Run `airpath compare` on a scenario's text; give what it wrote as JSON, and its folder."""

    def call(text, *arguments):
        scenario, out = tmp_path / "link.toml", tmp_path / "out"
        scenario.write_text(text)
        words = [AIRPATH, "compare", scenario, "--out", out, "--force", "--workers", 2, *arguments]
        for _ in range(ATTEMPTS):
            process = subprocess.Popen(
                [str(word) for word in words],
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                env={**os.environ, MARKER: marker},
            )
            printed, err = finish(process, 2 * PATIENCE_S)
            is_late = "not valid" in printed if process.returncode == 0 else "passes the bound" in err
            if not is_late:
                break
        assert process.returncode == 0, err
        return json.loads((out / "comparison.json").read_text()), out, printed

    return call


@pytest.mark.slow
@pytest.mark.alone
def test_the_kernel_carries_the_same_bytes_as_the_simulator(compare):
    said, out, printed = compare(DOWNLOAD, "--runs", 2, "--cc", "reno")
    (one,) = said["comparisons"]
    runs = one["flows"][0]["runs"]
    assert [run["seed"] for run in runs] == [1, 2]
    for run in runs:
        for world in ("simulated", "live"):
            assert run[world]["bytes_acked"] == 200_000
            assert run[world]["transfer_s"] is not None
        # Determined by the link only.
        assert run["live"]["initial_rtt_ms"] == pytest.approx(run["simulated"]["initial_rtt_ms"], abs=5)
        assert run["live"]["goodput_bps"] == pytest.approx(run["simulated"]["goodput_bps"], rel=0.25)
    assert "link, reno: 2 runs of each" in printed and "goodput kbit/s" in printed
    results = json.loads((out / "reno" / "live-1" / "results.json").read_text())
    assert results["live"]["valid"] and results["live"]["ended_by"] == "command"
    flow = max(results["flows"], key=lambda flow: flow["bytes_received"])
    assert flow["bytes_received"] == 200_000


@pytest.mark.slow
def test_a_live_run_has_the_congestion_control_that_was_named(compare):
    _, out, _ = compare(DOWNLOAD, "--runs", 1, "--cc", "reno")
    results = json.loads((out / "reno" / "live-1" / "results.json").read_text())
    assert {flow["congestion_control"] for flow in results["flows"]} == {"reno"}


@pytest.mark.slow
def test_flows_in_both_directions_begin_when_they_should_and_one_without_end_ends(compare):
    text = LINK + (
        "[[flow]]\ndirection = 'uplink'\nstart = '1 s'\napp.file.size = '40 kB'\n[[flow]]\napp.bulk = {}\n"
    )
    said, out, _ = compare(text, "--runs", 1, "--cc", "reno")
    upload, download = (flow["runs"][0]["live"] for flow in said["comparisons"][0]["flows"])
    assert upload["bytes_acked"] == 40_000 and upload["transfer_s"] is not None
    assert download["transfer_s"] is None and download["bytes_acked"] > 100_000
    starts = {
        connection["server"].rpartition(":")[2]: view["start_s"]
        for connection in analyze(out / "reno" / "live-1" / "capture.pcapng")["connections"]
        for view in connection["views"]
        if view["interface"] == "ue"
    }
    assert starts["8000"] - starts["8001"] == pytest.approx(1.0, abs=0.3)
    results = json.loads((out / "reno" / "live-1" / "results.json").read_text())
    assert results["live"]["ended_by"] == "duration"


@pytest.mark.slow
@needs("tshark")
def test_the_kernels_tcp_is_brought_near_the_scenarios(compare):
    tcp = (
        "[tcp]\nmss = '536 B'\ninitial_window = 1\nmax_window = 10\nwindow_scaling = false\n"
        "ack_every = 1\nrto.min = '1 s'\nreceive_buffer = '20 kB'\n"
        "rto.timer = 'linux'\nprr = true\nrecovery.newreno.variant = 'linux'\ncc.reno.variant = 'linux'\n"
    )
    text = LINK + tcp + "[[flow]]\napp.file.size = '60 kB'\n"
    _, out, printed = compare(text, "--runs", 1, "--cc", "reno", "--tcp", "scenario")
    assert "not the scenario's TCP" not in printed
    capture = out / "reno" / "live-1" / "capture.pcapng"

    def fields(display_filter, *names):
        wanted = [word for name in names for word in ("-e", name)]
        return [
            line.split("\t") for line in tshark(capture, display_filter, "-T", "fields", *wanted).splitlines()
        ]

    at_server, at_ue = 'frame.interface_name == "server"', 'frame.interface_name == "ue"'
    for options in fields(
        f"tcp.flags.syn == 1 and {at_server}", "tcp.options.mss_val", "tcp.options.sack_perm"
    ):
        assert options == ["536", ""]
    assert not fields("tcp.options.timestamp.tsval or tcp.options.wscale", "frame.number")
    segments = fields(f"tcp.len > 0 and {at_server}", "frame.time_relative", "tcp.len")
    assert max(int(length) for _, length in segments) == 536
    # The first window is one segment: the second waits a round trip.
    assert float(segments[1][0]) - float(segments[0][0]) > 0.03
    windows = [
        int(window) for (window,) in fields(f"tcp.srcport != 8000 and {at_ue}", "tcp.window_size_value")
    ]
    assert max(windows) <= 10 * 536
    # Every segment is acknowledged separately, except segments that arrive after a gap has been filled.
    acks = fields(f"tcp.srcport != 8000 and tcp.len == 0 and tcp.flags == 0x010 and {at_ue}", "tcp.ack")
    assert len(acks) >= len(segments)


@pytest.mark.slow
def test_what_a_mechanism_does_is_compared_in_both_worlds(compare):
    # PDPC takes packets out of the buffer, which has them only where a link layer does.
    link_layer = "rlc.am = {}\n[radio.dch.uplink]\nrlc.am = {}"
    text = DOWNLOAD.replace("[radio.dch.uplink]", link_layer)
    text = text.replace("1 Mbit/s", "384 kbit/s").replace("256 kbit/s", "64 kbit/s")
    setting = ("--set", "mechanism.pdpc.max_threshold=8")
    said, out, printed = compare(text, "--runs", 2, "--cc", "reno", "--mechanism", "pdpc", *setting)
    base, changed = said["comparisons"]
    assert (base["mechanism"], changed["mechanism"]) == (None, "pdpc")
    effect = changed["flows"][0]["effects"]["rtt_p95_ms"]
    # A buffer of 20 packets that is kept at 8: RTTs are shorter, simulated and live.
    assert effect["simulated_ratio"]["mean"] < 0.9
    assert effect["live_ratio"]["mean"] < 0.9
    assert "what pdpc does with reno" in printed
    results = json.loads((out / "reno-pdpc" / "live-1" / "results.json").read_text())
    cell = next(element for element in results["elements"] if element["element"].startswith("radio."))
    assert cell["ues"][0]["downlink"]["sdus_dropped"] > 0


def test_what_the_transfers_say_when_they_fail_is_told(tmp_path):
    tcp = KernelTcp("no_such_control", {})
    link = Scenario("link", DOWNLOAD)
    with pytest.raises(LiveError, match=r"ended with status 1: .*No such file or directory"):
        run_live_once(link, tcp, 1, tmp_path, Processes())


def test_a_sysctl_that_the_kernel_does_not_have_is_told(tmp_path):
    tcp = KernelTcp("reno", {"net.ipv4.tcp_no_such_thing": "1"})
    with pytest.raises(LiveError, match="sysctl"):
        run_live_once(Scenario("link", DOWNLOAD), tcp, 1, tmp_path, Processes())


@pytest.mark.slow
def test_an_interrupted_comparison_leaves_nothing(marker, tmp_path):
    scenario = tmp_path / "link.toml"
    scenario.write_text(LINK.replace('"6 s"', '"600 s"') + "[[flow]]\napp.bulk = {}\n")
    process = subprocess.Popen(
        [AIRPATH, "compare", str(scenario), "--runs", "2", "--out", str(tmp_path / "out")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, MARKER: marker},
    )
    capture = temporary(Path("capture.pcapng")).name
    captures = lambda: [  # noqa: E731
        file for file in (tmp_path / "out").glob(f"*/live-*/{capture}") if file.stat().st_size > 10_000
    ]
    wait_until(captures, "live runs carry packets")
    process.send_signal(signal.SIGINT)
    began = time.monotonic()
    finish(process)
    assert process.returncode == 130
    assert time.monotonic() - began < 30


@pytest.mark.slow
def test_a_comparison_that_is_killed_leaves_nothing(marker, tmp_path):
    scenario = tmp_path / "link.toml"
    scenario.write_text(LINK.replace('"6 s"', '"600 s"') + "[[flow]]\napp.bulk = {}\n")
    process = subprocess.Popen(
        [AIRPATH, "compare", str(scenario), "--runs", "1", "--out", str(tmp_path / "out")],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, MARKER: marker},
    )
    capture = temporary(Path("capture.pcapng")).name
    wait_until(lambda: list((tmp_path / "out").glob(f"*/live-*/{capture}")), "a live run has begun")
    process.kill()
    process.wait(PATIENCE_S)
