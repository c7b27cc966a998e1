"""Scenarios from Python and the command line: changes, and when they are checked."""

from __future__ import annotations

import json
import tomllib

import pytest
from conftest import check_error

import airpath
from airpath import _core
from airpath.errors import ScenarioError

# Too deep for anything that goes through tables recursively.
DEEP = ".".join("a" * 15_000)


def cc_of(scenario) -> dict[str, object]:
    return tomllib.loads(scenario.text)["tcp"]["cc"]


@pytest.mark.parametrize("value", ["cubic", {"cubic": {}}, "{ cubic = {} }"])
def test_a_component_is_a_name_a_dictionary_or_toml(value):
    base = airpath.load("umts-384")
    changed = base.with_("tcp.cc", value)
    assert list(cc_of(changed)) == ["cubic"]
    assert changed.text == base.with_("tcp.cc.cubic", {}).text


def test_a_component_that_is_named_again_keeps_its_keys():
    """One rule for overrides, copies and sweeps: naming the component in use changes nothing."""
    base = airpath.load("umts-384")
    linux = base.with_("tcp.profile", "linux")
    assert cc_of(linux) == cc_of(linux.with_("tcp.cc", "cubic"))
    assert cc_of(linux)["cubic"]["hystart"] == cc_of(linux)["cubic"]["variant"] == "linux"
    narrowed = cc_of(linux.with_("tcp.cc.cubic.fast_convergence", False))["cubic"]
    assert narrowed == {"hystart": "linux", "fast_convergence": False, "variant": "linux"}
    droptail = base.with_("radio.dch.downlink.queue", "droptail")
    assert droptail.text == base.text
    # Its own path writes the table whole.
    whole = base.with_("radio.dch.downlink.queue.droptail", {"bytes": "30 kB"})
    queue = tomllib.loads(whole.text)["radio"]["dch"]["downlink"]["queue"]["droptail"]
    assert "packets" not in queue and queue["bytes"] == "30 kB"


def test_a_key_of_another_radio_is_an_error_that_names_both(airpath_command):
    wrong = airpath_command("run", "umts-384", "--set", "radio.lte.downlink.queue=codel")
    check_error(wrong, "radio.lte", "radio is dch here, not lte", 'set radio = "lte" as well')
    named = airpath_command(
        "config", "umts-384", "--set", "radio=lte", "--set", "radio.lte.downlink.queue=codel"
    )
    assert named.code == 0, named.err
    assert list(tomllib.loads(named.out)["radio"]["lte"]["downlink"]["queue"]) == ["codel"]


def test_run_remarks_on_a_buffer_without_a_limit(airpath_command):
    short = ("--set", "duration=1 s")
    limited = airpath_command("run", "umts-384", *short)
    unlimited = airpath_command("run", "umts-384", *short, "--set", "radio.dch.downlink.queue.droptail={}")
    assert [(limited.code, limited.err), (unlimited.code, unlimited.err)] == [(0, ""), (0, "")]
    remark = "radio.dch.downlink.queue.droptail: the buffer has no limit"
    assert remark in unlimited.out and "has no limit" not in limited.out
    changed = ("--set", "radio.dch.downlink.queue.droptail={}", "--json")
    as_json = airpath_command("run", "umts-384", *short, *changed)
    assert as_json.err.startswith(f"warning: {remark}") and len(as_json.err.splitlines()) == 1
    assert json.loads(as_json.out)["complete"]


def test_dictionaries_and_lists_become_toml():
    base = airpath.load("umts-384")
    red = base.with_("radio.dch.downlink.queue", {"red": {"max_threshold": 40, "ecn": True, "packets": 50}})
    queue = tomllib.loads(red.text)["radio"]["dch"]["downlink"]["queue"]["red"]
    assert (queue["max_threshold"], queue["ecn"], queue["packets"]) == (40, True, 50)
    boxes = base.with_("middlebox", ["tap", {"ack_filter": {}}])
    assert [list(box) for box in tomllib.loads(boxes.text)["middlebox"]] == [["tap"], ["ack_filter"]]
    with pytest.raises(ScenarioError) as error:
        base.with_("tcp.cc", None)
    assert error.value.args[:2] == ("tcp.cc", "a NoneType is no value of a scenario")


def test_changes_come_before_the_check(airpath_command, tmp_path):
    file = tmp_path / "unfinished.toml"
    file.write_text('duration = "0 s"\n')
    check_error(airpath_command("config", file), "duration", "at once", "60 s")
    repaired = airpath_command("config", file, "--set", "duration=1 s", "--set", 'flow=[{ app = "bulk" }]')
    assert repaired.code == 0, repaired.err
    assert list(tomllib.loads(repaired.out)["flow"][0]["app"]) == ["bulk"]
    assert airpath.load(file, [("duration", "1 s"), ("flow", '[{ app = "bulk" }]')]).text == repaired.out


def test_a_sweep_may_finish_a_scenario_and_name_components(airpath_command, tmp_path):
    (tmp_path / "unfinished.toml").write_text('[[flow]]\napp.file.size = "5 kB"\nue = 7\n')
    sweep = tmp_path / "sweep.toml"
    sweep.write_text(
        'scenario = "unfinished.toml"\nruns = 1\nmetrics = ["flows.0.transfer_s"]\n'
        '[set]\nflow.0.ue = 0\n[axes]\ntcp.cc = ["reno", "cubic"]\n'
    )
    outcome = airpath_command("sweep", sweep, "--out", tmp_path / "out")
    assert outcome.code == 0, outcome.err
    shown = airpath_command("results", tmp_path / "out")
    assert "CUBIC" in shown.out and "{" not in shown.out


@pytest.mark.slow
def test_keys_are_not_nested_without_end(airpath_command, tmp_path):
    deep = f"{DEEP}.b"
    check_error(airpath_command("config", "umts-384", "--set", f"{deep}=1"), "a", "15001 parts", "at most 80")
    text = f"{deep} = 1\n"
    with pytest.raises(ScenarioError) as error:
        _core.resolve(text)
    assert error.value.args[1:] == ("not TOML: nested too deeply", "write at most 80 levels")
    head = 'scenario = "umts-384"\nruns = 1\nmetrics = ["simulated_s"]\n'
    deep = deep[-10_001:]
    for axes in (f"[axes]\n{deep} = [1]\n", f'[axes]\n"{deep}" = [1]\n', f"[set]\nx = {'[' * 5_000}\n"):
        sweep = tmp_path / "sweep.toml"
        sweep.write_text(head + axes)
        outcome = airpath_command("sweep", sweep, "--out", tmp_path / "out")
        assert outcome.code == 2 and outcome.err.startswith("error: "), outcome.err
        assert any(why in outcome.err for why in ("deeply", "more than 32 parts", "5001 parts")), outcome.err
