"""`airpath diff`: settings and results that differ, intervals, exit status, and what is refused."""

from __future__ import annotations

import json
import shutil

import pytest
from conftest import check_error, no_pictures

from airpath.experiments.difference import _result, difference, unpaired
from airpath.runs.folder import run_to_folder
from airpath.scenario import load
from airpath.stats.estimate import estimate


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Three runs each of CUBIC and Reno, a folder for each."""
    top = tmp_path_factory.mktemp("runs")
    for cc in ("cubic", "reno"):
        for seed in (1, 2, 3):
            scenario = load("umts-384", [("tcp.cc", cc), ("duration", "5 s")])
            with no_pictures():
                run_to_folder(scenario, seed, top / cc / str(seed), probes=[])
    return top


def test_the_same_ends_with_0_and_something_else_with_1(airpath_command):
    same = airpath_command("diff", "umts-384", "umts-384")
    assert (same.code, same.out) == (0, "the same: 0 numbers of the results and all settings\n")
    other = airpath_command("diff", "umts-384", "umts-64")
    assert other.code == 1
    assert "radio.dch.downlink.rate" in other.out and "64 kbit/s" in other.out


@pytest.mark.slow
def test_two_runs_are_compared_number_by_number(airpath_command, runs):
    outcome = airpath_command("diff", runs / "cubic/1", runs / "reno/1", "--format", "json")
    assert outcome.code == 1
    found = json.loads(outcome.out)
    assert found["settings"] == [{"key": "tcp.cc", "a": "cubic", "b": "reno"}]
    results = {one["name"]: one for one in found["results"]}
    a, b = (
        json.loads((runs / cc / "1/results.json").read_text())["flows"][0]["rtt_ms"]["mean"]
        for cc in ("cubic", "reno")
    )
    own = results["flows.0.rtt_ms.mean"]
    assert (own["a"]["mean"], own["b"]["mean"]) == (a, b)
    assert own["difference"]["mean"] == pytest.approx(b - a)
    assert own["difference"]["ci_low"] is None


def test_several_runs_have_the_interval_of_pairs_with_the_same_seed(runs):
    found = difference(str(runs / "cubic"), str(runs / "reno"))
    own = next(one for one in found.results if one.name == "flows.0.goodput_bps")
    goodputs = [
        [
            json.loads((runs / cc / f"{seed}/results.json").read_text())["flows"][0]["goodput_bps"]
            for seed in (1, 2, 3)
        ]
        for cc in ("cubic", "reno")
    ]
    by_hand = estimate(b - a for a, b in zip(*goodputs, strict=True))
    assert own.paired and own.difference == by_hand


def test_a_run_and_a_scenario_differ_in_settings_alone(runs):
    found = difference("umts-384", str(runs / "reno/1"))
    assert [tuple(setting) for setting in found.settings] == [
        ("tcp.cc", "cubic", "reno"),
        ("duration", "3 min", "5 s"),
    ]
    assert found.compared == 0


def test_other_seeds_are_independent_runs():
    """Welch's interval of 1, 2, 3 and 4, 6, 8: error sqrt(1/3 + 4/3), 2.94 degrees of freedom, t 3.22."""
    one = _result(("", "x"), {1: 1.0, 2: 2.0, 3: 3.0}, {7: 4.0, 8: 6.0, 9: 8.0})
    assert one is not None and not one.paired
    assert one.difference.mean == 4
    assert one.difference.half_width == pytest.approx(3.2199 * (5 / 3) ** 0.5, rel=2e-3)
    assert unpaired(estimate([1.0]), estimate([2.0, 3.0])).n == 1
    assert _result(("", "x"), {1: 5.0, 2: 5.0}, {7: 5.0}) is None


@pytest.mark.slow
def test_sweeps_are_compared_point_by_point(airpath_command, tmp_path):
    for name, size in (("a", "50 kB"), ("b", "100 kB")):
        (tmp_path / f"{name}.toml").write_text(
            f'scenario = "umts-384"\nmetrics = ["transfer_s"]\nruns = 3\n'
            f'set = {{ "flow.0.app.file.size" = "{size}" }}\n[axes]\n"tcp.cc" = ["cubic", "reno"]\n'
        )
        airpath_command("sweep", tmp_path / f"{name}.toml", "--out", tmp_path / name)
    found = difference(str(tmp_path / "a"), str(tmp_path / "b"))
    assert {one.point["tcp.cc"] for one in found.results} == {"cubic", "reno"}
    assert all(one.paired and one.difference.mean > 0 for one in found.results)
    assert [tuple(one) for one in found.settings] == [("flow.0.app.file.size", "50 kB", "100 kB")]
    outcome = airpath_command("diff", tmp_path / "a", "umts-384")
    check_error(outcome, str(tmp_path / "a"), "is a sweep, and umts-384 is none", "another sweep")
    outcome = airpath_command("page", tmp_path / "a", "--out", tmp_path / "a.html")
    check_error(outcome, str(tmp_path / "a"), "is the folder of a sweep, not of a run", "airpath results")


@pytest.mark.slow
def test_sweeps_without_a_number_in_common_are_not_the_same(airpath_command, tmp_path):
    for name, windows, duration in (("a", "1, 4", "10 s"), ("b", "2, 4", "10 s"), ("c", "1, 4", "1 ms")):
        (tmp_path / f"{name}.toml").write_text(
            f'scenario = "umts-384"\nmetrics = ["transfer_s"]\nruns = 1\n'
            f'set = {{ duration = "{duration}", "flow.0.app.file.size" = "20 kB" }}\n'
            f'[axes]\n"tcp.initial_window" = [{windows}]\n'
        )
        airpath_command("sweep", tmp_path / f"{name}.toml", "--out", tmp_path / name)
    other = difference(str(tmp_path / "a"), str(tmp_path / "b"))
    assert [tuple(one) for one in other.settings] == [("tcp.initial_window", "1, 4", "2, 4")]
    assert not other.is_none and other.unmatched == 2 and other.compared == 1
    short = difference(str(tmp_path / "a"), str(tmp_path / "c"))
    assert not short.is_none and short.compared == 0


BAD = {
    "nothing": (["none", "umts-384"], "none", "no such scenario", "umts-384"),
    "no run": (["{empty}", "umts-384"], "{empty}", "no finished run", "a folder of runs"),
    "format": (["umts-384", "umts-64", "--format", "csv"], "command line", "csv", "--help"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_cannot_be_compared_is_named(name, airpath_command, tmp_path):
    arguments, key, *words = BAD[name]
    outcome = airpath_command("diff", *(one.format(empty=tmp_path) for one in arguments))
    check_error(outcome, key.format(empty=tmp_path), *words)


def test_runs_of_two_scenarios_in_a_folder_and_damaged_runs_are_refused(airpath_command, runs, tmp_path):
    for cc in ("cubic", "reno"):
        shutil.copytree(runs / cc / "1", tmp_path / "mixed" / cc)
    outcome = airpath_command("diff", tmp_path / "mixed", "umts-384")
    assert outcome.code == 2 and "has another scenario than" in outcome.err
    damaged = tmp_path / "mixed/reno/results.json"
    damaged.write_text("[" * 100_000)
    outcome = airpath_command("diff", tmp_path / "mixed/reno", "umts-384")
    assert outcome.code == 2 and "Traceback" not in outcome.err
