"""What differs from the bundled scenario: found, named in a few words, kept with a run."""

from __future__ import annotations

import json
import tomllib

import pytest

import airpath
from airpath.runs.changes import changes_of, changes_of_resolved, described, differing, titled
from airpath.runs.finished import FinishedRun
from airpath.runs.folder import run_to_folder
from airpath.scenario import load

CHANGED = [
    ((), ()),
    # The scenario has this already.
    ((("tcp.cc", "cubic"),), ()),
    ((("tcp.cc", "reno"),), (("tcp.cc", "reno"),)),
    ((("tcp.profile", "linux-bbr"),), (("tcp.profile", "linux-bbr"),)),
    # What the component has anyway is not named.
    (
        (("radio.dch.downlink.queue", '{ codel = { target = "20 ms", interval = "100 ms" } }'),),
        (("radio.dch.downlink.queue", "codel"), ("radio.dch.downlink.queue.codel.target", "20 ms")),
    ),
    ((("flow.app.file.size", "1 MB"),), (("flow[0].app.file.size", "1 MB"),)),
    (
        (("radio.dch.downlink.queue.droptail.packets", "absent"), ("duration", "9 s")),
        (("duration", "9 s"), ("radio.dch.downlink.queue.droptail.packets", "absent")),
    ),
]


@pytest.mark.parametrize(("overrides", "expected"), CHANGED)
def test_the_fewest_changes_are_found_and_give_the_scenario_again(overrides, expected):
    scenario = load("umts-384", overrides)
    found = changes_of(scenario)
    assert found == expected
    assert load("umts-384", found).text == scenario.text


def test_changes_of_a_file_are_those_of_its_overrides(tmp_path):
    file = tmp_path / "own.toml"
    file.write_text(load("umts-64").source)
    assert titled(load(file), 3) == "own, seed 3"
    assert titled(load(file, [("duration", "5 s"), ("tcp.cc", "cubic")])) == "own, duration = 5 s"


def test_a_title_names_three_changes_and_counts_the_others():
    changes = [(f"key{number}", str(number)) for number in range(8)]
    assert described(changes) == "key0 = 0, key1 = 1, key2 = 2 and 5 more"
    assert described([("trace", "1\n2\n3\n" * 100)]) == "trace = 1 2 3 1 2 3 1 2 3 1 2 3 1 2 3..."
    assert described([]) == ""


@pytest.mark.parametrize(
    "name", ["lte-10mhz-still", "hdr-4", "variable-3g", "chan-variable-rate", "umts-128"]
)
def test_a_scenario_can_be_made_of_any_other(name):
    """Also where one key is the default of another: the rate of a dedicated channel's uplink."""
    base, other = load(name), load("umts-64")
    found = differing(base, tomllib.loads(other.text))
    assert tomllib.loads(load(name, found).text) == tomllib.loads(other.text)


def test_a_run_keeps_and_names_what_was_changed(tmp_path, undrawn):
    scenario = load("umts-384", [("tcp.cc", "reno"), ("duration", "1 s")])
    run_to_folder(scenario, 2, tmp_path, probes=["rtt_sample"])
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    assert manifest["changed"] == {"tcp.cc": "reno", "duration": "1 s"}
    run = FinishedRun.open(tmp_path)
    assert changes_of_resolved("umts-384", run.scenario) == (("tcp.cc", "reno"), ("duration", "1 s"))
    assert changes_of_resolved("umts-999", run.scenario) is None


@pytest.mark.slow
def test_the_picture_and_the_table_of_a_run_name_what_was_changed():
    result = airpath.run(load("umts-384", [("duration", "1 s")]), seed=4)
    assert result.plot().title == "umts-384, duration = 1 s, seed 4"
    assert "umts-384, duration = 1 s, seed 4" in result._repr_html_()
