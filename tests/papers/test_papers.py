"""Papers: quick points of their tables, what the command writes, and the published values themselves."""

import contextlib
import json
import re
import sys
from collections import Counter
from html import escape
from importlib.resources import files

import docs_figures
import numpy as np
import pytest
from conftest import CHANGED, check_error
from typer.testing import CliRunner

from airpath.cli.main import app
from airpath.stats.estimate import estimate
from airpath_studies import journal as journal_module
from airpath_studies import reproduction as harness
from airpath_studies.base.verdict import CLAIM_VERDICTS, MEASURED_VERDICTS, MET, VERDICTS
from airpath_studies.base.wording import mean_text, number
from airpath_studies.lundsten import PAPER
from airpath_studies.lundsten.tables import TABLE_3
from airpath_studies.outcome import Effort
from airpath_studies.papers import PAPERS
from airpath_studies.reproduction import Reproduction
from airpath_studies.runs import Runs

KEYS = [
    "id",
    "place",
    "published",
    "corrected",
    "published_half_width",
    "measured",
    "ci_low",
    "ci_high",
    "sd",
    "runs",
    "seed_1",
    "unit",
    "verdict",
    "link_alone",
    "reason",
    "averaged_runs",
    "prediction_low",
    "prediction_high",
    "first_runs",
    "readings",
]
FLOOR = 100 * (1 / 0.9 - 1)


# Own studies have nothing published.
PRINTED = [paper for paper in PAPERS.values() if not paper.is_own]


@pytest.mark.slow
@pytest.mark.parametrize("paper", PAPERS.values(), ids=lambda paper: paper.name)
def test_each_cell_is_a_scenario(paper):
    """Also that of a study that no quick test runs: its keys are those of today."""
    (reading,) = (one for one in paper.readings if one.name == paper.default_reading)
    cells = {cell for of in paper.experiments for cell in of.single_runs}
    cells |= {cell for of in paper.experiments for row in of.rows for cell in row.cells}
    cells |= {quantity.cell for of in paper.experiments for quantity in of.quantities}
    cells |= {quantity.cell for claim in paper.claims for quantity in claim.quantities}
    for cell in cells:
        assert paper.text(cell, cell.overrides, reading)
        assert cell.reference is None or paper.text(cell, cell.reference, reading)


def reproduce(tmp_path, *options, paper="lundsten"):
    """Run the command; its result, the parsed JSON and the page."""
    out = tmp_path / "out"
    json_file = out / "report.json"
    words = ["reproduce", paper, *options, "--out", str(out), "--force"]
    result = CliRunner().invoke(app, words, env={"COLUMNS": "300"})
    values = json.loads(json_file.read_text()) if json_file.exists() and json_file.stat().st_size else None
    page = out / "index.html"
    return result, values, page.read_text() if page.exists() else None


@pytest.fixture(scope="module")
def increases():
    """Percent by speed in kbit/s and packet size in bytes, by the committed figures."""
    values = docs_figures.load()["lundsten"]["values"]
    return {tuple(map(int, row.labels[:2])): values[row.published_id]["measured"] for row in TABLE_3.rows}


def test_small_packets_on_the_fast_bearer_suffer_by_far_the_most(increases):
    others = [mean for cell, mean in increases.items() if cell != (384, 576)]
    assert increases[384, 576] > 5 * max(others)


def test_the_increases_fall_in_the_published_order(increases):
    order = [(384, 576), (384, 1500), (128, 576)]
    rest = [increases[cell] for cell in increases if cell not in order]
    means = [increases[cell] for cell in order] + [max(rest)]
    assert means == sorted(means, reverse=True)
    assert means[1] > means[2] * 1.02


@pytest.mark.parametrize("cell", [(128, 1500), (64, 576), (64, 1500)])
def test_slow_bearers_pay_for_retransmissions_only(increases, cell):
    assert increases[cell] == pytest.approx(FLOOR, abs=0.3)


def test_no_cell_is_cheaper_than_its_retransmissions(increases):
    assert all(mean > FLOOR - 0.3 for mean in increases.values())


def outcome_of(*experiments):
    """What a few runs of some experiments of the thesis give."""
    reproduction = Reproduction(PAPER, experiments, Effort.of(quick=True, runs=None))
    return reproduction.outcome(reproduction.simulate(), background=True)


def test_large_packets_at_128_kbits_keep_the_window_at_its_limit():
    (figure,) = outcome_of(*(of for of in PAPER.experiments if of.place == "Figure 16")).sections
    window = figure.window
    stays_s = np.diff(window.time_s, append=window.end_s)
    assert window.maximum == 7
    assert stays_s[window.segments == 7].sum() / stays_s.sum() > 0.99


@pytest.mark.slow
def test_what_is_not_random_is_judged_after_few_runs():
    text = outcome_of(*(of for of in PAPER.experiments if of.place == "Text"))
    verdicts = {comparison.published.id: comparison.verdict for comparison in text.comparisons}
    assert verdicts["lundsten-f18-20k"] == "holds"


@pytest.mark.slow
def test_a_reason_tells_what_the_other_readings_give(tmp_path):
    _, values, _ = reproduce(tmp_path, "--table", "8", "--runs", "3")
    reasons = {value["id"]: value["reason"] for value in values if value["verdict"] == "not_reproduced"}
    assert "lundsten-t8-384-576" in reasons
    assert all(re.search(r"all 4 readings give \S+ to \S+ %", reason) for reason in reasons.values())


@pytest.mark.slow
def test_the_json_has_one_object_per_value_of_the_table(tmp_path):
    result, values, _ = reproduce(tmp_path, "--table", "3", "--runs", "2", "--quick")
    assert result.exit_code == 0
    assert [value["id"] for value in values] == [row.published_id for row in TABLE_3.rows]
    assert all(list(value) == KEYS for value in values)
    assert all(value["place"] == "Table 3" and value["runs"] == 2 for value in values)
    assert all(value["ci_low"] < value["measured"] < value["ci_high"] for value in values)


def test_one_run_has_no_interval_in_the_json(tmp_path):
    _, values, _ = reproduce(tmp_path, "--table", "4", "--runs", "1", "--quick")
    assert {(value["runs"], value["ci_low"], value["ci_high"]) for value in values} == {(1, None, None)}


@pytest.mark.slow
def test_in_a_file_a_value_has_one_line_however_many_readings_there_are(tmp_path):
    result, values, _ = reproduce(tmp_path, "--table", "10", "--runs", "2")
    rows = [line for line in result.stdout.splitlines() if re.match(r" *\d+ +\d+ +\d+ +\d+ %", line)]
    assert len(rows) == len(values)


def first_runs(kept):
    """What the first run gave for every value, every entry of a grid and everything that a claim is about."""
    return {name: known["seed_1"] for kind in docs_figures.KINDS for name, known in kept[kind].items()}


RUNS = {"alcaraz": 1, "chan": 1, "extensions": 1, "atlas": 1, "zhang": 5}
"""Runs of a cell where they are not two: these take minutes, or two reproduce nothing."""


@pytest.mark.slow
@pytest.mark.parametrize(
    "paper",
    [pytest.param(PAPERS[name], id=name, marks=[pytest.mark.slow] * (name != "zhang")) for name in PAPERS],
)
def test_everything_together_has_every_value_and_every_claim_of_the_paper(paper, tmp_path):
    runs = RUNS.get(paper.name, 2)
    result, objects, page = reproduce(tmp_path, "--quick", "--runs", str(runs), paper=paper.name)
    assert result.exit_code == 0
    values = {known["id"]: known for known in objects if "published" in known}
    claims = {known["id"]: known for known in objects if "claim" in known}
    grids = [known for known in objects if "column" in known]
    assert len(values) + len(claims) + len(grids) == len(objects)
    assert set(values) == set(paper.published)
    assert set(claims) == {claim.id for claim in paper.claims}
    for value in values.values():
        assert (value["verdict"] == "background") == (value["measured"] is None) == (value["runs"] == 0)
        assert value["verdict"] in VERDICTS
        assert bool(value["reason"]) == (value["verdict"] not in (*MET, "background"))
    full = docs_figures.load()[paper.name]
    assert first_runs(docs_figures.condensed(objects)) == first_runs(full), CHANGED
    verdicts, in_full = (
        Counter(value["verdict"] for value in known.values()) for known in (values, full["values"])
    )
    if paper.name in ("lundsten", "zhang"):  # Few runs call no more values reproduced than many.
        assert 0 < verdicts["reproduced"] < in_full["reproduced"]
        assert verdicts["more_runs_needed"] > in_full["more_runs_needed"]
    for claim in claims.values():
        assert claim["verdict"] in CLAIM_VERDICTS
        assert bool(claim["reason"]) == (claim["verdict"] != "holds")
        assert bool(claim["conditions"]) == (runs > 1)
        assert f'id="{claim["id"]}"' in page and claim["id"] in result.stdout


@pytest.mark.slow
def test_the_json_has_what_the_first_run_alone_gives(tmp_path):
    _, many, _ = reproduce(tmp_path, "--table", "3", "--table", "7", "--runs", "3", "--quick")
    _, one, _ = reproduce(tmp_path, "--table", "3", "--table", "7", "--runs", "1", "--quick")
    assert [value["seed_1"] for value in many] == [value["measured"] for value in one]


@pytest.mark.slow
def test_the_json_has_every_reading_that_was_simulated(tmp_path):
    _, values, _ = reproduce(tmp_path, "--table", "3", "--runs", "2")
    names = [reading.name for reading in PAPER.readings]
    for value in values:
        readings = value["readings"]
        assert sorted(readings) == sorted(names) and next(iter(readings)) == PAPER.default_reading
        judged = readings[PAPER.default_reading]
        assert (judged["measured"], judged["verdict"]) == (value["measured"], value["verdict"])
        assert all(known["ci_low"] < known["measured"] < known["ci_high"] for known in readings.values())
        assert all(known["verdict"] in VERDICTS and known["runs"] == 2 for known in readings.values())
    fast = values[0]["readings"]
    assert fast["after"]["measured"] > fast["before"]["measured"]


@pytest.mark.slow
def test_command_and_page_show_what_each_reading_would_do(tmp_path):
    result, values, page = reproduce(tmp_path, "--table", "7", "--runs", "3")
    names = [reading.name for reading in PAPER.readings]
    given = {name: [value["readings"][name]["verdict"] for value in values] for name in names}
    scored = [verdict for verdict in MEASURED_VERDICTS if any(verdict in known for known in given.values())]
    for name, verdicts in given.items():
        said = f"{name} (judged)" if name == PAPER.default_reading else name
        counts = [str(verdicts.count(verdict)) for verdict in scored]
        assert "<tr>" + "".join(f"<td>{text}</td>" for text in (said, *counts)) + "</tr>" in page
        assert re.search(rf"{re.escape(said)} +{' +'.join(counts)}\n", result.stdout)


@pytest.mark.slow
def test_a_picture_without_values_is_a_page_of_its_own(tmp_path):
    result, values, page = reproduce(tmp_path, "--figure", "4", "--figure", "18")
    assert result.exit_code == 0 and values == []
    assert page.count("<img") == 2 and "Not finished" not in page
    assert "would do" not in page and "would do" not in result.stdout


@pytest.mark.slow
def test_where_the_paper_averages_its_number_of_runs_stands_beside_ours(tmp_path):
    result, values, page = reproduce(tmp_path, "--table", "9", "--runs", "22")
    for value in values:
        first = value["first_runs"]
        assert (value["averaged_runs"], first["runs"], value["runs"]) == (20, 20, 22)
        assert first["sd"] > 0 and first["mean"] == pytest.approx(value["measured"], abs=2 * first["sd"])
        assert value["prediction_low"] <= value["ci_low"] < value["ci_high"] <= value["prediction_high"]
        falls_in = f"{number(value['prediction_low'])} … {number(value['prediction_high'])}"
        like_the_paper = f"{number(first['mean'])} ± {number(first['sd'])}"
        assert all(f"<td>{text}</td>" in page for text in (falls_in, like_the_paper))
        said = f"{value['id']}: first 20 runs ± sd {like_the_paper}, a mean of 20 falls in {falls_in}"
        assert said in result.stdout
    assert "<th>first 20 runs ± sd</th><th>a mean of 20 falls in</th>" in page


@pytest.mark.slow
def test_nothing_is_said_of_an_average_where_the_paper_has_none(tmp_path):
    _, values, page = reproduce(tmp_path, "--table", "3", "--runs", "2", "--quick")
    assert {(value["averaged_runs"], value["first_runs"]) for value in values} == {(1, None)}
    assert "a mean of" not in page


@pytest.mark.slow
def test_result_and_page_do_not_depend_on_the_number_of_workers(tmp_path):
    options = ("--table", "3", "--figure", "15", "--runs", "3")
    _, one, page_one = reproduce(tmp_path / "1", *options, "--workers", "1")
    _, two, page_two = reproduce(tmp_path / "2", *options, "--workers", "2")
    assert one == two
    assert page_one == page_two


@pytest.mark.slow
def test_the_page_needs_nothing_but_itself(tmp_path):
    _, _, page = reproduce(tmp_path, "--table", "3", "--figure", "13", "--runs", "2")
    assert not re.search(r"https?:|//[a-z]|url\(|<script|<link|@import", re.sub(r"base64,[^\"]+", "", page))
    sources = re.findall(r'src="([^"]{0,30})', page)
    assert len(sources) == 2 and all(source.startswith("data:image/png;base64,") for source in sources)
    assert "airpath reproduce lundsten --table 3 --figure 13 --runs 2" in page
    assert all(reading.name in page for reading in PAPER.readings)


@pytest.mark.slow
def test_the_page_begins_with_what_did_not_come_out(tmp_path):
    _, values, page = reproduce(
        tmp_path, "--table", "3", "--table", "4", "--table", "14", "--runs", "20", "--quick"
    )
    top, below = page.split("<h2>Table 3.")
    missed = [value for value in values if value["verdict"] not in MET]
    assert {"not_reproduced", "close", "reproduced"} <= {value["verdict"] for value in values}
    assert sorted(re.findall(r'<a href="#([^"]+)">', top)) == sorted(value["id"] for value in missed)
    for value in missed:
        assert escape(value["reason"]) in top and f'<tr id="{value["id"]}">' in below
        assert value["reason"] and escape(value["reason"]) not in below
    verdicts = re.findall(r"<details[^>]*><summary>([^:<]+): \d+ value", top)
    assert verdicts[0] == "Not reproduced"
    assert top.count("<details open>") == 1


@pytest.mark.slow
def test_every_table_of_a_page_can_scroll_and_long_ones_fold(tmp_path):
    _, objects, page = reproduce(tmp_path, "--study", "1", "--runs", "1", paper="alcaraz")
    assert page.count("<table") == page.count('<div class="wide"><table') > 3
    rows = len({tuple(entry["row"].values()) for entry in objects})
    assert rows <= 12 and "rows</summary>" not in page
    _, _, page = reproduce(tmp_path, "--table", "1", "--quick", "--runs", "1", paper="chan")
    assert re.search(r'<details><summary>\d+ rows</summary><div class="wide"><table', page)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1234.5, "1234"),
        (56.78, "56.8"),
        (5.678, "5.68"),
        (0.1, "0.10"),
        (0.0312, "0.031"),
        (-0.0001, "0.000"),
    ],
)
def test_numbers_have_three_digits_or_so(value, text):
    assert number(value) == text


@pytest.mark.parametrize(
    ("values", "unit", "quantity", "text"),
    [
        # Standard error 0.2: 2.776 of it below (Student), 6.743 above (Willink, as in test_replicate.py).
        ([0, 0, 0, 0, 1], "1", "", "0.20 (0.00 … 1.55)"),
        ([0, 0, 0, 0, 1], "kbit/s", "", "0.20 ± 0.95"),
        ([98, 98, 98, 98, 99], "percent", "share_of_pings", "98.2 ± 0.95"),
        # Without skewness both are Student's: 2.776 times 0.8 and 0.05 of error, 4.303 with three values.
        ([96, 98, 98, 98, 100], "percent", "share_of_pings", "98.0 ± 1.76"),
        ([96, 98, 99, 100, 102], "percent", "share_of_pings", "99.0 (96.2 … 100)"),
        ([96, 98, 99, 100, 102], "percent", "increase_in_download_time", "99.0 ± 2.78"),
        ([0.8, 0.9, 1.0], "1", "p1_single_loss", "0.90 (0.65 … 1.00)"),
        ([0.8, 0.9, 1.0], "1", "prediction_accuracy", "0.90 ± 0.25"),
    ],
)
def test_intervals_stay_within_what_is_possible(values, unit, quantity, text):
    assert mean_text(estimate(values), unit, quantity) == text


@pytest.fixture
def made(monkeypatch):
    """The runs that reproductions make: jobs and seeds."""
    runs, measured = [], Runs.measured

    def counting(self, job, seeds):
        runs.extend((job, seed) for seed in seeds)
        yield from measured(self, job, seeds)

    monkeypatch.setattr(Runs, "measured", counting)
    return runs


@pytest.fixture
def interrupt_after(monkeypatch, made):
    """Have reproductions interrupted as by Ctrl-C, once so many runs were begun."""

    @contextlib.contextmanager
    def signals(runs):
        yield lambda: len(made) >= runs

    return lambda runs: monkeypatch.setattr(harness.driver, "signals", lambda: signals(runs))


@pytest.mark.slow
def test_no_cell_is_simulated_twice(made, tmp_path):
    reproduce(tmp_path, "--table", "3", "--table", "4", "--figure", "13", "--runs", "1")
    # Six cells in every reading.
    assert sorted(made) == [(job, 1) for job in range(6 * len(PAPER.readings))]


@pytest.mark.slow
def test_ctrl_c_keeps_what_is_finished_and_the_same_command_resumes(made, interrupt_after, tmp_path):
    command = ("--table", "3", "--runs", "2", "--workers", "1")
    undisturbed = reproduce(tmp_path / "undisturbed", *command)
    in_all = len(made)
    made.clear()
    interrupt_after(6)
    result, values, page = reproduce(tmp_path, *command)
    assert result.exit_code == 130 and "the same command resumes" in result.output
    ids = [row.published_id for row in TABLE_3.rows]
    assert 2 <= len(values) < len(ids) and [value["id"] for value in values] == ids[: len(values)]
    assert "Interrupted" in page and "not finished" in page
    interrupt_after(1000)
    assert reproduce(tmp_path, *command)[1:] == undisturbed[1:]
    # Only runs in progress at the interruption are made twice.
    assert len(set(made)) == in_all and len(made) <= in_all + 2
    assert {file.name for file in (tmp_path / "out").iterdir()} == {"index.html", "report.json"}


@pytest.mark.slow
def test_runs_of_another_reproduction_are_refused_and_a_torn_one_is_made_again(
    made, interrupt_after, tmp_path, airpath_command
):
    command = ("--table", "3", "--runs", "2", "--workers", "1")
    interrupt_after(6)
    reproduce(tmp_path, *command)
    journal = tmp_path / "out" / journal_module.NAME
    kept = journal.read_bytes()
    refused = airpath_command("reproduce", "lundsten", "--table", "4", "--out", journal.parent)
    check_error(refused, "out", "holds runs of another reproduction", "give the command that began it")
    assert journal.read_bytes() == kept
    journal.write_bytes(kept[:-20])
    made.clear()
    interrupt_after(1000)
    reproduce(tmp_path, *command)
    # All except the runs in complete lines; the first line identifies the reproduction.
    assert len(made) == 2 * 6 * len(PAPER.readings) - (len(kept.splitlines()) - 2)


def test_what_is_killed_early_leaves_no_empty_files(monkeypatch, tmp_path):
    def killed(*_arguments, **_options):
        assert not [path for path in tmp_path.rglob("*") if path.is_file()]
        raise SystemExit(9)

    monkeypatch.setattr(harness.driver, "run", killed)
    result, values, page = reproduce(tmp_path, "--table", "3", "--runs", "2")
    assert (result.exit_code, values, page) == (9, None, None)


def test_what_is_killed_early_leaves_earlier_results(monkeypatch, tmp_path):
    _, values, page = reproduce(tmp_path, "--figure", "14", "--runs", "2", "--quick")
    monkeypatch.setattr(harness.driver, "run", lambda *_, **__: sys.exit(9))
    assert reproduce(tmp_path, "--figure", "14", "--runs", "2", "--quick")[1:] == (values, page)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["nobody"], "error: PAPER: there is no 'nobody'; choose one of: lundsten"),
        (
            ["lundsten", "--table", "99"],
            "error: --table: lundsten has no table 99 to reproduce; choose from: Table 1, Table 3,",
        ),
        (
            ["lundsten", "--figure", "5"],
            "error: --figure: lundsten has no figure 5 to reproduce; choose from: Table 1, Table 3,",
        ),
        (["lundsten", "--runs", "0"], "error: --runs: 0 is too few; give at least 1"),
        (["lundsten", "--runs", str(2**63)], f"error: --runs: {2**63} is too many; give at most {2**31 - 1}"),
        (["lundsten", "--workers", "0"], "error: --workers: 0 is too few; give at least 1"),
        (
            ["lundsten", "--out", "/dev/null/nowhere"],
            "error: out: cannot write to '/dev/null/nowhere':",
        ),
        (["lundsten", "--out", "-"], "error: --out: '-' is not a folder; name the folder"),
    ],
)
def test_a_mistake_is_one_line_with_its_remedy(words, says, tmp_path, monkeypatch, airpath_command):
    monkeypatch.chdir(tmp_path)
    outcome = airpath_command("reproduce", *words)
    assert outcome.code == 2
    assert outcome.err.startswith(says)
    assert outcome.err.count("\n") == 1


@pytest.mark.slow
def test_a_page_is_replaced_only_by_force_and_json_takes_the_place_of_tables(tmp_path, airpath_command):
    words = ("reproduce", "lundsten", "--table", 3, "--runs", 1, "--quick", "--out", tmp_path)
    printed = airpath_command(*words, "--json")
    assert printed.out == (tmp_path / "report.json").read_text()
    assert len(json.loads(printed.out)) == len(TABLE_3.rows) and "index.html" in printed.err
    check_error(airpath_command(*words), "out", "index.html' exists already", "--force")
    assert airpath_command(*words, "--force").out.startswith("Table 3")


@pytest.mark.parametrize("paper", PRINTED, ids=lambda paper: paper.name)
def test_the_published_values_are_sound(paper):
    published = paper.published
    assert published
    for value in published.values():
        assert value.id.startswith(f"{paper.name}-") and value.place and value.unit
        assert not (value.background and value.kind in ("simulated", "model"))
        assert value.kind != "qualitative_range" or value.bound in ("low", "high")
    table = (files("airpath_studies") / paper.name / "published.csv").read_text()
    assert len(table.splitlines()) == 1 + len(published)


def places_of(text: str) -> set[str]:
    """Tables and figures that a published value's place names, as in "Table 3" or "Figures 1-4"."""
    places = set()
    for kind, first, last in re.findall(r"(Table|Figure)s? (\d+)(?:-(\d+))?", text):
        places |= {f"{kind} {number}" for number in range(int(first), int(last or first) + 1)}
    return places


@pytest.mark.parametrize("paper", PAPERS.values(), ids=PAPERS.keys())
def test_every_row_stands_where_the_paper_printed_it(paper):
    rows = [(experiment, row) for experiment in paper.experiments for row in experiment.rows]
    assert len({row.published_id for _, row in rows}) == len(rows)
    for experiment, row in rows:
        place = paper.published[row.published_id].place
        assert experiment.kind == "text" or experiment.place in places_of(place)
        assert len(row.labels) == len(experiment.columns)


@pytest.mark.parametrize("paper", PAPERS.values(), ids=PAPERS.keys())
def test_the_base_scenario_is_short_and_the_default_reading_exists(paper):
    assert len(paper.base.source.splitlines()) <= 40
    assert paper.base.source.startswith(f"# {paper.scenario}: ")
    assert paper.default_reading in {reading.name for reading in paper.readings}


@pytest.mark.parametrize("paper", PAPERS)
def test_what_helped_to_choose_is_a_value_or_a_claim_of_the_paper(paper):
    known = {*PAPERS[paper].published, *(claim.id for claim in PAPERS[paper].claims)}
    used = [name for choice in PAPERS[paper].choices for name in choice.uses]
    assert set(used) <= known and len(used) == len(set(used))
