"""Verdicts: every rule at its boundary."""

import pytest

from airpath.papers.verdict import verdict
from airpath.replicate import estimate


def sharp(value):
    """An estimate without spread: only the tolerances decide."""
    return estimate([value] * 5)


def judge(measured, published=100.0, kind="simulated", unit="kbit/s", **more):
    corrected, runs = more.pop("corrected", None), more.pop("averaged_runs", 1)
    return verdict(kind, published, corrected, sharp(measured), unit, runs, **more)


@pytest.mark.parametrize("kind", ["simulated", "model", "claim_approx"])
@pytest.mark.parametrize(
    ("measured", "expected"),
    [
        (100, "reproduced"),
        (105, "reproduced"),
        (95, "reproduced"),
        (105.01, "close"),
        (94.99, "close"),
        (115, "close"),
        (85, "close"),
        (115.01, "not_reproduced"),
        (84.99, "not_reproduced"),
    ],
)
def test_values_are_compared_relatively_both_ways(kind, measured, expected):
    assert judge(measured, kind=kind) == expected


@pytest.mark.parametrize(
    ("measured", "expected"),
    [
        (12, "reproduced"),
        (8, "reproduced"),
        (12.01, "close"),
        (15, "close"),
        (5, "close"),
        (15.01, "not_reproduced"),
        (4.99, "not_reproduced"),
    ],
)
def test_small_percentages_are_compared_in_points(measured, expected):
    assert judge(measured, published=10, unit="percent") == expected


@pytest.mark.parametrize(
    ("measured", "expected"), [(210, "reproduced"), (211, "close"), (231, "not_reproduced")]
)
def test_large_percentages_are_compared_relatively(measured, expected):
    assert judge(measured, published=200, unit="percent") == expected


@pytest.mark.parametrize(
    ("measured", "expected"), [(-1.9, "reproduced"), (-5.0, "close"), (-5.1, "not_reproduced")]
)
def test_a_published_percentage_of_zero_is_compared_in_points(measured, expected):
    assert judge(measured, published=0, unit="percent") == expected


@pytest.mark.parametrize("unit", ["kbit/s", "1", "segments"])
def test_points_are_for_percentages_only(unit):
    assert judge(12, published=10, unit=unit) == "not_reproduced"


def test_a_value_inside_the_prediction_interval_is_reproduced():
    noisy = estimate([60, 80, 100, 120, 140])
    low, high = noisy.prediction_interval(1)
    for published in (low, high):
        assert verdict("simulated", published, None, noisy, "kbit/s", 1) == "reproduced"
    assert verdict("simulated", high + 0.01, None, noisy, "kbit/s", 1) == "not_reproduced"


def test_the_interval_narrows_with_the_runs_that_the_paper_averaged():
    noisy = estimate([60, 80, 100, 120, 140])
    one, twenty = noisy.prediction_interval(1)[1], noisy.prediction_interval(20)[1]
    assert twenty < 150 < one
    assert verdict("simulated", 150, None, noisy, "kbit/s", 1) == "reproduced"
    assert verdict("simulated", 150, None, noisy, "kbit/s", 20) == "not_reproduced"


def test_after_one_run_only_the_tolerances_count():
    one = estimate([105.0])
    assert verdict("simulated", 100, None, one, "kbit/s") == "reproduced"
    assert verdict("simulated", 90, None, one, "kbit/s") == "not_reproduced"


@pytest.mark.parametrize(("measured", "expected"), [(34.5, "reproduced"), (24.55, "not_reproduced")])
def test_a_misprint_is_judged_by_its_corrected_value(measured, expected):
    assert judge(measured, published=24.55, corrected=34.55) == expected


@pytest.mark.parametrize(
    ("kind", "measured", "expected"),
    [
        ("claim_upper", 0, "reproduced"),
        ("claim_upper", 100, "reproduced"),
        ("claim_upper", 105, "reproduced"),
        ("claim_upper", 106, "close"),
        ("claim_upper", 116, "not_reproduced"),
        ("claim_lower", 1000, "reproduced"),
        ("claim_lower", 100, "reproduced"),
        ("claim_lower", 95, "reproduced"),
        ("claim_lower", 94, "close"),
        ("claim_lower", 84, "not_reproduced"),
    ],
)
def test_a_limit_is_judged_on_its_wrong_side_only(kind, measured, expected):
    assert judge(measured, kind=kind) == expected


@pytest.mark.parametrize(
    ("bound", "measured", "expected"),
    [
        ("low", 1000, "reproduced"),
        ("low", 94, "close"),
        ("low", 84, "not_reproduced"),
        ("high", 0, "reproduced"),
        ("high", 106, "close"),
        ("high", 116, "not_reproduced"),
    ],
)
def test_the_ends_of_a_range_are_bounds(bound, measured, expected):
    assert judge(measured, kind="qualitative_range", bound=bound) == expected


@pytest.mark.parametrize(
    "kind", ["background", "claim_approx", "claim_upper", "claim_lower", "qualitative_range"]
)
def test_what_is_not_measured_is_background(kind):
    assert verdict(kind, 90, None, None, "percent") == "background"


@pytest.mark.parametrize("kind", ["simulated", "model"])
def test_simulated_and_model_values_are_never_background(kind):
    with pytest.raises(ValueError, match="cannot be background"):
        verdict(kind, 90, None, None, "percent")


def test_background_is_never_measured():
    with pytest.raises(ValueError, match="not measured"):
        judge(100, kind="background")


def test_a_range_needs_to_say_which_end_it_is():
    with pytest.raises(ValueError, match="low or high"):
        judge(100, kind="qualitative_range")


def test_an_unknown_kind_is_refused():
    with pytest.raises(ValueError, match="unknown kind"):
        judge(100, kind="guess")
