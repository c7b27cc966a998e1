"""Files that come and go: completion times against processor sharing, and memory."""

from __future__ import annotations

import resource
from typing import Any

import pytest

import airpath

PAYLOAD_BPS = 10e6 * 1448 / 1500
"""Payload rate of the link: segments of 1448 bytes in packets of 1500."""

LINK = """
duration = "1000000 s"
tcp.profile = "linux"
[wired]
rate = "10 Mbit/s"
delay = "0.2 ms"
queue.fq_codel = { target = "10 s", interval = "100 s", packets = 10000, bytes = "absent" }
[radio.dch]
downlink = { rate = "1 Gbit/s", delay = "0.1 ms" }
uplink = { rate = "1 Gbit/s", delay = "0.1 ms" }
[[flow]]
"""
"""A link that shares its rate equally among flows and drops nothing."""


def transfers(count: int, size: str, mean_bytes: float, load: float, seed: int = 1) -> dict[str, Any]:
    """Run `count` Poisson arrivals of files at a load, 0 to 1, and return what became of them."""
    interval_ms = mean_bytes * 8 / PAYLOAD_BPS / load * 1e3
    app = (
        f"{{ count = {count}, connections = 1000, size = {size}, "
        f'interval.exponential.mean = "{interval_ms:.4f} ms" }}'
    )
    scenario = airpath.Scenario("arrivals", f"{LINK}app.arrivals = {app}\n")
    flows = airpath.run(scenario, seed=seed, probes=()).flows
    assert len(flows) == 1
    found: dict[str, Any] = flows[0]["transfers"]
    return found


@pytest.mark.slow
@pytest.mark.parametrize(
    ("size", "mean_bytes", "load"),
    [
        ('{ constant = "200 kB" }', 200_000, 0.5),
        ('{ exponential.mean = "200 kB" }', 200_000, 0.3),
        # Bounded Pareto: mean 3 x 80 (1 - 1/sqrt(10)) / (1 - 10^-1.5) = 169.5 kB by hand.
        ('{ pareto = { shape = 1.5, min = "80 kB", max = "800 kB" } }', 169_485, 0.5),
    ],
)
def test_ten_thousand_files_take_as_long_as_processor_sharing_says(
    size: str, mean_bytes: float, load: float
) -> None:
    """M/G/1 processor sharing (Kleinrock II, 4.4): a mean of S / C / (1 - load) for any sizes.

    It holds where each flow has its share at once: fair queueing, no losses, and files far above the
    bandwidth-delay product, here 1 kB.
    """
    found = transfers(10_000, size, mean_bytes, load)
    assert (found["started"], found["completed"], found["abandoned"]) == (10_000, 10_000, 0)
    assert found["mean_bytes"] == pytest.approx(mean_bytes, rel=0.03)
    # With the load that was drawn: sizes and intervals of 10,000 files are off by about a percent each.
    theory_ms = found["mean_bytes"] * 8 / PAYLOAD_BPS / (1 - load * found["mean_bytes"] / mean_bytes) * 1e3
    assert found["completion_ms"]["mean"] == pytest.approx(theory_ms, rel=0.03)


@pytest.mark.slow
def test_memory_is_bounded_by_the_connections() -> None:
    transfers(2_000, '{ constant = "20 kB" }', 20_000, 0.5)
    before_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    transfers(20_000, '{ constant = "20 kB" }', 20_000, 0.5)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before_kb < 8_000


def test_arrivals_leave_a_trace_that_reads_and_plots(tmp_path: Any) -> None:
    scenario = airpath.Scenario(
        "arrivals",
        f'{LINK}app.arrivals = {{ count = 20, size.constant = "20 kB", interval.constant = "50 ms" }}\n',
    )
    result = airpath.run(scenario, seed=1)
    assert {flow["flow"] for flow in result.flows} == {0}
    assert len(result.trace["segment_sent"]["time_s"]) == 20 * 14


@pytest.mark.slow
def test_the_report_has_transfers_calls_and_players(tmp_path, airpath_command):
    scenario = tmp_path / "media.toml"
    scenario.write_text(
        'duration = "10 s"\n[radio.dch]\ndownlink.rate = "3 Mbit/s"\nuplink.rate = "3 Mbit/s"\n'
        '[[flow]]\napp = "call"\n[[flow]]\napp = "adaptive_video"\n'
        '[[flow]]\napp.arrivals = { count = 3, interval.constant = "1 s" }\n'
    )
    outcome = airpath_command("run", scenario, "--out", tmp_path / "out")
    assert outcome.code == 0
    for heading in ("frame delay ms", "startup", "completion ms"):
        assert heading in outcome.out
    call, video, files = airpath.run(airpath.load(scenario), probes=()).flows
    assert call["call"]["downlink"]["receiver"]["frames"] > 250 and call["call"]["uplink"] is not None
    assert video["video"]["stalls"] == 0 and files["transfers"]["completed"] == 3


def test_a_list_of_files_and_a_list_of_sizes_may_be_in_files(tmp_path):
    (tmp_path / "list.txt").write_text("0 s, 10 kB\n1 s, 20 kB\n")
    (tmp_path / "sizes.txt").write_text("10 kB\n30 kB\n")
    (tmp_path / "lists.toml").write_text(
        'duration = "20 s"\n[[flow]]\napp.arrivals.trace.file = "list.txt"\n'
        "[[flow]]\n[flow.app.arrivals]\ncount = 5\n"
        'size.empirical.file = "sizes.txt"\ninterval.constant = "1 s"\n'
    )
    scenario = airpath.load(tmp_path / "lists.toml")
    listed, drawn = airpath.run(scenario, probes=()).flows
    assert listed["transfers"]["completed"] == 2 and listed["bytes_received"] == 30_000
    assert drawn["transfers"]["completed"] == 5 and drawn["bytes_received"] in range(50_000, 150_001, 20_000)
    # The resolved scenario has the lists themselves.
    assert airpath.Scenario("resolved", scenario.text).text == scenario.text
    (tmp_path / "list.txt").write_text("1 s, 10 kB\n0 s, 20 kB\n")
    with pytest.raises(airpath.ScenarioError, match=r"flow\[0\].app.arrivals.trace.file: .*line 2"):
        airpath.load(tmp_path / "lists.toml")
