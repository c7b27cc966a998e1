"""The front as one document, whose policy lets nothing run but what is in it and its modules.

`page` has everything in the document; `serve` hands over the modules as files. Texts are in the policy (CSP)
by their hashes, so that markup that somehow got in would still not run.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from html import escape
from importlib.resources import files
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable


class Document(NamedTuple):
    """The HTML of the front, and the policy under which it works."""

    html: str
    policy: str


def modules() -> Iterator[tuple[str, str]]:
    """Names and texts of the front's modules, by name."""
    for file in sorted(_static().iterdir(), key=lambda file: file.name):
        if file.name.endswith(".js"):
            yield PurePosixPath(file.name).stem, _text(file)


def document(
    title: str, addresses: Mapping[str, str], source: str, *directives: str, blocks: Iterable[str] = ()
) -> Document:
    """Make the document.

    Parameters
    ----------
    title : str
        Title of the window.
    addresses : mapping of str to str
        Where the browser finds each module, by its name in `modules`.
    source : str
        Where modules come from, in the words of a policy.
    *directives : str
        What else the policy allows.
    blocks : iterable of str
        Elements in front of the scripts, which the modules read.
    """
    static = _static()
    uplot = static / "vendor" / "uplot"
    style = _text(uplot / "uPlot.min.css") + _text(static / "studio.css")
    imports = {f"studio/{name}": address for name, address in addresses.items()}
    scripts = [
        ("", _text(uplot / "uPlot.iife.min.js")),
        (' type="importmap"', json.dumps({"imports": imports}, separators=(",", ":"))),
        (' type="module"', 'import "studio/main";'),
    ]
    allowed = " ".join(_hash(text) for _, text in scripts)
    policy = "; ".join(
        (
            f"default-src 'none'; script-src {allowed} {source}; style-src {_hash(style)}; img-src data:",
            "base-uri 'none'; form-action 'none'",
            *directives,
        )
    )
    notice = f"This page has uPlot in it, under this licence:\n\n{_text(uplot / 'LICENSE')}"
    head = [
        f'<meta http-equiv="Content-Security-Policy" content="{escape(policy)}">',
        f"<title>{escape(title)}</title>",
        f"<style>{style}</style>",
        f"<!-- {notice} -->",
    ]
    body = [*blocks, *(f"<script{kind}>{text}</script>" for kind, text in scripts)]
    html = _text(static / "index.html")
    html = html.replace("<!-- head -->", "\n".join(head)).replace("<!-- run -->", "\n".join(body))
    return Document(html, policy)


def _static() -> Traversable:
    return files("airpath.studio") / "static"


def _text(file: Traversable) -> str:
    return file.read_text(encoding="utf-8")


def _hash(text: str) -> str:
    """Name a script or style in the policy."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
