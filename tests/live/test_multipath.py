"""The kernel's Multipath TCP over two live links in one namespace."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys

import pytest
from programs import needs

from airpath.errors import LiveError
from airpath.experiments.versus_kernel.multipath import check_kernel
from airpath.live import transfer
from live.harness import AIRPATH, MARKER, PATIENCE_S, Outcome, finish

SIZE_B = 3_000_000
TWO = """
duration = "30 s"
ue = [{ name = "phone", attach = ["one", "two"] }]
flow = [{ ue = "phone", over = ["one", "two"], multipath.scheduler = "linux", app.file.size = "3 MB" }]
[[way]]
name = "one"
wired = { rate = "10 Mbit/s", delay = "20 ms", queue.droptail.packets = 70 }
[[way]]
name = "two"
wired = { rate = "10 Mbit/s", delay = "20 ms", queue.droptail.packets = 70 }
"""


def need_multipath():
    """Skip a test where the kernel has no Multipath TCP."""
    try:
        check_kernel()
    except LiveError as error:
        pytest.skip(str(error))


@pytest.fixture
def fetched(live, tmp_path):
    """Fetch a file with the kernel's MPTCP; give the outcome and what the client noted."""
    need_multipath()
    scenario = tmp_path / "two.toml"
    scenario.write_text(TWO)
    tcp = {"congestion_control": "cubic", "mss": None, "window_clamp": None}
    route = {"initial_window": None, "quickack": False, "rto_min_ms": None}
    transfers = [{"direction": "downlink", "bytes": SIZE_B, "start_s": 0.0}]
    settings = json.dumps({**tcp, **route, "transfers": transfers, "paths": 2, "notes": str(tmp_path)})
    serve, fetch = (
        [sys.executable, "-I", "-S", transfer.__file__, role, settings] for role in ("serve", "fetch")
    )

    def call(*options: str) -> tuple[Outcome, dict[str, float]]:
        outcome = live(
            *(scenario, "--ue", "phone", "--no-page", "--max-lateness", "5ms", *options),
            server=shlex.join(serve),
            command=fetch,
            out=True,
        )
        assert outcome.code == 0, outcome.err
        return outcome, json.loads(transfer.note_of(tmp_path, "fetch", 0).read_text())

    return call


@needs("ip")
def test_one_connection_of_the_kernel_takes_both_links(fetched):
    """Each link carries 10 Mbit/s, the connection gets more than one link could give."""
    outcome, found = fetched()
    assert found["bytes"] == SIZE_B
    # 3 MB take 2.5 s over one link.
    assert SIZE_B * 8 / (found["last_s"] - found["opened_s"]) > 11e6, found
    carried = {flow["ue"]: flow for flow in outcome.results["flows"] if flow["bytes_received"] > 0}
    assert set(carried) == {0, 1}
    # The second subflow comes from the second interface, and goes to the server's address towards the first.
    assert carried[1]["ue_address"].startswith("10.77.1.2:")
    assert carried[1]["server_address"].startswith("10.77.0.1:")
    bytes_of = [carried[ue]["bytes_received"] for ue in (0, 1)]
    assert min(bytes_of) > 0.3 * sum(bytes_of), bytes_of


def compared(marker, tmp_path, text, *arguments):
    """Run `airpath compare`; give its JSON and what it printed."""
    scenario, out = tmp_path / "both.toml", tmp_path / "out"
    scenario.write_text(text)
    words = [AIRPATH, "compare", scenario, "--cc", "cubic", "--out", out, *arguments]
    process = subprocess.Popen(
        [str(word) for word in words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, MARKER: marker},
    )
    printed, err = finish(process, 2 * PATIENCE_S)
    if "passes the bound" in err:
        pytest.skip(f"this machine has too much to do: {err}")
    assert process.returncode == 0, err
    return json.loads((out / "comparison.json").read_text()), printed


@pytest.mark.slow
@needs("ip")
@pytest.mark.parametrize("direction", ["downlink", "uplink"])
def test_simulated_and_kernel_are_compared_over_two_paths(direction, marker, tmp_path):
    """Both worlds have more than one way could give, and half of the bytes takes each."""
    need_multipath()
    text = TWO.replace('over = ["one"', f'direction = "{direction}", over = ["one"')
    # What the scenario says of its scheduler does not count: the kernel's is Linux's.
    text = text.replace('"linux"', '"round_robin"')
    said, printed = compared(marker, tmp_path, text, "--runs", 2)
    assert said["flows"][0]["paths"] == ["one", "two"]
    (flow,) = said["comparisons"][0]["flows"]
    for run in flow["runs"]:
        for world in ("simulated", "live"):
            one = run[world]
            # Packets of 1500 B have 1420 B of payload, at 10 Mbit/s by one way and 20 Mbit/s by both.
            assert 9.47e6 < one["goodput_bps"] < 18.93e6, (world, one)
            assert one["transfer_s"] * one["goodput_bps"] == pytest.approx(8 * SIZE_B)
            assert sum(one["shares"].values()) == pytest.approx(1)
            assert 0.3 < one["shares"]["two"] < 0.7, (world, one)
    metrics = list(flow["metrics"])
    assert metrics == [
        *("goodput_bps", "transfer_s", "share_one", "share_two", "retransmissions", "timeouts")
    ]
    for title in ("goodput kbit/s", "completion s", "over one %", "over two %"):
        assert title in printed
    assert "RTT" not in printed
