"""Intervals of 95 % cover the answer in 93 to 97 % of 2,000 repetitions, on models whose answer is known."""

import numpy as np
import pytest
from stochastic_models import (
    SERIES,
    autoregressive,
    exponential,
    mostly_the_same,
    normal,
    repetitions,
    sawtooth,
    sequential,
    settling,
    shifted,
    tailed,
)

from airpath.experiments.paired import paired
from airpath.stats.batch_means import batch_means, steady_mean
from airpath.stats.estimate import estimate
from airpath.stats.replication import Rule

REPETITIONS = 2000


def coverage(intervals_and_answers):
    covered = [known.ci_low <= answer <= known.ci_high for known, answer in intervals_and_answers]
    return sum(covered) / len(covered)


@pytest.mark.slow
@pytest.mark.parametrize(("draw", "n"), [(normal, 8), (normal, 30), (exponential, 100)])
def test_independent_runs(draw, n):
    assert 0.93 < coverage((estimate(x), mu) for x, mu in repetitions(draw, n, REPETITIONS, 1)) < 0.97


@pytest.mark.slow
@pytest.mark.parametrize("name", SERIES)
def test_batch_means(name):
    draw, n = SERIES[name]
    at_once = 10 if n == 100_000 else 100  # More would not fit into the caches.
    series = repetitions(draw, n, REPETITIONS, 1, at_once)
    assert 0.93 < coverage((batch_means(x), mu) for x, mu in series) < 0.97


@pytest.mark.slow
@pytest.mark.parametrize(
    ("draw", "n"), [(autoregressive(0.5), 180), (sawtooth(1000, 1.0), 600), (sawtooth(40, 0.3), 600)]
)
def test_a_short_or_slow_series_is_covered_or_flagged(draw, n):
    known = [(batch_means(x), mu) for x, mu in repetitions(draw, n, REPETITIONS, 8)]
    assert np.mean([bool(one.remark) or one.ci_low <= mu <= one.ci_high for one, mu in known]) > 0.93


@pytest.mark.slow
def test_batch_means_at_another_level():
    series = repetitions(autoregressive(0.5), 2000, REPETITIONS, 2)
    assert 0.78 < coverage((batch_means(x, 0.8), mu) for x, mu in series) < 0.83


@pytest.mark.slow
def test_taking_correlated_observations_for_independent_covers_far_less():
    series = repetitions(autoregressive(0.9), 500, REPETITIONS, 3)
    assert coverage((estimate(x), mu) for x, mu in series) < 0.5


@pytest.mark.slow
def test_a_transient_cut_off():
    assert (
        0.93 < coverage((steady_mean(x), mu) for x, mu in repetitions(settling, 2000, REPETITIONS, 4)) < 0.97
    )


def test_a_transient_left_in_makes_wide_intervals_around_a_wrong_mean():
    series = [x for x, _ in repetitions(settling, 2000, 100, 4)]
    with_transient, without = [batch_means(x) for x in series], [steady_mean(x) for x in series]
    # 10 exp(-t / 50) adds up to 500, and 2000 observations share it, except for the few that fill no batch.
    assert 3.15 < np.mean([one.mean for one in with_transient]) < 3.25
    assert abs(np.mean([one.mean for one in without]) - 3) < 0.03
    wide, narrow = ([one.half_width for one in known] for known in (with_transient, without))
    assert np.mean(wide) > 3 * np.mean(narrow)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("draw", "precision"),
    [(shifted(10), 0.05), (shifted(5), 0.05), (exponential, 0.15)],
)
def test_runs_until_the_interval_is_narrow(draw, precision):
    rule = Rule.guarded(precision, max_runs=400)
    known = list(sequential(rule, draw, 5))
    assert 0.93 < coverage(known) < 0.97
    assert all(one.is_precise for one, _ in known)


@pytest.mark.slow
def test_few_runs_miss_the_tail_and_the_guard_waits_for_it():
    # 5 % of the runs take 10 % longer, as with a timeout at the end of a transfer.
    unguarded, guarded = Rule(0.05, min_runs=20), Rule.guarded(0.05)
    assert coverage(sequential(unguarded, tailed, 6)) < 0.85
    assert 0.93 < coverage(sequential(guarded, tailed, 6)) < 0.99


@pytest.mark.slow
def test_rare_events_are_waited_for():
    unguarded, guarded = Rule(0.05, max_runs=600), Rule.guarded(0.05, max_runs=600)
    assert coverage(sequential(unguarded, mostly_the_same, 6, 200)) < 0.5
    assert 0.91 < coverage(sequential(guarded, mostly_the_same, 6, 200)) < 0.98


def pairs(common, own, n=40):
    """Two variants with means 12 and 10 that share a part of what chance does."""
    rng = np.random.default_rng(7)
    for _ in range(REPETITIONS):
        shared = common * rng.standard_normal(n)
        yield 12 + shared + own * rng.standard_normal(n), 10 + shared + own * rng.standard_normal(n)


@pytest.mark.slow
def test_the_difference_of_pairs():
    known = [paired(estimate(a), estimate(b)) for a, b in pairs(2, 1)]
    assert 0.93 < coverage((one.difference, 2) for one in known) < 0.97
    assert 0.93 < coverage((one.relative, 0.2) for one in known) < 0.97
    # Var(a) + Var(b) = 2 (4 + 1), Var(a - b) = 2; correlation 4 / (4 + 1).
    assert np.mean([one.variance_ratio for one in known]) == pytest.approx(5, rel=0.1)
    assert np.mean([one.correlation for one in known]) == pytest.approx(0.8, rel=0.03)
