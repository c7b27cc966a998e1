"""Power against block errors: hand computations, limits, and the simulator on the same link."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

import airpath
from airpath.models.capacity import SLOPES_DB, Cell
from airpath.scenario import Scenario, load
from airpath_studies.base.cell import Outcome
from airpath_studies.extensions import capacity as study


def test_the_load_equation_by_hand():
    # 0.5 of 3840 kchip/s over Eb/N0 of 4 and an interference of 0.4 + 0.6.
    cell = Cell(0.8, eb_n0_db=10 * math.log10(4), load=0.5, orthogonality=0.6, other_cells=0.6)
    assert cell.rate_kbps(0.1) == pytest.approx(480)
    assert cell.delivered_kbps(0.1) == pytest.approx(432)
    # Bearers that send half of the time leave room for twice as many.
    assert Cell(0.8, 10 * math.log10(4), 0.5, 0.6, 0.6, activity=0.5).rate_kbps(0.1) == pytest.approx(960)


def test_each_tenth_of_the_block_errors_takes_one_slope():
    cell = Cell(SLOPES_DB["fast fading"], eb_n0_db=5)
    assert [cell.needed_db(bler) for bler in (0.1, 0.01, 0.001)] == pytest.approx([5, 5.8, 6.6])
    # 0.8 dB is a factor of 1.2023.
    assert cell.rate_kbps(0.1) / cell.rate_kbps(0.01) == pytest.approx(1.2023, rel=1e-4)


def test_the_best_target_by_hand():
    # 10 dB a tenth: the rate goes with b, and b (1 - b) is largest at a half.
    assert Cell(10).best_bler == pytest.approx(0.5)
    assert {name: round(100 * Cell(db).best_bler, 1) for name, db in SLOPES_DB.items()} == {
        "static": 2.9,
        "fast fading": 7.4,
        "slow fading": 29.1,
    }


@given(st.floats(0.05, 12), st.floats(0.001, 0.9))
def test_no_target_delivers_more_than_the_best_one(slope_db, bler):
    cell = Cell(slope_db)
    assert cell.delivered_kbps(bler) <= cell.delivered_kbps(cell.best_bler) * (1 + 1e-12)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"slope_db": 0}, "slope_db"),
        ({"load": 0}, "load = 0 must be above 0 and at most 1"),
        ({"activity": 1.1}, "activity = 1.1 must be above 0 and at most 1"),
        ({"orthogonality": -0.1}, "orthogonality = -0.1 must be between 0 and 1"),
        ({"other_cells": -1}, "other_cells = -1 must be at least 0"),
        ({"orthogonality": 1, "other_cells": 0}, "above it if orthogonality is 1"),
    ],
)
def test_a_cell_that_cannot_be_is_refused(wrong, said):
    with pytest.raises(ValueError, match=said):
        Cell(**{"slope_db": 0.8, **wrong})


@pytest.mark.parametrize("bler", [0, 1, math.nan])
def test_a_block_error_rate_is_between_0_and_1(bler):
    with pytest.raises(ValueError, match="must be above 0 and below 1"):
        Cell(0.8).rate_kbps(bler)


def delivered(quantity, seed=1):
    """What a quantity of the study gives in one run."""
    base = load("lundsten-dch")
    scenario = Scenario(base.name, base.source, quantity.cell.overrides, base.folder)
    results = airpath.run(scenario, seed=seed)
    return quantity.metric(Outcome({"flows": results.flows}))


@pytest.mark.parametrize("target", [1, 10, 40])
def test_the_simulated_link_delivers_what_the_model_says(target):
    quantity = study.as_many(384, target, 1500, "the link alone")
    expected = Cell(SLOPES_DB["fast fading"]).delivered_kbps(target / 100)
    assert delivered(quantity) == pytest.approx(expected, rel=0.02)


def test_users_share_the_power_and_no_bearer_is_faster_than_wcdma_has_them():
    rates = {users: dict(study.shared("static", users, 10).cell.overrides) for users in (1, 16)}
    assert rates[1]["radio.dch.downlink.rate"] == "384.0 kbit/s"
    # 867 kbit/s over 16, in whole bytes per TTI of 20 ms.
    assert rates[16]["radio.dch.downlink.rate"] == "54.0 kbit/s"


def test_windows_are_the_theses_and_between_them_in_proportion():
    assert [study._window(rate, 576) for rate in (27, 64, 96, 128, 256, 384)] == [9, 9, 10, 11, 18, 25]
