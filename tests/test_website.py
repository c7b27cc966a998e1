"""The site: links, and what the pages show."""

from __future__ import annotations

from pathlib import Path

import pytest
from website import check
from website.__main__ import build
from website.pages import ROOT, PageError, fitted


def test_links_lead_to_pages_and_files_on_no_page_stay_as_text() -> None:
    text = "[runs](../run.md#files), [scope.md](../scope.md), [a test](../../tests/conftest.py), `[a](b)`"
    told = fitted(text, ROOT / "docs/models/l4s.md", "models/l4s.md")
    assert told == "[runs](../run.md#files), [Scope](../scope.md), a test, `[a](b)`"
    home = fitted("[README](../README.md) [how](../CONTRIBUTING.md#tests)", ROOT / "docs/run.md", "run.md")
    assert home == "[README](index.md) [how](contributing.md#tests)"


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


@pytest.mark.slow
def test_the_site_is_built_without_a_fault(tmp_path: Path) -> None:
    assert build(tmp_path / "site") == []
