"""Makes the site: the pages, their HTML, and a look at it."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import forks
from playground import ENGINE
from playground import write as write_playground

from website.check import faults
from website.models import has_engine, modelled
from website.notebook import page_of_notebook
from website.pages import ROOT, PageError, copy_pictures, copy_programs, documents, fitted, included
from website.reference import filled
from website.tutorial import RECORDED, RUN, executed

HERE = Path(__file__).resolve().parent
COLOURS = re.compile(r"\x1b\[[0-9;]*m")


def build(folder: Path, record: bool = False) -> list[str]:
    """Build the site in a folder; return what is wrong with it.

    `record` stores the output of commands that not all machines can run.
    """
    shutil.rmtree(folder, ignore_errors=True)
    pages = folder / "pages"
    pages.mkdir(parents=True)
    config = (HERE / "zensical.toml").read_text(encoding="utf-8")
    (folder / "zensical.toml").write_text(config.replace("ROOT", str(ROOT)), encoding="utf-8")
    copy_pictures(pages)
    copy_programs(pages)
    shutil.copytree(HERE / "assets", pages / "assets")
    if has_engine():
        write_playground(ROOT / ENGINE, pages / "playground")
    wrong, recorded = written(pages)
    if record and not wrong:
        RECORDED.write_text(json.dumps(recorded, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    wrong += unlisted(folder / "zensical.toml", pages)
    if wrong:
        return wrong
    command = [sys.executable, "-m", "zensical", "build", "--strict", "-f", "zensical.toml"]
    made = subprocess.run(command, cwd=folder, text=True, capture_output=True)
    if made.returncode:
        return [COLOURS.sub("", made.stdout), *made.stderr.splitlines()[-1:]]
    serve_from_disk(folder / "html")
    return list(faults(folder / "html"))


def written(pages: Path) -> tuple[list[str], dict[str, dict[str, str]]]:
    """Write all pages, many at a time; return what is wrong with them, and what they recorded."""
    wrong, recorded = [], {}
    with ProcessPoolExecutor(mp_context=get_context("spawn"), initializer=forks.preload) as pool:
        for (_, page), done in [(each, pool.submit(write, *each, pages)) for each in documents()]:
            try:
                if found := done.result():
                    recorded[page] = found
            except PageError as error:
                wrong.append(str(error))
    return wrong, recorded


def write(file: Path, page: str, pages: Path) -> dict[str, str]:
    """Write the page of a document; return what it recorded."""
    if file.suffix == ".ipynb":
        (pages / page).write_text(page_of_notebook(file, pages / page), encoding="utf-8")
        return {}
    text, recorded = fitted(file.read_text(encoding="utf-8"), file, page), {}
    if page.startswith(RUN):
        recording = json.loads(RECORDED.read_text(encoding="utf-8")) if RECORDED.exists() else {}
        text, recorded = executed(text, file, pages / page, recording.get(page))
    (pages / page).parent.mkdir(parents=True, exist_ok=True)
    (pages / page).write_text(filled(modelled(included(text), page)), encoding="utf-8")
    return recorded


def unlisted(config: Path, pages: Path) -> Iterator[str]:
    """Find pages that the navigation does not have."""
    listed = set(_listed(tomllib.loads(config.read_text(encoding="utf-8"))["project"]["nav"]))
    for file in sorted(pages.rglob("*.md")):
        if (name := file.relative_to(pages).as_posix()) not in listed:
            yield f"{name} is not in the navigation, tools/website/zensical.toml"


def _listed(nav: Any) -> Iterator[str]:
    if isinstance(nav, str):
        yield nav
    else:
        for part in nav.values() if isinstance(nav, dict) else nav:
            yield from _listed(part)


def serve_from_disk(html: Path) -> None:
    """Replace the fetched search script by one that also works in pages opened as files."""
    for file in html.rglob("*.html"):
        text = file.read_text(encoding="utf-8")
        ours = "../" * (len(file.relative_to(html).parts) - 1) + "assets/worker.js"
        file.write_text(text.replace("https://unpkg.com/iframe-worker/shim", ours), encoding="utf-8")
