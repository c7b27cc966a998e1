"""A finished run as one HTML file: a browser opens it from the disk, without a server and without a request.

The page has the files of `static/` in it: modules as ``data:`` addresses in an import map, since a browser
loads no module files from a disk. These, facts and events of the run are deflated and written as base64, so
that no text of a run is ever markup; a script of a few lines unpacks the front. A policy in the page forbids
requests, and allows scripts and styles by their hashes. The same run gives the same bytes.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Iterable, Mapping
from functools import cache
from string import ascii_letters, digits, punctuation
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote

from airpath.report.capture import complaints, in_words
from airpath.report.conversation import in_words as datagrams_in_words
from airpath.runs.finished import FinishedRun
from airpath.studio.again import fine
from airpath.studio.chunks import encode
from airpath.studio.document import block, document, modules
from airpath.studio.facts import BY_NEED, finished

if TYPE_CHECKING:
    from pathlib import Path

    from airpath.runs.trace import Events

PLAIN = "".join({*ascii_letters, *digits, *punctuation} - {*"%#"})
"""Letters that an address may have as they are: the more there are, the better it is deflated."""

MOST_BYTES = 20_000_000
"""Most bytes of events in a page; kinds without room are left out, and the page says which."""
BYTES_BESIDE = 1_100_000
"""Limit for a page that is written with the other files of a run, and must not take long."""
BYTES_PER_EVENT = 2
"""Least that is expected of an event: a kind with more rows than there is room for is not read at all."""


def page(run: FinishedRun, most_bytes: int = MOST_BYTES) -> bytes:
    """Write a run as a page.

    Raises
    ------
    ScenarioError
        If a file of the run is missing or damaged.
    """
    events = _events(run, most_bytes)
    told = finished(run, events.left_out, events.not_again)
    blocks = [block("run", zlib.compress(json.dumps(told).encode(), 9))]
    blocks += [block("events", zipped) for zipped in events.chunks]
    addresses = _addresses("main")
    title = f"{run.manifest['scenario']} - airpath"
    return document(title, addresses, "data:", blocks=blocks, is_packed=True).html.encode()


def capture_page(report: dict[str, Any], name: str) -> bytes:
    """Write the report of `analyze` on a capture as a page; its flows have models' predictions."""
    told = {"name": name, "notes": complaints(report), "report": _with_words(report)}
    blocks = [block("report", zlib.compress(json.dumps(told).encode(), 9))]
    addresses = _addresses("capture")
    title = f"{name} - airpath"
    return document(title, addresses, "data:", front="capture", blocks=blocks, is_packed=True).html.encode()


def _with_words(report: dict[str, Any]) -> Any:
    """Add a description to each flow; with as many digits as a plot needs."""
    described = {"connections": in_words, "conversations": datagrams_in_words}
    lists = {
        kind: [
            one | {"flows": [flow | {"says": say((one, flow))} for flow in one["flows"]]}
            for one in report[kind]
        ]
        for kind, say in described.items()
    }
    return _short({**report, **lists})


def _short(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _short(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_short(inner) for inner in value]
    return float(f"{value:.9g}") if isinstance(value, float) else value


@cache
def _addresses(front: str) -> Mapping[str, str]:
    """Modules that a front needs as ``data:`` addresses: the same for all pages of a process."""
    return {
        name: f"data:text/javascript,{quote(text, safe=PLAIN)}"
        for name, text in needed(dict(modules()), front).items()
    }


def needed(modules: Mapping[str, str], front: str = "main") -> dict[str, str]:
    """Choose the modules that a page needs: without modules imported only where runs can be made."""
    found, left = {}, [front]
    while left:
        name = left.pop()
        if name not in found:
            found[name] = modules[name]
            left += re.findall(r'^import .* from "studio/(\w+)"', modules[name], re.MULTILINE)
    return {name: found[name] for name in sorted(found)}


def page_of_folder(folder: Path) -> bytes:
    """Write the page that `--out` adds to the files of a run; it omits events of a long run."""
    return page(FinishedRun.open(folder), BYTES_BESIDE)


class _Events(NamedTuple):
    chunks: list[bytes]
    left_out: dict[str, int | None]
    not_again: str | None


def _events(run: FinishedRun, most_bytes: int) -> _Events:
    """Compress the events into `most_bytes`, most needed kinds first; list the kinds that do not fit."""
    room = most_bytes * 3 // 4  # Base64 takes four bytes for three.
    chunks: list[bytes] = []
    left_out: dict[str, int | None] = {}
    for kind in sorted(run.kinds, key=BY_NEED.index):
        rows, zipped = run.count(kind), None
        if BYTES_PER_EVENT * rows <= room:
            zipped = _zipped(run.events({kind: run.kinds[kind]}), room)
        if zipped is None:
            left_out[kind] = rows
        else:
            chunks += zipped
            room -= sum(map(len, zipped))
    events, without, not_again = fine(run, room // BYTES_PER_EVENT)
    zipped = _zipped(events, room)
    if zipped is None:
        without = [kind for part in events for kind in part]
    return _Events([*chunks, *(zipped or ())], left_out | dict.fromkeys(without), not_again)


def _zipped(pieces: Iterable[Events], room: int) -> list[bytes] | None:
    """Deflate events; None if they have no room."""
    zipped: list[bytes] = []
    for events in pieces:
        zipped.append(zlib.compress(encode(events, differences=True), 4))
        if (room := room - len(zipped[-1])) < 0:
            return None
    return zipped
