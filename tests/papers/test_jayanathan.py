"""Jayanathan et al.: Table 2, what the sender does when, and what is read off a trace."""

import json
import math
from dataclasses import replace

import docs_figures
import numpy as np
import pytest

import airpath
from airpath.experiments.papers.base.verdict import REPRODUCED_POINTS
from airpath.experiments.papers.jayanathan import PAPER
from airpath.experiments.papers.jayanathan.choices import WITHIN
from airpath.experiments.papers.jayanathan.measured import UNFLAGGED
from airpath.experiments.papers.jayanathan.model import LOSSES, TABLE_RUNS, make_cell
from airpath.experiments.papers.jayanathan.observed import CACHED, DROPPED, acting_dupack
from airpath.experiments.papers.jayanathan.studies import BEARER
from airpath.experiments.papers.outcome import Effort
from airpath.experiments.papers.reproduction import Reproduction
from airpath.scenario import Scenario, load


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
def test_the_published_throughput_with_feedback_is_higher_than_ours(loss, values):
    value = values[f"{loss}-rncfb"]
    assert value["measured"] + value["half_width"] < value["published"]


@pytest.mark.parametrize("loss", LOSSES)
def test_feedback_helps_beyond_doubt_at_every_drop_rate(loss, values):
    gain = values[f"{loss}-improvement"]
    assert gain["runs"] == TABLE_RUNS
    assert gain["half_width"] <= REPRODUCED_POINTS / 4
    assert gain["measured"] > gain["half_width"]


@pytest.mark.slow
def test_the_rates_of_the_bearer_fit_table_2_as_the_choice_says():
    throughputs = replace(BEARER, tables=BEARER.tables[:1])
    reproduction = Reproduction(PAPER, (throughputs,), Effort(all_readings=False, is_full=True))
    (section,) = reproduction.outcome(reproduction.simulate(), background=False).sections
    fits = {}
    for row in throughputs.tables[0].rows:
        known = [section.grid[quantity] for quantity in row.entries]
        far = [abs(float(mark) - of.mean) / of.sd for mark, of in zip(row.marks, known, strict=True)]
        # Standard TCP stands in every other column.
        fits[int(row.labels[0].split()[0])] = sum(distance <= 2 for distance in far[::2])
    assert fits == WITHIN
    assert [rate for rate, fitting in fits.items() if fitting == len(LOSSES)] == [46]
    assert set(PAPER.choices[0].uses) == {f"jayanathan-t2-{loss}-standard" for loss in LOSSES}


@pytest.mark.parametrize("loss", (10, 15))
def test_two_flagged_acks_take_most_of_the_benefit(loss, values):
    value = values[f"{loss}-improvement"]
    assert value["measured"] < value["readings"]["first flagged"]["measured"] / 3


def test_as_printed_on_a_longer_path_feedback_gains_least_at_2_and_less_at_15_than_at_10(values):
    read = {loss: values[f"{loss}-improvement"]["readings"] for loss in LOSSES}
    gains = {loss: known["two flagged, 0.4 s"]["measured"] for loss, known in read.items()}
    assert gains[2] < gains[5] and gains[2] < gains[15] < gains[10]
    assert abs(gains[10] - 17.81) < 3 and abs(gains[15] - 13.88) < 3


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
