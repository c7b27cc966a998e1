"""Quantiles and intervals are scipy's."""

from __future__ import annotations

import pytest

from airpath.stats.estimate import estimate, student_t, welch


@pytest.mark.parametrize("confidence", [0.5, 0.8, 0.9, 0.95, 0.99])
def test_students_t_is_scipys(confidence):
    from scipy.special import stdtrit

    for freedom in (1, 1.05, 1.3, 2, 2.5, 3, 4.5, 9, 29, 99.5, 999, 9_999, 10_001, 1e6, 1e9):
        expected = stdtrit(freedom, (1 + confidence) / 2)
        assert student_t(freedom, confidence) == pytest.approx(expected, rel=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize("b", [[1.0, 1.5, 0.5], [2.0, 2.1], [9.0, -3.0, 4.0, 4.5, 100.0]])
def test_the_interval_of_independent_runs_is_scipys(b):
    from scipy import stats  # A second for each process that collects tests.

    a = [3.0, 4.5, 5.0, 2.0]
    expected = stats.ttest_ind(a, b, equal_var=False).confidence_interval(0.95)
    assert welch(estimate(a), estimate(b)) == pytest.approx((expected.low, expected.high))
