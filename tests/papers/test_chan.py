"""Chan and Ramjee's paper: its models, its tables at a few runs, what is read off a trace, its pictures."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from airpath.cli.main import app
from airpath_studies.chan import PAPER
from airpath_studies.chan.observed import distribution, example_of
from airpath_studies.chan.tables import TABLE_1, TABLE_2, TABLE_3, printed_prediction
from airpath_studies.outcome import Effort
from airpath_studies.reproduction import Reproduction

CASES = range(1, 10)


@pytest.fixture(scope="module")
def measured():
    """Means of two runs of Tables 1 to 3 by id, without the paper's name."""
    effort = Effort.of(quick=True, runs=2)
    reproduction = Reproduction(PAPER, (TABLE_1, TABLE_2, TABLE_3), effort)
    report = reproduction.outcome(reproduction.simulate(), background=False)
    return {c.published.id.removeprefix("chan-"): c.measured.mean for c in report.comparisons}


def published(name):
    """What the paper prints."""
    return PAPER.published[f"chan-{name}"].value


@pytest.mark.parametrize(("model", "within_kbps"), [("model1", 0.1), ("model2", 0.1), ("model3", 0.3)])
@pytest.mark.parametrize("case", CASES)
def test_the_models_give_table_2_from_table_1_as_printed(case, model, within_kbps):
    predicted = printed_prediction(case, model)
    assert predicted == pytest.approx(published(f"t2-{case}-{model}"), abs=within_kbps)


@pytest.mark.slow
def test_a_link_that_does_not_vary_gives_the_printed_row_nearly_to_the_digit(measured):
    assert measured["t1-1-loss-events-triple-dupack"] == 401
    assert measured["t1-1-loss-events-timeout"] == 1
    assert measured["t1-1-mean-timeout-duration"] == pytest.approx(1.76, abs=0.005)
    assert measured["t1-1-mean-rtt"] == pytest.approx(616.2, abs=0.1)
    assert measured["t1-1-packets-transferred"] == pytest.approx(89713, rel=0.001)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_throughput_and_fast_retransmits_are_those_of_the_paper(case, measured):
    assert measured[f"t2-{case}-sim"] == pytest.approx(published(f"t2-{case}-sim"), rel=0.04)
    name = f"t1-{case}-loss-events-triple-dupack"
    assert measured[name] == pytest.approx(published(name), rel=0.05)


@pytest.mark.parametrize("flow", ["reno", "reno-ar", "sack", "sack-ar"])
def test_regulated_and_unregulated_flows_are_as_fast_as_in_table_3(flow, measured):
    name = f"t3-{flow}-goodput"
    assert measured[name] == pytest.approx(published(name), rel=0.04)


def test_a_regulated_flow_hardly_ever_times_out(measured):
    assert measured["t3-reno-loss-events-timeout"] > 50
    assert measured["t3-reno-ar-loss-events-timeout"] < 5
    assert measured["t3-sack-ar-loss-events-timeout"] < 5


def trace_of(cuts, following_s, grows):
    """A trace with these cuts (time, offset, cause), a window that grows, and one more event behind."""
    sent = [(0.0, 0, "new"), (101.0, 9000, "new"), *cuts, (following_s, 20_000, "fast_retransmit")]
    words = sorted({cause for _, _, cause in sent})
    time_s, window, threshold = zip(*grows, strict=True)
    return {
        "segment_sent": {
            "time_ns": np.array([round(at * 1e9) for at, _, _ in sent]),
            "seq": np.array([seq for _, seq, _ in sent]),
            "payload_bytes": np.full(len(sent), 1000),
            "cause": (np.array([words.index(cause) for _, _, cause in sent]), words),
        },
        "tcp_state": {
            "time_ns": np.array([round(at * 1e9) for at in time_s]),
            "tcpi_snd_cwnd": np.array(window),
            "tcpi_snd_ssthresh": np.array(threshold),
            "tcpi_ca_state": np.zeros(len(time_s)),
        },
    }


def test_the_epochs_of_an_event_of_two_losses():
    cuts = [(102.0, 4000, "fast_retransmit"), (103.5, 6000, "fast_retransmit")]
    grows = [(99, 16, 16), (103.6, 4, 4), (106, 9, 4), (108, 10, 4), (112, 16, 4)]
    example = example_of(2, pipe_packets=9.5).reduce(trace_of(cuts, 112.5, grows))
    assert example.epochs_s == pytest.approx({"t_r": 1.5, "a": 4.5, "b": 4.5})
    assert (example.x[0], example.y[0]) == (99, 16)


def test_the_epochs_of_an_event_of_three_losses():
    cuts = [
        (102.0, 4000, "fast_retransmit"),
        (103.0, 6000, "fast_retransmit"),
        (105.0, 8000, "timeout"),
    ]
    grows = [(99, 16, 16), (105.1, 1, 3), (105.5, 2, 3), (106, 3, 3), (109, 10, 3)]
    example = example_of(3, pipe_packets=9.5).reduce(trace_of(cuts, 112.0, grows))
    lengths = {"t_r": 1.0, "timeout": 2.0, "slow start": 1.0, "a": 3.0, "b": 3.0}
    assert example.epochs_s == pytest.approx(lengths)


def test_a_run_without_such_an_event_says_so():
    with pytest.raises(ValueError, match="no loss event of fast_retransmit and fast_retransmit in this run"):
        trace = trace_of([(102.0, 4000, "fast_retransmit")], 112.0, [(99, 16, 16)])
        example_of(2, pipe_packets=9.5).reduce(trace)


def test_a_distribution_rises_to_one():
    series = distribution(np.array([3.0, 1.0, 2.0, 2.0]))
    assert series.x.tolist() == [1, 2, 2, 3] and series.y.tolist() == [0.25, 0.5, 0.75, 1]


def reproduce(tmp_path, *options):
    """Run the command; its result, the parsed JSON and the page."""
    out = tmp_path / "out"
    json_file = out / "report.json"
    words = ["reproduce", "chan", *options, "--out", str(out)]
    result = CliRunner().invoke(app, words, env={"COLUMNS": "300"})
    assert result.exit_code == 0, result.output
    return result, json.loads(json_file.read_text()), (out / "index.html").read_text()


@pytest.mark.slow
def test_a_chart_is_a_picture_and_a_table(tmp_path):
    result, entries, page = reproduce(tmp_path, "--figure", "12", "--runs", "1")
    shown = [entry for entry in entries if entry.get("shows") == "(a) buffer of 10: throughput"]
    assert len(shown) == 5 * 4 and {entry["column"] for entry in shown} == {
        "Reno",
        "Reno+AR",
        "SACK",
        "SACK+AR",
    }
    slowest = min(shown, key=lambda entry: entry["measured"])
    assert (slowest["column"], slowest["row"]) == ("Reno", {"standard deviation of the rate, kbit/s": "75"})
    assert page.count("<img") == 1 and "Figure 12 (a) buffer of 10: throughput" in result.stdout


@pytest.mark.slow
def test_traces_are_drawn_and_need_no_values(tmp_path):
    _, entries, page = reproduce(tmp_path, "--figure", "4")
    assert entries == [] and page.count("<img") == 1 and "Not finished" not in page


@pytest.mark.slow
def test_the_imitated_live_system_has_the_published_pings_and_download(tmp_path):
    _, entries, _ = reproduce(tmp_path, "--figure", "2", "--figure", "3", "--runs", "3")
    known = {entry["id"]: entry for entry in entries}
    calibrated = {name for name, entry in known.items() if entry["verdict"] == "calibrated"}
    assert calibrated == {"chan-f2-75", "chan-f2-3"}
    assert known["chan-f3-50ms"]["measured"] > 5 and known["chan-f3-rtt"]["measured"] > 3


@pytest.mark.slow
def test_what_follows_from_printed_values_is_not_replicated(tmp_path):
    result, entries, page = reproduce(tmp_path, "--table", "2", "--runs", "2")
    model = next(entry for entry in entries if entry.get("id") == "chan-t2-4-model3")
    assert (model["runs"], model["ci_low"], model["verdict"]) == (1, None, "reproduced")
    assert "Table 2 The models fed with the loss events of our own runs" in result.stdout
    # Amounts of different units have no picture in common.
    assert "<img" not in page


def measured_in(entries, shows, row, column):
    """A mean of a study's table."""
    found = [e for e in entries if (e["shows"], [*e["row"].values()], e["column"]) == (shows, [row], column)]
    (entry,) = found
    return entry["measured"]


@pytest.mark.slow
def test_as_printed_the_regulator_stops_without_the_idle_release(tmp_path):
    _, entries, _ = reproduce(tmp_path, "--study", "1", "--runs", "1")
    forms = {"no regulator", "working", "working, no idle release", "literal"}
    kbps = {name: measured_in(entries, "throughput", "4", name) for name in forms}
    stopped = measured_in(entries, "throughput", "4", "literal, no idle release")
    assert stopped < kbps["no regulator"] < kbps["literal"] < kbps["working"]
    assert kbps["working"] == pytest.approx(kbps["working, no idle release"], rel=0.001)


@pytest.mark.slow
def test_an_encrypted_flow_is_not_regulated(tmp_path):
    _, entries, _ = reproduce(tmp_path, "--study", "8", "--runs", "1")
    for flow in ("Reno", "SACK"):
        unread, none, read = (
            measured_in(entries, "throughput", flow, column)
            for column in ("regulator, encrypted", "no regulator", "regulator")
        )
        assert unread == none < read


def test_a_cell_may_have_a_number_of_runs_of_its_own():
    full, quick = Effort.of(quick=False, runs=None), Effort.of(quick=True, runs=None)
    assert (full.rule_for(10, 10).min_runs, full.rule_for(10, 10).max_runs) == (10, 10)
    assert quick.rule_for(10, 10).max_runs == 3 and quick.rule_for(3, 3).max_runs == 2
    assert full.rule_for(1).max_runs == 100 and quick.rule_for(1).max_runs == 5
    assert Effort.of(quick=False, runs=7).rule_for(10, 10).max_runs == 7
