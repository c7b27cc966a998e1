"""Jayanathan et al.: Table 2, what the sender does when, and what is read off a trace."""

import json
import math

import docs_figures
import numpy as np
import pytest

import airpath
from airpath.scenario import Scenario, load
from airpath_studies.base.verdict import REPRODUCED_POINTS
from airpath_studies.explore.plan import load_exploration
from airpath_studies.jayanathan import PAPER
from airpath_studies.jayanathan.measured import UNFLAGGED
from airpath_studies.jayanathan.model import LOSSES, TABLE_RUNS, make_cell
from airpath_studies.jayanathan.observed import CACHED, DROPPED, acting_dupack


@pytest.fixture(scope="module")
def values():
    """Values of Table 2 and of the text by id, of the committed figures."""
    known = docs_figures.load()["jayanathan"]["values"]
    return {name.removeprefix("jayanathan-").removeprefix("t2-"): value for name, value in known.items()}


@pytest.mark.parametrize("loss", LOSSES)
def test_a_published_throughput_of_standard_tcp_could_be_one_of_our_runs(loss, values):
    value = values[f"{loss}-standard"]
    assert abs(value["published"] - value["measured"]) < 2 * docs_figures.sd(value)


@pytest.mark.parametrize("loss", LOSSES)
def test_feedback_helps_beyond_doubt_at_every_drop_rate(loss, values):
    gain = values[f"{loss}-improvement"]
    assert gain["runs"] == TABLE_RUNS
    assert gain["half_width"] <= REPRODUCED_POINTS / 2
    assert gain["measured"] > gain["half_width"]


def test_what_judges_is_the_best_of_what_is_argued_by_standard_tcp_alone():
    told = json.loads((docs_figures.FIGURES / "explored-jayanathan.json").read_text())
    exploration = load_exploration(PAPER)
    found = told["searches"][0]
    assert found["choose"] == [f"jayanathan-t2-{loss}-standard" for loss in LOSSES]
    assert told["argued"] == exploration.argued
    best = next(one for one in found["best"] if one["argued"])
    judging = next(setup for setup in exploration.setups if setup.options == tuple(best["options"]))
    cell = make_cell(5, feedback=True)
    assert dict(judging.changes(cell)).items() <= dict(cell.overrides).items()
    assert {name for choice in PAPER.choices for name in choice.uses if "-t2-" in name} == set(
        found["choose"]
    )


@pytest.mark.parametrize("loss", (10, 15))
def test_two_flagged_acks_take_much_of_the_benefit(loss, values):
    value = values[f"{loss}-improvement"]
    assert value["measured"] < 0.7 * value["readings"]["first flagged"]["measured"]


def test_a_longer_path_brings_more_of_the_published_gains(values):
    for loss in LOSSES:
        read = values[f"{loss}-improvement"]["readings"]
        assert read["six segments"]["measured"] < read["B"]["measured"] < read["A"]["measured"]


def test_the_third_duplicate_acts_and_with_one_flag_the_second(values):
    value = values["s4-dupacks"]
    assert value["measured"] + UNFLAGGED == 3
    assert value["readings"]["first flagged"]["measured"] + UNFLAGGED == 2


def run(cell, observe, seed=1):
    """What an observation keeps of a run, and the reports of its boxes by name."""
    base = load(PAPER.scenario)
    text = Scenario(base.name, base.source, cell.overrides, base.folder).text
    simulation = airpath._core.Simulation(text, seed, sorted(observe.probes), False)
    while not simulation.advance(simulation.end_s):
        pass
    elements = json.loads(simulation.results())["elements"]
    boxes = {e["element"].removeprefix("middlebox."): e for e in elements}
    return observe.reduce(simulation.take_trace()), boxes


def test_the_pictures_show_what_the_boxes_counted():
    cell = make_cell(5, feedback=True)
    dropped, boxes = run(cell, DROPPED)
    cached, _ = run(cell, CACHED)
    assert dropped.y[-1] == boxes["packet_loss"]["downlink"]["dropped"]
    assert cached.y.max() == boxes["rnc_feedback"]["peak_cached_segments"]
    assert cached.y[-1] == boxes["rnc_feedback"]["cached_at_end"] == 0


def test_with_one_seed_the_same_packets_are_dropped_of_every_sender():
    standard, feedback = (run(make_cell(10, feedback), DROPPED)[0] for feedback in (False, True))
    assert standard.x[0] == feedback.x[0]


def test_duplicates_are_counted_from_the_ack_that_came_first():
    ms = 1_000_000
    events = {
        "tcp_state": {
            "time_ns": np.array([1, 2, 3, 4]) * ms,
            "snd_una": np.array([1460, 2920, 2920, 2920]),
        },
        "segment_sent": {
            "time_ns": np.array([2, 4]) * ms,
            "seq": np.array([8760, 2920]),
            "cause": (np.array([0, 1]), ["new", "wireless_fast_retransmit"]),
        },
    }
    assert acting_dupack(events) == 2
    assert math.isnan(acting_dupack({}))
