"""Sweeps that come with airpath, and the tables of a sweep's file."""

from __future__ import annotations

import json
import tomllib

import pytest
from conftest import check_error

from airpath import _core
from airpath.experiments.sweep.bundled import bundled, find
from airpath.experiments.sweep.plan import read_plan
from airpath.runs.metrics import NotMeasuredError, named
from airpath_studies.papers import PAPERS
from airpath_studies.sweeps import cells_of

MIXED = {
    *("chan:text", "chan:study-9", "chan:study-10", "chan:study-11"),
    *(f"extensions:study-{n}" for n in (*range(17, 22), 23)),
    *(f"atlas:study-{n}" for n in range(1, 10)),
}
"""Experiments whose cells begin from several scenarios."""
EXPERIMENTS = {
    f"{paper.name}:{experiment.place.lower().replace(' ', '-')}": (paper, experiment)
    for paper in PAPERS.values()
    for experiment in paper.experiments
}


def test_every_experiment_of_a_paper_is_a_sweep():
    assert set(bundled()) == set(EXPERIMENTS) - MIXED


@pytest.mark.slow
@pytest.mark.parametrize("name", bundled())
def test_a_sweep_has_the_scenarios_of_the_papers_cells(name):
    paper, experiment = EXPERIMENTS[name]
    reading = next(reading for reading in paper.readings if reading.name == paper.default_reading)
    changes = [(cell, cell.overrides) for cell in cells_of(experiment)]
    changes += [(cell, cell.reference) for cell, _ in changes if cell.reference is not None]
    plan = read_plan(find(name))
    assert {point.text for point in plan.points} == {paper.text(*change, reading) for change in changes}


@pytest.mark.parametrize("name", [name for name in bundled() if "table" in name])
def test_a_sweep_can_be_measured(name):
    plan = read_plan(find(name))
    # Numbers of a list depend on the boxes of a path: the first and the last point have them all.
    for point in (plan.points[0], plan.points[-1]):
        short = _core.resolve(point.text, [("duration", "20 s")], None)
        results = json.loads(_core.run(short, 1))
        for metric in plan.metrics:
            try:
                named(metric)(results)
            except NotMeasuredError:
                assert "transfer_s" in metric or "rtt" in metric


def test_a_bundled_sweep_runs_by_its_name_with_fewer_runs(tmp_path, airpath_command):
    out, sweep = tmp_path / "out", "lundsten:table-9"
    shown = airpath_command("sweep", sweep, "--out", out, "--runs", "2", "--workers", "1").out
    assert "12 points, 24 runs" in shown
    manifest = json.loads((out / "manifest.json").read_text())
    assert manifest["runs"]["max_runs"] == 2
    (tmp_path / "again.toml").write_text(manifest["sweep"])
    again = read_plan(tmp_path / "again.toml")
    plan = read_plan(find(sweep), 2)
    assert (again.rule, again.points) == (plan.rule, plan.points)
    outcome = airpath_command("sweep", sweep, "--out", out, "--runs", "1", "--workers", "1")
    check_error(outcome, "runs", "'max_runs': 2", "another folder")


def test_a_bundled_sweep_is_printed_as_a_file_to_change(tmp_path, airpath_command):
    printed = airpath_command("sweep", "jayanathan:table-2", "--print")
    assert (printed.code, printed.err) == (0, "")
    (tmp_path / "mine.toml").write_text(printed.out)
    assert read_plan(tmp_path / "mine.toml").points == read_plan(find("jayanathan:table-2")).points
    assert airpath_command("sweep", tmp_path / "mine.toml", "--print").out == printed.out


def test_a_sweep_is_printed_with_the_runs_that_were_asked_for(tmp_path, airpath_command):
    printed = airpath_command("sweep", "jayanathan:table-2", "--print", "--runs", "3")
    (tmp_path / "mine.toml").write_text(printed.out)
    assert read_plan(tmp_path / "mine.toml").rule.max_runs == 3


def test_runs_replace_a_precision(tmp_path):
    path = tmp_path / "sweep.toml"
    path.write_text(
        'scenario = "umts-384"\nmetrics = ["goodput_bps"]\nprecision = 0.01\nmax_runs = 90  # enough\n'
        "[axes]\ntcp.initial_window = [1, 2]\n"
    )
    plan = read_plan(path, 3)
    assert (plan.rule.min_runs, plan.rule.max_runs, plan.rule.precision) == (3, 3, float("inf"))
    assert "precision" not in tomllib.loads(plan.text)
    path.write_text(path.read_text().replace("precision", '"precision"'))
    with pytest.raises(Exception, match="--runs"):
        read_plan(path, 3)


def test_an_unknown_name_is_answered_with_the_known_ones(tmp_path, airpath_command):
    outcome = airpath_command("sweep", "chan:figure-99", "--out", tmp_path / "out")
    check_error(outcome, "chan:figure-99", "no such sweep", "chan:figure-11, ")
    check_error(airpath_command("sweep", "mine.toml"), "mine.toml", "cannot be read", "path")


@pytest.mark.slow
def test_list_shows_the_sweeps_alone_or_with_everything(airpath_command):
    assert json.loads(airpath_command("list", "sweeps", "--json").out) == {"sweeps": bundled()}
    alone = airpath_command("list", "sweeps").out
    assert all(name in alone for name in bundled()) and "umts-384" not in alone
    assert "chan:figure-11" in airpath_command("list").out


TOGETHER = """
scenario = "umts-384"
metrics = ["goodput_bps"]
runs = 1
[axes]
tcp.initial_window = [1, 2]
[[together]]
tcp.mss = ["536 B", "1460 B"]
tcp.max_window = [20, 10]
[[together]]
"wired.delay" = ["10 ms", "20 ms", "30 ms"]
"""


def test_keys_of_a_group_change_together(tmp_path):
    path = tmp_path / "sweep.toml"
    path.write_text(TOGETHER)
    points = [tuple(point.parameters.values()) for point in read_plan(path).points]
    assert points == [
        (window, *pair, f"{delay} ms")
        for window in (1, 2)
        for pair in (("536 B", 20), ("1460 B", 10))
        for delay in (10, 20, 30)
    ]


@pytest.mark.parametrize(
    ("change", "key", "cause", "remedy"),
    [
        (("[20, 10]", "[20]"), "together.0", "2 (tcp.mss), 1 (tcp.max_window)", "as many"),
        (("[20, 10]", "20"), "together.0.tcp.max_window", "no list", "[...]"),
        (("[20, 10]", "[[20], 10]"), "together.0.tcp.max_window", "no single value", "quotes"),
        (('"wired.delay"', "tcp.mss"), "tcp.mss", "axis twice", "[[together]]"),
        (('"wired.delay" = ["10 ms", "20 ms", "30 ms"]', ""), "together.1", "nothing", "as many"),
    ],
)
def test_a_mistake_in_a_group_is_answered_with_its_key(tmp_path, airpath_command, change, key, cause, remedy):
    path = tmp_path / "sweep.toml"
    path.write_text(TOGETHER.replace(*change))
    check_error(airpath_command("sweep", path, "--out", tmp_path / "out"), key, cause, remedy)


def test_a_group_that_is_no_list_of_tables_is_refused(tmp_path, airpath_command):
    path = tmp_path / "sweep.toml"
    path.write_text(TOGETHER.split("[[together]]")[0].replace("[axes]", "[together]"))
    check_error(airpath_command("sweep", path), "together", "no list of groups", "[[together]]")
