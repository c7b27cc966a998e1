"""Commands on Windows, as far as other systems show it: in processes that lack what Python lacks there."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

SHIM = Path(__file__).with_name("windows")
SWEEP = """
scenario = "umts-384"
metrics = ["goodput_bps"]
runs = 2
[axes]
tcp.cc = ["cubic", "reno"]
"flow.0.app.file.size" = ["5 kB"]
"""


@pytest.fixture
def there(tmp_path):
    """Run `airpath` as if on Windows; gives the exit status, and what it printed."""

    def run(*words: object) -> tuple[int, str]:
        command = [sys.executable, "-m", "airpath", *map(str, words)]
        environment = {**os.environ, "PYTHONPATH": str(SHIM)}
        done = subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False, timeout=60
        )
        return done.returncode, done.stdout + done.stderr

    return run


@pytest.mark.slow
def test_a_run_has_the_files_that_it_has_elsewhere(there, tmp_path, airpath_command):
    short = ("umts-384", "--set", "flow.0.app.file.size=5 kB")
    assert there("run", *short, "--out", "out")[0] == 0
    assert airpath_command("run", *short, "--out", tmp_path / "here").code == 0
    names, here = (
        sorted(str(file.relative_to(folder)) for file in folder.rglob("*"))
        for folder in (tmp_path / "out", tmp_path / "here")
    )
    assert names == here and "results.json" in names
    results = [tmp_path / folder / "results.json" for folder in ("out", "here")]
    assert results[0].read_bytes() == results[1].read_bytes()
    status, told = there("run", *short, "--out", "out")
    assert status == 2 and "--force" in told
    assert there("run", *short, "--out", "out", "--force")[0] == 0


@pytest.mark.slow
def test_a_folder_in_use_is_refused_with_its_holder(there, tmp_path):
    program = (
        "import pathlib, subprocess, sys; from airpath.runs.recorder import prepare\n"
        "with prepare(pathlib.Path('out'), force=False):\n"
        "    command = [sys.executable, '-m', 'airpath', 'run', 'umts-384', '--out', 'out']\n"
        "    print(subprocess.run(command, capture_output=True, text=True).stderr)\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(SHIM)}
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "in use: process " in done.stdout and " is writing into it" in done.stdout
    assert not any((tmp_path / "out").iterdir())


@pytest.mark.slow
def test_a_sweep_has_its_workers_and_a_reproduction_its_journal(there, tmp_path):
    (tmp_path / "sweep.toml").write_text(SWEEP)
    status, told = there("sweep", "sweep.toml", "--out", "out", "--workers", 2)
    assert (status, "4 of them made now" in told) == (0, True), told
    status, told = there("sweep", "sweep.toml", "--out", "out", "--workers", 2)
    assert (status, "0 of them made now" in told) == (0, True), told
    status, told = there("results", "out", "--json")
    assert status == 0 and [point["runs"] for point in json.loads(told)["points"]] == [2, 2]
    table = ("lundsten", "--table", 3, "--quick", "--runs", 1)
    status, told = there("reproduce", *table, "--workers", 2, "--out", "paper")
    assert status == 0 and (tmp_path / "paper" / "index.html").exists(), told


@pytest.mark.slow
@pytest.mark.parametrize("command", [("live", "umts-384", "--", "true"), ("doctor",)])
def test_a_live_link_is_refused_as_it_needs_linux(there, command):
    status, told = there(*command)
    assert status in (1, 2) and "there is no driver for win32" in told and "Traceback" not in told
