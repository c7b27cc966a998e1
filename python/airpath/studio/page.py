"""A finished run as one HTML file: a browser opens it from the disk, without a server and without a request.

The page has the files of `static/` in it: modules as ``data:`` addresses in an import map, since a browser
loads no module files from a disk. Facts and events of the run are deflated and written as base64, so that no
text of a run is ever markup. A policy in the page forbids requests, and allows scripts and styles by their
hashes. The same run gives the same bytes.
"""

from __future__ import annotations

import base64
import hashlib
import json
import zlib
from collections.abc import Iterable, Iterator
from html import escape
from importlib.resources import files
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from airpath import _core
from airpath.runs.lines import choose_flows, flow_names
from airpath.scenario import bundled, inline, load
from airpath.studio.chunks import encode

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

    from airpath.runs.finished import FinishedRun

MOST_BYTES = 20_000_000
"""Most bytes of events in a page; kinds without room are left out, and the page says which."""
MOST_SCENARIO = 200_000
"""Most characters of the scenario's text: one with a trace in it may have millions."""

BY_NEED = (
    *("tcp_state", "rtt_sample", "segment_sent", "dropped", "bearer_enqueued", "outage"),
    *("ack_regulator", "ack_rate_control", "rnc_feedback", "snoop"),
    *("bearer_delivered", "rlc_data", "rlc_status", "slot_ended", "segment_received", "rlc_confirmed"),
    *("packet", "rlc_sdu"),
)
"""Kinds of event, those first that a page can least do without."""

_FACTS = (
    *("airpath", "git", "rng", "scenario", "scenario_sha256", "seed", "started", "elapsed_s"),
    *("interrupted", "live", "python", "platform"),
)
"""What a page says of the manifest. Not the name of the machine: a page is made to be passed on."""


def page(run: FinishedRun) -> bytes:
    """Write a run as a page.

    Raises
    ------
    ScenarioError
        If a file of the run is missing or damaged.
    """
    chunks, left_out = _events(run)
    data = [_block("run", json.dumps(_facts(run, left_out)).encode())]
    data += [_block("events", zipped) for zipped in chunks]
    static = files("airpath.studio") / "static"
    uplot = static / "vendor" / "uplot"
    style = _text(uplot / "uPlot.min.css") + _text(static / "studio.css")
    imports = {f"studio/{name}": _address(text) for name, text in modules()}
    scripts = [
        ("", _text(uplot / "uPlot.iife.min.js")),
        (' type="importmap"', json.dumps({"imports": imports}, separators=(",", ":"))),
        (' type="module"', 'import "studio/main";'),
    ]
    allowed = " ".join(_source(text) for _, text in scripts)
    policy = (
        f"default-src 'none'; script-src {allowed} data:; style-src {_source(style)}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    notice = f"This page has uPlot in it, under this licence:\n\n{_text(uplot / 'LICENSE')}"
    head = [
        f'<meta http-equiv="Content-Security-Policy" content="{escape(policy)}">',
        f"<title>{escape(run.manifest['scenario'])} - airpath</title>",
        f"<style>{style}</style>",
        f"<!-- {notice} -->",
    ]
    body = [*data, *(f"<script{kind}>{text}</script>" for kind, text in scripts)]
    text = _text(static / "index.html")
    return text.replace("<!-- head -->", "\n".join(head)).replace("<!-- run -->", "\n".join(body)).encode()


def modules() -> Iterator[tuple[str, str]]:
    """Names and texts of the front's modules, by name."""
    for file in sorted((files("airpath.studio") / "static").iterdir(), key=lambda file: file.name):
        if file.name.endswith(".js"):
            yield PurePosixPath(file.name).stem, _text(file)


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


def _facts(run: FinishedRun, left_out: dict[str, int]) -> dict[str, Any]:
    """Everything about a run but its events, as `static/source.js` describes it."""
    text = run.scenario_text
    return {
        "title": run.manifest["scenario"],
        "names": flow_names(run.summary, run.scenario),
        "chosen": choose_flows(run.summary),
        "summary": run.summary,
        "path": _core.path(text),
        "scenario": text[:MOST_SCENARIO],
        "cut": len(text) > MOST_SCENARIO,
        "changes": changes(run),
        "facts": {key: run.manifest[key] for key in _FACTS if key in run.manifest},
        "left_out": left_out,
    }


def changes(run: FinishedRun) -> list[str] | None:
    """Tell what was changed in a bundled scenario, as arguments of `--set`; None if that is not known."""
    name = run.manifest["scenario"]
    if name not in bundled():
        return None
    import tomllib

    overrides = list(_differing("", tomllib.loads(load(name).text), run.scenario))
    try:
        told = tomllib.loads(load(name, overrides).text) == run.scenario
    except ValueError:
        told = False
    return [f"{key}={value}" for key, value in overrides] if told else None


def _differing(path: str, before: Any, after: Any) -> Iterable[tuple[str, str]]:
    if isinstance(before, dict) and isinstance(after, dict) and before.keys() == after.keys():
        for key in after:
            yield from _differing(f"{path}.{key}" if path else key, before[key], after[key])
    elif before != after:
        yield path, after if isinstance(after, str) else inline(after)


def _text(file: Traversable) -> str:
    return file.read_text(encoding="utf-8")


def _address(text: str) -> str:
    return f"data:text/javascript;base64,{base64.b64encode(text.encode()).decode()}"


def _source(text: str) -> str:
    """Name a script or style in the policy: by its hash."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _block(kind: str, content: bytes) -> str:
    zipped = zlib.compress(content, 9) if kind == "run" else content
    return f'<script type="text/plain" data-of="{kind}">{base64.b64encode(zipped).decode()}</script>'
