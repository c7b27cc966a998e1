"""Bundled scenarios by mobility class vary as recordings of their class do."""

from __future__ import annotations

import json

import pytest

from airpath.recordings.classes import FAMILIES, LTE, class_of
from airpath.recordings.offered import record
from airpath.recordings.statistics import describe
from airpath.scenario import bundled, load

SECONDS = {"lte-10mhz": 900, "hsdpa-3.6": 1800, "nr-n78-100mhz": 240}
SCENARIOS = [
    (family, family if name == "walk" else f"{family}-{name}")
    for family, classes in FAMILIES.items()
    for name in classes
]


def test_each_class_has_a_scenario_and_others_have_none():
    assert {name for _, name in SCENARIOS} <= set(bundled())
    assert class_of("lte-10mhz") is LTE["walk"] and class_of("lte-10mhz-bus") is LTE["bus"]
    for name in ("lte-10mhz-still", "lte-10mhz-10ue", "umts-384", "hsdpa-7.2"):
        assert class_of(name) is None


@pytest.mark.slow
@pytest.mark.parametrize(("family", "name"), SCENARIOS, ids=[name for _, name in SCENARIOS])
def test_a_scenario_is_within_the_recorded_band_of_its_class(family, name):
    statistics = describe(record(load(name), SECONDS[family], seed=2))
    found = {own: getattr(statistics, own) for own in class_of(name).outside(statistics)}
    assert not found, class_of(name).bands


def test_a_cell_that_stands_still_is_outside_the_band_of_a_walk():
    outside = LTE["walk"].outside(describe(record(load("lte-10mhz-still"), 20)))
    assert outside == ["cv_1s", "correlation_s", "silences_per_min"]


def test_describe_names_the_class_and_what_is_outside(airpath_command):
    said = json.loads(airpath_command("describe", "lte-10mhz", "umts-384", "--seconds", "10", "--json").out)
    assert [one["class"] for one in said] == ["walk", None]
    assert said[1]["outside"] == []
    text = airpath_command("describe", "lte-10mhz", "--seconds", "10").out
    assert "imitates recordings of the class walk: CV in 1 s 0.36 to 0.56" in text
