"""Series of goodput, and the thinning of lines for pictures."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import airpath
from airpath.runs import metrics
from airpath.runs.series import goodput_series, thin


@pytest.mark.slow
@given(
    st.lists(st.tuples(st.floats(0, 10), st.integers(-50, 50)), min_size=1, max_size=400), st.integers(1, 20)
)
def test_thinning_keeps_extremes_and_ends(points, bins):
    points.sort(key=lambda point: point[0])
    x, y = (np.array(column, dtype=float) for column in zip(*points, strict=True))
    kept = thin(x, y, 0.0, 10.0, bins)
    assert len(kept) <= min(len(x), 4 * (bins + 2))
    assert np.all(np.diff(kept) > 0)
    assert kept[0] == 0
    assert kept[-1] == len(x) - 1
    place = np.floor(x / 10 * bins)
    for bin_ in np.unique(place):
        inside = kept[place[kept] == bin_]
        assert y[inside].min() == y[place == bin_].min()
        assert y[inside].max() == y[place == bin_].max()


@given(
    st.lists(st.tuples(st.floats(0, 10), st.integers(-5, 5)), min_size=2, max_size=200),
    st.integers(1, 20),
    st.integers(0, 200),
)
def test_a_line_may_be_thinned_piece_by_piece(points, bins, until):
    points.sort(key=lambda point: point[0])
    points = np.array(points, dtype=float)

    def thinned(some):
        return some[thin(some[:, 0], some[:, 1], 0.0, 10.0, bins)]

    piecewise = thinned(np.concatenate([thinned(points[:until]), points[until:]]))
    np.testing.assert_array_equal(piecewise, thinned(points))


def test_goodput_in_windows():
    time_s = np.array([0.5, 1.0, 2.5, 4.2])
    acked_bytes = np.array([1000, 3000, 4000, 9000], dtype=np.uint64)
    end_s, goodput_bps = goodput_series(time_s, acked_bytes, 1.0)
    np.testing.assert_array_equal(end_s, [1, 2, 3, 4])
    np.testing.assert_array_equal(goodput_bps, [24_000, 0, 8_000, 0])


def test_goodput_of_a_run_fits_its_summary():
    result = airpath.run("umts-384", probes=("tcp_state",))
    state = result.trace["tcp_state"]
    _, goodput_bps = goodput_series(state["time_s"], state["snd_una"], 0.5)
    whole_windows = 0.5 * len(goodput_bps)
    assert abs(goodput_bps.mean() * whole_windows / 8 - 2_000_000) < 50_000


def test_shares_of_a_run():
    summary = airpath.run("umts-384", probes=()).summary
    (flow,) = summary["flows"]
    bearer = metrics.bearer(summary, 0, "downlink")
    assert bearer is not None
    assert 0.05 < metrics.block_error_share(bearer) < 0.15
    assert metrics.retransmission_share(flow) == flow["retransmissions"]["total"] / flow["segments_sent"]
    utilisation = metrics.utilisation(summary, flow)
    assert utilisation is not None
    assert flow["goodput_bps"] / 384_000 < utilisation < 0.9
    assert metrics.bearer(summary, 1, "downlink") is None
