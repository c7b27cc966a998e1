"""Builds the site."""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from website.check import faults
from website.pages import ROOT, PageError, copy_pictures, documents, fitted

HERE = Path(__file__).resolve().parent
COLOURS = re.compile(r"\x1b\[[0-9;]*m")


def build(folder: Path) -> list[str]:
    """Build the site in a folder; return what is wrong with it."""
    shutil.rmtree(folder, ignore_errors=True)
    pages = folder / "pages"
    pages.mkdir(parents=True)
    shutil.copy(HERE / "zensical.toml", folder)
    copy_pictures(pages)
    shutil.copytree(HERE / "assets", pages / "assets")
    wrong = []
    for file, page in documents():
        (pages / page).parent.mkdir(parents=True, exist_ok=True)
        try:
            text = fitted(file.read_text(encoding="utf-8"), file, page)
        except PageError as error:
            wrong.append(str(error))
            continue
        (pages / page).write_text(text, encoding="utf-8")
    wrong += unlisted(folder / "zensical.toml", pages)
    if wrong:
        return wrong
    command = [sys.executable, "-m", "zensical", "build", "--strict", "-f", "zensical.toml"]
    made = subprocess.run(command, cwd=folder, text=True, capture_output=True)
    if made.returncode:
        return [COLOURS.sub("", made.stdout), *made.stderr.splitlines()[-1:]]
    serve_from_disk(folder / "html")
    return list(faults(folder / "html"))


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
    """Put our script in the place of the one that the theme fetches, for the search in pages opened as files."""
    for file in html.rglob("*.html"):
        text = file.read_text(encoding="utf-8")
        ours = "../" * (len(file.relative_to(html).parts) - 1) + "assets/worker.js"
        file.write_text(text.replace("https://unpkg.com/iframe-worker/shim", ours), encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(prog="website", description="Build the site.")
    parser.add_argument("--out", type=Path, default=ROOT / "build/site", help="folder to build in")
    wrong = build(parser.parse_args().out)
    for line in wrong:
        print(line, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
