"""Explorations of free choices: their files, the search, and what is written about it."""

import json
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from airpath.cli.main import app
from airpath.errors import ScenarioError
from airpath_studies.explore import search as searching
from airpath_studies.explore.plan import explorations, load_exploration, rows_of
from airpath_studies.explore.search import search
from airpath_studies.papers import PAPERS

PAPER = PAPERS["jayanathan"]
SMALL = """
runs = [2, 2]
keep = 0.5
choose = ["jayanathan-t2-5-standard"]
test = ["jayanathan-t2-5-rncfb"]
[[choice]]
name = "window"
option.small = { "tcp.receive_buffer" = "8760 B" }
option.large = { "tcp.receive_buffer" = "65535 B" }
[[choice]]
name = "rate"
option.slow = { "radio.dch.downlink.rate" = "20 kbit/s" }
option.right = { "radio.dch.downlink.rate" = "48 kbit/s" }
option.fast = { "radio.dch.downlink.rate" = "200 kbit/s" }
[beside]
slowest = ["small", "slow"]
"""


@pytest.fixture
def small(tmp_path):
    """A small exploration, as a file."""
    file = tmp_path / "small.toml"
    file.write_text(SMALL)
    return file


@pytest.mark.parametrize("name", explorations())
def test_each_paper_has_a_file_whose_set_ups_are_scenarios(name):
    paper = PAPERS[name]
    exploration = load_exploration(paper)
    rows = rows_of(paper)
    assert not set(exploration.choose) & set(exploration.test)
    assert {row for row in (*exploration.choose, *exploration.test)} <= set(rows)
    # Each option by itself changes what some value is measured in.
    for choice in exploration.choices:
        for option in choice.options:
            setup = next(one for one in exploration.setups if option.name in one.options)
            cells = [cell for row in (*exploration.choose, *exploration.test) for cell in rows[row].cells]
            concerned = [cell for cell in cells if setup.changes(cell)]
            assert concerned
            assert paper.text(concerned[0], concerned[0].overrides, setup)
    assert exploration.named().keys() == exploration.beside.keys()


def test_all_five_papers_have_one():
    assert explorations() == sorted(paper.name for paper in PAPERS.values() if not paper.is_own)


def test_a_choice_concerns_cells_alone_that_change_its_key():
    exploration = load_exploration(PAPER)
    rows = rows_of(PAPER)
    setup = next(one for one in exploration.setups if "one" in one.options)
    standard, feedback = (rows[f"jayanathan-t2-5-{kind}"].cells[0] for kind in ("standard", "rncfb"))
    assert "tcp.rnf" not in dict(setup.changes(standard)) and "tcp.rnf" in dict(setup.changes(feedback))


def test_what_fits_is_found_and_the_other_half_is_simulated_last(small, monkeypatch):
    asked = []
    measure = searching._measure

    def watched(paper, setups, ids, *rest):
        asked.append((len(setups), tuple(ids), rest[0].first_seed))
        return measure(paper, setups, ids, *rest)

    monkeypatch.setattr(searching, "_measure", watched)
    (found,) = search(PAPER, load_exploration(PAPER, small), 2)
    choose, test = ("jayanathan-t2-5-standard",), ("jayanathan-t2-5-rncfb",)
    # Of six set-ups half stays, but four at least; the alternative is in the last round in any case.
    assert asked == [(6, choose, 1), (len(found.best), (*choose, *test), 3)]
    assert found.best[0].setup.options[1] == "right"
    assert [one.misfit for one in found.best] == sorted(one.misfit for one in found.best)
    (slowest,) = [one for one in found.best if one.name == "slowest"]
    assert slowest.misfit > found.best[0].misfit and slowest.met(choose) == 0
    assert [left for choice, option, _, left in found.options if option == "right"] == [2]


def test_workers_change_nothing(small):
    exploration = load_exploration(PAPER, small)
    once, again = (search(PAPER, exploration, workers) for workers in (1, 2))
    assert [one.values for one in once[0].best] == [one.values for one in again[0].best]
    assert once[0].options == again[0].options


def test_halves_are_exchanged(small):
    exploration = replace(load_exploration(PAPER, small), swap=True)
    first, second = search(PAPER, exploration, 2)
    assert (first.choose, first.test) == (second.test, second.choose)


def test_the_best_of_what_is_argued_is_found_too(tmp_path):
    file = tmp_path / "argued.toml"
    file.write_text(SMALL.replace("[beside]", '[argued]\nrate = "slow"\n[beside]'))
    (found,) = search(PAPER, load_exploration(PAPER, file), 2)
    assert {one.is_argued for one in found.best} == {True, False}


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("runs = [2, 2]", "runs = [1]", "runs: is [1]"),
        ("keep = 0.5", "keep = 2", "keep: is 2"),
        ("keep = 0.5", "kept = 0.5", "kept: is not known"),
        ('choose = ["jayanathan-t2-5-standard"]', 'choose = ["nothing-*"]', "no simulated value matches"),
        ('test = ["jayanathan-t2-5-rncfb"]', 'test = ["jayanathan-t2-5-*"]', "which is in choose, too"),
        ('["small", "slow"]', '["slow", "small"]', "beside.slowest"),
        ('"8760 B" }', "8760 }", "is no text"),
        ("[beside]", '[argued]\nspeed = "slow"\n[beside]', "argued.speed: is no choice"),
        ("[[choice]]", "[[choice]", "is not TOML"),
    ],
)
def test_a_mistake_in_a_file_is_named(tmp_path, old, new, says):
    file = tmp_path / "wrong.toml"
    file.write_text(SMALL.replace(old, new))
    with pytest.raises(ScenarioError, match=r".") as raised:
        load_exploration(PAPER, file)
    assert says in str(raised.value)


def test_the_command_writes_a_page_and_what_documents_quote(small, tmp_path):
    out = tmp_path / "out"
    words = ["reproduce", "jayanathan", "--explore", "--choices", str(small), "--out", str(out)]
    result = CliRunner().invoke(app, words, env={"COLUMNS": "250"})
    assert result.exit_code == 0, result.output
    told = json.loads((out / "explored.json").read_text())
    (found,) = told["searches"]
    assert found["best"][0]["options"][1] == "right" and found["rounds"][0] == {"setups": 6, "runs": 2}
    page = (out / "explored.html").read_text()
    assert "2 choices with 6 set-ups, chosen by 1 value and tested by 1 other" in page
    assert "slowest" in page and "slowest" in result.output


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["jayanathan", "--choices", "x.toml"], "add --explore"),
        (["jayanathan", "--explore", "--quick"], "drop the others"),
        (["extensions", "--explore"], "has no free choices to explore"),
        (["jayanathan", "--explore", "--choices", "missing.toml"], "cannot read"),
    ],
)
def test_the_command_refuses_what_it_cannot_do(words, says, tmp_path):
    result = CliRunner().invoke(app, ["reproduce", *words, "--out", str(tmp_path / "out")])
    assert result.exit_code != 0
    assert says in " ".join((result.output + str(result.exception)).split())
