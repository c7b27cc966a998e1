"""A user's tests with the fixture `radio_net`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap

import pytest

from airpath import _core

PYTEST = (sys.executable, "-P", "-m", "pytest", "-p", "airpath.pytest_plugin", "-p", "no:cacheprovider")
BURST = """
import pytest

def burst(net):
    src, dst = (net.address("server"), 1), (net.address(0), 2)
    for _ in range(40):
        net.send(0, "server", bytes(1000), src, dst)
    while net.advance(5 * 10**9):
        pass
    return net.stats().downlink
"""


@pytest.fixture
def theirs(tmp_path):
    """Run pytest on a file of tests in a folder of its own."""

    def call(tests, *options):
        (tmp_path / "test_theirs.py").write_text(BURST + textwrap.dedent(tests))
        clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
        words = [*PYTEST, f"--basetemp={tmp_path / 'temp'}", *options]
        return subprocess.run(words, capture_output=True, text=True, cwd=tmp_path, env=clean, timeout=60)

    return call


def test_a_marker_says_what_link_and_arguments_change_it(theirs):
    done = theirs(
        """
        @pytest.mark.radio_net("umts-64", seed=5, mtu=1028)
        def test_marked(radio_net):
            slow, fast = burst(radio_net()), burst(radio_net("lte-10mhz-still", seed=6))
            assert slow.delivered < fast.delivered == 40
            again = radio_net(mtu=1027)
            assert burst(again).too_big == 40
        """,
        "--strict-markers",
    )
    assert done.returncode == 0, done.stdout


@pytest.mark.slow
def test_what_a_link_of_a_failed_test_did_is_kept(theirs, tmp_path):
    done = theirs(
        """
        def test_drops(radio_net):
            assert burst(radio_net("umts-384")).dropped == 0

        def test_passes(radio_net):
            burst(radio_net("umts-384"))
        """,
        "--airpath-out",
        "kept",
    )
    assert done.returncode == 1, done.stdout
    assert os.listdir(tmp_path / "kept") == ["test_theirs.py-test_drops"]
    kept = tmp_path / "kept" / "test_theirs.py-test_drops" / "net-0"
    told = json.loads((kept / "net.json").read_text())
    downlink = told["downlink"]
    assert (told["scenario"], told["seed"], told["now_s"]) == ("umts-384", 1, 5.0)
    assert downlink["sent"] == 40 and downlink["reasons"] == {"queue_full": downlink["dropped"]}
    assert "link" in [part["element"] for part in told["elements"]]
    words = f"{downlink['delivered']} of 40 packets, {downlink['dropped']} dropped"
    assert f"umts-384, seed 1, at 5.000 s: downlink {words}, uplink 0 of 0 packets" in done.stdout
    assert f"files in {kept}\n" in done.stdout
    captured = json.loads(_core.analyze(kept / "capture.pcapng"))["packets"]["udp"]
    assert captured == 40 + downlink["delivered"]


@pytest.mark.slow
def test_what_cannot_be_used_is_named_at_the_line_of_the_test(theirs):
    done = theirs("def test_it(radio_net):\n    radio_net('umts-385')\n")
    assert "ScenarioError: umts-385: no such scenario" in done.stdout
    assert "pytest_plugin.py" not in done.stdout
    done = theirs("def test_it(radio_net):\n    radio_net()\n")
    assert "TypeError: radio_net: no scenario, neither as an argument nor by the marker" in done.stdout
