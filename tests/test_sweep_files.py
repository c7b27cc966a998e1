"""The bundled sweeps: the papers' parameter studies, with the scenarios of the papers' own cells."""

from __future__ import annotations

import json
import tomllib
from functools import cache
from pathlib import Path

import pytest
from conftest import check_error

from airpath import _core
from airpath.metrics import NotMeasuredError, named
from airpath.papers import PAPERS
from airpath.papers.alcaraz import measured as alcaraz
from airpath.papers.chan import measured as chan
from airpath.papers.jayanathan import measured as jayanathan
from airpath.papers.paper import Outcome
from airpath.sweep.bundled import bundled, find
from airpath.sweep.plan import read_plan

SWEPT = [name for name in PAPERS if name != "extensions"]
"""The five papers."""

NOT_SWEPT = {
    ("lundsten", "Figure 3"): "one run, schematic",
    ("lundsten", "Figure 4"): "one run, schematic",
    ("lundsten", "Text"): "single cells: one block at a time, set-up, first flights",
    ("lundsten", "Study 1"): "a response of Eifel",
    ("lundsten", "Study 2"): "boxes",
    ("lundsten", "Study 3"): "connection set-up, three ways",
    ("lundsten", "Study 4"): "kinds of recovery",
    ("lundsten", "Study 5"): "timers",
    ("lundsten", "Study 6"): "the uplink's rate, which changes nothing for most",
    ("lundsten", "Study 7"): "keys of a proxy",
    ("lundsten", "Study 8"): "a reading",
    ("lundsten", "Study 9"): "the uplink's rate, which changes nothing",
    ("lundsten", "Study 10"): "other links",
    ("zhang", "Study 1"): "a reading of the delay",
    ("chan", "Figure 2"): "one measurement, imitated",
    ("chan", "Figure 3"): "one measurement, imitated",
    ("chan", "Text"): "the same measurement",
    ("chan", "Study 1"): "readings of the box",
    ("chan", "Study 2"): "the wire's latency over several links, both readings of it",
    ("chan", "Study 3"): "a mark instead of the loss",
    ("chan", "Study 4"): "uploads",
    ("chan", "Study 5"): "delayed ACKs",
    ("chan", "Study 6"): "keys of the box",
    ("chan", "Study 7"): "ACKs held",
    ("chan", "Study 8"): "an encrypted flow",
    ("chan", "Study 9"): "a reading of the SINR",
    ("chan", "Study 10"): "a reading of the Doppler frequency",
    ("alcaraz", "Study 3"): "readings of what the paper leaves open, and no parameter",
    ("alcaraz", "Study 6"): "one cell beside those of Figure 7",
    ("alcaraz", "Study 7"): "a reading",
    ("alcaraz", "Study 8"): "cells of Figures 7 to 11, with the other f2",
    ("alcaraz", "Study 10"): "two flows, and where a counter starts",
    ("alcaraz", "Study 11"): "flows that compete, and a page",
    ("jayanathan", "Study 3"): "readings",
    ("jayanathan", "Study 4"): "readings of the bearer's rate",
    ("jayanathan", "Study 5"): "readings of the sender's rule",
}
"""What has cells that no sweep has, and why."""

BEYOND = {
    "lundsten-initial-window": 8,  # a window of 4 with 50 and 200 kB
    "lundsten-small-pdus-variants": 2,  # variants without block errors
    "lundsten-variants": 6,  # variants without block errors
    "lundsten-start": 68,  # windows with block errors, and of 4, at every size
    "chan-alpha": 2,  # two corners of the grid
    "chan-distributions": 2,  # Reno over the widest rates, which no claim is about
}
"""Points of a sweep that the paper has no cell for; 0 of all others."""


@cache
def points_of(name):
    return {point.text: point.parameters for point in read_plan(find(name)).points}


@cache
def cells_of(paper_name):
    """Scenario texts of all cells, and of what they are compared with, by table, figure or claims."""
    paper = PAPERS[paper_name]
    reading = next(reading for reading in paper.readings if reading.name == paper.default_reading)

    def texts(cells):
        known = dict.fromkeys(cells)
        found = {paper.text(cell, cell.overrides, reading) for cell in known}
        return found | {paper.text(cell, cell.reference, reading) for cell in known if cell.reference}

    places = {}
    for experiment in paper.experiments:
        cells = [cell for row in experiment.rows for cell in row.cells]
        cells += [shown.cell for shown in (*experiment.quantities, *experiment.curves, *experiment.traces)]
        cells += [experiment.window_of] if experiment.window_of else []
        places[experiment.place] = texts(cells)
    places["claims"] = texts([quantity.cell for claim in paper.claims for quantity in claim.quantities])
    return places


def sweeps_of(paper_name):
    return [name for name in bundled() if name.split("-")[0] == paper_name]


def test_every_bundled_sweep_belongs_to_a_paper():
    assert set(bundled()) == {name for paper in SWEPT for name in sweeps_of(paper)}
    assert all(sweeps_of(paper) for paper in SWEPT)


@pytest.mark.parametrize("paper", SWEPT)
def test_sweeps_have_every_cell_of_every_table_and_figure(paper):
    swept = set().union(*(points_of(name) for name in sweeps_of(paper)))
    left_out = {place for place, texts in cells_of(paper).items() if not texts <= swept} - {"claims"}
    assert left_out == {place for name, place in NOT_SWEPT if name == paper}


@pytest.mark.parametrize("name", bundled())
def test_a_sweep_has_no_scenarios_that_the_paper_has_not(name):
    known = set().union(*cells_of(name.split("-")[0]).values())
    beyond = [parameters for text, parameters in points_of(name).items() if text not in known]
    assert len(beyond) == BEYOND.get(name, 0), beyond[:3]


@pytest.mark.parametrize("name", bundled())
def test_a_sweep_is_short_says_what_it_shows_and_can_be_measured(name):
    lines = find(name).read_text().splitlines()
    assert lines[0].startswith(f"# {name}: ")
    assert len(lines) <= 40 and len(lines[0]) <= 120
    plan = read_plan(find(name))
    # Numbers of a list depend on the boxes of a path: the first and the last point have them all.
    for point in (plan.points[0], plan.points[-1]):
        short = _core.resolve(point.text, [("duration", "20 s")], None)
        results = json.loads(_core.run(short, 1))
        for metric in plan.metrics:
            try:
                named(metric)(results)
            except NotMeasuredError:
                assert metric in ("transfer_s", "received_s") or "rtt" in metric or "episodes" in metric


def test_the_documentation_lists_every_sweep_with_its_points_and_runs():
    text = (Path(__file__).parent.parent / "docs" / "sweeps.md").read_text()
    listed = [
        [cell.strip() for cell in line.split("|")] for line in text.splitlines() if line.startswith("| `")
    ]
    known = [(line[1].strip("`"), int(line[4]), int(line[5].replace(",", ""))) for line in listed]
    plans = [read_plan(find(name)) for name in bundled()]
    assert known == [(plan.name, len(plan.points), len(plan.points) * plan.rule.max_runs) for plan in plans]
    total = f"| {len(known)} sweeps | | | {sum(k[1] for k in known):,} | {sum(k[2] for k in known):,} |"
    assert total in text


def test_what_the_comments_say_of_units_gives_the_papers_numbers():
    results = json.loads(_core.run(read_plan(find("chan-links")).points[4].text, 1))
    rate = results["flows"][0]["goodput_bps"] / 960
    assert rate == pytest.approx(chan.goodput_kbps(Outcome(results, None, None)))
    plan = read_plan(find("alcaraz-schemes"))
    results = json.loads(_core.run(plan.points[-1].text, 1))
    assert len(results["flows"]) == 4
    received = named("flows.*.bytes_received")(results)
    assert 4 * received * 1500 / 1460 * 8 / 1000 / 60 == pytest.approx(
        alcaraz.goodput_kbps(Outcome(results, None, None))
    )
    results = json.loads(_core.run(read_plan(find("jayanathan-loss")).points[0].text, 1))
    rate = 16_000 / results["flows"][0]["transfer_s"]
    assert rate == pytest.approx(jayanathan.throughput_kbps(Outcome(results, None, None)))


def test_a_bundled_sweep_runs_by_its_name_with_fewer_runs(tmp_path, airpath_command):
    out = tmp_path / "out"
    shown = airpath_command(
        "sweep", "lundsten-small-files", "--out", out, "--runs", "2", "--workers", "1"
    ).out
    assert "12 points, 24 runs" in shown
    manifest = json.loads((out / "manifest.json").read_text())
    assert manifest["runs"]["max_runs"] == 2
    (tmp_path / "again.toml").write_text(manifest["sweep"])
    again = read_plan(tmp_path / "again.toml")
    plan = read_plan(find("lundsten-small-files"), 2)
    assert (again.rule, again.points) == (plan.rule, plan.points)
    outcome = airpath_command("sweep", "lundsten-small-files", "--out", out, "--workers", "1")
    check_error(outcome, "runs", "'max_runs': 2", "another folder")


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
    outcome = airpath_command("sweep", "chan-bufer", "--out", tmp_path / "out")
    check_error(outcome, "chan-bufer", "no such sweep", "alcaraz-buffer, ")
    check_error(airpath_command("sweep", "chan-bufer.toml"), "chan-bufer.toml", "cannot be read", "path")


def test_list_shows_the_sweeps_alone_or_with_everything(airpath_command):
    assert json.loads(airpath_command("list", "sweeps", "--json").out) == {"sweeps": bundled()}
    alone = airpath_command("list", "sweeps").out
    assert all(name in alone for name in bundled()) and "umts-384" not in alone
    assert "chan-buffer" in airpath_command("list").out


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
