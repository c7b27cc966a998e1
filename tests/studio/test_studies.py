"""Sweeps and reproductions in `airpath studio`: what is shown of them, and the runs behind their points."""

from __future__ import annotations

import hashlib
import json
import shutil

import pytest
from conftest import check_error

from airpath.errors import AirpathError
from airpath.experiments.sweep.plan import Written, read_plan
from airpath.experiments.sweep.results import read_results
from airpath.experiments.sweep.run import run_sweep
from airpath.runs.metrics import named
from airpath.studio import sweeps
from airpath.studio.sources import Sources
from airpath_studies import in_studio
from airpath_studies.as_json import outcome_as_json
from airpath_studies.in_studio import paper_study
from airpath_studies.outcome import Effort
from airpath_studies.papers import PAPERS
from airpath_studies.reproduction import Reproduction

MARKUP = "<img src=x onerror=alert(1)>"
SWEEP = """\
scenario = "umts-64-simple"
metrics = ["goodput_bps", "rtt_ms.mean"]
runs = 2

[set]
"flow[0].app.file.size" = "60 kB"

[axes]
"radio.dch.downlink.queue.droptail.packets" = [5, 40]
"tcp.cc" = ['{ cubic = {} }', '{ reno = {} }']
"""


@pytest.fixture(scope="module")
def sweep_folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sweep") / "small"
    run_sweep(read_plan(Written("small", SWEEP)), folder, 1)
    return folder


@pytest.fixture(scope="module")
def paper_folder(tmp_path_factory):
    """The report of a table of Lundsten's, and a claim of a complete reproduction."""
    paper, folder = PAPERS["lundsten"], tmp_path_factory.mktemp("paper")
    (table,) = (own for own in paper.experiments if (own.kind, own.number) == ("table", 3))
    reproduction = Reproduction(paper, [table], Effort.of(True, 1))
    assert reproduction.simulate(1)
    claim = next(own for own in paper.claims if own.quantities)
    measured = {
        "measured": 12.5,
        "ci_low": 12.0,
        "ci_high": 13.0,
        "runs": 20,
        "unit": "percent",
        "seed_1": 12.1,
    }
    entry = {
        **{"id": claim.id, "place": claim.place, "claim": claim.text, "verdict": "holds", "reason": ""},
        **{"conditions": [], "measured": [{"of": claim.quantities[0].name, **measured}]},
    }
    report = [*outcome_as_json(reproduction.outcome(True, False)), entry]
    (folder / "report.json").write_text(json.dumps(report))
    return folder


def test_a_sweep_is_read_with_its_means_and_the_settings_of_its_points(sweep_folder):
    sources = Sources([str(sweep_folder)])
    (study,) = sources.studies
    results = read_results(sweep_folder)
    assert (study["kind"], study["title"], study["points"][0]["base"]) == ("sweep", "small", "umts-64-simple")
    queue, control = study["axes"]
    assert (queue["label"], queue["unit"]) == ("downlink queue length", "packets")
    assert queue["numbers"] == [5, 5, 40, 40]
    assert (control["words"], control["numbers"]) == (["CUBIC", "Reno", "CUBIC", "Reno"], None)
    assert [metric["unit"] for metric in study["metrics"]] == ["kbit/s", "s"]
    for shown, point in zip(study["points"], results.points, strict=True):
        known = point.estimates["goodput_bps"]
        assert shown["estimates"][0] == {
            "mean": pytest.approx(known.mean / 1e3),
            "low": pytest.approx(known.ci_low / 1e3),
            "high": pytest.approx(known.ci_high / 1e3),
            "n": 2,
        }
        assert shown["seeds"] == [1, 2]
        # It opens the run that was measured.
        chosen = sources.scenario(study["points"][0]["base"], shown["set"])
        manifest = json.loads((sweep_folder / "manifest.json").read_text())
        digest = hashlib.sha256(chosen.scenario.text.encode()).hexdigest()
        assert digest == manifest["points"][point.point]["scenario_sha256"]
    first = sources.open(None)
    assert (first.base, first.changes, first.seed) == (
        study["points"][0]["base"],
        study["points"][0]["set"],
        1,
    )


def test_points_whose_scenario_has_changed_are_shown_and_cannot_be_opened(
    sweep_folder, tmp_path, monkeypatch
):
    folder = tmp_path / "other"
    shutil.copytree(sweep_folder, folder)
    text = (folder / "manifest.json").read_text()
    (folder / "manifest.json").write_text(
        text.replace('"scenario": "umts-64-simple"', f'"scenario": "{MARKUP}"')
    )
    (study,) = Sources([str(folder)]).studies
    assert study["points"][0]["base"] is None and all(point["set"] is None for point in study["points"])
    assert study["points"][0]["estimates"][0]["n"] == 2
    (folder / "manifest.json").write_text(text.replace("umts-64-simple", "umts-64"))
    (study,) = Sources([str(folder)]).studies
    assert study["points"][0]["base"] == "umts-64" and all(point["set"] is None for point in study["points"])
    monkeypatch.setattr(sweeps, "MOST_POINTS", 3)
    with pytest.raises(AirpathError, match="has 4 points"):
        Sources([str(sweep_folder)])


def test_a_sweep_whose_first_point_has_failed_opens_with_the_next(tmp_path):
    rates = "radio.dch.downlink.rate", '["1 kbit/s", "64 kbit/s"]'
    axes = f'[axes]\n"{rates[0]}" = {rates[1]}\n'
    text = SWEEP[: SWEEP.index("[axes]")].replace("[set]", '[set]\nduration = "30 s"') + axes
    text = text.replace('"goodput_bps", "rtt_ms.mean"', '"transfer_s"')
    run_sweep(read_plan(Written("failing", text)), tmp_path / "out", 1)
    sources = Sources([str(tmp_path / "out")])
    (study,) = sources.studies
    assert [any(point["estimates"]) for point in study["points"]] == [False, True]
    assert "64 kbit/s" in sources.open(None).scenario.text


def test_a_sweep_over_a_file_opens_with_the_file(tmp_path, sweep_folder):
    scenario = tmp_path / "own.toml"
    scenario.write_text("# mine\n" + Sources().scenario("umts-64-simple", ()).scenario.text)
    (tmp_path / "sweep.toml").write_text(SWEEP.replace("umts-64-simple", "own.toml"))
    run_sweep(read_plan(tmp_path / "sweep.toml", 1), tmp_path / "out", 1)
    (alone,) = Sources([str(tmp_path / "out")]).studies
    assert alone["points"][0]["base"] is None
    sources = Sources([str(tmp_path / "out"), str(scenario)])
    (study,) = sources.studies
    assert study["points"][0]["base"] == str(scenario) and all(point["set"] for point in study["points"])


def test_a_reproduction_is_read_with_verdicts_and_the_settings_behind_them(paper_folder):
    study = paper_study(paper_folder)
    paper = PAPERS["lundsten"]
    assert (study["kind"], study["title"], study["citation"]) == ("paper", "lundsten", paper.citation)
    report = json.loads((paper_folder / "report.json").read_text())
    (table,) = (own for own in paper.experiments if (own.kind, own.number) == ("table", 3))
    reading = next(own for own in paper.readings if own.name == paper.default_reading)
    assert len(study["values"]) == len(table.rows) == len(report) - 1
    (claim,) = study["claims"]
    assert claim["claim"] == report[-1]["claim"]
    assert claim["measured"][0]["measured"] == 12.5 and claim["measured"][0]["base"]
    for shown, entry, row in zip(study["values"], report[:-1], table.rows, strict=True):
        assert shown["measured"] == entry["measured"] and shown["verdict"] == entry["verdict"]
        chosen = Sources().scenario(shown["base"], shown["set"])
        (cell,) = row.cells
        assert chosen.scenario.text == paper.text(cell, cell.overrides, reading)


@pytest.mark.parametrize("name", list(PAPERS))
def test_every_entry_of_every_paper_has_settings_that_hold(name):
    paper = PAPERS[name]
    cells = in_studio._cells(paper)
    assert cells
    sources, seen = Sources(), set()
    reading = next(own for own in paper.readings if own.name == paper.default_reading)
    for cell in cells.values():
        if cell in seen:
            continue
        seen.add(cell)
        if len(seen) > 40:
            break
        settings = in_studio._settings(paper, cell)
        text = sources.scenario(settings["base"], settings["set"]).scenario.text
        assert text == paper.text(cell, cell.overrides, reading)


@pytest.mark.parametrize(
    ("report", "cause"),
    [
        ("x", "is no report"),
        ("{}", "is no report"),
        ("[1]", "is no report"),
        ('[{"place": 1}]', "is no report"),
        ("[" * 100_000, "is no report"),
        ("[]", "no paper"),
        ('[{"place": "x", "id": "y"}]', "no paper"),
        ('[{"place": "x", "id": ["y"]}]', "is no report"),
        ('[{"place": "x", "row": {"a": [1]}, "column": {}}]', "is no report"),
        ('[{"place": "x", "claim": "y", "measured": [1]}]', "is no report"),
    ],
)
def test_what_is_no_report_is_refused(airpath_command, tmp_path, report, cause):
    (tmp_path / "report.json").write_text(report)
    outcome = airpath_command("studio", tmp_path, "--no-browser")
    check_error(outcome, str(tmp_path / "report.json"), cause, "name what")


def test_a_point_of_the_figure_opens_its_run(opened, serving, sweep_folder):
    shown = opened(serving(sweep_folder))
    view = shown.view
    points = view.get_by_role("button", name="downlink queue length")
    assert points.count() == 4 + 4  # In the figure, and in the list.
    assert view.locator("main").evaluate("main => main.inert")
    view.locator(".point").last.hover()
    assert "Reno" in view.locator(".sweep-of > div > p").inner_text()
    view.locator(".point").nth(1).focus()
    said = view.locator(".sweep-of > div > p").inner_text()
    assert "queue length 40 packets" in said and "CUBIC" in said and "kbit/s" in said
    view.keyboard.press("Enter")
    view.locator("#study").wait_for(state="hidden")
    results = read_results(sweep_folder)
    run = shown.state("state.variants[0].run")
    at = results.points[2]
    assert at.parameters["radio.dch.downlink.queue.droptail.packets"] == 40
    assert named("goodput_bps")(run["summary"]) == pytest.approx(at.values[0][0])
    assert named("rtt_ms.mean")(run["summary"]) == pytest.approx(at.values[0][1])
    # Another seed, from the list.
    view.locator("#to-study").click()
    row = view.locator(".list-of tr[data-place='3']")
    row.locator("select").select_option("2")
    row.get_by_role("button").click()
    view.locator("#study").wait_for(state="hidden")
    run = shown.state("state.variants[0].run")
    assert run["summary"]["seed"] == 2
    assert named("goodput_bps")(run["summary"]) == pytest.approx(results.points[3].values[1][0])
    # Other axes.
    view.locator("#to-study").click()
    view.locator("#study").get_by_label("across").select_option("goodput_bps")
    view.locator("#study").get_by_label("up", exact=False).select_option("rtt_ms.mean")
    assert "round-trip time" in view.locator(".figure-of svg").get_attribute("aria-label")
    view.keyboard.press("Escape")
    assert view.locator("#study").is_hidden()


@pytest.mark.slow
def test_a_value_of_a_paper_opens_its_run(opened, serving, paper_folder):
    shown = opened(serving(paper_folder))
    view = shown.view
    rows = view.locator(".list-of tbody tr:not(.group-of)")
    assert rows.count() == 6
    claim = view.locator(".claims-of > li")
    assert "holds" in claim.inner_text() and "12.5 ± 0.500 %" in claim.inner_text()
    assert claim.get_by_role("button").count() == 1
    view.get_by_label("Search in values").fill("384")
    assert rows.count() == 2
    view.get_by_role("button", name="window: 14").click()
    view.locator("#study").wait_for(state="hidden", timeout=60_000)
    assert "tcp.max_window=14" in shown.state("state.variants[0].settings.set")


@pytest.mark.slow
def test_names_in_a_sweep_are_text(opened, serving, sweep_folder, tmp_path):
    folder = tmp_path / "other"
    shutil.copytree(sweep_folder, folder)
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["name"] = manifest["scenario"] = MARKUP
    (folder / "manifest.json").write_text(json.dumps(manifest))
    shown = opened(serving(folder))
    assert MARKUP in shown.view.locator("#study").inner_text()
    assert shown.view.locator("img").count() == 0
    # No run is behind the points, which is said.
    shown.view.locator(".point").last.click()
    assert "airpath studio" in shown.view.locator(".sweep-of > div > p").inner_text()
