"""Names of files that are not UTF-8: everything is written, and can be read again."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest
from conftest import check_error

import airpath

pytestmark = pytest.mark.skipif(sys.platform == "darwin", reason="macOS has no such names")

SHORT = airpath.load("umts-64").with_("flow.app.file.size", "2 kB").text
SWEEP = """
scenario = "umts-64"
metrics = ["transfer_s"]
runs = 1
set = { "flow.app.file.size" = "2 kB" }
[axes]
"tcp.cc" = ["reno", "cubic"]
"""
STRANGE = os.fsdecode(b"a\xff")


@pytest.fixture
def strange(tmp_path: Path) -> Path:
    """A folder whose name is not UTF-8, with a scenario and a sweep of such names."""
    folder = tmp_path / STRANGE
    folder.mkdir()
    (folder / f"{STRANGE}.toml").write_text(SHORT)
    (folder / f"{STRANGE}-sweep.toml").write_text(SWEEP)
    return folder


@pytest.mark.slow
def test_a_run_is_drawn_and_read_again(strange, airpath_command):
    run = strange / "run"
    assert airpath_command("run", strange / f"{STRANGE}.toml", "--out", run).code == 0
    assert json.loads((run / "manifest.json").read_text())["scenario"] == r"a\udcff"
    assert airpath_command("page", run, "--out", strange / "page.html").code == 0
    assert r"<title>a\udcff" in (strange / "page.html").read_text()
    other = strange / STRANGE
    assert airpath_command("run", strange / f"{STRANGE}.toml", "--seed", 2, "--out", other).code == 0
    assert airpath_command("overlay", run, other, "--out", strange / "overlay.png").code == 0


def test_a_sweep_is_resumed_and_drawn(strange, airpath_command):
    sweep = ("sweep", strange / f"{STRANGE}-sweep.toml", "--out", strange / "sweep")
    assert airpath_command(*sweep).code == 0
    assert "0 of them made now" in airpath_command(*sweep).out
    assert airpath_command("results", strange / "sweep").code == 0


def test_a_capture_has_its_page(strange, airpath_command, tmp_path, undrawn):
    run = tmp_path / "run"
    assert airpath_command("run", strange / f"{STRANGE}.toml", "--out", run).code == 0
    capture = (run / "capture.pcapng").rename(strange / f"{STRANGE}.pcapng")
    assert airpath_command("analyze", capture, "--out", strange / "analysis").code == 0
    assert r"<title>a\udcff" in (strange / "analysis" / "index.html").read_text()


def test_a_title_that_is_not_utf_8_is_refused(strange, airpath_command):
    sweep, shown = strange / "sweep", ("--x", "tcp.cc", "--y", "transfer_s")
    assert airpath_command("sweep", strange / f"{STRANGE}-sweep.toml", "--out", sweep).code == 0
    refused = airpath_command("plot", sweep, *shown, "--title", STRANGE, "--out", strange / "plot.png")
    check_error(refused, "command line", r"b'\xff' is not UTF-8", "write names in UTF-8")
    assert not (strange / "plot.png").exists()
