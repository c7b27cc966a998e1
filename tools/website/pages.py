"""Takes the documents from the repository to the site, and fits the links between them."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
ELSEWHERE = {"docs/README.md": "index.md", "README.md": "index.md"} | {
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "examples/README.md": "examples/index.md",
}
"""Where pages are that are not in docs/, or have another name."""
PROGRAM = (".py", ".toml")
"""Examples that the site has as files."""
LINK = re.compile(r"(?P<picture>!?)\[(?P<text>[^\]]*)\]\((?P<target>[^)\s]+)\)")
CODE = re.compile(
    r"^(?P<fence>```+|~~~+).*?^(?P=fence)[ \t]*$|(`+)(?!`).*?(?<!`)\2(?!`)", re.DOTALL | re.MULTILINE
)
"""Code, in which a link is none."""


class PageError(Exception):
    """A document does not meet the site's rules; the message says where."""


def documents() -> Iterator[tuple[Path, str]]:
    """Find the documents: their files, and the names of their pages."""
    for file in sorted(DOCS.rglob("*.md")):
        yield file, page_of(file) or ""
    for name, page in ELSEWHERE.items():
        if not page.endswith("index.md") or name.startswith("examples/"):
            yield ROOT / name, page
    for file in sorted((ROOT / "examples").glob("*.ipynb")):
        yield file, page_of(file) or ""


def page_of(file: Path) -> str | None:
    """Name of the page, picture or program that a file of the repository is on the site, or None."""
    name = file.relative_to(ROOT).as_posix()
    if file.suffix == ".ipynb":
        return file.relative_to(ROOT).with_suffix(".md").as_posix()
    if file.parent == ROOT / "examples" and file.suffix in PROGRAM:
        return name
    inside = name.removeprefix("docs/")
    return ELSEWHERE.get(name) or (
        inside if inside != name and file.suffix in (".md", ".png", ".svg") else None
    )


def copy_pictures(pages: Path) -> None:
    """Copy what the documents show."""
    for suffix in ("png", "svg"):
        for file in DOCS.rglob(f"*.{suffix}"):
            target = pages / file.relative_to(DOCS)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(file, target)


def copy_programs(pages: Path) -> None:
    """Copy the examples, to be saved by those who have no sources."""
    (pages / "examples").mkdir(exist_ok=True)
    for file in (ROOT / "examples").iterdir():
        if file.suffix in PROGRAM:
            shutil.copy(file, pages / "examples")


def included(text: str) -> str:
    """Replace `<!-- code: FILE -->` by files of the repository."""

    def include(mark: re.Match[str]) -> str:
        file = ROOT / mark[1]
        language = {".rs": "rust", ".py": "python"}.get(file.suffix, "text")
        return f"```{language}\n{file.read_text(encoding='utf-8')}```"

    return re.sub(r"^<!-- code: (\S+) -->$", include, text, flags=re.MULTILINE)


def title(file: Path) -> str:
    """Title of a document."""
    first = next(line for line in file.read_text(encoding="utf-8").splitlines() if line.startswith("# "))
    return first.removeprefix("# ")


def fitted(text: str, file: Path, page: str) -> str:
    """Fit the links of a document to its place on the site. What is on no page stays as text.

    Where the text of a link is a document's file, it becomes its title.

    Raises
    ------
    PageError
        If a link leads nowhere.
    """
    code = [span.span() for span in CODE.finditer(text)]

    def fit(link: re.Match[str]) -> str:
        target, _, anchor = link["target"].partition("#")
        inside = any(start < link.start() < end for start, end in code)
        if inside or not target or re.match(r"[a-z]+:", target):
            return link[0]
        found = (file.parent / target).resolve()
        if not found.exists():
            line = text.count("\n", 0, link.start()) + 1
            raise PageError(f"{file.relative_to(ROOT)}:{line}: there is no {target}")
        if found == DOCS:
            found = DOCS / "README.md"
        there = page_of(found) if found.is_relative_to(ROOT) else None
        if there is None:
            return link["text"]
        relative = os.path.relpath(there, Path(page).parent) + (f"#{anchor}" if anchor else "")
        shown = title(found) if link["text"].endswith(".md") else link["text"]
        return f"{link['picture']}[{shown}]({relative})"

    return LINK.sub(fit, text)
