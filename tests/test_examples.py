"""The examples run as they are, and their list is whole."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
SAYS = {
    "a_metric_of_your_own.py": "s in the mean of 10 runs",
    "gym_aimd.py": "a call, steered:",
    "city.py": "49 cells with 1000 UEs",
    "quic_by_aioquic.py": "cubic: ",
    "one_run.py": "segments retransmitted",
    "record_and_replay.py": "trace, bbr:",
    "sweep_and_figure.py": "see queues.pdf",
    "transport_in_virtual_time.py": "200 packets after",
    "which_is_better.py": "a real difference",
}
"""What each prints."""


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(file.name for file in EXAMPLES.glob("*.py")))
def test_an_example_runs(name: str, tmp_path: Path) -> None:
    command = [sys.executable, "-W", "error", EXAMPLES / name]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0, ran.stderr
    assert SAYS[name] in ran.stdout


@pytest.mark.slow
def test_a_city_has_as_many_districts_as_asked_for_and_some_may_be_empty(tmp_path: Path) -> None:
    few = [sys.executable, "-W", "error", EXAMPLES / "city.py", "--ues", "2", "--seconds", "0.01"]
    ran = subprocess.run(few, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert "49 cells with 2 UEs: load 0%" in ran.stdout, ran.stderr
    assert "no file has arrived; 0 hand-overs" in ran.stdout
    count = "import city; print(len({one.middle for one in city.city(400, 100_000)}))"
    asked = subprocess.run([sys.executable, "-c", count], cwd=EXAMPLES, capture_output=True, text=True)
    assert asked.stdout == "400\n", asked.stderr
    none = subprocess.run([*few, "--ues", "0"], cwd=tmp_path, capture_output=True, text=True)
    assert none.returncode == 2 and none.stderr.endswith(
        "error: --districts, --ues and --workers are 1 or more\n"
    )


def test_the_list_names_every_example() -> None:
    listed = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    for file in EXAMPLES.glob("[!_]*"):
        assert file.name == "README.md" or f"]({file.name})" in listed, file.name


def test_notebooks_are_kept_without_what_they_showed() -> None:
    for file in EXAMPLES.glob("*.ipynb"):
        for cell in json.loads(file.read_text(encoding="utf-8"))["cells"]:
            assert not cell.get("outputs") and cell.get("execution_count") is None, file.name
