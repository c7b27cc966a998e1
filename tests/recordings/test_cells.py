"""Cells fitted to recordings: known parameters come back, and what is written runs and reacts to load."""

from __future__ import annotations

import json

import numpy as np
import pytest
from conftest import check_error

import airpath
from airpath.recordings import cells
from airpath.recordings.cells import (
    BANDS,
    CATEGORIES,
    MOST_SD_DB,
    NR_BANDS,
    Cell,
    Outages,
    features,
    fit_cell,
    outages_of,
    runs_of,
    surrogate,
    tables_of,
)
from airpath.recordings.statistics import binned, describe_counts

KNOWN = Cell("lte", "5 MHz", 12.0, 6.0, 5.0, 60.0, Outages(4.0, 0.5, 0.6, 0.5, 1.0))


def test_outages_of_a_known_cell_come_back():
    counts = np.ones(600_000, np.int32)
    starts = np.arange(10_000, 600_000, 30_000)
    for start, length in zip(starts, np.tile([800, 1000, 1250, 1000], 5), strict=True):
        counts[start : start + length] = 0
    found = outages_of(counts)
    assert found.per_minute == pytest.approx(2.0) and found.median_s == pytest.approx(1.0, rel=0.01)
    assert found.log_sd == pytest.approx(0.158, rel=0.02) and found.again == 0
    assert outages_of(np.ones(100_000, np.int32)) is None
    for start in range(20_000, 600_000, 60_000):
        counts[start : start + 400] = counts[start + 1000 : start + 1400] = 0
    found = outages_of(counts)
    # 20 and 20 outages, ten of which are followed by another after 600 ms.
    assert found.again == pytest.approx(0.25) and found.calm_s == pytest.approx(0.6, rel=0.01)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("technology", "bands", "mean_db", "mean_bps"),
    [("lte", BANDS, 12.0, 5e6), ("hsdpa", CATEGORIES, 0.0, 5e6), ("nr", NR_BANDS, 12.0, 150e6)],
)
def test_a_surrogate_carries_what_the_cell_does(technology, bands, mean_db, mean_bps):
    tables = tables_of(technology, 2)
    for band in bands:
        # Without shadowing a short run has the mean; in the middle of the range of the SINR.
        cell = Cell(technology, band, mean_db, 0.0, 1.0, 60.0)
        said = surrogate([cell], tables, 600, np.random.default_rng(1)).mean() / 100
        assert said == pytest.approx(cell.record(20, 9, mean_bps)[1000:].mean(), rel=0.1), band


@pytest.mark.slow
def test_what_a_cell_cannot_carry_is_refused():
    with pytest.raises(ValueError, match=r"carries 12 Mbit/s, and lte at most \d$"):
        fit_cell(np.ones(60_000, np.int32), workers=2, band="1.4 MHz")


@pytest.mark.slow
def test_the_shadowing_of_a_corrected_cell_has_a_bound(monkeypatch):
    monkeypatch.setattr(cells, "CORRECTION_RUNS", 8)
    # Every third second carries three times what the band can: no shadowing varies so much.
    counts = np.tile(np.repeat([3, 0, 0], 1000), 20).astype(np.int32)
    wild = Cell("lte", "1.4 MHz", 12.0, MOST_SD_DB, 1.0, 60.0)
    assert cells._corrected(wild, counts, 2, lambda share: None).sd_db == MOST_SD_DB


@pytest.mark.slow
def test_a_surrogate_is_correlated_as_the_cell_is():
    cell = Cell("lte", "10 MHz", 14.0, 5.0, 3.0, 5.6)
    runs = [binned(cell.record(120, seed, 19e6), 100) for seed in range(1, 9)]
    own = np.mean([features(one[:, None])[:, 0] for one in runs], axis=0)
    said = features(surrogate([cell] * 60, tables_of("lte", 2), 1200, np.random.default_rng(1))).mean(axis=1)
    # Variation in 0.1 s and correlation after 0.3 s: over eight runs their errors are 0.03 and 0.02.
    assert said[1] == pytest.approx(own[1], abs=0.09)
    assert said[4] == pytest.approx(own[4], abs=0.06)


@pytest.mark.slow
def test_other_seeds_of_a_fitted_cell_have_the_mean_of_the_recording():
    # Slow shadowing: a run of a minute is hardly more than one sample of it.
    slow = Cell("lte", "5 MHz", 10.0, 8.0, 25.0, 60.0)
    counts = np.concatenate(runs_of(slow, 6e6, 2, 300, number=20, seconds=30))
    cell = fit_cell(counts, workers=2, band="5 MHz").cell
    found = [one[1000:].mean() for one in runs_of(cell, 6e6, 2, 1, number=320, seconds=5)]
    error = np.std(found) / np.mean(found) / np.sqrt(len(found))
    # The errors of both sets of runs, at three standard errors.
    assert np.mean(found) == pytest.approx(counts.mean(), rel=3 * np.sqrt(2) * error)
    assert error < 0.06


@pytest.mark.slow
def test_a_known_cell_comes_back_within_the_ranges():
    counts = KNOWN.record(900, 5, 6e6)
    fit = fit_cell(counts, workers=2, band="5 MHz")
    own, again = describe_counts(counts), describe_counts(fit.cell.record(900, 77, 6e6))
    # Over 900 s the mean of a shadowing of 5 s has an error of 6 %, and its variation one of 10 %.
    assert again.mean_mbps == pytest.approx(own.mean_mbps, rel=0.2)
    assert again.cv_1s == pytest.approx(own.cv_1s, rel=0.25)
    assert again.outages_per_min == pytest.approx(own.outages_per_min, rel=0.5)
    # 60 outages in episodes of two: four standard errors of their number, and of the median of their lengths.
    assert fit.cell.outages.per_minute == pytest.approx(4, rel=0.75)
    assert fit.cell.outages.median_s == pytest.approx(0.5, rel=0.45)
    for name, (low, high) in fit.ranges.items():
        assert low < getattr(KNOWN, name) < high, name


@pytest.mark.slow
def test_short_recordings_of_a_slow_cell_tell_its_decorrelation(monkeypatch):
    # Simulations correct the mean and the shadowing: the decorrelation is found before.
    monkeypatch.setattr(cells, "CORRECTIONS", 0)
    # Two minutes have 15 times the decorrelation time: estimates scatter, and the ranges say so.
    slow = Cell("lte", "10 MHz", 12.0, 6.0, 8.0, 60.0)
    fits = [fit_cell(slow.record(120, seed, 14e6), workers=2, band="10 MHz") for seed in (1, 2)]
    for fit in fits:
        low, high = fit.ranges["decorrelation_s"]
        assert low < 8 < high
    middle = np.exp(np.mean([np.log(fit.cell.decorrelation_s) for fit in fits]))
    # Two standard errors of a mean of two.
    assert abs(np.log(middle / 8)) < 2 * np.sqrt(2 * 8 / 120) / np.sqrt(2)


@pytest.mark.slow
def test_fit_writes_a_cell_that_reacts_to_load(tmp_path, airpath_command, monkeypatch):
    # Enough for a mean within a fifth.
    monkeypatch.setattr(cells, "CORRECTION_RUNS", 40)
    file = tmp_path / "walk.ms"
    counts = KNOWN.record(120, 3, 6e6)
    file.write_text("".join(f"{ms}\n" for ms in np.repeat(np.arange(len(counts)), counts)))
    out = tmp_path / "cell.toml"
    outcome = airpath_command("fit", file, "--as", "cell", "--out", out, "--no-transfers", "--json")
    assert outcome.code == 0, outcome.err
    said = json.loads(outcome.out)
    assert said["model"]["cell"]["technology"] == "lte"
    assert said["modelled"]["mean_mbps"] == pytest.approx(said["recorded"]["mean_mbps"], rel=0.2)
    alone = airpath.run(airpath.load(out), probes=()).flows[0]["goodput_bps"]
    shared = airpath.load(out).with_("radio.lte.downlink.load.mean", "60 %")
    assert airpath.run(shared, probes=()).flows[0]["goodput_bps"] < 0.6 * alone


def test_options_that_a_cell_does_not_have_are_refused(tmp_path, airpath_command):
    file = tmp_path / "x.ms"
    file.write_text("".join(f"{ms}\n" for ms in range(70_000)))
    for more, key in ((("--mean", "1 Mbit/s"), "--mean"), (("--uplink", file), "--uplink")):
        outcome = airpath_command("fit", file, "--as", "cell", "--out", tmp_path / "o.toml", *more)
        check_error(outcome, key, "does not go with --as cell", "--as process")
    outcome = airpath_command("fit", file, "--as", "cell", "--band", "7 MHz", "--out", tmp_path / "o.toml")
    check_error(outcome, "--band", "'7 MHz' is none of lte", "'10 MHz'")
    outcome = airpath_command("fit", file, "--band", "10 MHz", "--out", tmp_path / "o.toml")
    check_error(outcome, "--band", "is of a cell", "--as cell")
    outcome = airpath_command("fit", file, "--as", "cell", "--out", tmp_path / "o.json")
    check_error(outcome, "--out", "does not go with --as cell", "--as process")
