"""The front as one document, whose policy lets nothing run but what is in it and its modules.

`page` has everything in the document; `serve` hands over the modules as files. Texts are in the policy (CSP)
by their hashes, so that markup that somehow got in would still not run.
"""

from __future__ import annotations

import base64
import hashlib
import json
import zlib
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from html import escape
from importlib.resources import files
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, NamedTuple

from airpath import _core

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable


# As elements of their own, the scripts run in order, under the policy that has their hashes.
_UNPACK = """
(async () => {
  const code = document.querySelector('script[data-of="code"]');
  const bytes = Uint8Array.from(atob(code.textContent), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  for (const [type, text] of await new Response(stream).json()) {
    document.head.append(Object.assign(document.createElement("script"), { type, textContent: text }));
  }
})();
"""


# No module: a browser loads none from a disk, so a page of several files would wait for ever.
_FROM_DISK = """
if (location.protocol === "file:") {
  const place = document.getElementById("opening-said") ?? document.getElementById("said");
  place.textContent = "This page does not work from the disk: a browser loads no modules from there. " +
    "Serve this folder: run 'python -m http.server' in it, then open http://localhost:8000/" +
    location.pathname.split("/").pop();
}
"""

SMALL_FRONTS = ("embed", "capture")
"""Entry modules of playground pages other than the studio."""


class Document(NamedTuple):
    """The HTML of the front, and the policy under which it works."""

    html: str
    policy: str


def front_files() -> Traversable:
    """Folder of the front's files."""
    return files("airpath.studio") / "static"


KINDS = "kinds"
"""The one module that is no file: the schema of events."""


def module_names() -> list[str]:
    """Names of the front's modules, sorted."""
    names = (PurePosixPath(file.name) for file in front_files().iterdir())
    return sorted([KINDS, *(name.stem for name in names if name.suffix == ".js")])


def module(name: str) -> str:
    """Text of a module of this name, which is one of `module_names`."""
    return _kinds() if name == KINDS else _text(front_files() / f"{name}.js")


def modules() -> Iterator[tuple[str, str]]:
    """Names and texts of the front's modules, by name."""
    for name in module_names():
        yield name, module(name)


def _kinds() -> str:
    """Module with the schema of events: what happened, and of each column its unit and its words."""
    schema = {
        kind["name"]: {
            "meaning": kind["meaning"],
            "columns": {
                column["name"]: {
                    "unit": column["unit"],
                    "is_flag": column["is_flag"],
                    "words": {word["word"]: word["meaning"] for word in column["words"]},
                }
                for column in kind["columns"]
            },
        }
        for kind in json.loads(_core.trace_schema())
    }
    return f"export const SCHEMA = {json.dumps(schema, separators=(',', ':'))};\n"


def document(
    title: str,
    addresses: Mapping[str, str],
    source: str,
    *directives: str,
    front: str = "main",
    blocks: Iterable[str] = (),
    is_packed: bool = False,
    is_served: bool = False,
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
    front : str
        Name of its HTML, of the module that begins, and of a style of its own if there is one.
    blocks : iterable of str
        Elements in front of the scripts, which the modules read.
    is_packed : bool
        Whether the scripts are deflated; a script of a few lines unpacks them.
    is_served : bool
        Whether it needs a file server, and must say so where it is opened from a disk.
    """
    static = front_files()
    uplot = static / "vendor" / "uplot"
    style = "".join(map(_text, (uplot / "uPlot.min.css", static / "studio.css", static / "waterfall.css")))
    if (own := static / f"{front}.css").is_file():
        style += _text(own)
    imports = {f"studio/{name}": address for name, address in addresses.items()}
    scripts = [
        ("text/javascript", _text(uplot / "uPlot.iife.min.js")),
        ("importmap", json.dumps({"imports": imports}, separators=(",", ":"))),
        ("module", f'import "studio/{front}";'),
    ]
    allowed = " ".join(
        _hash(text) for _, text in [*scripts, *[("", _UNPACK)] * is_packed, *[("", _FROM_DISK)] * is_served]
    )
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
    if is_packed:
        body = [*blocks, _code(json.dumps(scripts)), f"<script>{_UNPACK}</script>"]
    else:
        # Files are requested at once, not as one module names the next. The import map must come before.
        early = [f'<link rel="modulepreload" href="{escape(address)}">' for address in addresses.values()]
        *before, start = (f'<script type="{kind}">{text}</script>' for kind, text in scripts)
        body = [*blocks, *[f"<script>{_FROM_DISK}</script>"] * is_served, *before, *early, start]
    html = _text(static / f"{front}.html")
    parts = {"air": _text(static / "air.html"), "head": "\n".join(head), "run": "\n".join(body)}
    for name, text in parts.items():
        html = html.replace(f"<!-- {name} -->", text)
    return Document(html, policy)


@lru_cache(maxsize=2)
def _code(scripts: str) -> str:
    """Deflate the scripts of a front, which all pages of a process have."""
    return block("code", zlib.compress(scripts.encode(), 7))


def block(kind: str, zipped: bytes) -> str:
    """Write deflated data as an element that shows nothing; scripts find it by its kind."""
    return f'<script type="text/plain" data-of="{kind}">{base64.b64encode(zipped).decode()}</script>'


def _text(file: Traversable) -> str:
    return file.read_text(encoding="utf-8")


def _hash(text: str) -> str:
    """Name a script or style in the policy."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
