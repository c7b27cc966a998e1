"""Replications: intervals, the stopping rule, and the same estimate for any number of workers."""

import math
import random
import re
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

import airpath
from airpath.runner.threads import run_here
from airpath.stats.estimate import estimate, exact, sample_skewness
from airpath.stats.replication import Replication, Rule

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
    run_here([replication], lambda _job, seed: noise(seed), workers)
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


@pytest.mark.slow
def test_the_interval_covers_the_expected_value_19_times_in_20():
    estimates = [
        replicate_noise(Rule.exactly(8), noise=lambda s, r=r: noise(1000 * r + s)) for r in range(400)
    ]
    covered = sum(e.ci_low <= 100 <= e.ci_high for e in estimates)
    # Of so few runs the union of two intervals covers some more.
    assert 0.93 < covered / 400 < 0.99


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
    run_here([replication], lambda _job, seed: seed)
    assert replication.runs == 10


def test_several_scenarios_run_side_by_side_give_what_each_gives_alone():
    rules = [Rule(), Rule.exactly(3), Rule(precision=0.1, first_seed=50)]
    jobs = [Replication(lambda value: value, rule) for rule in rules]
    run_here(jobs, lambda _job, seed: noise(seed), workers=4)
    assert [job.estimate() for job in jobs] == [replicate_noise(rule) for rule in rules]


def test_the_expected_number_of_runs_comes_true():
    replication = Replication(lambda value: value, Rule(precision=0.03))
    expected = []
    run_here(
        [replication],
        lambda _job, seed: noise(seed),
        1,
        lambda _: expected.append(replication.expected_runs()),
    )
    assert expected[0] == 5
    assert expected[-1] == replication.runs
    assert 0.5 < expected[-6] / replication.runs < 2


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"precision": 0}, "precision is 0, and must be above 0, such as 0.05 for 5 %"),
        ({"precision": -0.05}, "precision is -0.05"),
        ({"precision": math.nan}, "precision is nan"),
        ({"confidence": 0}, "confidence is 0, and must lie between 0 and 1"),
        ({"confidence": 1}, "confidence is 1"),
        ({"min_runs": 0}, "min_runs is 0 and max_runs 100: write 1 or more"),
        ({"min_runs": 9, "max_runs": 8}, "max_runs no smaller than min_runs"),
        ({"looks": 0}, "no sensible stopping rule"),
        ({"equal_runs": 1}, "no sensible stopping rule"),
    ],
)
def test_a_rule_that_makes_no_sense_is_refused(wrong, says):
    with pytest.raises(ValueError, match=re.escape(says)):
        Rule(**wrong)


def test_the_papers_runs_stop_as_they_always_did():
    # Published figures rest on these numbers of runs.
    assert Rule() == Rule(0.02, 5, 100, 1, 5, 0.95, looks=1, equal_runs=2, doubts_rare_values=False)
    ends = [replicate_noise(Rule(precision), noise=noise).n for precision in (0.02, 0.05, 0.1, 0.2)]
    assert ends == [100, 75, 25, 10]


def test_a_guarded_rule_wants_two_narrow_intervals_in_a_row():
    rule = Rule.guarded(0.03)
    found = replicate_noise(rule)
    assert rule.looks == 2 and (found.n - rule.min_runs) % rule.batch == 0
    now, before, at_first = (estimate(found.values[:n]) for n in (found.n, found.n - 10, found.n - 20))
    assert now.half_width <= 0.03 * now.mean and before.half_width <= 0.03 * before.mean
    assert at_first.half_width > 0.03 * at_first.mean


def test_a_narrow_interval_between_wide_ones_is_taken_for_luck():
    # Narrow after 20 runs, wide after 30.
    values = [100, 101] * 10 + [50, 150] * 5 + [100, 101] * 200
    found = replicate_noise(Rule.guarded(0.05, min_runs=20), noise=lambda seed: values[seed - 1])
    assert found.n > 40
    assert replicate_noise(Rule(0.05, 20), noise=lambda seed: values[seed - 1]).n == 20


def test_a_skewed_interval_reaches_further_on_the_side_of_the_tail():
    # Mean 2, variance 5, standard error 1; third moment 5 / 12 * 60, so skewness 5 / 12 * 60 / 5^1.5 = 5^0.5.
    skewed = estimate([1, 1, 1, 1, 6])
    # Willink's (2005) G with a = 5^0.5 / (6 * 5^0.5) = 1/6 and t = 2.7764 is
    # ((1 - 2.7764 - 1/6)^(1/3) - 1) * 3 = -6.743.
    assert skewed.ci_high - 2 == pytest.approx(6.743, rel=1e-3)
    assert 2 - skewed.ci_low == pytest.approx(2.776, rel=1e-3)
    mirrored = estimate([-1, -1, -1, -1, -6])
    assert (mirrored.ci_low, mirrored.ci_high) == pytest.approx((-skewed.ci_high, -skewed.ci_low))


def test_an_estimate_says_where_it_rests_on_few_runs():
    assert estimate([1, 2, 3, 4, 5]).remark == ""
    assert estimate([7]).remark == "" and exact(7).remark == ""
    # 1 - 0.05^(1/60) = 0.0487.
    assert estimate([0] * 60).remark == "equal in all 60 runs: up to 4.9 % of all runs may have other values"
    # With k of n values far off the squared skewness is about n / k: two are too few, ten are enough.
    noise = [random.Random(1).gauss(100, 1) for _ in range(100)]
    assert "few of 102 runs make most of the spread" in estimate([*noise, 300, 310]).remark
    assert estimate([*noise, *range(300, 400, 10)]).remark == ""


def test_a_metric_of_which_two_runs_make_the_spread_is_not_known_yet():
    def noise_and(large):
        return lambda seed: 1000.0 + seed % 7 + (300 if seed in large else 0)

    narrow = Rule.guarded(0.05)
    assert replicate_noise(narrow, noise=noise_and(())).n == 130
    few = replicate_noise(narrow, noise=noise_and((50, 100)))
    assert few.n == narrow.max_runs and few.is_precise is False
    # Five of 160 runs are enough: looks are at 150 runs and at 160.
    assert replicate_noise(narrow, noise=noise_and(range(50, 1000, 25))).n == 160


def test_a_count_that_was_equal_in_all_runs_may_be_another_in_those_not_made():
    replication = Replication(lambda outcome: 0.0, Rule.guarded(0.05))
    run_here([replication], lambda _job, seed: seed)
    known = replication.estimate()
    # Clopper and Pearson: 1 - 0.05^(1/130).
    assert (known.mean, known.ci_low, known.n, known.is_precise) == (0, 0, 130, True)
    assert known.ci_high == pytest.approx(0.02278, rel=1e-3)


@pytest.mark.parametrize(("max_runs", "least"), [(1000, 120), (12, 12), (1, 1)])
def test_the_fewest_runs_are_no_more_than_the_most(max_runs, least):
    assert Rule.guarded(max_runs=max_runs).min_runs == least


def test_a_metric_that_never_varied_is_doubted_for_a_while():
    # 0.98^149 is the first below 5 %: looks are at 150 runs and at 160.
    def constant(rule):
        replication = Replication(lambda outcome: 7.0, rule)
        run_here([replication], lambda _job, seed: seed)
        return replication

    assert constant(Rule.guarded(0.02)).runs == 160
    assert constant(Rule(0.05)).runs == 5
    given_up = constant(Rule.guarded(0.05, max_runs=30))
    assert given_up.runs == 30 and given_up.estimate().is_precise is False


def test_an_estimate_knows_whether_it_is_as_precise_as_was_asked():
    assert replicate_noise(Rule(0.05)).is_precise is True
    assert replicate_noise(Rule(1e-9, max_runs=23)).is_precise is False
    assert replicate_noise(Rule.exactly(23)).is_precise is None
    assert replicate_noise(Rule.guarded(max_runs=1)).is_precise is False


def test_another_level_of_confidence_needs_other_numbers_of_runs():
    low, high = (replicate_noise(Rule.guarded(0.03, confidence)) for confidence in (0.8, 0.99))
    assert low.n < high.n
    assert (low.confidence, high.confidence) == (0.8, 0.99)
    assert high.half_width == pytest.approx(estimate(high.values, 0.99).half_width)
    # The 90 % quantile of Student's t with four degrees of freedom is 1.533.
    assert estimate([1, 2, 3, 4, 5], 0.8).half_width == pytest.approx(1.533 * math.sqrt(0.5), rel=1e-3)
    # A further run falls less far off with 80 % than with 95 %.
    narrow, wide = (estimate([1, 2, 3], level).prediction_interval() for level in (0.8, 0.95))
    assert narrow[1] < wide[1]


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


@pytest.mark.slow
def test_a_scenario_object_does_as_well_as_its_text():
    scenario = airpath.load("umts-384").with_("duration", "1 s")

    def goodput(results):
        return results["flows"][0]["goodput_bps"]

    assert airpath.replicate(scenario, goodput) == airpath.replicate(scenario.text, goodput)


def test_a_scenario_without_randomness_ends_with_the_fewest_runs():
    # Two equal runs may be coincidence if losses are rare.
    found = airpath.replicate(LOSSY.replace("10 %", "0 %"), transfer_s)
    assert (found.n, found.sd, found.is_precise) == (20, 0, True)


def test_a_scenario_that_is_not_valid_is_refused():
    with pytest.raises(airpath.ScenarioError):
        airpath.replicate('duration = "fast"', transfer_s)


def test_every_metric_decides_when_to_stop():
    known = airpath.replicate(LOSSY, ["transfer_s", "rtt_ms.mean"], precision=0.02)
    assert set(known) == {"transfer_s", "rtt_ms.mean"}
    assert all(one.is_precise and one.half_width <= 0.02 * one.mean for one in known.values())
    alone = [airpath.replicate(LOSSY, name, precision=0.02).n for name in known]
    assert {one.n for one in known.values()} == {max(alone)}


def test_metrics_have_the_names_they_are_given():
    known = airpath.replicate(LOSSY, {"time": transfer_s, "rate": "goodput_bps"}, max_runs=5)
    assert list(known) == ["time", "rate"]
    assert known["time"] == airpath.replicate(LOSSY, transfer_s, max_runs=5)
    assert known["rate"] == airpath.replicate(LOSSY, "goodput_bps", max_runs=5)


TWO_FLOWS = (
    LOSSY
    + """[[flow]]
[flow.app.file]
size = "10 kB"
"""
)


@pytest.mark.parametrize(
    ("name", "read"),
    [
        ("transfer_s", lambda run: run["flows"][0]["transfer_s"]),
        ("flows.1.transfer_s", lambda run: run["flows"][1]["transfer_s"]),
        ("flows.*.transfer_s", lambda run: statistics.fmean(flow["transfer_s"] for flow in run["flows"])),
        ("rtt_ms.mean", lambda run: run["flows"][0]["rtt_ms"]["mean"]),
        (
            "elements.1.ues.0.downlink.pdus_lost",
            lambda r: r["elements"][1]["ues"][0]["downlink"]["pdus_lost"],
        ),
        ("simulated_s", lambda run: run["simulated_s"]),
    ],
)
def test_a_metric_by_its_name(name, read):
    by_name, by_hand = (airpath.replicate(TWO_FLOWS, metric, max_runs=3) for metric in (name, read))
    assert by_name.values == pytest.approx(by_hand.values)


@pytest.mark.parametrize(
    ("metrics", "says"),
    [
        ("goodput", "run with seed 1: metric 'goodput': results have no 'goodput' there; there is ue, flow"),
        ("flows.2.transfer_s", "results have no '2' there; there is * or a number below 1"),
        ("transfer_s.mean", "results have no 'mean' there; there is nothing below it"),
        ("app", "metric 'app' is no number"),
        ("rtt_ms", "metric 'rtt_ms' is no number"),
        ("", "'' names no metric: write keys of results.json, such as 'goodput_bps'"),
        ("flows..0", "names no metric"),
        ([], "no metrics: name at least one"),
        (lambda run: math.nan, "metric 'metric' is nan in the run with seed 1: it must be a finite number"),
        ({"late": lambda run: None}, "metric 'late' is None in the run with seed 1"),
    ],
)
def test_a_metric_that_is_not_there_is_refused(metrics, says):
    with pytest.raises(ValueError, match=re.escape(says)):
        airpath.replicate(LOSSY, metrics, max_runs=2, workers=1)


def test_a_transfer_that_did_not_end_has_no_time():
    with pytest.raises(
        ValueError, match="run with seed 1: metric 'transfer_s' is null: not measured, or not"
    ):
        airpath.replicate(LOSSY.replace("60 s", "200 ms"), "transfer_s", max_runs=2, workers=1)


def test_the_expected_number_of_runs_of_a_guarded_rule_comes_true():
    calls = []
    airpath.replicate(LOSSY, "transfer_s", precision=0.02, on_run=lambda *n: calls.append(n))
    assert [done for done, _ in calls] == list(range(1, len(calls) + 1))
    assert calls[-1] == (len(calls), len(calls))
    assert calls[0][1] == 120 and 0.5 < calls[25][1] / len(calls) < 2


@pytest.mark.parametrize("values", [[], [2.0], [2.0, 3.0], [2.0] * 5])
def test_few_or_equal_values_have_no_skewness(values):
    assert sample_skewness(values) == 0
