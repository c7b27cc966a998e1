"""Real programs through a cell of 5G NR with simulated UEs beside: iperf3, ping, QUIC and a browser."""

from __future__ import annotations

import importlib.util
import json
import re
from pathlib import Path

import pytest
import real_call
from programs import needs

import airpath

# Tests of live links are a package of that name.
FILE = Path(__file__).parents[2] / "benches" / "live.py"
SPEC = importlib.util.spec_from_file_location("live_bench", FILE)
assert SPEC is not None and SPEC.loader is not None
bench = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(bench)
PINGS = 40


@needs("iperf3", "ping")
@pytest.mark.slow
def test_a_cell_near_its_peak_carries_a_real_ue_among_ten_simulated_ones(live, tmp_path):
    """The least of many round trips and the others' rates are right on a busy machine, too."""
    scenario = tmp_path / "cell.toml"
    scenario.write_text(bench.NR + bench.NR_OTHERS)
    model = airpath.run(airpath.load(scenario), seed=1).summary["flows"][0]["rtt_ms"]
    assert model["max"] - model["min"] > 9
    report = tmp_path / "iperf3.json"
    script = bench.NR_COMMAND.format(
        pings=PINGS, interval=bench.NR_PING_INTERVAL_S, options="-C cubic", seconds=4, report=report
    )
    sysctls = [word for setting in bench.NR_SYSCTLS for word in ("--sysctl", setting)]
    options = ("--force", "--no-page", "--max-lateness", "1s", *sysctls)
    outcome = live(
        scenario, *options, server="exec iperf3 -s -1 > /dev/null", command=["sh", "-ec", script], out=True
    )
    assert outcome.code == 0, outcome.err
    assert outcome.live["valid"], outcome.live["invalid_because"]
    local, through = (float(least) for least in re.findall(r"= ([\d.]+)/[\d.]+/", outcome.out))
    assert model["min"] <= through - local + 0.1 and through - local <= model["min"] + 1
    # Half of what a quiet machine carries, and less than the peak.
    rate = json.loads(report.read_text())["end"]["sum_received"]["bits_per_second"]
    assert 0.2e9 < rate < 1.6e9
    seconds = outcome.results["simulated_s"]
    others = [flow for flow in outcome.results["flows"] if flow["ue"] > 0]
    assert len(others) == 10
    for flow in others:
        assert 8 * flow["datagrams"]["received"] * 1500 / seconds == pytest.approx(10e6, rel=0.02)


@pytest.mark.alone
def test_quic_downloads_through_a_cell():
    """A program that waits for the CPU retransmits what was not lost: one of up to four downloads counts."""
    quic_ends = pytest.importorskip("quic_ends", exc_type=ImportError)
    scenario, size = airpath.load("nr-n78-100mhz-still"), 400_000
    virtual = quic_ends.virtual(scenario, 1, size, "cubic")
    for _ in range(4):
        live = quic_ends.live(scenario, 1, size, "cubic")
        for run in (live, virtual):
            # 20 ms of wire, slots, and requests of the uplink: a handshake and some windows.
            assert run.rtt_ms > 23 and run.done_s > 4 * 0.023
            assert run.sent > size / 1200 and run.sent_by_client > 25
        if live.carried < 1.1 * virtual.carried:
            break
    assert live.carried == pytest.approx(virtual.carried, rel=0.1)


@needs("chromium")
@pytest.mark.alone
@pytest.mark.slow
def test_a_browser_calls_through_a_cell():
    """The cell has room for Chromium's highest rate."""
    call = real_call.real(airpath.load("nr-n78-100mhz-still"), "gcc", seconds=20)
    assert max(call.target_bps) > 1.5e6
    # 10 ms of wire, at most 20 ms of the uplink, and what the browser needs for a frame.
    assert 20 < call.p50_ms < 200 and call.freeze_s < 2
