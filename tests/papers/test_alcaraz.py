"""Alcaraz and Cerdan's paper: Table 2 at its own 20 runs, what is read off a trace, planes and intervals."""

import json
import math
from dataclasses import replace

import docs_figures
import numpy as np
import pytest
from typer.testing import CliRunner

import airpath
from airpath.cli.main import app
from airpath.scenario import Scenario, load
from airpath.stats.estimate import estimate
from airpath_studies.alcaraz import PAPER
from airpath_studies.alcaraz.figures import CELLS
from airpath_studies.alcaraz.measured import first_near_the_most, value_of_highest
from airpath_studies.alcaraz.model import BASE, SCHEMES, combined, make_cell
from airpath_studies.alcaraz.observed import (
    BUFFER,
    PACKETS,
    counter,
    in_order_s,
    occupancy,
    transfers_s,
)
from airpath_studies.alcaraz.studies import RED
from airpath_studies.base.conditions import AllOf, AtMost, HalfWidth, Less, OneOf
from airpath_studies.base.observe import Observation
from airpath_studies.base.paired import reduction
from airpath_studies.base.panel import Path, Plane, Reference
from airpath_studies.base.quantity import Highest, Quantity

UNCONTROLLED = [(name, flows) for flows in (1, 4) for name in ("conventional", "pdpc")]
CONTROLLED = [(name, flows) for flows in (1, 4) for name in ("ackrate", "combined1", "combined2")]


@pytest.fixture(scope="module")
def table():
    """Values of Table 2 by scheme, flows and what is measured, of the committed figures."""
    known = {}
    for name, value in docs_figures.load()["alcaraz"]["values"].items():
        _, place, *row = name.split("-")
        if place == "t2":
            scheme, flows, what = row
            known[scheme, int(flows[0]), what] = value
    return known


@pytest.fixture(scope="module")
def overflows():
    """Mean overflow drops of a run by scheme, one flow."""
    known = {}
    for name in SCHEMES:
        outcomes = [run(CELLS[name, 1], seed) for seed in range(1, 21)]
        known[name] = sum(outcome.overflow_drops for outcome in outcomes) / len(outcomes)
    return known


def run(cell, seed):
    """What a cell observes of a run."""
    base = load(BASE)
    text = Scenario(base.name, base.source, cell.overrides, base.folder).text
    simulation = airpath._core.Simulation(text, seed, sorted(cell.observe.probes), False)
    while not simulation.advance(simulation.end_s):
        pass
    return cell.observe.reduce(simulation.take_trace())


@pytest.mark.parametrize(("name", "flows"), UNCONTROLLED)
def test_rows_without_ack_control_are_those_of_the_paper(name, flows, table):
    goodput, delay = table[name, flows, "goodput"], table[name, flows, "delay"]
    assert goodput["measured"] == pytest.approx(goodput["published"], rel=0.05)
    assert delay["measured"] == pytest.approx(delay["published"], rel=0.1)


@pytest.mark.parametrize(("name", "flows"), CONTROLLED)
def test_ack_control_saves_delay(name, flows, table):
    assert table[name, flows, "delay"]["measured"] < 0.9 * table["conventional", flows, "delay"]["measured"]


@pytest.mark.parametrize(("name", "flows"), CONTROLLED)
def test_ack_control_keeps_the_goodput_if_it_begins_at_10_sdus(name, flows, table):
    """minth is 10 in Combined Scheme 2, and 0 in the others, as in the paper."""
    controlled, conventional = (
        table[known, flows, "goodput"]["measured"] for known in (name, "conventional")
    )
    assert (controlled >= 0.96 * conventional) is (name == "combined2")


@pytest.mark.parametrize("name", ["combined1", "combined2"])
def test_acks_are_stranded_as_printed(name, table):
    """Figure 3 lets one ACK go at each arrival and each expiration; its readings judge nothing."""
    goodput = table[name, 1, "goodput"]
    assert goodput["readings"]["Figure 3"]["measured"] < 0.95 * goodput["measured"]
    assert set(goodput["readings"]) == {reading.name for reading in PAPER.readings}


@pytest.mark.slow
def test_readings_are_about_ack_rate_control(tmp_path):
    _, entries, _ = reproduce(tmp_path, "--table", "2", "--runs", "1")
    for value in entries:
        known = {read["measured"] for read in value["readings"].values()}
        assert (len(known) == 1) is ("conventional" in value["id"] or "pdpc" in value["id"])


def test_f2_of_zero_lets_four_flows_overflow_the_buffer():
    cells = make_cell(combined(1, 40, 12.5, f2_alpha=1), 4), CELLS["combined1", 4]
    few, many = (np.mean([run(cell, seed).overflow_drops for seed in range(1, 21)]) for cell in cells)
    assert 1.3 * few < many


def test_the_counter_is_bo_at_a_drop_and_zero_when_f2_ends():
    cell = replace(
        CELLS["combined1", 4], observe=Observation((*BUFFER, "ack_rate_control"), lambda events: events)
    )
    events = run(cell, 1)
    known, held = counter(events), occupancy(events)
    starts = np.flatnonzero((known.y[1:] > 0) & (known.y[:-1] == 0)) + 1
    assert starts.size > 2
    at_drop = held.y[np.searchsorted(held.x, known.x[starts], side="left") - 1]
    assert known.y[starts].tolist() == at_drop.tolist()
    # What the box tells is as of the last change before it.
    told_s, after = events["ack_rate_control"]["time_ns"] / 1e9, events["ack_rate_control"]["after_drop"]
    runs = known.y[np.searchsorted(known.x, told_s, side="right") - 1] > 0
    assert (runs == (after > 0)).all() and runs.any()


@pytest.mark.parametrize("flows", [1, 4])
def test_combined_scheme_1_has_less_delay_than_2(flows, table):
    first, second = (table[name, flows, "delay"]["measured"] for name in ("combined1", "combined2"))
    assert first < second


@pytest.mark.slow
@pytest.mark.parametrize("name", ["ackrate", "pdpc", "combined1", "combined2"])
def test_one_flow_hardly_ever_overflows_a_controlled_buffer(name, overflows):
    assert overflows[name] < 1 < overflows["conventional"]


@pytest.mark.parametrize(
    ("name", "scenario"),
    [
        ("conventional", "alcaraz-384"),
        ("ackrate", "alcaraz-384-ack-rate"),
        ("pdpc", "alcaraz-384-pdpc"),
        ("combined1", "alcaraz-384-combined-1"),
        ("combined2", "alcaraz-384-combined-2"),
    ],
)
def test_a_bundled_scenario_is_the_cell_of_its_scheme(name, scenario):
    base = load(BASE)
    cell = Scenario(base.name, base.source, make_cell(SCHEMES[name]).overrides, base.folder)
    assert airpath.run(load(scenario), seed=3).flows == airpath.run(cell, seed=3).flows


def trace_of(sent, received):
    """A trace of segments of a flow: times in seconds and packet numbers."""

    def columns(events):
        time_s, packet = zip(*events, strict=True)
        return {
            "time_ns": np.array([round(at * 1e9) for at in time_s]),
            "flow": np.zeros(len(events)),
            "seq": 1460 * np.array(packet),
        }

    return {"segment_sent": columns(sent), "segment_received": columns(received)}


# Packet 1 is lost and retransmitted at 3.0; packet 3 is still in flight.
LOST = trace_of([(0, 0), (1, 1), (2, 2), (3, 1), (4, 3)], [(0.5, 0), (2.7, 2), (3.6, 1)])


def test_a_delay_is_that_of_the_transmission_that_arrives():
    assert transfers_s(LOST) == pytest.approx([0.5, 0.7, 0.6])


def test_in_order_a_packet_waits_for_those_before_it():
    assert in_order_s(LOST) == pytest.approx([0.5, 2.6, 1.6])


def test_dropped_packets_are_those_that_were_not_received():
    dropped = {"time_ns": np.array([1_200_000_000]), "len_bytes": np.array([1500])}
    layers = dict(PACKETS.reduce({**LOST, "dropped": dropped}).series)
    assert (layers["dropped"].x.tolist(), layers["dropped"].y.tolist()) == ([1.2], [1])
    assert layers["sent"].y.tolist() == [0, 1, 2, 1, 3]


def test_a_run_tells_drops_of_the_discipline_from_overflows():
    conventional, pdpc = run(CELLS["conventional", 4], 1), run(CELLS["pdpc", 1], 1)
    assert conventional.overflow_drops > 0 and conventional.deliberate_drops == 0
    assert pdpc.overflow_drops == 0 and pdpc.deliberate_drops > 0
    assert conventional.early_overflow_drops <= conventional.overflow_drops
    assert 0 < pdpc.delay_s <= pdpc.in_order_s


def test_t_id_follows_equation_1_and_is_0_after_a_drop():
    layers = dict(run(make_cell(combined(0.5, 20, 10, None)), 1).t_id_ms.__dict__)
    shares = np.clip((layers["x"] - 10) / 10, 0, 1)
    assert layers["y"] == pytest.approx(200 * shares**0.5, abs=0.001)


def estimates(*runs):
    return [estimate(list(values)) for values in runs]


def test_the_best_value_of_a_parameter_is_found_seed_by_seed():
    # Two cells for each of two values.
    found = value_of_highest((35, 40))(estimates((1, 2), (5, 1), (4, 6), (2, 2)))
    assert found.values == (35, 40)
    assert first_near_the_most((10, 20, 30), 0.9)(estimates((1, 9), (9, 9), (10, 9))).values == (20, 10)
    assert reduction(estimates((2, 1), (4, 4))).values == (50, 75)


CELL = CELLS["conventional", 1]
A, B, C = (Quantity(name, CELL, lambda _: 0.0, "s") for name in "abc")


def check(condition, **values):
    return condition.check(lambda quantity: values[quantity.name]).holds


def test_the_highest_of_several_quantities_is_compared_like_one():
    best = Highest("best", (A, B))
    known = {"a": estimate([0.9, 1.1]), "b": estimate([2.9, 3.1]), "c": estimate([1.9, 2.1])}
    assert check(Less(C, best), **known) is True
    assert check(Less(best, C), **known) is False
    assert best.quantities == (A, B) and best.unit == "s"


@pytest.mark.parametrize(
    ("a", "b", "one", "both"),
    [
        (1, 1, True, True),
        (1, 3, True, False),
        (3, 3, False, False),
        (1, 2.15, True, None),
        (3, 2.15, None, False),
    ],
)
def test_one_condition_of_several_is_enough_or_all_are_needed(a, b, one, both):
    conditions = (AtMost(A, 2), AtMost(B, 2))
    known = {"a": estimate([a, a]), "b": estimate([b - 0.02, b + 0.02])}
    assert check(OneOf(conditions), **known) is one
    assert check(AllOf(conditions), **known) is both


@pytest.mark.parametrize(("sd", "holds"), [(5, False), (7, True), (22, True), (25, False)])
def test_the_interval_of_a_mean_has_limits(sd, holds):
    # Student's t at 90 % with 19 degrees of freedom: 1.7291, over the root of 20: 0.38664.
    known = estimate([300 - sd / math.sqrt(2), 300 + sd / math.sqrt(2)])
    assert check(HalfWidth(A, 20, 0.9, 2.5, 8.9), a=known) is holds


def test_a_half_width_at_another_level():
    known = estimate([9.0, 10.0, 11.0])
    assert known.half_width_at(0.95) == pytest.approx(known.half_width)
    # Student's t at 90 % with 2 degrees of freedom: 2.92.
    assert known.half_width_at(0.9) == pytest.approx(2.92 / 3**0.5, rel=1e-3)


def test_a_plane_is_two_tables_with_the_reference_below():
    paths = (Path("one", (A, B), (B, A)), Path("two", (B, A), (A, B)))
    plane = Plane("plane", "p", (1, 2), "delay", "s", "goodput", "kbit/s", paths, Reference("DT", C, A))
    x, y = plane.grids
    assert (x.title, x.unit, x.columns, y.unit) == ("plane: delay", "s", ("one", "two"), "kbit/s")
    assert [row.labels for row in x.rows] == [("1",), ("2",), ("DT",)]
    assert [row.entries for row in x.rows] == [(A, B), (B, A), (C, C)]
    assert [row.entries for row in y.rows] == [(B, A), (A, B), (A, A)]


def reproduce(tmp_path, *options):
    """Run the command; its result, the parsed JSON and the page."""
    out = tmp_path / "out"
    json_file = out / "report.json"
    words = ["reproduce", "alcaraz", *options, "--out", str(out)]
    result = CliRunner().invoke(app, words, env={"COLUMNS": "300"})
    assert result.exit_code == 0, result.output
    return result, json.loads(json_file.read_text()), (out / "index.html").read_text()


@pytest.mark.slow
def test_the_papers_own_intervals_stand_beside_ours(tmp_path):
    result, values, page = reproduce(tmp_path, "--table", "2", "--runs", "20", "--quick")
    value = next(known for known in values if known["id"] == "alcaraz-t2-conventional-1f-goodput")
    assert (value["published"], value["published_half_width"]) == (281.9, 8.9)
    first = value["first_runs"]
    # Student's t at 90 % with 19 degrees of freedom: 1.7291.
    assert first["half_width"] == pytest.approx(1.7291 * value["sd"] / math.sqrt(20), rel=1e-3)
    assert first["confidence"] == 0.9
    assert "281.9 ± 8.9" in page and "281.9 ± 8.9" in result.stdout
    assert "<th>first 20 runs ± 90 %</th>" in page


@pytest.mark.slow
def test_planes_and_traces_are_drawn(tmp_path):
    result, entries, page = reproduce(tmp_path, "--figure", "8", "--figure", "12", "--runs", "1")
    shown = [entry for entry in entries if entry["shows"] == "f2 = 0: goodput"]
    assert len(shown) == (11 + 1) * 6 and all(entry["unit"] == "kbit/s" for entry in shown)
    assert {entry["column"] for entry in shown} == {f"maxth {maxth}" for maxth in (20, 25, 30, 35, 40, 45)}
    assert page.count("<img") == 2 and "Figure 8 f2 = 0: delay" in result.stdout


@pytest.mark.slow
def test_studies_have_their_tables_and_charts(tmp_path):
    result, entries, page = reproduce(tmp_path, "--study", "2", "--study", "4", "--runs", "2")
    red = [entry for entry in entries if entry["row"] == {"scheme": "RED, weight 0.002"}]
    assert {entry["shows"] for entry in red} == {"goodput", "delay", "overflow drops", "timeouts"}
    assert "Study 4 overflow drops" in result.stdout and RED.question in page
