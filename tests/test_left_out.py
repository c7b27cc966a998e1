"""The last line of `make test`: what was left out, and how to get it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import left_out
import pytest

TOP = Path(__file__).resolve().parent.parent


def test_one_line_says_what_was_left_out_and_what_to_install():
    notes = "".join(
        [
            *(3 * ["test\tnot installed: tshark\n"]),
            *(2 * ["test\tnot installed: iperf3, ping\n"]),
            "test\tthere is no simulator as WebAssembly: run 'make wasm'\n",
            "pictures of the studio\tnot installed: chromium\n",
        ]
    )
    assert left_out.closing(notes) == (
        "left out: 3 tests (no tshark), 2 tests (no iperf3, no ping), "
        "1 test (there is no simulator as WebAssembly: run 'make wasm'), "
        "pictures of the studio (no chromium). "
        "To have them, on Debian: apt-get install chromium iperf3 iputils-ping tshark"
    )


def test_where_nothing_is_left_out_nothing_is_said(tmp_path):
    assert left_out.closing("") == ""
    command = [sys.executable, TOP / "tools/left_out.py", tmp_path / "none"]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == ""


def test_what_is_not_on_path_is_missing(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert left_out.why("tshark", "ping") == "not installed: tshark, ping"
    (tmp_path / "ping").write_text("#!/bin/sh\n")
    (tmp_path / "ping").chmod(0o755)
    assert left_out.why("tshark", "ping") == "not installed: tshark"
    assert left_out.why("ping") == ""
    command = [sys.executable, TOP / "tools/left_out.py", "--packages"]
    packages = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    assert "tshark" in packages and "iputils-ping" not in packages


def test_the_package_of_every_program_is_known():
    with pytest.raises(AssertionError, match=r"tools/left_out\.py"):
        left_out.why("no-such-program")


TESTS = """
import pytest
from programs import needs, tshark


@needs("tshark", "bash")
def test_marked(): ...


def test_not_marked(tmp_path):
    tshark(tmp_path / "file", "tcp")


def test_other():
    pytest.skip("no reason  at\\tall")


def test_that_runs(): ...
"""


@pytest.mark.parametrize("side_by_side", [[], ["-n", "2"]])
def test_every_skipped_test_is_noted_once(side_by_side, tmp_path, monkeypatch):
    (tmp_path / "test_some.py").write_text(TESTS)
    (tmp_path / "test_file.py").write_text(
        "import pytest\npytest.skip('not to be read', allow_module_level=True)\n"
    )
    (tmp_path / "conftest.py").write_bytes((TOP / "tests/conftest.py").read_bytes())
    (tmp_path / "programs.py").write_bytes((TOP / "tests/programs.py").read_bytes())
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = slow\n")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/bash").symlink_to("/bin/bash")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("PYTHONPATH", str(TOP / "tools"))
    monkeypatch.setenv("AIRPATH_LEFT_OUT", str(tmp_path / "notes"))
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *side_by_side, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert "1 passed, 4 skipped" in done.stdout, done.stdout + done.stderr
    assert sorted((tmp_path / "notes").read_text().splitlines()) == [
        "test\tno reason at all",
        "test\tnot installed: tshark",
        "test\tnot installed: tshark",
        "tests of test_file.py\tnot to be read",
    ]
