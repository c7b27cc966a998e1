"""The traces that come with airpath: what they are made from, and where their names are known."""

from __future__ import annotations

import tomllib

import pytest
from conftest import check_error

import airpath
from airpath import _core
from airpath.live.link import Direction, Link, sample_traces

pytestmark = pytest.mark.usefixtures("undrawn")

TRACES = sample_traces()


@pytest.mark.parametrize("name", TRACES)
def test_a_trace_is_what_its_scenario_gives(name, airpath_command, tmp_path):
    airpath.run_to_folder(airpath.load(TRACES[name].scenario), 1, tmp_path, probes=("bearer_delivered",))
    outcome = airpath_command("export", tmp_path, "--format", "mm-trace", "--out", tmp_path / "exported")
    assert outcome == (0, "", "")
    assert (tmp_path / "exported").read_bytes() == TRACES[name].file.read_bytes(), "run 'make traces'"


@pytest.mark.parametrize("name", TRACES)
def test_a_trace_is_small_and_has_the_rate_that_it_says(name):
    trace = TRACES[name]
    times = [int(line) for line in trace.file.read_text().splitlines()]
    assert times == sorted(times) and trace.file.stat().st_size < 50_000
    words = trace.shows.replace(",", "").split()
    seconds = float(words[words.index("s") - 1])
    unit = next(word for word in words if word.endswith("bit/s"))
    said_bps = float(words[words.index(unit) - 1]) * {"kbit/s": 1e3, "Mbit/s": 1e6}[unit]
    assert times[-1] / 1e3 == pytest.approx(seconds, rel=0.01)
    assert len(times) * 12_000 / seconds == pytest.approx(said_bps, rel=0.05)


def test_live_takes_a_trace_by_its_name_and_a_file_before_it(tmp_path, monkeypatch):
    link = Link(Direction("evdo-walk"), Direction("1 Mbit/s"))
    assert str(TRACES["evdo-walk"].file) in link.text()
    resolved = tomllib.loads(_core.resolve(link.text(), []))
    channel = resolved["radio"]["variable"]["downlink"]["channel"]["trace_file"]
    assert channel["trace"] == TRACES["evdo-walk"].file.read_text()
    monkeypatch.chdir(tmp_path)
    (tmp_path / "evdo-walk").write_text("1\n")
    assert str(tmp_path / "evdo-walk") in link.text()


def test_list_names_the_traces_and_their_folder(airpath_command):
    outcome = airpath_command("list", "traces")
    assert all(name in outcome.out for name in TRACES)
    assert str(TRACES["evdo-walk"].file.parent) in outcome.out


@pytest.mark.parametrize(
    ("options", "key", "cause", "remedy"),
    [
        (["--ue", "5"], "--ue", "no UE 5", "write 0 to 0"),
        (["--direction", "uplink"], "{run}", "no 1500 bytes delivered on its uplink", "--direction"),
    ],
)
def test_a_bearer_without_packets_has_no_trace(options, key, cause, remedy, airpath_command, tmp_path):
    run, out = tmp_path / "run", tmp_path / "out"
    airpath.run_to_folder(airpath.load(TRACES["evdo-walk"].scenario).with_("duration", "1 s"), 1, run)
    outcome = airpath_command("export", run, "--format", "mm-trace", "--out", out, *options)
    check_error(outcome, key.format(run=run), cause, remedy)
    assert not out.exists()
