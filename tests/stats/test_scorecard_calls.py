"""The scorecard of a rate controller: verdicts by hand, the cases, the page, bad input."""

import json
import tomllib

import pytest
from conftest import check_error

import airpath
from airpath.experiments.replicate import simulation_of
from airpath.experiments.scorecard.calls import (
    CASES,
    Criterion,
    controllers,
    score,
    source,
    table_of,
    values,
)
from airpath.stats.estimate import estimate

BY_NAME = {case.name: case for case in CASES}


@pytest.mark.parametrize(
    ("measured", "is_most", "verdict"),
    [
        ((5.0,), True, "passed"),
        ((5.1,), True, "failed"),
        ((5.1,), False, "passed"),
        ((4.0, 4.0), True, "passed"),
        ((6.0, 6.0), True, "failed"),
        ((6.0, 6.0), False, "passed"),
        ((4.0, 5.0), True, "unclear"),  # 4.5 ± 6.4
    ],
)
def test_a_verdict_wants_the_whole_interval_on_one_side_of_the_limit(measured, is_most, verdict):
    criterion = Criterion("", "", lambda _: 0.0, 5.0, is_most)
    assert criterion.verdict(estimate(measured)) == verdict


def test_every_case_runs_with_every_controller_and_names_it():
    assert {"gcc", "scream", "nada", "fixed"} <= set(controllers())
    for case in CASES:
        scenario = airpath.Scenario(case.name, source(case, table_of("nada")))
        flows = tomllib.loads(scenario.text)["flow"]
        calls = [flow["app"]["call"] for flow in flows if "call" in flow["app"]]
        assert calls and all(list(call["controller"]) == ["nada"] for call in calls)


def test_without_control_a_call_that_is_too_fast_fails_and_gcc_passes():
    """5.1 with 1 Mbit/s for the whole call over 0.6 Mbit/s: frames wait in the full buffer, and are lost."""
    case = BY_NAME["variable"]
    fixed = source(case, table_of("fixed")).replace('"300 kbit/s"', '"1 Mbit/s"')
    names = [criterion.title for criterion in case.criteria]
    without = dict(zip(names, values(case, simulation_of(fixed)(1)), strict=True))
    with_gcc = dict(zip(names, values(case, simulation_of(source(case, table_of("gcc")))(1)), strict=True))
    settles = "target below the capacity after the step at 60 s"
    assert without[settles] == 20 and with_gcc[settles] < 10
    assert without["frame delay, 95th percentile"] > 400 > with_gcc["frame delay, 95th percentile"]
    assert without["packets lost"] > 5 > with_gcc["packets lost"]


def test_the_number_of_workers_makes_no_difference():
    one, two = (
        score("gcc", table_of("gcc"), range(1, 3), workers, [BY_NAME["variable"]]) for workers in (1, 2)
    )
    assert one == two


@pytest.mark.slow
@pytest.mark.parametrize("name", ["gcc", "scream", "nada"])
def test_controllers_fail_few_criteria(name):
    card = score(name, table_of(name), range(1, 4))
    failed = [
        (one.case.name, one.criterion.title, one.value.mean) for one in card.scores if one.verdict == "failed"
    ]
    assert len(failed) <= len(card.scores) // 4, failed


@pytest.mark.slow
def test_the_page_has_a_row_for_each_criterion(tmp_path, airpath_command):
    out = tmp_path / "card"
    outcome = airpath_command("scorecard", "gcc", "--set", "probes=false", "--runs", "2", "--out", out)
    assert outcome.code == 0 and "page:" in outcome.out
    report = json.loads((out / "report.json").read_text())
    page = (out / "index.html").read_text()
    assert report["controller"]["gcc"]["probes"] is False and report["seeds"] == [1, 2]
    assert len(report["rows"]) == sum(len(case.criteria) for case in CASES)
    assert sum(report["counts"].values()) == len(report["rows"])
    for case in CASES:
        assert (out / "cases" / f"{case.name}.toml").exists() and case.section in page
    assert "airpath scorecard gcc --set probes=false --runs 2 --seed 1" in page


def test_bad_input(airpath_command):
    check_error(
        airpath_command("scorecard", "gcc", "--set", "pace=2"),
        "flow[0].app.call.controller.gcc.pace",
        "unknown key",
        "pacing",
    )
    check_error(
        airpath_command("scorecard", "gcc", "--set", "pacing_factor=0"),
        "flow[0].app.call.controller.gcc.pacing_factor",
        "fall behind",
        "1",
    )
    check_error(airpath_command("scorecard", "gccc"), "CC", "'gccc'", "reno")
