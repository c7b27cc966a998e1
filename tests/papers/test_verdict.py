"""Verdicts: every rule at its boundary."""

from dataclasses import replace

import pytest

from airpath.stats.estimate import by_seed, estimate, exact
from airpath_studies.base.verdict import MET, calibrated, verdict, worse


def judge(measured, published=100.0, kind="simulated", unit="kbit/s", **more):
    """Judge a value without spread: only the tolerances decide."""
    corrected, runs = more.pop("corrected", None), more.pop("averaged_runs", 1)
    return verdict(kind, published, corrected, exact(measured), unit, runs, **more)


def spread(mean, sd, runs):
    """Estimate runs with exactly this mean and standard deviation, half of them on each side."""
    step = sd * ((runs - 1) / runs) ** 0.5
    return estimate([mean + step, mean - step] * (runs // 2))


@pytest.mark.parametrize("kind", ["simulated", "model", "claim_approx", "claim_up_to"])
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
    ("published", "measured", "expected"),
    [
        (0, 0, "reproduced"),
        (0, -0.1, "not_reproduced"),
        (0.5, 0.06, "not_reproduced"),
        (1.6, 1.9, "reproduced"),
        (1.6, 2.3, "close"),
        (1.6, 2.5, "not_reproduced"),
        (4, 4.79, "reproduced"),
        (4, 4.81, "close"),
        (4, 5.9, "close"),
        (4, 6.1, "not_reproduced"),
    ],
)
def test_a_small_percentage_may_be_off_by_a_part_of_itself(published, measured, expected):
    assert judge(measured, published=published, unit="percent") == expected


@pytest.mark.parametrize("unit", ["kbit/s", "1", "segments"])
def test_points_are_for_percentages_only(unit):
    assert judge(12, published=10, unit=unit) == "not_reproduced"


def test_a_published_zero_is_reproduced_by_zero_alone():
    assert judge(0, published=0) == "reproduced"
    assert judge(1e-6, published=0) == "not_reproduced"
    assert verdict("simulated", 0, None, spread(0.5, 0.4, 20), "kbit/s") == "consistent"


# The interval in which the paper's own mean would fall.


def test_a_value_in_a_narrow_interval_is_reproduced_beyond_the_tolerance():
    narrow = spread(100, 3.4, 100)
    low, high = narrow.prediction_interval(1)
    assert high > 106.5 and high - low < 0.15 * low
    for published in (low, high):
        assert verdict("simulated", published, None, narrow, "kbit/s") == "reproduced"
    assert verdict("simulated", high + 0.01, None, narrow, "kbit/s") == "close"


def test_what_only_the_scatter_of_single_runs_covers_is_consistent():
    wide = spread(100, 30, 1000)
    low, high = wide.prediction_interval(1)
    for published in (low + 2, 90, 110, high - 0.01):
        assert verdict("simulated", published, None, wide, "kbit/s") == "consistent"
    assert verdict("simulated", 100, None, wide, "kbit/s") == "reproduced"
    assert verdict("simulated", high + 4, None, wide, "kbit/s") == "not_reproduced"


@pytest.mark.parametrize(
    ("published", "unit", "widest"), [(100, "kbit/s", 15), (100, "percent", 15), (20, "percent", 5)]
)
def test_the_interval_may_be_as_wide_as_the_tolerance_of_close_in_all(published, unit, widest):
    """15 % of the published value from end to end; 5 points for percentages where that is more."""
    width_of_one = spread(0, 1, 100).prediction_interval(1)[1] * 2
    for factor, expected in ((0.99, "reproduced"), (1.01, "consistent")):
        known = spread(published, factor * widest / width_of_one, 100)
        low, high = known.prediction_interval(1)
        near_its_end = published + (0.99 * (high - low) / 2)
        shifted = spread(near_its_end, known.sd, 100)
        assert verdict("simulated", published, None, shifted, unit) == expected


def test_the_interval_narrows_with_the_runs_that_the_paper_averaged():
    noisy = spread(100, 30, 400)
    assert verdict("simulated", 150, None, noisy, "kbit/s", 1) == "consistent"
    assert verdict("simulated", 150, None, noisy, "kbit/s", 20) == "not_reproduced"


# Too few runs.


@pytest.mark.parametrize("published", [100, 105, 90, 1000])
def test_one_run_is_too_few(published):
    assert verdict("simulated", published, None, estimate([100.0]), "kbit/s") == "more_runs_needed"


def test_one_run_is_enough_where_nothing_is_random():
    assert verdict("simulated", 100, None, exact(105.0), "kbit/s") == "reproduced"
    both = by_seed(lambda one, other: one - other, exact(205.0), exact(100.0))
    assert both.is_exact and verdict("simulated", 100, None, both, "kbit/s") == "reproduced"
    one_known = by_seed(lambda one, other: one - other, estimate([205.0]), exact(100.0))
    assert not one_known.is_exact


def test_what_no_chance_acts_on_counts_with_every_seed():
    certain = replace(estimate([10.0, 10.0]), is_exact=True)
    difference = by_seed(lambda one, other: one - other, estimate([11.0, 12.0, 13.0]), certain)
    assert difference.values == (1.0, 2.0, 3.0)
    assert not difference.is_exact


@pytest.mark.parametrize(("runs", "expected"), [(5, "more_runs_needed"), (19, "more_runs_needed")])
def test_what_never_varied_in_few_runs_is_not_known(runs, expected):
    assert verdict("simulated", 7, None, estimate([7.0] * runs), "segments") == expected


def test_what_never_varied_in_twenty_runs_is_known():
    assert verdict("simulated", 7, None, estimate([7.0] * 20), "segments") == "reproduced"
    assert verdict("simulated", 9, None, estimate([7.0] * 20), "segments") == "not_reproduced"


def test_an_interval_that_leaves_the_verdict_open_asks_for_more_runs():
    unsure = spread(100, 6, 4)
    assert unsure.half_width > 5
    for published in (100, 104, 108, 112):
        assert verdict("simulated", published, None, unsure, "kbit/s") == "more_runs_needed"


def test_an_interval_that_cannot_change_the_verdict_does_not():
    unsure = spread(100, 6, 4)
    assert verdict("simulated", 200, None, unsure, "kbit/s") == "not_reproduced"
    assert verdict("claim_lower", 50, None, unsure, "kbit/s") == "holds"
    assert verdict("claim_upper", 50, None, unsure, "kbit/s") == "not_reproduced"
    assert verdict("claim_upper", 100, None, unsure, "kbit/s") == "more_runs_needed"


def test_a_mean_that_is_known_to_within_the_tolerance_is_enough():
    known = spread(100, 10, 100)
    assert 1 < known.half_width < 5
    assert verdict("simulated", 104, None, known, "kbit/s") == "reproduced"
    assert verdict("simulated", 107, None, known, "kbit/s") == "consistent"
    points = spread(10, 9, 100)
    assert 1 < points.half_width < 2
    assert verdict("simulated", 11.5, None, points, "percent") == "reproduced"
    assert verdict("simulated", 11.5, None, points, "kbit/s") == "more_runs_needed"


@pytest.mark.parametrize("published", range(50, 150))
def test_the_first_few_runs_are_never_called_better_than_all(published):
    """If runs alternate about a mean, the first few have the same mean and a wider interval."""
    for sd in (0.5, 2, 5, 10, 25):
        for kind in ("simulated", "claim_upper", "claim_lower"):
            few, all_of_them = (verdict(kind, published, None, spread(100, sd, n), "1") for n in (4, 400))
            assert few not in MET or all_of_them in MET


@pytest.mark.slow
def test_enough_runs_always_tell():
    for sd in (1, 3, 10, 30):
        for published in range(50, 150):
            known = spread(100, sd, 1000)
            assert verdict("simulated", published, None, known, "kbit/s") != "more_runs_needed"


@pytest.mark.parametrize(("sd", "expected"), [(3.4, "reproduced"), (10, "consistent")])
def test_the_scatter_excuses_nothing_before_it_is_known(sd, expected):
    for runs, then in ((18, "more_runs_needed"), (100, expected)):
        assert verdict("simulated", 94, None, spread(100, sd, runs), "kbit/s") == then


# Misprints, limits, ranges.


@pytest.mark.parametrize(("measured", "expected"), [(34.5, "reproduced"), (24.55, "not_reproduced")])
def test_a_misprint_is_judged_by_its_corrected_value(measured, expected):
    assert judge(measured, published=24.55, corrected=34.55) == expected


LIMITS = [
    ("claim_upper", 0, "holds"),
    ("claim_upper", 100, "holds"),
    ("claim_upper", 105, "reproduced"),
    ("claim_upper", 106, "close"),
    ("claim_upper", 116, "not_reproduced"),
    ("claim_lower", 1000, "holds"),
    ("claim_lower", 100, "holds"),
    ("claim_lower", 95, "reproduced"),
    ("claim_lower", 94, "close"),
    ("claim_lower", 84, "not_reproduced"),
]


@pytest.mark.parametrize(("kind", "measured", "expected"), LIMITS)
def test_a_limit_holds_on_its_right_side_and_is_a_value_on_its_wrong_one(kind, measured, expected):
    assert judge(measured, kind=kind) == expected


@pytest.mark.parametrize(
    ("bound", "measured", "expected"),
    [
        ("low", 1000, "holds"),
        ("low", 94, "close"),
        ("low", 84, "not_reproduced"),
        ("high", 0, "holds"),
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


def test_a_range_is_as_good_as_the_worse_of_its_ends():
    assert worse("holds", "not_reproduced") == worse("not_reproduced", "reproduced") == "not_reproduced"
    assert worse("holds", "holds") == "holds" and worse("holds", "reproduced") == "reproduced"
    assert worse("more_runs_needed", "not_reproduced") == "not_reproduced"
    assert worse("more_runs_needed", "close") == "more_runs_needed"


@pytest.mark.parametrize(
    ("judged", "expected"),
    [
        ("reproduced", "calibrated"),
        ("holds", "calibrated"),
        ("consistent", "calibrated"),
        ("more_runs_needed", "calibrated"),
        ("close", "calibrated_not_met"),
        ("not_reproduced", "calibrated_not_met"),
    ],
)
def test_what_helped_to_choose_and_does_not_come_out_is_not_met(judged, expected):
    assert calibrated(judged) == expected
