"""Names in results that have changed: old files are read, and old names understood, with one warning each.

`old_names` is what airpath wrote before any name changed: two runs of `snoop.toml`, a live run, a sweep.
"""

from __future__ import annotations

import json
import pickle
import re
import shutil
import subprocess
import sys
import warnings
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import airpath
from airpath.captures import analyze
from airpath.errors import RenamedWarning
from airpath.live import apart
from airpath.live.radio_link import _stats
from airpath.runs import renamed
from airpath.runs.finished import FinishedRun
from airpath.runs.metrics import named
from airpath.runs.renamed import RENAMED, current, current_name, former_names

OLD = Path(__file__).parent / "old_names"
NEEDLESS = "elements.1.local_retransmissions.needless"
SPURIOUS = "elements.1.local_retransmissions.spurious"


@pytest.fixture(autouse=True)
def nothing_told(monkeypatch):
    """No name has been warned about."""
    monkeypatch.setattr(renamed, "_told", set())


def today(name: str) -> str:
    return f"{name.rpartition('.')[0]}.{RENAMED[name]}"


def test_the_changelog_has_the_same_table():
    text = (Path(__file__).parents[2] / "CHANGELOG.md").read_text()
    section = text.partition("### Deprecated")[2].partition("\n###")[0]
    rows = re.findall(r"^\| `(\S+)` \| `(\S+)` \|$", section, re.MULTILINE)
    assert rows == [(name, today(name)) for name in RENAMED]


@pytest.mark.parametrize("old", RENAMED)
def test_a_metric_by_its_old_name_is_todays(old):
    new = today(old)
    with pytest.warns(RenamedWarning, match=re.escape(f"'{old}' is called '{new}' now")):
        assert current_name(old) == new
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert current_name(old) == new, "told once"
    assert current_name(f"{old}.more", silent=True) == f"{new}.more"
    assert list(former_names(new)) == [old]
    assert current_name("goodput_bps") == "goodput_bps" and not list(former_names("goodput_bps"))


def test_what_has_another_place_or_form_keeps_its_name():
    assert current_name("flows.0.needless") == "flows.0.needless"
    odd = {"elements": [5, None, {"local_retransmissions": 3}, {"needless": 1}], "live": [{"fates": 1}]}
    assert current(json.loads(json.dumps(odd))) == odd


def test_results_of_an_old_run_have_todays_names_and_answer_to_the_old_ones():
    run = FinishedRun.open(OLD / "run-3")
    box = run.summary["elements"][1]["local_retransmissions"]
    assert list(box) == ["total", "dupack", "timer", "spurious", "bytes"]
    with pytest.warns(RenamedWarning) as told:
        assert box["spurious"] == box["needless"] == box.get("needless") == 1
    assert len(told) == 1
    with pytest.raises(KeyError):
        box["nothing"]
    assert box.get("nothing", 5) == 5
    again = pickle.loads(pickle.dumps(box))
    assert again == dict(box) and again["needless"] == 1


def test_numbers_of_old_runs_are_compared_with_those_of_new_ones(airpath_command, tmp_path):
    new = shutil.copytree(OLD / "run-3", tmp_path / "new")
    text = (new / "results.json").read_text()
    (new / "results.json").write_text(
        text.replace('"needless": 1', '"spurious": 0').replace('"format": 1', '"format": 2')
    )
    outcome = airpath_command("diff", OLD / "run-3", new, "--format", "json")
    found = json.loads(outcome.out)["results"]
    assert [(one["name"], one["difference"]["mean"]) for one in found] == [(SPURIOUS, -1)]


@pytest.mark.parametrize("command", ["predict", "diff"])
def test_commands_read_old_runs(airpath_command, command):
    more = [OLD / "run-3"] if command == "diff" else []
    outcome = airpath_command(command, OLD / "run-3", *more)
    assert (outcome.code, outcome.err) == (0, "")


def test_an_old_live_run_is_read():
    live = FinishedRun.open(OLD / "live").summary["live"]
    assert live["outcomes"]["uplink"]["dropped"] == 2
    results = apart.outcome(OLD / "live", 0, "")
    assert _stats(results).uplink.reasons == {"link_loss": 2}
    with pytest.warns(RenamedWarning, match="'fates' is called 'outcomes'"):
        assert results["live"]["fates"] == live["outcomes"]
    with pytest.warns(RenamedWarning, match=re.escape("live.fates.downlink.dropped")):
        assert named("live.fates.downlink.dropped")(results) == 1


def test_an_old_sweep_is_shown(airpath_command):
    outcome = airpath_command("results", OLD / "sweep", "--json")
    assert (outcome.code, outcome.err) == (0, "")
    points = json.loads(outcome.out)["points"]
    assert [point["metrics"][SPURIOUS]["mean"] for point in points] == [0, pytest.approx(2 / 3)]
    assert NEEDLESS not in outcome.out
    table = airpath_command("results", OLD / "sweep")
    assert "spurious" in table.out and "needless" not in table.out


@pytest.mark.slow
@pytest.mark.parametrize("name", [NEEDLESS, "local_retransmissions.needless", "needless"])
def test_an_old_sweep_is_drawn_by_either_name(airpath_command, tmp_path, name):
    axes = ("plot", OLD / "sweep", "--x", "bler", "--json", "--out")
    new = airpath_command(*axes, tmp_path / "new.svg", "--y", "spurious", "--label", "spurious=Unneeded")
    assert new.code == 0
    with pytest.warns(RenamedWarning) as told:
        label = ("--label", f"{name}=Unneeded")
        old = airpath_command(*axes, tmp_path / "old.svg", "--y", name, *label)
    assert (old.code, old.out) == (0, new.out) and "Unneeded" in (tmp_path / "old.svg").read_text()
    assert len(told) == 1


@pytest.mark.slow
def test_the_program_warns_in_a_line(tmp_path):
    axes = [OLD / "sweep", "--x", "bler", "--y", NEEDLESS, "--out", tmp_path / "old.svg"]
    done = subprocess.run(
        [sys.executable, "-m", "airpath", "plot", *axes], capture_output=True, text=True, check=True
    )
    assert done.stderr == f"warning: '{NEEDLESS}' is called '{SPURIOUS}' now; the old name will go\n"


def test_a_sweep_that_names_an_old_metric_measures_todays(airpath_command, tmp_path):
    with pytest.warns(RenamedWarning) as told:
        outcome = airpath_command("sweep", OLD / "snoop-sweep.toml", "--out", tmp_path, "--workers", 1)
    assert outcome.code == 0 and len(told) == 1
    assert json.loads((tmp_path / "manifest.json").read_text())["metrics"] == ["goodput_bps", SPURIOUS]
    found, was = (airpath.sweep_table(folder).results for folder in (tmp_path, OLD / "sweep"))
    assert found.as_json() == was.as_json()


def test_a_sweep_with_old_names_goes_on(airpath_command, tmp_path):
    """As if an older version had begun it: its columns and its manifest have the old name."""
    out = tmp_path / "out"
    sweep = (OLD / "snoop-sweep.toml").read_text().replace("snoop.toml", str(OLD / "snoop.toml"))
    file = tmp_path / "sweep.toml"
    file.write_text(sweep.replace("needless", "spurious"))
    first = airpath_command("sweep", file, "--out", out, "--workers", 1)
    assert first.code == 0, first.err
    (part,) = (out / "runs").iterdir()
    table = pq.read_table(part)
    assert table.column_names[-1] == SPURIOUS
    pq.write_table(table.rename_columns([*table.column_names[:-1], NEEDLESS]), part)
    manifest = (out / "manifest.json").read_text()
    (out / "manifest.json").write_text(manifest.replace("spurious", "needless"))
    again = airpath_command("sweep", file, "--out", out, "--workers", 1, "--runs", 4)
    assert again.code == 0 and "8 runs, 2 of them made now" in again.out + again.err, again
    (results,) = (airpath.sweep_table(out).results,)
    assert (results.metrics, results.warnings) == (("goodput_bps", SPURIOUS), ())
    assert [point.runs for point in results.points] == [4, 4]


def test_replications_are_of_a_metric_by_its_old_name():
    scenario = OLD / "snoop.toml"
    with pytest.warns(RenamedWarning) as told:
        old = airpath.replicate(scenario, [NEEDLESS], precision=1e9, min_runs=2, max_runs=2, first_seed=3)
    assert len(told) == 1
    assert old[NEEDLESS].mean == 1


def test_results_and_analyses_made_now_answer_to_the_old_names(tmp_path):
    result = airpath.run(OLD / "snoop.toml", 3, probes=(), capture=True)
    assert result.summary["format"] == 2
    with pytest.warns(RenamedWarning, match="'needless' is called 'spurious'"):
        assert result.summary["elements"][1]["local_retransmissions"]["needless"] == 1
    file = tmp_path / "capture.pcapng"
    file.write_bytes(result.capture)
    (flow, *_) = analyze(file)["connections"][0]["flows"]
    with pytest.warns(RenamedWarning, match="'under_way' is called 'in_transit'"):
        assert flow["path"]["data"]["under_way"] == flow["path"]["data"]["in_transit"]
    with pytest.warns(RenamedWarning, match="'behind_their_ack' is called 'after_their_ack'"):
        assert flow["counters"]["behind_their_ack"] == flow["counters"]["after_their_ack"]
    net = airpath.Net(OLD / "snoop.toml", 3)
    with pytest.warns(RenamedWarning):
        renamed._told.clear()
        assert net.report()[1]["local_retransmissions"]["needless"] == 0
