"""A finished run as one HTML file: a browser opens it from the disk, without a server and without a request.

The page has the files of `static/` in it: modules as ``data:`` addresses in an import map, since a browser
loads no module files from a disk. Facts and events of the run are deflated and written as base64, so that no
text of a run is ever markup. A policy in the page forbids requests, and allows scripts and styles by their
hashes. The same run gives the same bytes.
"""

from __future__ import annotations

import base64
import json
import re
import zlib
from collections.abc import Mapping
from typing import TYPE_CHECKING
from urllib.parse import quote

from airpath.studio.chunks import encode
from airpath.studio.document import document, modules
from airpath.studio.facts import BY_NEED, finished

if TYPE_CHECKING:
    from airpath.runs.finished import FinishedRun

MOST_BYTES = 20_000_000
"""Most bytes of events in a page; kinds without room are left out, and the page says which."""

_PLAIN = " !$&'()*+,-./:;=?@[]^_`{|}~"
"""Characters that stand for themselves in an address of a module; no markup among them."""


def page(run: FinishedRun) -> bytes:
    """Write a run as a page.

    Raises
    ------
    ScenarioError
        If a file of the run is missing or damaged.
    """
    chunks, left_out = _events(run)
    blocks = [_block("run", json.dumps(finished(run, left_out)).encode())]
    blocks += [_block("events", zipped) for zipped in chunks]
    addresses = {name: _address(text) for name, text in needed(dict(modules())).items()}
    return document(f"{run.manifest['scenario']} - airpath", addresses, "data:", blocks=blocks).html.encode()


def _events(run: FinishedRun) -> tuple[list[bytes], dict[str, int]]:
    """Deflate the events, as far as there is room; return what was left out too, kinds and their rows."""
    chunks: list[bytes] = []
    left_out = {}
    room = MOST_BYTES * 3 // 4  # Base64 takes four bytes for three.
    for kind in sorted(run.kinds, key=BY_NEED.index):
        zipped, used, rows = [], 0, 0
        for events in run.events({kind: run.kinds[kind]}):
            rows += len(events[kind]["time_ns"])
            if used <= room:
                zipped.append(zlib.compress(encode(events), 6))
                used += len(zipped[-1])
        if used > room:
            left_out[kind] = rows
        else:
            chunks += zipped
            room -= used
    return chunks, left_out


def needed(modules: Mapping[str, str]) -> dict[str, str]:
    """Choose the modules that a page needs: not those that the front imports only where it can make runs."""
    found, left = {}, ["main"]
    while left:
        name = left.pop()
        if name not in found:
            found[name] = modules[name]
            left += re.findall(r'^import .* from "studio/(\w+)"', modules[name], re.MULTILINE)
    return {name: found[name] for name in sorted(found)}


def _address(text: str) -> str:
    """Write a module as an address; base64 would be longer by a quarter."""
    return f"data:text/javascript,{quote(text, safe=_PLAIN)}"


def _block(kind: str, content: bytes) -> str:
    zipped = zlib.compress(content, 9) if kind == "run" else content
    return f'<script type="text/plain" data-of="{kind}">{base64.b64encode(zipped).decode()}</script>'
