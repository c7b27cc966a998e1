"""The kernel's Multipath TCP over two live links in one namespace."""

from __future__ import annotations

import json
import os
import socket
import sys
from pathlib import Path

import pytest
from programs import needs

from live.harness import Outcome

PROGRAM = Path(__file__).resolve().parents[2] / "benches" / "mptcp_kernel.py"
IPPROTO_MPTCP = 262
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


@pytest.fixture
def fetched(live, tmp_path):
    """Fetch a file with the kernel's MPTCP; give the outcome and what the client counted."""
    try:
        socket.socket(socket.AF_INET, socket.SOCK_STREAM, IPPROTO_MPTCP).close()
    except OSError as error:
        pytest.skip(f"the kernel has no MPTCP: {error.strerror}")
    if os.geteuid() != 0:
        pytest.skip("endpoints of MPTCP need root")
    scenario, report = tmp_path / "two.toml", tmp_path / "report.json"
    scenario.write_text(TWO)
    program = [sys.executable, "-I", "-S", str(PROGRAM)]

    def call(*options: str) -> tuple[Outcome, dict[str, float]]:
        outcome = live(
            *(scenario, "--ue", "phone", "--no-page", "--max-lateness", "5ms", *options),
            server=" ".join([*program, "serve", str(SIZE_B)]),
            command=[*program, "fetch", str(report)],
            out=True,
        )
        assert outcome.code == 0, outcome.err
        return outcome, json.loads(report.read_text())

    return call


@needs("ip")
def test_one_connection_of_the_kernel_takes_both_links(fetched):
    """Each link carries 10 Mbit/s, the connection gets more than one link could give."""
    outcome, found = fetched()
    assert found["bytes"] == SIZE_B and found["subflows"] == 1
    # 3 MB take 2.5 s over one link.
    assert SIZE_B * 8 / found["seconds"] > 11e6, found
    carried = {flow["ue"]: flow for flow in outcome.results["flows"] if flow["bytes_received"] > 0}
    assert set(carried) == {0, 1}
    # The second subflow comes from the second interface, and goes to the server's address towards the first.
    assert carried[1]["ue_address"].startswith("10.77.1.2:")
    assert carried[1]["server_address"].startswith("10.77.0.1:")
    bytes_of = [carried[ue]["bytes_received"] for ue in (0, 1)]
    assert min(bytes_of) > 0.3 * sum(bytes_of), bytes_of
