"""What a notebook and a Python prompt show of scenarios, runs and estimates."""

from __future__ import annotations

import base64
import re
import sys
import types
from dataclasses import replace

import numpy as np
import pytest
from conftest import events_in

import airpath
from airpath.notebook import number, table
from airpath.progress import progress_bar
from airpath.runs.folder import RunFolder
from airpath.stats.estimate import estimate as estimate_of

LONGEST_REPR = 300


@pytest.fixture(scope="module")
def scenario():
    return airpath.load("umts-384").with_("duration", "8 s")


@pytest.fixture(scope="module")
def result(scenario):
    return airpath.run(scenario, seed=3)


@pytest.fixture(scope="module")
def compared(scenario):
    return airpath.compare_paired(
        scenario.with_("tcp.initial_window", 2), scenario, "goodput_bps", max_runs=5
    )


def test_what_is_printed_is_short(scenario, result, compared):
    folder = RunFolder("out", result.summary, False)
    estimate = estimate_of(range(1, 1000))
    for thing in (scenario, result, compared, compared.a, estimate, folder, result.plot()):
        assert type(thing).__name__ in repr(thing) and len(repr(thing)) < LONGEST_REPR, repr(thing)
        assert str(thing) == repr(thing)
    assert repr(scenario) == "Scenario('umts-384', duration=8 s)"
    assert repr(result) == "Result('umts-384', seed=3, flows=1, simulated_s=8)"


def test_a_scenario_is_a_table_of_its_path(scenario):
    shown = text_of(scenario._repr_html_())
    assert "rate 384 kbit/s, delay 15 ms, queue droptail, rlc am, channel bernoulli" in shown
    assert "UE 0 downlink, file, cubic" in shown and "changed: duration 8 s" in shown


@pytest.mark.slow
def test_a_run_is_a_table_with_its_picture(result):
    shown = result._repr_html_()
    flow = result.flows[0]
    assert "UE 0: cubic" in shown and number(flow["goodput_bps"] / 1e3) in text_of(shown)
    (png,) = re.findall(r"data:image/png;base64,([^\"]+)", shown)
    assert base64.b64decode(png) == result.plot().as_bytes("png")


def test_a_run_without_events_is_a_table_alone(scenario):
    bare = airpath.run(scenario, probes=())
    assert "<img" not in bare._repr_html_()
    assert bare.to_arrow().num_rows == 0


def test_estimates_of_several_metrics_are_one_table(scenario):
    known = airpath.replicate(scenario, ["goodput_bps", "rtt_ms.mean"], max_runs=3)
    shown = text_of(known._repr_html_())
    for name, estimate in known.items():
        assert f"{name} {number(estimate.mean)}" in shown
    assert "less precise than requested" in shown


def test_a_steady_mean_is_a_table_with_what_is_wrong_with_it():
    noise = np.random.default_rng(1).normal(10, 1, 2000)
    known = airpath.batch_means(noise)
    shown = text_of(known._repr_html_())
    assert (
        f"{number(known.mean)} " in shown
        and f"{known.observations} {known.truncated} {known.batches}" in shown
    )
    short = replace(known, remark="the run is too short")
    assert "the run is too short" in text_of(short._repr_html_())


def test_estimates_are_tables_with_their_intervals(compared):
    shown = text_of(compared.a._repr_html_())
    assert number(compared.a.mean) in shown and "95 % interval" in shown
    shown = text_of(compared._repr_html_())
    assert number(compared.difference.ci_low) in shown and "5 runs of each" in shown
    assert ("is different" in shown) == compared.is_different


def test_names_are_no_markup():
    assert "<b>" not in table("<b>", (), [("<b>", "&")]) and "&lt;b&gt;" in table("<b>", (), [])


def test_numbers_have_four_digits_and_no_exponent():
    assert [number(value) for value in (0.0, 0.012346, 277729.5, None, float("nan"))] == [
        *("0", "0.01235", "277 730", "–", "–"),
    ]


@pytest.mark.slow
def test_a_trace_as_arrow_is_the_file_of_the_run(scenario, result, tmp_path):
    from airpath.runs.memory import DEFAULT_PROBES

    airpath.run_to_folder(scenario, 3, tmp_path / "out", probes=DEFAULT_PROBES)
    table = result.to_arrow()
    file = events_in(tmp_path / "out")
    assert table.schema.names == file.schema.names and table.to_pylist() == file.to_pylist()
    assert table.schema.field("rtt_us").metadata == {b"unit": b"us"}
    samples = table.filter(np.array(table["event"]) == "rtt_sample")
    assert samples["rtt_us"].to_pylist() == result.trace["rtt_sample"]["rtt_us"].tolist()


def test_without_pandas_the_error_says_what_to_do(result, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r"needs pandas.*pip install pandas.*to_arrow"):
        result.to_pandas()


@pytest.mark.slow
def test_a_picture_has_numbers_a_figure_and_files(result, tmp_path):
    picture = result.plot()
    rtt = picture.data["rtt"]["UE 0: cubic"]["rtt"]
    assert rtt["value"] == pytest.approx(result.trace["rtt_sample"]["rtt_us"] / 1000)
    assert len(picture.draw().axes) == 4
    picture.save(tmp_path / "run.svg")
    assert (tmp_path / "run.svg").read_bytes().startswith(b"<?xml")


def notebook(monkeypatch, shell):
    """Put a notebook's IPython in place; returns what it displays."""
    shown = []
    display = types.ModuleType("IPython.display")
    display.HTML = lambda text: text
    display.display = lambda text, display_id: types.SimpleNamespace(update=shown.append)
    ipython = types.ModuleType("IPython")
    ipython.get_ipython, ipython.display = lambda: shell, display
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    return shown


def test_a_notebook_shows_a_bar_that_vanishes(scenario, monkeypatch):
    shown = notebook(monkeypatch, types.SimpleNamespace(kernel=object()))
    airpath.run(scenario, probes=(), progress=True)
    assert "umts-384, seed 1" in shown[0] and "<progress value=100 max=100>" in shown[-2] and shown[-1] == ""
    shown.clear()
    airpath.replicate(scenario, "goodput_bps", max_runs=4, progress=True)
    assert "<progress value=25 max=100>" in shown[0]


def test_nothing_is_shown_unasked_or_without_a_screen(scenario, monkeypatch, capsys):
    shown = notebook(monkeypatch, types.SimpleNamespace(kernel=object()))
    airpath.run(scenario, probes=())
    airpath.replicate(scenario, "goodput_bps", max_runs=4)
    assert shown == []
    notebook(monkeypatch, None)
    with progress_bar("nobody looks") as report:
        report(0.5)
    assert shown == [] and capsys.readouterr() == ("", "")


def test_a_function_is_called_with_the_share_that_is_done(scenario):
    shares = []
    airpath.run(scenario, probes=(), progress=shares.append)
    assert shares == sorted(shares) and shares[-1] == 1.0


def text_of(html):
    return " ".join(re.sub(r"<[^>]*>", " ", html).split())
