"""Which unfinished reproductions a change of a module leaves valid."""

import shutil

import pytest

from airpath.errors import OutputError
from airpath_studies import sources
from airpath_studies.journal import NAME, Journal
from airpath_studies.outcome import Effort
from airpath_studies.papers import PAPERS
from airpath_studies.reproduction import Reproduction

RUN = (0, (1,), [((2.5,), None)])


@pytest.fixture(scope="module")
def reproductions():
    effort = Effort.of(True, 2)
    return {name: Reproduction(paper, paper.experiments[:1], effort) for name, paper in PAPERS.items()}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("changed", "invalid"),
    [
        ("lundsten/claims.py", {"lundsten"}),
        ("chan/claims.py", {"chan"}),
        ("alcaraz/observed.py", {"alcaraz"}),
        ("extensions/pages.py", {"extensions"}),
        ("lundsten/studies.py", {"lundsten"}),
        ("zhang/claims.py", {"zhang"}),
        ("jayanathan/model.py", {"jayanathan"}),
        ("atlas/places.py", {"atlas"}),
        # Other papers take these downloads of the thesis.
        ("shared/lundsten.py", {"lundsten", "zhang", "extensions"}),
        ("shared/today.py", {"atlas", "extensions"}),
        ("base/quantity.py", set(PAPERS)),
        # Of the papers about downloads alone.
        ("shared/downloads.py", {"lundsten", "zhang", "jayanathan", "extensions"}),
        # What makes no run: reports, the command, and a further paper in the list.
        ("report/page.py", set()),
        ("command.py", set()),
        ("papers.py", set()),
    ],
)
def test_change_leaves_the_journals_of_other_papers_valid(
    reproductions, monkeypatch, tmp_path, changed, invalid
):
    shutil.copytree(
        sources.FOLDER, tmp_path / "papers", ignore=lambda _, names: {n for n in names if n == "__pycache__"}
    )
    monkeypatch.setattr(sources, "FOLDER", tmp_path / "papers")
    for name, reproduction in reproductions.items():
        with Journal(tmp_path / name / NAME, reproduction.digest) as journal:
            journal.append([RUN])
    with (tmp_path / "papers" / changed).open("a") as source:
        source.write("# Changed.\n")
    refused = set()
    for name, reproduction in reproductions.items():
        try:
            with Journal(tmp_path / name / NAME, reproduction.digest) as journal:
                assert journal.rows == [RUN]
        except OutputError as error:
            assert "holds runs of another reproduction" in str(error)
            refused.add(name)
    assert refused == invalid


def test_new_module_in_a_paper_changes_its_sources(monkeypatch, tmp_path):
    shutil.copytree(sources.FOLDER, tmp_path / "papers")
    monkeypatch.setattr(sources, "FOLDER", tmp_path / "papers")
    before = {name: sources.sources_of(name) for name in PAPERS}
    (tmp_path / "papers" / "chan" / "new.py").write_text("from airpath_studies.zhang import claims\n")
    after = {name: sources.sources_of(name) for name in PAPERS}
    changed = [name for name in PAPERS if before[name] != after[name]]
    assert changed == ["chan"]
    assert tmp_path / "papers" / "zhang" / "claims.py" in after["chan"]
    assert tmp_path / "papers" / "shared" / "lundsten.py" in after["chan"]


def test_no_paper_imports_another():
    for name in PAPERS:
        others = {path.relative_to(sources.FOLDER).parts[0] for path in sources.sources_of(name)} & {*PAPERS}
        assert others == {name}
