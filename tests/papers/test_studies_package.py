"""The papers are a package of their own: airpath does without it, and says where it is missing."""

from __future__ import annotations

import tomllib
from graphlib import CycleError, TopologicalSorter

import pytest
from conftest import check_error
from modules import TOP

from airpath import studies
from airpath.studio.sources import Sources
from airpath_studies.sources import FOLDER, imports

ROOT = TOP / "studies" / "pyproject.toml"


@pytest.fixture
def without(monkeypatch):
    """The package is not installed."""
    monkeypatch.setattr(studies, "find_spec", lambda _: None)


@pytest.mark.parametrize("options", [[], ["--quick"], ["--explore"]])
def test_a_reproduction_without_it_names_what_to_install(without, airpath_command, options):
    outcome = airpath_command("reproduce", "lundsten", *options)
    check_error(outcome, "PAPER", "the papers are not installed", "python -m pip install airpath-studies")


def test_published_values_compared_without_it_name_what_to_install(without, airpath_command):
    check_error(airpath_command("compare", "--published"), "--published", "not installed", "airpath-studies")


@pytest.mark.slow
def test_there_are_no_bundled_sweeps_without_it(without, airpath_command):
    outcome = airpath_command("sweep", "chan:figure-11")
    check_error(outcome, "chan:figure-11", "no such sweep", "install airpath-studies")
    check_error(airpath_command("list", "sweeps"), "sweeps", "not installed", "airpath-studies")
    assert "umts-384" in airpath_command("list").out


def test_a_report_in_the_studio_without_it_names_what_to_install(without, tmp_path):
    (tmp_path / "report.json").write_text("[]")
    with pytest.raises(studies.ScenarioError, match=r"not installed.*pip install airpath-studies"):
        Sources([str(tmp_path)])


def test_only_one_module_of_airpath_names_it():
    package = TOP / "python" / "airpath"
    naming = [file.name for file in package.rglob("*.py") if studies.PACKAGE in file.read_text()]
    assert naming == ["studies.py"]


def test_it_is_of_airpaths_version_and_licence():
    own, main = (
        tomllib.loads(file.read_text(encoding="utf-8"))["project"] for file in (ROOT, TOP / "pyproject.toml")
    )
    assert (own["version"], own["license"], own["requires-python"]) == (
        main["version"],
        main["license"],
        main["requires-python"],
    )
    assert f"airpath=={main['version']}" in own["dependencies"]


def test_none_of_its_modules_use_each_other():
    files = FOLDER.rglob("*.py")
    # A package is named with each of its modules.
    uses = {file: set(imports(file)) - {file.with_name("__init__.py")} for file in files}
    try:
        TopologicalSorter(uses).prepare()
    except CycleError as error:
        pytest.fail(" uses ".join(str(file.relative_to(FOLDER)) for file in reversed(error.args[1])))
