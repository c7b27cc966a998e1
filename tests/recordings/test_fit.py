"""Models fitted to recordings: known processes come back, and what is written runs."""

from __future__ import annotations

import json
import math
import re

import numpy as np
import pytest
from conftest import check_error

import airpath
from airpath.recordings.felt import Felt
from airpath.recordings.fitting import episodes_of, fit_process, group_means, nonnegative
from airpath.recordings.judged import compare_transfers, estimated, offered, process, statistics_of
from airpath.recordings.statistics import binned, describe_counts

KNOWN = {
    "counts": [float(count) for count in range(5, 45)],
    "time_constants_s": [1.0, 10.0],
    "weights": [0.3, 0.5],
    "outages": {"per_s": [0.2, 0.05, 0.02, 0.01], "episodes": [[[400, 0]], [[900, 0], [700, 9], [1200, 0]]]},
    "texture": [{"packets": [1.0, 1.0, 2.0, 4.0], "silences_ms": [1.0, 2.0, 5.0, 12.0]}],
}
SECONDS = 3000


@pytest.fixture(scope="module")
def recorded():
    return offered(KNOWN, 1, 1000 * SECONDS)


@pytest.fixture(scope="module")
def fitted(recorded):
    return fit_process(recorded)


@pytest.mark.slow
def test_known_parameters_come_back(fitted):
    assert np.mean(fitted["counts"]) == pytest.approx(24.5, rel=0.05)
    weights = dict(zip(fitted["time_constants_s"], fitted["weights"], strict=True))
    # Neighbouring time constants share a weight; little of it is lost.
    fast = sum(weight for tau, weight in weights.items() if 0.3 <= tau <= 3)
    slow = sum(weight for tau, weight in weights.items() if tau > 3)
    assert fast == pytest.approx(0.3, abs=0.12) and slow == pytest.approx(0.5, abs=0.12)
    hazards = fitted["outages"]["per_s"]
    # 0.2, 0.05, 0.02 and 0.01 over some 300, 600, 900 and 1200 s: 60, 30, 18 and 12 episodes.
    for hazard, known, episodes in zip(hazards, KNOWN["outages"]["per_s"], (60, 30, 18, 12), strict=True):
        assert abs(hazard / known - 1) < 4 / np.sqrt(episodes)
    silences = [ms for episode in fitted["outages"]["episodes"] for ms, packets in episode if packets == 0]
    assert min(silences) > 300 and 1000 < max(silences) < 2500


def test_statistics_of_the_model_are_those_of_the_recording(recorded, fitted):
    own, modelled = describe_counts(recorded), statistics_of(fitted, len(recorded), 4)
    for name, tolerance in (
        ("mean_mbps", 0.06),
        ("cv_100ms", 0.06),
        ("cv_1s", 0.08),
        ("cv_10s", 0.15),
        ("outages_per_min", 0.25),
        ("long_outages_per_min", 0.35),
        ("silent_percent", 0.25),
        ("busy_percent", 0.08),
        ("packets_per_ms", 0.08),
    ):
        assert getattr(modelled, name) == pytest.approx(getattr(own, name), rel=tolerance), name


@pytest.mark.slow
def test_transfers_over_the_model_are_those_over_the_recording(recorded, fitted):
    part = recorded[: 1000 * 600]
    for one in compare_transfers(part, lambda _: process(fitted), (("BBR", "CoDel"),)):
        if one.metric != "timeouts":
            assert abs(np.log(one.modelled.mean / one.recorded.mean)) < 0.35, one
            # The windows of the recording overlap, those of the model do not: 20 of either.
            assert one.recorded.n == 10 and one.modelled.n == 20
            assert all(known.ci_low < known.mean < known.ci_high for known in (one.recorded, one.modelled))


def test_the_interval_of_an_rtt_is_that_of_its_logarithm():
    felt = [Felt(1.0, 10.0, 10.0, 10.0, 0.0), Felt(1.0, 1000.0, 10.0, 10.0, 0.0)]
    known = estimated(felt, "rtt_p50")
    assert known.mean == pytest.approx(100)
    # Two values: Student's quantile is 12.706, and the standard error of the logarithms ln 10.
    assert math.log(known.ci_high / known.mean) == pytest.approx(12.706 * math.log(10), rel=1e-3)
    assert known.mean / known.ci_low == pytest.approx(known.ci_high / known.mean)
    # Every second of overlapping windows tells the scatter, all tell the mean.
    felt = [Felt(value, 1.0, 1.0, 1.0, value - 100) for value in (101.0, 109.0, 103.0, 109.0)]
    known = estimated(felt, "goodput", 2)
    assert (known.mean, known.n) == (105.5, 2)
    assert known.half_width == pytest.approx(12.706, rel=1e-3)
    # No count is below 0.
    known = estimated(felt, "timeouts", 2)
    assert (known.mean, known.ci_low) == (5.5, 0)
    assert known.ci_high == pytest.approx(5.5 + 12.706, rel=1e-3)


@pytest.mark.slow
def test_a_report_has_the_intervals_of_transfers(recorded, tmp_path, airpath_command):
    source, out = tmp_path / "drive.ms", tmp_path / "link.toml"
    source.write_text("".join(f"{time}\n" for time in np.repeat(np.arange(130_000), recorded[:130_000])))
    outcome = airpath_command("fit", source, "--out", out)
    (row,) = (line for line in outcome.out.splitlines() if "CUBIC over drop-tail  goodput" in line)
    assert re.search(r"\d ±  *\d|\[", row), row
    assert "± is half of the 95 % confidence interval" in outcome.out
    told = json.loads(airpath_command("fit", source, "--out", out, "--force", "--json").out)["transfers"]
    assert {"setup", "metric", "recorded", "recorded_ci", "modelled", "modelled_ci"} == set(told[0])
    assert told[0]["modelled_ci"][0] < told[0]["modelled"] < told[0]["modelled_ci"][1]


@pytest.mark.slow
def test_rare_packets_do_not_hide_the_correlation():
    # Three bins of four have one packet: their normal scores are in random order, and the counts are not.
    sparse = {"counts": [1.0] * 30 + [1.0, 2, 4, 8, 12, 16, 20, 24, 28, 32]}
    known = sparse | {"time_constants_s": [10.0], "weights": [0.9]}
    counts = offered(known, 2, 1000 * SECONDS)
    fitted = fit_process(counts)
    assert sum(fitted["weights"]) == pytest.approx(0.9, abs=0.07)
    own, modelled = describe_counts(counts), statistics_of(fitted, len(counts), 4)
    assert modelled.cv_1s == pytest.approx(own.cv_1s, rel=0.08)


@pytest.mark.slow
@pytest.mark.parametrize("pairing", [-0.8, 0.0, 0.6])
def test_the_order_of_bursts_comes_back(pairing):
    texture = {"packets": [1.0, 1.0, 2.0, 4.0], "silences_ms": [1.0, 2.0, 5.0, 12.0], "pairing": pairing}
    counts = offered({"counts": [30.0], "texture": [texture]}, 1, 300_000)
    found = [one["pairing"] for one in fit_process(counts)["texture"]]
    assert np.mean(found) == pytest.approx(pairing, abs=0.2)
    # What decides: how much half a bin carries.
    again = offered(fit_process(counts), 2, 300_000)
    assert again.reshape(-1, 50).sum(axis=1).std() == pytest.approx(
        counts.reshape(-1, 50).sum(axis=1).std(), rel=0.1
    )


def test_outages_less_than_three_seconds_apart_are_one_episode():
    counts = np.zeros(20_000, np.int32)
    counts[[0, 100, 500, 600, 700, 1300, 5000, 5001, 19_999]] = 1
    # 100-500 and 700-1300 are 200 ms apart, 1300-5000 follows at once; 5001-19999 follows after 1 ms.
    (episode,) = episodes_of(counts)
    assert (episode.start_ms, episode.end_ms) == (101, 19_999)
    assert episode.pieces == [(399, 0), (201, 3), (599, 0), (1, 1), (3699, 0), (2, 2), (14_997, 0)]


def test_means_of_groups_keep_the_mean():
    values = np.random.default_rng(1).exponential(7, 1237)
    means = group_means(values, 200)
    assert len(means) == 200 and means.mean() == pytest.approx(values.mean())
    assert (np.diff(means) >= 0).all()


@pytest.mark.slow
def test_two_directions_tell_what_they_share():
    shared = KNOWN | {"shared": [0.0, 0.8], "outages": KNOWN["outages"] | {"shared": 0.9}}
    down, up = offered(shared, 3, 1000 * SECONDS), offered(shared, 3, 1000 * SECONDS, is_uplink=True)
    model = fit_process(down, up)
    slow = [
        share for tau, share in zip(model["time_constants_s"], model["shared"], strict=True) if 3 < tau <= 30
    ]
    assert max(slow) > 0.5
    # The fit finds most of the correlation: a direction's own noise hides a part of the common component.
    back = fit_process(up, down)

    def correlation(one: np.ndarray, other: np.ndarray) -> float:
        return float(np.corrcoef(binned(one, 3000), binned(other, 3000))[0, 1])

    modelled = [
        correlation(offered(model, seed, len(down)), offered(back, seed, len(up), is_uplink=True))
        for seed in (5, 6, 7)
    ]
    assert 0.6 < np.mean(modelled) / correlation(down, up) < 1.2
    assert model["outages"]["shared"] == pytest.approx(0.9, abs=0.2)
    alone = fit_process(down, offered(KNOWN, 4, 1000 * SECONDS, is_uplink=True))
    assert alone["outages"]["shared"] < 0.2


@pytest.mark.slow
def test_what_is_written_runs_and_gives_the_same_bytes_again(recorded, tmp_path, airpath_command):
    source, out, model = tmp_path / "drive.ms", tmp_path / "drive.toml", tmp_path / "drive.json"
    times = np.repeat(np.arange(120_000), recorded[:120_000])
    source.write_text("".join(f"{time}\n" for time in times))
    outcome = airpath_command("fit", source, "--out", out, "--json")
    said = json.loads(outcome.out)
    assert said["recorded"]["mean_mbps"] == pytest.approx(
        describe_counts(recorded[:120_000]).mean_mbps, rel=0.01
    )
    assert len(said["transfers"]) == 10
    assert "120 s are short" in said["warnings"][0]
    first = out.read_bytes()
    assert b"\n# ASSUMED: delays and queues" in first
    assert airpath_command("fit", source, "--out", out, "--no-transfers", "--force").code == 0
    assert out.read_bytes() == first
    one, other, again = (airpath.run(airpath.load(out), seed).summary["flows"] for seed in (1, 2, 1))
    assert one == again and one != other
    # A model in a file is the same link.
    assert airpath_command("fit", source, "--out", model, "--no-transfers").code == 0
    changed = airpath.load(out).with_("radio.variable.downlink.channel", {"process": {"file": str(model)}})
    assert airpath.run(changed, 1).summary["flows"] == one


@pytest.mark.slow
def test_mean_scales_what_is_written(recorded, tmp_path, airpath_command, monkeypatch):
    source, out = tmp_path / "drive.ms", tmp_path / "fast.toml"
    source.write_text("".join(f"{time}\n" for time in np.repeat(np.arange(120_000), recorded[:120_000])))
    assert airpath_command("fit", source, "--out", out, "--no-transfers", "--mean", "20 Mbit/s").code == 0
    told = json.loads(airpath_command("describe", out, "--seconds", 2000, "--json").out)
    assert told[0]["mean_mbps"] == pytest.approx(20, rel=0.15)
    monkeypatch.setattr(
        "airpath.cli.fit.compare_transfers", None
    )  # Before the transfers, which take a minute.
    wrong = airpath_command("fit", source, "--out", tmp_path / "w.toml", "--mean", "fast")
    check_error(wrong, "--mean", "not a bit rate", "kbit/s")
    wrong = airpath_command("fit", source, "--out", tmp_path / "w.JSON", "--mean", "8 Mbit/s")
    check_error(wrong, "--mean", "is of a scenario", "channel.process.mean")


def test_the_rtt_of_an_idle_path_is_the_measured_one(tmp_path, airpath_command):
    source, out, meta = tmp_path / "down.ms", tmp_path / "link.toml", tmp_path / "meta.json"
    source.write_text("".join(f"{ms}\n" for ms in range(0, 70_000, 3)))

    def idle_rtt_ms(*options):
        fit = airpath_command("fit", source, "--out", out, "--no-transfers", "--force", *options)
        assert fit.code == 0, fit.err
        # A small file: its handshake finds the path idle.
        small = airpath.load(out).with_("flow", [{"app": {"file": {"size": "1 kB"}}}])
        return float(airpath.run(small, probes=["rtt_sample"]).trace["rtt_sample"]["rtt_us"].min()) / 1e3

    own = {"recorded_by": "airpath record", "least_rtt_ms": 80.0}
    for written, options, expected in (
        (None, (), 34),
        (own, (), 80),
        (own, ("--rtt", 5), 5),
        ({"least_rtt_ms": 80.0}, (), 34),
        ({**own, "least_rtt_ms": math.nan}, (), 34),
        ([own], (), 34),
    ):
        if written is not None:
            meta.write_text(json.dumps(written))
        # An opportunity comes every 3 ms.
        assert expected <= idle_rtt_ms(*options) <= expected + 4, (written, options)
    for options, cause in ((("--as", "cell"), "does not go with"), ((), "is of a scenario")):
        wrong = airpath_command("fit", source, "--out", tmp_path / "x.json", "--rtt", 5, *options)
        check_error(wrong, "--rtt", cause, "remove it")


def test_a_recording_that_is_too_short_is_refused(tmp_path, airpath_command):
    short, silent = tmp_path / "short.ms", tmp_path / "silent.ms"
    short.write_text("".join(f"{ms}\n" for ms in range(30_000)))
    silent.write_text("".join(f"{ms}\n" for ms in range(0, 100_000, 400)))
    for source, key, cause in (
        (short, "RECORDING", "too short to fit"),
        (silent, str(silent), "outside outages"),
    ):
        check_error(airpath_command("fit", source, "--out", tmp_path / "x.toml"), key, cause, "")
    nothing = tmp_path / "nothing.csv"
    nothing.write_text("time_s,rate_kbps\n0,0\n100,0\n")
    outcome = airpath_command("fit", nothing, "--out", tmp_path / "x.toml")
    check_error(outcome, "RECORDING", "counts: the mean rate is 0 bit/s", "--from")
    outcome = airpath_command("fit", short, "--to", 70, "--out", tmp_path / "x.toml")
    check_error(outcome, "--to", "ends at 30.0 s", "earlier")


def test_the_name_of_a_recording_is_a_comment_whatever_it_is(recorded, tmp_path, airpath_command):
    source, out = tmp_path / "a\nduration = 3", tmp_path / "link.toml"
    source.write_text("".join(f"{time}\n" for time in np.repeat(np.arange(70_000), recorded[:70_000])))
    assert airpath_command("fit", source, "--out", out, "--no-transfers").code == 0
    assert "fitted to a\\nduration = 3, 70 s" in out.read_text()


@pytest.mark.slow
def test_a_short_uplink_is_said_to_share_nothing(recorded, tmp_path, airpath_command):
    down, up = tmp_path / "down.ms", tmp_path / "up.ms"
    for file, length in ((down, 140_000), (up, 65_000)):
        file.write_text("".join(f"{time}\n" for time in np.repeat(np.arange(length), recorded[:length])))
    outcome = airpath_command("fit", down, "--uplink", up, "--out", tmp_path / "x.toml", "--no-transfers")
    assert outcome.code == 0
    assert "up.ms is shorter than half of down.ms: what both share is not fitted" in outcome.out


@pytest.mark.slow
def test_weights_of_at_least_zero_are_scipys():
    from scipy.optimize import nnls

    random = np.random.default_rng(1)
    for columns in (random.normal(size=(60, 8)), random.normal(size=(60, 8)).cumsum(axis=1)):
        for target in random.normal(size=(20, 60)) + columns.sum(axis=1):
            assert nonnegative(columns, target) == pytest.approx(nnls(columns, target)[0], abs=1e-10)
