"""A cell of 1xEV-DO: what its results and summary tell, and which formats it has."""

from __future__ import annotations

import pytest
from conftest import check_error

import airpath
from airpath.report.run import run_report
from airpath.report.terminal import show
from airpath.runs import metrics

pytestmark = pytest.mark.usefixtures("undrawn")


def test_results_have_fairness_and_what_each_ue_asked_for():
    summary = airpath.run(airpath.load("hdr-4").with_("duration", "1 min"), probes=()).summary
    cell = summary["elements"][-1]
    assert cell["element"] == "radio.evdo"
    assert 0.25 < cell["jain_index"] <= 1
    assert 0.5 < cell["slots_busy_share"] < 1
    slots = 0
    for ue in range(4):
        counters = metrics.bearer(summary, ue, "downlink")
        assert counters is not None
        assert list(counters["drc"])[:2] == ["none", "38.4 kbit/s"]
        assert sum(counters["drc"].values()) == pytest.approx(1)
        assert counters["busy_s"] == pytest.approx(counters["slots_served"] / 600, abs=1e-8)
        # Between the ends of the uniform distribution of mean 75 ms and standard deviation 30 ms.
        assert 70 < counters["mean_delay_ms"] < 127
        slots += counters["slots_served"]
    assert slots / 36_000 == pytest.approx(cell["slots_busy_share"], abs=1e-3)


def test_the_summary_tells_slots_and_how_often_there_was_no_rate(capsys):
    summary = airpath.run(airpath.load("hdr-single").with_("duration", "1 min"), probes=()).summary
    show(run_report(summary, "hdr-single"))
    line = " ".join(capsys.readouterr().out.partition("UE 0 downlink bearer: ")[2].split())
    counters = metrics.bearer(summary, 0, "downlink")
    assert counters is not None
    assert f"; {counters['slots_served']} slots, no rate in {100 * counters['drc']['none']:.1f} %" in line


@pytest.mark.parametrize("format_", ["mm-link", "ns2"])
def test_formats_that_want_one_delay_are_refused(format_, tmp_path, airpath_command):
    folder = tmp_path / "run"
    assert airpath_command("run", "hdr-single", "--set", "duration=2 s", "--out", folder).code == 0
    outcome = airpath_command("export", folder, "--format", format_)
    check_error(outcome, str(folder), "the downlink delay of radio.evdo varies", "csv")
