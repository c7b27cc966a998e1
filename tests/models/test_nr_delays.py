"""One-way delays of calls over 5G compared with two recorded cells: docs/models/nr.md, acceptance test 31."""

from __future__ import annotations

import functools

import nr_delays
import numpy as np
import pytest

TMOBILE, PRIVATE = "nr-n41-100mhz-call", "nr-n78-20mhz-private"

# By scenario and direction: the largest mean error in ms, and the largest deviation of the spread.
ERRORS = {
    (TMOBILE, "uplink"): 2,
    (TMOBILE, "downlink"): 2,
    (PRIVATE, "uplink"): 4,
    (PRIVATE, "downlink"): 2,
}
SPREADS = {
    (TMOBILE, "uplink"): 0.15,
    (TMOBILE, "downlink"): 0.25,
    (PRIVATE, "uplink"): 0.35,
    (PRIVATE, "downlink"): 0.25,
}


def but_for(limits, *unmet):
    """The limits as parameters; some are not met: docs/models/nr.md gives the reasons."""
    strict = pytest.mark.xfail(reason="not met: docs/models/nr.md#compared-with-recorded-cells", strict=True)
    return [
        pytest.param(*cell, most, marks=[strict] if cell in unmet else []) for cell, most in limits.items()
    ]


@functools.cache
def compared(scenario: str, controller: str | None = None):
    return nr_delays.compare(scenario, controller=controller)


def test_a_comparison_is_of_the_spread_and_not_of_the_place():
    recorded = np.array([10.0, 12, 20, 30, 40, 52, 99])
    same = nr_delays.Comparison(recorded, recorded - 7)
    assert (same.offset, same.error, same.spreads) == (7, 0, (40, 40))
    # The last percentile is shown only. By hand: distances 10, 12, 20, 30, 40, 52 of the mean 27.33.
    still = nr_delays.Comparison(recorded, np.zeros(7))
    assert still.offset == pytest.approx(27.333, abs=1e-3)
    assert still.error == pytest.approx((17.333 + 15.333 + 7.333 + 2.667 + 12.667 + 24.667) / 6, abs=1e-3)


@pytest.mark.parametrize(("scenario", "direction", "most"), but_for(ERRORS, (TMOBILE, "uplink")))
def test_delays_are_those_of_a_recorded_cell(scenario, direction, most):
    assert compared(scenario)[direction].error <= most


@pytest.mark.parametrize(("scenario", "direction", "most"), but_for(SPREADS, (PRIVATE, "uplink")))
def test_delays_spread_as_in_a_recorded_cell(scenario, direction, most):
    recorded, measured = compared(scenario)[direction].spreads
    assert measured == pytest.approx(recorded, rel=most)


@pytest.mark.parametrize(
    "controller",
    [
        pytest.param(
            "gcc",
            marks=pytest.mark.xfail(
                reason="not met: docs/models/nr.md#compared-with-recorded-cells", strict=True
            ),
        ),
        "scream",
    ],
)
def test_a_call_at_its_own_rate_has_the_delays_of_a_recorded_cell(controller):
    """The same targets for frames and rates that nobody has fixed."""
    uplink = compared(TMOBILE, controller)["uplink"]
    recorded, measured = uplink.spreads
    assert uplink.error <= ERRORS[TMOBILE, "uplink"]
    assert measured == pytest.approx(recorded, rel=SPREADS[TMOBILE, "uplink"])
