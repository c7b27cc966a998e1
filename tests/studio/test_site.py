"""The site's pages, opened as files."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
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


CONSOLE = """
<div class="language-console highlight"><pre><code><span class="gp">$ </span><span>airpath run x \\
</span><span>    --seed 2</span>
<span class="gp">$ </span><span>echo "costs $ 5"</span></code></pre></div>
<div class="language-toml highlight"><pre><code>x = "$ 5"</code></pre></div><script src="copy.js"></script>
"""


@pytest.mark.slow
def test_commands_are_copied_without_their_prompts(browser: Any, tmp_path: Path) -> None:
    shutil.copy(ROOT / "tools/website/assets/copy.js", tmp_path)
    (tmp_path / "page.html").write_text(CONSOLE, encoding="utf-8")
    page = browser.new_page()
    page.goto((tmp_path / "page.html").as_uri())
    copied = page.evaluate(
        "[...document.querySelectorAll('.highlight')].map((one) => one.dataset.copy ?? null)"
    )
    assert copied == ['airpath run x \\\n    --seed 2\necho "costs $ 5"', None]
    page.close()
