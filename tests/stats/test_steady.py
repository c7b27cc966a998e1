"""Steady states: where a transient ends, batches that do not correlate, and what is too short for either."""

import math

import numpy as np
import pytest
from stochastic_models import autoregressive, normal, repetitions, settling, waiting_in_mm1

import airpath
from airpath.stats.batch_means import batch_means, mser5, steady_mean

RNG = np.random.default_rng(1)


def test_a_step_is_cut_off_where_it_ends():
    series = np.concatenate([np.full(50, 9.0), np.tile([1.0, 2.0, 3.0, 4.0, 5.0], 90)])
    assert mser5(series) == 50


def test_a_cut_falls_between_means_of_five():
    # Number 52 shares its five with 50 and 51, which belong to the transient.
    series = np.concatenate([np.full(52, 900.0), RNG.standard_normal(448)])
    assert mser5(series) == 55


def test_a_transient_that_fades_is_cut_where_the_noise_hides_it():
    cuts = [mser5(x) for x, _ in repetitions(settling, 2000, 200, 1)]
    # 10 exp(-t / 50) is below the noise's standard deviation, 1.15, after 108, and a tenth of it after 223.
    assert 108 < np.median(cuts) < 400


def test_nothing_is_cut_off_a_series_without_a_transient():
    cuts = [mser5(x) for x, _ in repetitions(normal, 2000, 200, 2)]
    assert np.median(cuts) <= 50


def test_what_is_constant_after_a_transient_loses_no_more_than_that():
    assert mser5([0.1] * 100) == 0
    assert mser5([1.0] * 25 + [0.1] * 200) == 25


@pytest.mark.parametrize("series", [np.arange(500.0), [0.0] * 300 + [1.0] * 200])
def test_a_series_that_has_not_settled_is_refused(series):
    with pytest.raises(airpath.RunTooShortError, match=r"would cut \d+ of 500 .* not settled; run longer"):
        mser5(series)


def test_chance_at_the_end_of_a_series_is_not_taken_for_a_steady_state():
    refused = 0
    for x, _ in repetitions(normal, 500, 1000, 3):
        try:
            mser5(x)
        except airpath.RunTooShortError:
            refused += 1
    assert refused < 5


def test_independent_observations_stay_in_small_batches():
    known = batch_means(RNG.standard_normal(1000))
    assert known.batch_size == 1 and known.batches == 1000
    assert abs(known.correlation) < 0.1


def test_batches_outgrow_the_correlation():
    sizes = {
        phi: np.median([batch_means(x).batch_size for x, _ in repetitions(autoregressive(phi), 5000, 100, 4)])
        for phi in (0.5, 0.9)
    }
    # Correlations reach back 1 / (1 - phi) observations.
    assert sizes[0.5] >= 8 and sizes[0.9] >= 32


def test_the_interval_is_as_wide_as_theory_has_it():
    # The variance of the mean of AR(1) is 1 / (1 - phi)^2 / n; 1.96 standard errors.
    widths = [batch_means(x).half_width for x, _ in repetitions(autoregressive(0.9), 5000, 200, 5)]
    assert np.mean(widths) == pytest.approx(1.96 * 10 / math.sqrt(5000), rel=0.12)


def test_all_but_a_part_of_a_batch_is_used_and_that_part_is_the_first():
    series = np.concatenate([[1e6], RNG.standard_normal(2049)])
    known = batch_means(series)
    assert (known.observations, known.batches, known.batch_size) == (2050, 683, 3)
    assert abs(known.mean) < 1


def test_a_skewed_series_has_more_room_above_its_mean():
    # Zero mostly, and high now and then: what was not seen lies above.
    known = batch_means(waiting_in_mm1(0.5)(np.random.default_rng(6), 1, 5000)[0][0])
    assert known.ci_high - known.mean > known.mean - known.ci_low


def test_what_alternates_has_a_narrower_interval_than_its_spread_tells():
    alternating = np.tile([0.0, 10.0], 500) + RNG.standard_normal(1000)
    known = batch_means(alternating)
    assert known.ci_low < 5 < known.ci_high
    assert known.half_width < 0.3 * 1.96 * 5 / math.sqrt(1000)


def test_a_constant_series_has_an_interval_of_no_width():
    known = steady_mean([4.0] * 200)
    assert (known.mean, known.half_width, known.is_long_enough) == (4, 0, True)


def test_a_higher_level_has_a_wider_interval():
    series = RNG.standard_normal(500)
    assert batch_means(series, 0.99).half_width > 1.2 * batch_means(series, 0.95).half_width


def test_a_run_that_is_too_short_says_so_and_a_longer_one_does_not():
    slow = autoregressive(0.99)
    short = [batch_means(x) for x, _ in repetitions(slow, 1000, 100, 7)]
    long = [batch_means(x) for x, _ in repetitions(slow, 50_000, 100, 7)]
    assert sum(not one.is_long_enough for one in short) > 95
    assert sum(one.is_long_enough for one in long) > 90
    worst = min(short, key=lambda one: one.independent_batches)
    assert worst.remark.startswith("the run is too short: what was kept is worth")
    assert "16 are needed" in worst.remark and "times as long" in worst.remark


@pytest.mark.parametrize("estimator", [mser5, batch_means, steady_mean])
@pytest.mark.parametrize(
    ("series", "says"),
    [
        ([1.0] * 7, "7 observations, and must have"),
        ([], "0 observations"),
        ([1.0] * 80 + [math.nan] + [1.0] * 19, "observation 80 of the series is nan"),
        ([math.inf] + [1.0] * 99, "observation 0 of the series is inf"),
        ([[1.0] * 50] * 2, r"one row of numbers, and this has the shape \(2, 50\)"),
    ],
)
def test_a_series_that_cannot_be_used_is_refused(estimator, series, says):
    with pytest.raises(ValueError, match=says):
        estimator(series)


@pytest.mark.parametrize("confidence", [0, 1, -0.5, 95, math.nan])
def test_a_confidence_that_is_none_is_refused(confidence):
    for estimator in (batch_means, steady_mean):
        with pytest.raises(ValueError, match=r"must lie between 0 and 1, such as 0\.95"):
            estimator([1.0] * 100, confidence)
    with pytest.raises(ValueError, match="must lie between 0 and 1"):
        airpath.steady("umts-384", confidence=confidence)


LONG = airpath.load("chan-variable-rate").with_("duration", "900 s")


def test_a_long_run_agrees_with_replications():
    one_run = airpath.steady(LONG, "goodput_bps")
    runs = airpath.replicate(LONG, "goodput_bps", min_runs=20, max_runs=20)
    assert one_run.is_long_enough
    assert abs(one_run.mean - runs.mean) < 2 * (one_run.half_width + runs.half_width)
    # 20 runs have 20 times the data of one.
    assert 2 < one_run.half_width / runs.half_width < 9


def test_a_run_that_was_made_is_as_good_as_a_scenario():
    result = airpath.run(LONG, seed=3, probes=("tcp_state",))
    assert airpath.steady(result) == airpath.steady(LONG, seed=3)


def test_goodput_adds_up_to_what_the_run_acknowledged():
    result = airpath.run(LONG, probes=("tcp_state",))
    whole = airpath.steady(result, lambda run: series_of(run, 1.0))
    assert whole == airpath.steady(result)
    assert series_of(result, 1.0).sum() / 8 == pytest.approx(result.flows[0]["bytes_acked"], rel=1e-9)


def series_of(result, window_s):
    state = result.trace["tcp_state"]
    time_s = np.append(state["time_s"], 900.0)
    return airpath.runs.series.goodput_series(
        time_s, np.append(state["snd_una"], state["snd_una"][-1]), window_s
    )[1]


def test_a_flow_that_stalls_has_windows_without_goodput_to_the_end():
    # The file is through after half of the run, and then nothing is a steady state; the flow itself ended.
    file = airpath.load("umts-384").with_("duration", "600 s").with_("flow", "[{ app.file.size = '5 MB' }]")
    result = airpath.run(file, probes=("tcp_state",))
    known = airpath.steady(result)
    assert known.observations + known.truncated == int(result.flows[0]["transfer_s"])


def test_round_trip_times_and_delays_are_series_too():
    result = airpath.run(LONG)
    rtt_ms = result.trace["rtt_sample"]["rtt_us"] / 1000
    known = airpath.steady(result, "rtt_ms")
    assert known.observations + known.truncated == len(rtt_ms)
    assert known.ci_low < rtt_ms.mean() < known.ci_high
    delay = airpath.steady(result, "delay_ms")
    assert 0 < delay.mean < known.mean


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"metric": "goodput"}, "there is no series 'goodput': choose from goodput_bps, rtt_ms, delay_ms"),
        ({"flow": 1}, "flow is 1, and must be a whole number below 1"),
        ({"window_s": 0}, "window_s is 0, and must be a time above 0"),
        ({"window_s": math.nan}, "window_s is nan"),
        ({"window_s": 100}, "9 observations, and must have 100 at least"),
        ({"metric": "rtt_ms"}, "'rtt_ms' needs events 'rtt_sample' in the trace, and the run recorded none"),
    ],
)
def test_what_a_run_cannot_give_is_refused(wrong, says):
    result = airpath.run(LONG, probes=("tcp_state",))
    with pytest.raises(ValueError, match=says):
        airpath.steady(result, **wrong)
