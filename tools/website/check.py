"""Reads the finished HTML: no dead link, anchor or picture, and nothing that is fetched from elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """What a page has and what it points to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: set[str] = {""}
        self.points: list[tuple[str, str]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note anchors, and what is pointed to, with the tag."""
        for name, value in attrs:
            if name in ("id", "name") and value:
                self.anchors.add(value)
            elif name in ("href", "src") and value is not None:
                self.points.append((tag, value))


def faults(folder: Path) -> Iterator[str]:
    """Find what is wrong with the pages in a folder."""
    pages = {file: Page(file.read_text(encoding="utf-8")) for file in sorted(folder.rglob("*.html"))}
    for file, page in pages.items():
        where = file.relative_to(folder)
        for tag, target in page.points:
            parts = urlsplit(target)
            if parts.scheme in ("data", "mailto"):
                continue
            if parts.scheme or parts.netloc:
                if tag != "a":
                    yield f"{where}: <{tag}> is fetched from {target}"
                continue
            if file.name == "404.html":  # Its addresses are those of the site's root.
                continue
            there = (file.parent / unquote(parts.path)).resolve() if parts.path else file
            there = there / "index.html" if there.is_dir() else there
            if not there.is_file():
                yield f"{where}: there is no {target}"
            elif there in pages and unquote(parts.fragment) not in pages[there].anchors:
                yield f"{where}: {target} has no such anchor"
