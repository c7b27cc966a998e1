"""The site: links, and what the pages show."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from pathlib import Path

import pytest
from website import check
from website.build import build
from website.models import Model
from website.pages import DOCS, ROOT, PageError, fitted
from website.reference import MADE, paths
from website.tutorial import PART, RECORDED, commands, executed

import airpath


def test_links_lead_to_pages_and_files_on_no_page_stay_as_text() -> None:
    text = "[runs](../run.md#files), [scope.md](../scope.md), [a test](../../tests/conftest.py), `[a](b)`"
    told = fitted(text, ROOT / "docs/models/l4s.md", "models/l4s.md")
    assert told == "[runs](../run.md#files), [Scope](../scope.md), a test, `[a](b)`"
    home = fitted("[README](../README.md) [how](../CONTRIBUTING.md#tests)", ROOT / "docs/run.md", "run.md")
    assert home == "[README](index.md) [how](contributing.md#tests)"
    listed = fitted("[a](one_run.py) [b](transports)", ROOT / "examples/README.md", "examples/index.md")
    assert listed == "[a](one_run.py) b"


def test_a_link_to_nothing_is_named_with_its_line() -> None:
    with pytest.raises(PageError, match=r"docs/run\.md:2: there is no runs\.md"):
        fitted("# Runs\n[more](runs.md)", ROOT / "docs/run.md", "run.md")


def test_dead_links_anchors_pictures_and_requests_to_elsewhere_are_found(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text(
        '<h1 id="top"></h1><a href="b.html#here"></a><a href="b.html#gone"></a><a href="c.html"></a>'
        '<img src="d.png"><script src="https://example.org/x.js"></script><a href="https://example.org"></a>'
    )
    (tmp_path / "b.html").write_text('<p id="here"></p>')
    assert list(check.faults(tmp_path)) == [
        "a.html: b.html#gone has no such anchor",
        "a.html: there is no c.html",
        "a.html: there is no d.png",
        "a.html: <script> is fetched from https://example.org/x.js",
    ]


def run_page(text: str, page: Path, recorded: dict[str, str] | None = None) -> str:
    """Execute a document as if it stood in docs/tutorials."""
    return executed(text, ROOT / "docs/tutorials/page.md", page / "page.md", recorded).text


def test_a_tutorial_shows_what_its_commands_and_values_are(tmp_path: Path) -> None:
    text = (
        '```toml title="a.toml"\nx = 1\n```\n\n```console\n$ cat \\\n    a.toml\n$ true\n```\n\n'
        "```python\ny = 40\nprint(y)\n```\n\n```python\ny + 2\n```\n<!-- check: y == 40 -->"
    )
    shown = run_page(text, tmp_path)
    assert '```toml title="a.toml"\nx = 1\n```' in shown
    assert "$ cat \\\n    a.toml\n```\n\n```{ .text .output }\nx = 1\n```" in shown
    assert "```{ .text .output }\n40\n```" in shown and "```{ .text .output }\n42\n```" in shown
    assert "check" not in shown


@pytest.mark.parametrize(
    ("block", "message"),
    [
        ("```console\n$ echo no; false\n```", r"'echo no; false' ended with 1:\nno"),
        ("```console fails\n$ true\n```", "'true' ended with 0"),
        ("```console\nls\n```", "'ls' is no command"),
        ("```python\n1 / 0\n```", "ZeroDivisionError: division by zero"),
        ("<!-- check: 1 > 2 -->", "it is not so that 1 > 2"),
        ("<!-- show: gone.png | A picture -->", r"gone\.png"),
    ],
)
def test_what_fails_in_a_tutorial_is_named_with_its_line(block: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(PageError, match=rf"(?s)docs/tutorials/page\.md:3: .*{message}"):
        run_page(f"# Title\n\n{block}\n", tmp_path)


def test_where_a_need_is_not_met_a_tutorial_shows_what_was_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("website.tutorial.has", lambda _need: False)
    shown = run_page("```console needs=live\n$ exit 3\n```", tmp_path, {"exit 3": "recorded"})
    assert "$ exit 3\n```\n\n```{ .text .output }\nrecorded\n```" in shown and "*Recorded:" in shown
    with pytest.raises(PageError, match="nothing was recorded of 'exit 4'"):
        run_page("```console needs=live\n$ exit 4\n```", tmp_path, {})


MODEL = """
scenario = "umts-384"
panels = ["window"]
figures = []
run = [
  { name = "A" },
  { name = "B", set = ["tcp.cc=reno"] },
  { name = "C", scenario = "umts-64", keeps = ["duration"] },
]
change = [
  { name = "cc", key = "tcp.cc", values = ["cubic", "reno"], first = "cubic" },
  { name = "time", key = "duration", values = ["3 s", "5 s"], first = "5 s" },
  { name = "link", key = "scenario", values = ["umts-128", "umts-384"], first = "umts-384" },
]
"""


def test_what_a_run_of_a_model_has_of_its_own_no_change_touches() -> None:
    assert Model.read(MODEL).runs(link="umts-128", cc="reno", time="3 s", seed="7") == [
        ("umts-128", ["tcp.cc=reno", "duration=3 s"], 7),
        ("umts-128", ["tcp.cc=reno", "duration=3 s"], 7),
        ("umts-64", ["tcp.cc=reno"], 7),
    ]
    assert [run.changes[0] for run in Model.read(MODEL).runs()] == [
        "tcp.cc=cubic",
        "tcp.cc=reno",
        "tcp.cc=cubic",
    ]


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("panels", "pannels", "unexpected keyword argument 'pannels'"),
        ('first = "5 s"', 'first = "6 s"', "time: 6 s is none of its values"),
        ('"3 s"', '"3 kg"', "time 3 kg: duration"),
        ('["window"]', "[", "Invalid"),
    ],
)
def test_a_model_that_cannot_run_is_refused(before: str, after: str, message: str) -> None:
    with pytest.raises(PageError, match=f"the model: .*{message}"):
        Model.read(MODEL.replace(before, after))


def test_no_two_pages_write_to_the_same_place() -> None:
    pages: dict[str, set[str]] = defaultdict(set)
    for file in [ROOT / "README.md", *DOCS.rglob("*.md")]:
        text = file.read_text(encoding="utf-8")
        for part in PART.finditer(text):
            if part["language"] == "model":
                text += "\n".join(Model.read(part["code"]).commands(file.stem))
        for written in re.finditer(r'--out ((?!DIR)[\w./-]+)|title="([^"]+)"', text):
            pages[written[1] or written[2]].add(file.relative_to(ROOT).as_posix())
    assert {place: found for place, found in pages.items() if len(found) > 1} == {}


def test_bibtex_has_what_the_citation_file_has() -> None:
    cited = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    bibtex = (DOCS / "faq.md").read_text(encoding="utf-8").partition("```bibtex")[2]
    for key, pattern in (("title", '"(.*)"'), ("version", "(.*)"), ("name", "(.*)")):
        found = re.search(rf"^\W*{key}: {pattern}$", cited, re.MULTILINE)
        assert found and f"{{{found[1]}}}" in bibtex


def test_everything_recorded_stands_in_its_document() -> None:
    for page, kept in json.loads(RECORDED.read_text(encoding="utf-8")).items():
        text = (DOCS / page).read_text(encoding="utf-8")
        parts = [part for part in PART.finditer(text) if "needs=" in (part["info"] or "")]
        assert list(kept) == sorted(command for part in parts for command in commands(part["code"]))


@pytest.mark.slow
def test_results_are_documented_by_the_types_that_they_have() -> None:
    written = "\n".join(MADE["results"]())
    flow = airpath.run("umts-384", probes=()).flows[0]
    for key in paths(flow):
        assert f"| `{key}` |" in written


@pytest.mark.slow
def test_the_site_is_built_without_a_fault_and_every_answer_of_how_do_i_runs(tmp_path: Path) -> None:
    assert build(tmp_path / "site") == []
    shown = (tmp_path / "site/pages/how-do-i.md").read_text(encoding="utf-8")
    assert "Why is my page slow?" in shown and "limited by the application" in shown


def test_how_do_i_answers_twenty_questions_each_with_a_block_that_runs() -> None:
    text = (DOCS / "how-do-i.md").read_text(encoding="utf-8")
    answers = text.split("\n### ")[1:]
    assert len(answers) >= 20
    assert all(PART.search(answer) for answer in answers)
