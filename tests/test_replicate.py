"""Replications: intervals, the stopping rule, and the same estimate for any number of workers."""

import math
import random
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

import airpath
from airpath.replicate import Job, Replication, Rule, drive, estimate

LOSSY = """
duration = "60 s"
[radio.dch.downlink.rlc.fixed_delay_arq]
[radio.dch.downlink.channel.bernoulli]
bler = "10 %"
[[flow]]
[flow.app.file]
size = "20 kB"
"""


def transfer_s(results):
    return results["flows"][0]["transfer_s"]


def noise(seed):
    return random.Random(seed).gauss(100, 20)


def replicate_noise(rule, workers=1, noise=noise):
    replication = Replication(lambda value: value, rule)
    drive([Job(noise, replication)], workers)
    return replication.estimate()


def test_the_interval_is_students():
    five = estimate([1, 2, 3, 4, 5])
    assert five.mean == 3
    assert five.sd == pytest.approx(math.sqrt(2.5))
    # The 97.5 % quantile of Student's t with four degrees of freedom is 2.776.
    assert five.half_width == pytest.approx(2.776 * math.sqrt(2.5 / 5), rel=1e-3)
    assert (five.ci_low + five.ci_high) / 2 == pytest.approx(3)


def test_a_further_run_is_predicted_less_sharply_than_a_further_mean():
    five = estimate([1, 2, 3, 4, 5])
    low, high = five.prediction_interval()
    assert high - low == pytest.approx(2 * 2.776 * math.sqrt(2.5 * 1.2), rel=1e-3)
    many = five.prediction_interval(10**9)
    assert many == pytest.approx((five.ci_low, five.ci_high), rel=1e-3)


def test_one_run_has_no_interval():
    one = estimate([7])
    assert (one.mean, one.n) == (7, 1)
    assert math.isnan(one.half_width)
    assert all(math.isnan(bound) for bound in one.prediction_interval())


def test_equal_values_have_an_interval_of_no_width():
    same = estimate([0.1] * 10)
    assert (same.mean, same.sd, same.half_width) == (0.1, 0, 0)
    assert same.prediction_interval() == (0.1, 0.1)


@pytest.mark.parametrize("values", [[], [math.nan], [1, math.inf]])
def test_values_that_cannot_be_averaged_are_refused(values):
    with pytest.raises(ValueError):
        estimate(values)


def test_a_prediction_of_no_runs_is_refused():
    with pytest.raises(ValueError):
        estimate([1, 2]).prediction_interval(0)


@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=50))
def test_mean_and_interval_hold_the_values_together(values):
    known = estimate(values)
    assert known.mean == pytest.approx(statistics.fmean(values))
    assert known.ci_low <= known.mean <= known.ci_high
    low, high = known.prediction_interval()
    assert low <= known.ci_low and known.ci_high <= high


def test_the_interval_covers_the_expected_value_19_times_in_20():
    estimates = [
        replicate_noise(Rule.exactly(8), noise=lambda s, r=r: noise(1000 * r + s)) for r in range(400)
    ]
    covered = sum(e.ci_low <= 100 <= e.ci_high for e in estimates)
    assert 0.92 < covered / 400 < 0.98


@pytest.mark.parametrize("workers", [2, 3, 16])
def test_an_estimate_does_not_depend_on_the_number_of_workers(workers):
    assert replicate_noise(Rule(), workers) == replicate_noise(Rule(), 1)


def test_it_stops_at_the_first_fixed_number_of_runs_that_is_precise_enough():
    rule = Rule(precision=0.05)
    found = replicate_noise(rule)
    assert found.n > rule.min_runs and (found.n - rule.min_runs) % rule.batch == 0
    assert found.half_width <= 0.05 * found.mean
    before = estimate(found.values[: -rule.batch])
    assert before.half_width > 0.05 * before.mean


def test_it_never_makes_more_runs_than_allowed():
    assert replicate_noise(Rule(precision=1e-9, max_runs=23)).n == 23


@pytest.mark.parametrize("runs", [1, 2, 3, 12])
def test_it_makes_exactly_the_runs_asked_for(runs):
    found = replicate_noise(Rule.exactly(runs))
    assert found.values == tuple(noise(seed) for seed in range(1, runs + 1))


def test_what_is_deterministic_runs_twice():
    assert replicate_noise(Rule(), noise=lambda seed: 5.0).n == 2


def test_a_metric_that_happens_to_be_equal_twice_is_not_taken_for_deterministic():
    replication = Replication(lambda value: 3.0 if value < 3 else float(value), Rule(max_runs=10))
    drive([Job(lambda seed: seed, replication)])
    assert replication.runs == 10


def test_several_scenarios_run_side_by_side_give_what_each_gives_alone():
    rules = [Rule(), Rule.exactly(3), Rule(precision=0.1, first_seed=50)]
    jobs = [Job(noise, Replication(lambda value: value, rule)) for rule in rules]
    drive(jobs, workers=4)
    assert [job.replication.estimate() for job in jobs] == [replicate_noise(rule) for rule in rules]


def test_the_expected_number_of_runs_comes_true():
    replication = Replication(lambda value: value, Rule(precision=0.03))
    expected = []
    drive([Job(noise, replication)], 1, lambda _: expected.append(replication.expected_runs()))
    assert expected[0] == 5
    assert expected[-1] == replication.runs
    assert 0.5 < expected[-6] / replication.runs < 2


@pytest.mark.parametrize("wrong", [{"precision": 0}, {"min_runs": 0}, {"min_runs": 9, "max_runs": 8}])
def test_a_rule_that_makes_no_sense_is_refused(wrong):
    with pytest.raises(ValueError):
        Rule(**wrong)


def test_a_scenario_is_replicated_with_consecutive_seeds():
    calls = []
    found = airpath.replicate(
        LOSSY, transfer_s, min_runs=4, max_runs=4, first_seed=7, on_run=lambda *n: calls.append(n)
    )
    single = [
        airpath.replicate(LOSSY, transfer_s, min_runs=1, max_runs=1, first_seed=s) for s in range(7, 11)
    ]
    assert found.values == tuple(one.mean for one in single)
    assert calls == [(1, 4), (2, 4), (3, 4), (4, 4)]


def test_a_scenario_object_does_as_well_as_its_text():
    scenario = airpath.load("umts-384").with_("duration", "1 s")

    def goodput(results):
        return results["flows"][0]["goodput_bps"]

    assert airpath.replicate(scenario, goodput) == airpath.replicate(scenario.text, goodput)


def test_a_scenario_without_randomness_ends_with_the_fewest_runs():
    # Two equal runs may be luck where losses are rare.
    found = airpath.replicate(LOSSY.replace("10 %", "0 %"), transfer_s)
    assert (found.n, found.sd, found.is_precise) == (20, 0, True)


def test_a_scenario_that_is_not_valid_is_refused():
    with pytest.raises(airpath.ScenarioError):
        airpath.replicate('duration = "fast"', transfer_s)
