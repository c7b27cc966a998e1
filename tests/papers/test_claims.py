"""Claims: every one holds or is listed as not reproduced; the rules, at their boundaries."""

import math
import random

import docs_figures
import pytest
from conftest import CHANGED

from airpath.stats.estimate import estimate, t_quantile
from airpath_studies.base.cell import Cell
from airpath_studies.base.choices import Choice
from airpath_studies.base.claims import Claim, judge
from airpath_studies.base.conditions import (
    About,
    Agree,
    AtLeast,
    AtMost,
    Less,
    Never,
    NotLess,
    Positive,
    Spread,
    Tie,
    WithinPoints,
    between,
    rising,
)
from airpath_studies.base.quantity import Gain, Minus, Quantity, Times
from airpath_studies.jayanathan.claims import WINDOW_SEGMENTS
from airpath_studies.jayanathan.measured import peak_cached
from airpath_studies.papers import PAPERS
from airpath_studies.shared.downloads import FLOOR, increase

CLAIMS = {
    "lundsten": 48,
    "zhang": 9,
    "chan": 35,
    "alcaraz": 22,
    "jayanathan": 11,
    "extensions": 61,
    "atlas": 22,
}
ALL = [claim for paper in PAPERS.values() for claim in paper.claims]
CALIBRATED = {name for paper in PAPERS.values() for name in paper.calibrated}
DERIVED = {name for paper in PAPERS.values() for name in paper.derived}
LISTED = {name: reason for paper in PAPERS.values() for name, reason in paper.not_reproduced.items()}
OPEN = {
    *("alcaraz-c6", "alcaraz-c14", "atlas-c2", "atlas-c6"),
    *(f"extensions-c{number}" for number in (26, 46, 59)),
}
"""What nothing refutes, and the runs do not show beyond doubt: ties, and limits within the intervals."""


@pytest.mark.parametrize("claim", ALL, ids=lambda claim: claim.id)
def test_a_claim_holds_unless_it_is_listed_as_not_reproduced(claim):
    """By the committed figures: test_papers.py shows that their runs are today's."""
    kept = docs_figures.load()[claim.id.rpartition("-")[0]]["claims"][claim.id]
    assert kept["asks"] == docs_figures.asked_by(claim), CHANGED
    listed = "does_not_hold" if claim.id in LISTED else "not_checkable" if claim.id in OPEN else "holds"
    listed = "derived" if claim.id in DERIVED else listed
    assert kept["verdict"] == ("calibrated" if claim.id in CALIBRATED else listed)


@pytest.mark.parametrize("paper", PAPERS)
def test_no_claim_of_a_paper_is_missing(paper):
    ids = [claim.id for claim in PAPERS[paper].claims]
    assert ids == [f"{paper}-c{number}" for number in range(1, CLAIMS[paper] + 1)]
    assert set(PAPERS[paper].not_reproduced) <= set(ids)
    assert all(claim.text and claim.place and claim.conditions for claim in PAPERS[paper].claims)


def quantity(name, unit="percent"):
    return Quantity(name, Cell(name, ((name, "1"),), None, increase), increase, unit)


A, B, X, Y = quantity("a"), quantity("b"), quantity("x", "s"), quantity("y", "s")


def known(mean, half=0.0, sign=1):
    """Estimate four runs with this mean and half-width; those of opposite signs vary against each other."""
    apart = sign * half * math.sqrt(3) / t_quantile(4)
    return estimate([mean + apart, mean - apart, mean - apart, mean + apart])


def check(condition, **values):
    """Check a condition; a value is the arguments of `known`, or a mean."""
    estimates = {
        name: known(*value) if isinstance(value, tuple) else known(value) for name, value in values.items()
    }
    return condition.check(lambda quantity: estimates[quantity.name]).holds


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        (10, (15, 4.9), True),
        (10, (15, 5.1), None),
        ((15, 5.1), 10, None),
        ((15, 4.9), 10, False),
        (10, (10.2, 0.3), False),
        (10, (10.2, 0.4), None),
        (10, 10, False),
        (10, 10.01, True),
    ],
)
def test_less_needs_a_difference_beyond_its_interval(a, b, expected):
    assert check(Less(A, B), a=a, b=b) is expected


def test_runs_with_the_same_seed_are_compared_with_each_other():
    assert check(Less(A, B), a=(10, 5), b=(10.1, 5)) is True
    assert check(Less(A, B), a=(10, 5), b=(10.1, 5, -1)) is None
    assert check(Tie(A, B), a=(10, 5), b=(10.1, 5)) is True


@pytest.mark.parametrize(("a", "expected"), [((2, 1.9), True), ((2, 2.1), None), ((-2, 1), False)])
def test_positive_needs_an_interval_above_zero(a, expected):
    assert check(Positive(A), a=a) is expected


@pytest.mark.parametrize(
    ("b", "expected"),
    [
        (10.5, True),
        (10.6, False),
        (2, False),
        ((10.1, 0.4), True),
        ((10.1, 0.5), None),
        ((11, 0.4), False),
        ((20, 30), None),
    ],
)
@pytest.mark.parametrize("unit", ["percent", "s"])
def test_a_tie_is_within_a_part_of_the_larger_mean_beyond_doubt(b, expected, unit):
    assert check(Tie(quantity("a", unit), quantity("b", unit)), a=10, b=b) is expected


@pytest.mark.parametrize(
    ("b", "expected"),
    [(5, True), (10.5, True), (10.6, False), ((10, 0.4), True), ((10, 0.6), None), ((12, 1), False)],
)
def test_not_less_is_larger_or_a_tie(b, expected):
    assert check(NotLess(A, B), a=10, b=b) is expected


@pytest.mark.parametrize(
    ("condition", "holds", "fails"),
    [
        (About(A, 100), 115, 115.1),
        (About(A, 10), 8.0, 7.9),
        (About(A, 1), 1.5, 1.55),
        (About(A, 1.63), 1.95, 1.97),
        (About(A, 0), 0.5, 0.6),
        (AtLeast(A, 100), 95, 94.9),
        (AtLeast(A, 100, slack=1), 99, 98.9),
        (AtMost(A, 100), 105, 105.1),
        (AtMost(A, 1), 1.05, 1.1),
        (AtMost(A, 100, slack=0), 100, 100.1),
        (WithinPoints(A, 10, 0.3), 10.25, 10.35),
        (Agree(A, B), 23, 22.9),
    ],
)
def test_a_limit_is_kept_up_to_its_tolerance(condition, holds, fails):
    assert check(condition, a=(holds, 9), b=27) is True
    assert check(condition, a=fails, b=27) is False
    # What fails by less than the interval is open.
    assert check(condition, a=(fails, 0.15), b=27) is None


@pytest.mark.parametrize(("count", "expected"), [(0, True), (0.01, False)])
def test_never_is_refuted_by_a_single_run(count, expected):
    assert check(Never(A), a=(count, 5)) is expected


@pytest.mark.parametrize(("half", "expected"), [(0.45, True), (0.44, False)])
def test_spread_asks_for_single_runs_that_scatter(half, expected):
    # The interval of one more run is the root of n + 1 times as wide as that of the mean of n.
    assert check(Spread(A, 0.1), a=(10, half)) is expected


def test_differences_and_multiples_carry_their_intervals():
    estimates = {A: known(10, 3), B: known(4, 4, -1)}
    apart = Minus(A, B).value(estimates.__getitem__)
    assert (apart.mean, apart.half_width) == (pytest.approx(6), pytest.approx(7))
    doubled = Times(-2, A).value(estimates.__getitem__)
    assert (doubled.mean, doubled.half_width) == (pytest.approx(-20), pytest.approx(6))
    assert Minus(A, Times(5, B)).quantities == (A, B)


@pytest.mark.parametrize(("sign", "half"), [(1, 7.5), (-1, 22.5)])
def test_a_gain_is_in_percent_of_the_means_and_carries_the_intervals_of_both(sign, half):
    estimates = {A: known(30, 3), B: known(20, 1, sign)}
    gain = Gain(A, B).value(estimates.__getitem__)
    # 1.5 times 0.1 less, or and, 0.05.
    assert (gain.mean, gain.half_width) == (pytest.approx(50), pytest.approx(half))
    assert Gain(X, Y).unit == "percent" and Gain(A, B).quantities == (A, B)


def test_a_range_is_two_limits_and_an_order_one_condition_for_each_step():
    assert [check(condition, a=value) for value in (9, 31) for condition in between(A, 20, 20)] == [
        False,
        True,
        True,
        False,
    ]
    assert rising(A, B, X) == (Less(A, B), Less(B, X))


def claim(*conditions):
    return Claim("paper-c1", "Table 1", "A is below B.", conditions)


def test_a_claim_holds_if_all_conditions_do():
    estimates = {A: estimate([1.0, 1.1]), B: estimate([50.0, 50.1])}
    assert judge(claim(Less(A, B), AtMost(A, 3)), estimates, {}, {}, {}).verdict == "holds"
    result = judge(claim(Less(A, B), AtLeast(A, 30)), estimates, {}, {}, {})
    assert result.verdict == "does_not_hold"
    assert "a 1.05" in result.reason and "at least 30" in result.reason and "50" not in result.reason


def test_a_known_reason_replaces_the_figures():
    estimates = {A: estimate([1.0, 1.1]), B: estimate([50.0, 50.1])}
    assert judge(claim(Less(B, A)), estimates, {"paper-c1": "for a reason"}, {}, {}).reason == "for a reason"


def test_a_claim_that_helped_to_choose_tests_nothing():
    choice = Choice("2.1", "the delay", "1 and 2 s", "1 s", "it fits best", ("paper-c1",))
    estimates = {A: estimate([1.0, 2.0]), B: estimate([20.0, 50.0])}
    result = judge(claim(Less(A, B)), estimates, {}, {"paper-c1": choice}, {})
    assert (result.verdict, result.reason) == ("calibrated", "helped to choose: the delay")
    assert result.findings


def test_a_claim_that_could_not_fail_tests_nothing():
    estimates = {A: estimate([1.0, 1.1]), B: estimate([50.0, 50.1])}
    result = judge(claim(Less(A, B)), estimates, {}, {}, {"paper-c1": "a rule"})
    assert (result.verdict, result.reason) == ("derived", "follows: a rule")
    assert judge(claim(Less(B, A)), estimates, {}, {}, {"paper-c1": "a rule"}).verdict == "does_not_hold"


def bounds(quantity):
    """Say what a quantity may be whatever TCP does: an increase is that of the link at least, and so on."""
    low, high = -50.0 if quantity.unit == "percent" else 1e-3, 1e4
    if quantity.metric is increase and "bler', '0 %" in str(quantity.cell.reference):
        low = FLOOR
    if quantity.metric is peak_cached:
        high = WINDOW_SEGMENTS
    return low, high


def can_fail(claim):
    """Whether what is physically possible refutes a claim: each quantity at its least or most."""
    rng = random.Random(claim.id)
    for condition in claim.conditions:
        of = list(dict.fromkeys(condition.quantities))
        for _ in range(200):
            drawn = {one: rng.choice(bounds(one)) for one in of}
            if condition.check(lambda one, drawn=drawn: estimate([drawn[one]] * 2)).holds is False:
                return True
    return False


@pytest.mark.slow
@pytest.mark.parametrize("claim", ALL, ids=lambda claim: claim.id)
def test_each_claim_could_have_failed_or_is_called_derived(claim):
    if claim.id not in DERIVED:
        assert can_fail(claim)


@pytest.mark.parametrize("name", ["lundsten-c4", "jayanathan-c8"])
def test_a_claim_that_could_not_fail_is_found(name):
    (claim,) = (one for one in ALL if one.id == name)
    assert name in DERIVED and not can_fail(claim)


def test_too_few_runs_leave_a_claim_open():
    open_ = judge(claim(Less(A, B)), {A: estimate([1.0, 30.0]), B: estimate([50.0, 20.0])}, {}, {}, {})
    assert open_.verdict == "not_checkable" and "more runs are needed" in open_.reason
    one = judge(claim(Less(A, B)), {A: estimate([1.0]), B: estimate([20.0, 50.0])}, {}, {}, {})
    assert one.verdict == "not_checkable" and one.reason == "one run has no interval"


def test_what_was_not_simulated_is_named():
    result = judge(claim(Less(A, B)), {A: estimate([1.0, 2.0])}, {}, {}, {})
    assert result.verdict == "not_checkable" and result.reason == "not simulated: b"
