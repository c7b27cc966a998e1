"""Two variants on the same seeds: the interval of their difference, and what common seeds are worth."""

import math

import pytest

import airpath
from airpath.stats.estimate import estimate

RENO = airpath.load("jayanathan-46").with_("flow", "[{ app.file.size = '500 kB' }]")
LIMITED = RENO.with_("tcp.limited_transmit", True)


def compare(a, b, metric="transfer_s", **options):
    return airpath.compare_paired(a, b, metric, **options)


def test_the_same_scenario_differs_from_itself_by_nothing():
    known = compare(RENO, RENO, min_runs=20, max_runs=20)
    assert (known.difference.mean, known.difference.half_width) == (0, 0)
    assert known.correlation == pytest.approx(1)
    assert known.variance_ratio == math.inf and known.unpaired_runs == math.inf
    assert not known.is_different


def test_a_difference_is_that_of_the_runs_with_the_same_seed():
    known = compare(LIMITED, RENO, min_runs=10, max_runs=10, first_seed=5)
    for variant, one in ((LIMITED, known.a), (RENO, known.b)):
        alone = airpath.replicate(variant, "transfer_s", min_runs=10, max_runs=10, first_seed=5)
        assert one.values == alone.values
    pairs = zip(known.a.values, known.b.values, strict=True)
    assert known.difference.values == tuple(a - b for a, b in pairs)
    assert known.relative.mean == pytest.approx(known.a.mean / known.b.mean - 1)


def test_common_seeds_save_two_runs_of_three_where_the_same_packets_are_lost():
    # The example of docs/statistics.md, with a smaller file.
    known = compare(LIMITED, RENO, min_runs=200, max_runs=200)
    assert known.is_different and known.difference.mean < 0
    assert known.unpaired_runs > 3 * known.runs
    # The statement about unpaired runs holds for the intervals themselves.
    apart = airpath.replicate(RENO, "transfer_s", min_runs=200, max_runs=200, first_seed=1000)
    unpaired = math.sqrt(apart.half_width**2 + known.a.half_width**2)
    assert (unpaired / known.difference.half_width) ** 2 == pytest.approx(known.variance_ratio, rel=0.25)


@pytest.mark.slow
def test_it_stops_when_the_difference_is_known_as_a_share_of_what_it_is_compared_with():
    known = compare(LIMITED, RENO, precision=0.01)
    assert known.difference.is_precise
    assert known.difference.half_width <= 0.01 * known.b.mean
    assert 30 <= known.runs < 1000
    sharper = compare(LIMITED, RENO, precision=0.005)
    assert 2 < sharper.runs / known.runs < 8


def test_the_number_of_workers_makes_no_difference():
    first, *others = [compare(LIMITED, RENO, max_runs=30, workers=workers) for workers in (1, 2, 7)]
    assert all(other == first for other in others)


def test_what_max_runs_ends_is_not_precise():
    known = compare(LIMITED, RENO, precision=1e-6, max_runs=12)
    assert known.runs == 12 and known.difference.is_precise is False


def test_every_run_is_reported():
    calls = []
    compare(LIMITED, RENO, max_runs=10, on_run=lambda *runs: calls.append(runs))
    assert calls == [(run, 10) for run in range(1, 11)]


def test_estimates_that_are_there_are_compared_too():
    known = airpath.paired(airpath.estimate([3, 5, 7]), airpath.estimate([1, 2, 3]))
    assert known.difference.values == (2, 3, 4)
    assert known.correlation == pytest.approx(1)
    # Variances 4, 1 and 1.
    assert known.variance_ratio == pytest.approx(5) and known.unpaired_runs == 15
    assert airpath.paired(estimate([1, 2]), estimate([-1, 1])).relative is None
    assert math.isnan(airpath.paired(estimate([1, 1]), estimate([2, 2])).variance_ratio)


@pytest.mark.parametrize("other", [estimate([1, 2, 3]), estimate([1, 2], confidence=0.9)])
def test_what_is_no_pair_is_refused(other):
    with pytest.raises(ValueError, match="no pairs: estimate both from the same seeds at one level"):
        airpath.paired(estimate([1, 2]), other)


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"precision": -0.1}, "precision is -0.1, and must be above 0"),
        ({"confidence": 1}, "confidence is 1, and must lie between 0 and 1"),
        ({"metric": "transfer"}, "have no 'transfer' there; there is ue, flow"),
    ],
)
def test_what_makes_no_sense_is_refused(wrong, says):
    with pytest.raises(ValueError, match=says):
        compare(LIMITED, RENO, **wrong)
