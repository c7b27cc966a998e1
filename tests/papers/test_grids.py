"""Grids: what is measured where a paper prints no values: tables, charts, and the studies."""

import json
import tomllib

import pytest
from conftest import check_error
from typer.testing import CliRunner

import airpath
from airpath.cli.main import app
from airpath.scenario import Scenario, load
from airpath.stats.estimate import estimate
from airpath_studies.atlas.cells import alone
from airpath_studies.atlas.places import PLACES
from airpath_studies.atlas.studies import CURED
from airpath_studies.extensions.settings import ERROR_RATES
from airpath_studies.lundsten.solutions import TABLE_1
from airpath_studies.papers import PAPERS
from airpath_studies.report.plots import maps_figure
from airpath_studies.shared.downloads import RETURN

GRIDS = [
    pytest.param(experiment, grid, id=f"{name}-{experiment.place}-{grid.title}")
    for name, paper in PAPERS.items()
    for experiment in paper.experiments
    for grid in experiment.grids
]


def reproduce(tmp_path, *words):
    """Run the command; its result, the entries in its JSON, and the page."""
    file, wide = tmp_path / "report.json", {"COLUMNS": "300"}
    result = CliRunner().invoke(app, ["reproduce", *words, "--out", str(tmp_path)], env=wide)
    assert result.exit_code == 0, result.output
    return result, json.loads(file.read_text()), (tmp_path / "index.html").read_text()


def entry(entries, column, **row):
    """What the JSON has for a line and a column."""
    (found,) = [known for known in entries if known["column"] == column and known["row"] == row]
    return found


@pytest.mark.parametrize(("experiment", "grid"), GRIDS)
def test_a_grid_has_an_entry_for_each_of_its_columns(experiment, grid):
    assert grid.title or (experiment.question and not experiment.rows)
    for row in grid.rows:
        assert len(row.labels) == len(grid.heads or experiment.columns)
        assert len(row.entries) == len(grid.columns)
        assert len(row.marks) in (0, len(row.entries))
        assert row.note or None not in row.entries


@pytest.mark.parametrize(("experiment", "grid"), GRIDS)
def test_what_is_measured_twice_has_one_name_and_different_things_have_two(experiment, grid):
    quantities = set(grid.quantities)
    assert len({quantity.name for quantity in quantities}) == len(quantities)


@pytest.mark.parametrize(("paper", "last"), [("extensions", 23), ("atlas", 9)])
def test_the_studies_are_numbered(paper, last):
    assert [experiment.number for experiment in PAPERS[paper].experiments] == list(range(1, last + 1))


@pytest.mark.slow
@pytest.mark.parametrize("paper", ["lundsten", "zhang"])
def test_what_a_cell_says_of_a_lost_blocks_return_no_reading_changes(paper):
    known = PAPERS[paper]
    cells = {quantity.cell for experiment in known.experiments for quantity in experiment.quantities}
    for cell in cells:
        said = dict(cell.overrides).get(RETURN)
        texts = {known.text(cell, cell.overrides, reading) for reading in known.readings}
        assert (len(texts) == 1) is (said is not None)
        assert all(f'retransmission_delay = "{said}"' in text for text in texts) or said is None


@pytest.mark.slow
def test_table_1_shows_what_the_thesis_crosses_beside_what_is_measured(tmp_path):
    result, entries, page = reproduce(tmp_path, "lundsten", "--table", "1", "--runs", "2")
    assert len(entries) == 6 * 6
    assert entry(entries, "small files", solution="Eifel")["printed"] == ""
    eifel = entry(entries, "spurious fast retransmits", solution="Eifel")
    assert eifel["printed"] == "X" and eifel["runs"] == 2 and eifel["unit"] == "percent"
    # A snoop agent is at the radio, and repairs losses there.
    assert entry(entries, "loss, radio", solution="Snoop")["measured"] > 40
    assert abs(entry(entries, "loss, wired", solution="Snoop")["measured"]) < 1
    hsdpa = entry(entries, "small files", solution="HSDPA")
    assert (hsdpa["printed"], hsdpa["measured"], hsdpa["runs"]) == ("X", None, 0)
    for text in (result.stdout, page):
        assert f"X {eifel['measured']:.1f} ± " in text
        assert "HSDPA: not measured here: it is another radio link (Study 10)" in text


@pytest.mark.slow
def test_an_entry_is_what_its_two_scenarios_give(tmp_path):
    _, entries, _ = reproduce(tmp_path, "lundsten", "--table", "1", "--runs", "2")
    split = next(row for row in TABLE_1.grid.rows if row.labels == ("Split TCP",))
    cell = split.entries[TABLE_1.grid.columns.index("loss, wired")].cell
    base = load("lundsten-dch")
    reading = ("radio.dch.downlink.rlc.fixed_delay_arq.retransmission_delay", "59 ms")

    def received_s(overrides, seed):
        scenario = Scenario(base.name, base.source, (*overrides, reading), base.folder)
        return airpath.run(scenario, seed=seed).flows[0]["received_s"]

    saved = [100 - 100 * received_s(cell.overrides, s) / received_s(cell.reference, s) for s in (1, 2)]
    measured = entry(entries, "loss, wired", solution="Split TCP")["measured"]
    assert measured == pytest.approx(sum(saved) / 2) and measured > 10


@pytest.mark.slow
def test_a_study_has_its_question_and_its_figures_on_the_page(tmp_path):
    result, entries, page = reproduce(tmp_path, "extensions", "--study", "3", "--runs", "2")
    assert len(entries) == 5 * 6 and all(known["place"] == "Study 3" for known in entries)
    assert ERROR_RATES.question in page and "<h1>Extensions</h1>" in page
    assert "Study 3. Block error rates [%]" in result.stdout and "values measured" not in result.stdout
    without = entry(entries, "64/1500", **{"block errors": "0 %"})
    assert (without["measured"], without["printed"]) == (0.0, None)
    # Large packets, slow bearer: the link's own retransmissions, 1 / (1 - p) - 1.
    assert entry(entries, "64/1500", **{"block errors": "20 %"})["measured"] == pytest.approx(25, abs=2)


def test_an_unknown_study_is_refused(tmp_path, airpath_command):
    outcome = airpath_command("reproduce", "extensions", "--study", 99, "--out", tmp_path)
    check_error(outcome, "--study", "extensions has no study 99 to reproduce", "Study 1, Study 2,")


ATLAS = PAPERS["atlas"]


@pytest.mark.parametrize("study", ATLAS.experiments, ids=lambda study: study.place)
def test_a_map_compares_a_grid_with_one_of_the_same_lines_and_columns(study):
    assert study.maps
    for drawn in study.maps:
        if drawn.over is not None:
            assert drawn.over.columns == drawn.grid.columns
            assert [row.labels for row in drawn.over.rows] == [row.labels for row in drawn.grid.rows]


def test_what_a_plane_and_a_map_show_is_one_table():
    titles = [grid.title for grid in ATLAS.experiments[0].grids]
    assert sorted(set(titles)) == sorted(titles)
    assert titles[:2] == ["Lundsten: delay, 95 % are below", "Lundsten: goodput"]


def test_a_map_of_a_change_says_it_in_percent():
    drawn = CURED["split"]["LTE"][0]
    double = {of: estimate([2.0, 2.0]) for of in drawn.grid.quantities}
    single = {of: estimate([1.0, 1.0]) for of in drawn.over.quantities}
    figure = maps_figure([drawn], double | single)
    (axes,) = figure.axes
    assert {text.get_text() for text in axes.texts} == {"+100"}
    assert axes.get_title() == "LTE: goodput, split [change, %]"
    assert [label.get_text() for label in axes.get_xticklabels()] == list(drawn.grid.columns)


def test_a_place_has_its_own_buffer_sender_and_box():
    cell = alone(PLACES["Jayanathan"], "BBR", "CoDel", "snoop")
    text = tomllib.loads(ATLAS.text(cell, cell.overrides, ATLAS.readings[0]))
    assert text["tcp"]["profile"] == "linux-bbr"
    assert [next(iter(box)) for box in text["middlebox"]] == ["packet_loss", "snoop"]
    assert text["radio"]["dch"]["downlink"]["queue"]["codel"]["packets"] == PLACES["Jayanathan"].packets
