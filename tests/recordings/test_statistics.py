"""Statistics of links, by links whose statistics are known."""

from __future__ import annotations

import json

import numpy as np
import pytest
from conftest import check_error

from airpath.recordings.offered import record
from airpath.recordings.recording import Recording, Series
from airpath.recordings.statistics import describe, describe_counts
from airpath.scenario import load


def test_silences_and_bursts_are_counted():
    # Each second: 400 ms with two opportunities each, then a silence; the last 60 s are one.
    second = np.concatenate([np.full(400, 2), np.zeros(600)])
    counts = np.concatenate([np.tile(second, 60), np.zeros(60_000)]).astype(np.int32)
    found = describe_counts(counts)
    assert found.duration_s == 120 and found.mean_mbps == pytest.approx(60 * 800 * 0.012 / 120)
    # 59 of 600 ms, and the last one of 60.6 s.
    assert (found.silences_per_min, found.outages_per_min, found.long_outages_per_min) == (30, 30, 0.5)
    assert found.longest_ms == 60_601
    assert (found.busy_percent, found.packets_per_ms) == (20, 2)
    assert found.silent_percent == pytest.approx(100 * (59 * 601 + 60_601) / 120_000)


def test_variation_is_by_bins_and_correlation_by_time():
    rng = np.random.default_rng(1)
    # 10 or 30 opportunities in each 100 ms, redrawn every 2 s.
    levels = np.repeat(rng.choice([10, 30], 3000), 20)
    counts = np.zeros((len(levels), 100), np.int32)
    counts[:, 0] = levels
    found = describe_counts(counts.ravel())
    assert found.cv_100ms == pytest.approx(0.5, abs=0.02)
    assert found.cv_1s == pytest.approx(0.5, abs=0.02)
    assert found.cv_10s == pytest.approx(0.5 / np.sqrt(5), abs=0.02)
    # The autocorrelation falls in a line over 2 s, below 1/e after 1.26 s; three standard errors of it,
    # 3/sqrt(3000), are 0.11 s of that line, and times are multiples of 0.1 s.
    assert found.correlation_s == pytest.approx(1.3, abs=0.2)
    # 200 blocks of 30 s, of 15 draws each.
    assert found.mean_error_percent == pytest.approx(100 * 0.5 / np.sqrt(3000), rel=0.25)


def test_a_series_tells_nothing_within_its_steps():
    found = describe(Recording("", "", series=Series(np.arange(60.0), np.tile([1000.0, 3000.0], 30), 60.0)))
    assert (found.mean_mbps, found.cv_1s, found.cv_10s) == (2, 0.5, 0)
    assert (found.cv_100ms, found.outages_per_min, found.packets_per_ms) == (None, None, None)


def test_both_legs_of_a_split_bearer_are_recorded():
    channels = [{"distribution": {"rate": {"constant": rate}}} for rate in ("3 Mbit/s", "1 Mbit/s")]
    cells = [
        {"name": name, "behind": "core", "radio": {"variable": {"downlink": {"channel": channel}}}}
        for name, channel in zip(("nr", "lte"), channels, strict=True)
    ]
    scenario = load("endc-drive").with_("handover", []).with_("cell", cells)
    assert describe(record(scenario, 20)).mean_mbps == pytest.approx(4, rel=0.01)


def test_a_scenario_is_recorded_by_keeping_its_link_busy():
    # umts-384 carries 384 kbit/s minus some 10 % of block errors.
    found = describe(record(load("umts-384"), 60))
    assert 0.3 < found.mean_mbps < 0.384
    # A channel of opportunities is recorded without a run.
    trace = load("variable-3g").with_(
        "radio.variable.downlink.channel", {"trace_file": {"trace": "2\n4\n6\n20\n"}}
    )
    assert describe(record(trace, 60)).mean_mbps == pytest.approx(4 * 0.6, rel=1e-3)


def test_describe_sets_recordings_and_scenarios_beside_each_other(tmp_path, airpath_command):
    file = tmp_path / "drive.ms"
    file.write_text("".join(f"{ms}\n" for ms in range(1, 20_001, 4)))
    outcome = airpath_command("describe", file, "umts-384", "evdo-walk", "--seconds", 20, "--json")
    own, umts, evdo = json.loads(outcome.out)
    assert own["mean_mbps"] == pytest.approx(3, rel=0.001) and own["what"].startswith("opportunities")
    assert umts["what"] == "a run that keeps the link busy" and evdo["duration_s"] == pytest.approx(
        60, abs=0.1
    )
    check_error(airpath_command("describe", "umts-385"), "umts-385", "no such recording", "airpath list")
    shown = airpath_command("describe", file, "evdo-walk").out
    assert "silences over 100 ms per minute" in shown
