"""The last line of `make test`: what was left out, and how to get it."""

from __future__ import annotations

import ast
import re
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


@pytest.mark.slow
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


ALSO_OTHERS = {"bash", "cc", "node", "npm"}
"""Programs whose names mean other things in tests as well."""


def programs_in(file: Path) -> set[str]:
    """Programs that a file of tests runs: first words of commands, and words of shell before an option."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    known = left_out.PACKAGES.keys() - ALSO_OTHERS
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, (ast.List, ast.Tuple)) and node.elts:
            first = node.elts[0]
            if isinstance(first, ast.Constant) and first.value in known and len(node.elts) > 1:
                second = node.elts[1]
                if not (isinstance(second, ast.Constant) and second.value in left_out.PACKAGES):
                    found.add(first.value)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found |= set(re.findall(rf"(?<!airpath )\b({'|'.join(known)}) -+\w", node.value))
    return found


@pytest.mark.parametrize(
    "file",
    # Where the driver is a stand-in, commands are words.
    [file for file in sorted((TOP / "tests").rglob("test_*.py")) if file.parent.name != "cli"],
    ids=lambda file: str(file.relative_to(TOP / "tests")),
)
def test_tests_say_which_programs_they_run(file):
    asked = re.findall(r"(?:needs|require|TOOLS =)\s*\(([^)]*)\)", file.read_text(encoding="utf-8"))
    said = set(re.findall(r'"([^"]+)"', " ".join(asked)))
    assert programs_in(file) <= said
