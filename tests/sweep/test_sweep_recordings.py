"""A folder of recordings as an axis of a sweep."""

from __future__ import annotations

import gzip
import tomllib

import numpy as np
import pytest

from airpath.errors import SweepError
from airpath.experiments.sweep.plan import read_plan

SWEEP = """\
scenario = "link.toml"
recordings = "drives"
metrics = ["goodput_bps"]
runs = 3
[axes]
tcp.cc = ["cubic", "reno"]
"""
LINK = 'duration = "5 s"\n[radio.variable]\n[[flow]]\napp.bulk = {}\n'


def lines(per_s: int, seconds: int = 20) -> str:
    times = np.sort(np.random.default_rng(per_s).integers(0, 1000 * seconds, per_s * seconds))
    return "".join(f"{time}\n" for time in times.tolist())


@pytest.fixture
def folder(tmp_path):
    drives = tmp_path / "drives"
    drives.mkdir()
    (drives / "a.down").write_text(lines(200))
    (drives / "a.up").write_text(lines(100))
    (drives / "b.ms.gz").write_bytes(gzip.compress(lines(50).encode()))
    (drives / "c.csv").write_text("time_s,rate_kbps\n0,1000\n10,2000\n20,500\n")
    (drives / "README.md").write_text("three links\n")
    (tmp_path / "link.toml").write_text(LINK)
    (tmp_path / "sweep.toml").write_text(SWEEP)
    return tmp_path


def test_each_recording_is_a_point_with_a_random_offset(folder):
    plan = read_plan(folder / "sweep.toml")
    named = [(point.parameters["recording"], point.parameters["tcp.cc"]) for point in plan.points]
    assert named == [(name, cc) for name in ("a.down", "b.ms.gz", "c.csv") for cc in ("cubic", "reno")]
    radios = {p.parameters["recording"]: tomllib.loads(p.text)["radio"]["variable"] for p in plan.points}
    for name, kind in (("a.down", "trace_file"), ("b.ms.gz", "trace_file"), ("c.csv", "series")):
        assert radios[name]["downlink"]["channel"][kind]["offset"] == "random"
    assert radios["a.down"]["uplink"]["channel"]["trace_file"]["offset"] == "random"
    assert radios["b.ms.gz"]["uplink"]["channel"]["trace_file"]["trace"] == "1\n"


def test_a_sweep_over_recordings_runs_and_its_seeds_begin_elsewhere(folder, airpath_command):
    outcome = airpath_command("sweep", folder / "sweep.toml", "--out", folder / "out", "--workers", "2")
    assert outcome.code == 0, outcome.err
    table = airpath_command("results", folder / "out", "--format", "csv").out.splitlines()
    assert len(table) == 7 and table[0].startswith("point,recording,tcp.cc,")
    for row in table[1:]:
        *_, lower, upper, _ = row.split(",")
        assert float(lower) < float(upper)


def test_wrong_folders_and_files_are_named(folder):
    (folder / "drives" / "d.ms").write_text("12\n11 x\n")
    with pytest.raises(SweepError, match=r"recordings: d\.ms: "):
        read_plan(folder / "sweep.toml")
    (folder / "sweep.toml").write_text(SWEEP.replace('"drives"', '"nowhere"'))
    with pytest.raises(SweepError, match="is no folder"):
        read_plan(folder / "sweep.toml")
    (folder / "sweep.toml").write_text(SWEEP.replace('"drives"', "3"))
    with pytest.raises(SweepError, match="recordings: is 3"):
        read_plan(folder / "sweep.toml")
