"""The site's pages, opened as files."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from website.pages import ROOT

WORKER = """
onmessage = ({ data }) => {
  const answer = { text: data.text };
  data.text = "";
  postMessage(answer);
  answer.text = "";
};
"""
PAGE = """
<body><script src="worker.js"></script><script>
const sent = { text: "CoDel" };
const worker = new Worker("search.js");
worker.onmessage = ({ data }) => { window.heard = [sent.text, data.text]; };
worker.postMessage(sent);
</script>
"""


def test_what_is_typed_into_the_search_and_its_answer_are_copies(browser: Any, tmp_path: Path) -> None:
    shutil.copy(ROOT / "tools/website/assets/worker.js", tmp_path)
    (tmp_path / "search.js").write_text(WORKER, encoding="utf-8")
    (tmp_path / "page.html").write_text(PAGE, encoding="utf-8")
    page = browser.new_page()
    page.goto((tmp_path / "page.html").as_uri())
    page.wait_for_function("window.heard")
    assert page.evaluate("window.heard") == ["CoDel", "CoDel"]
    page.close()
