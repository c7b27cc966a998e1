"""Write the playground: the studio as a folder of plain files, with the simulator as WebAssembly in it.

Any file server can hand the folder out; it makes no requests to other hosts.
`index.html#umts-384?seed=2` opens a run, as links of the studio do.
"""

from __future__ import annotations

import argparse
import gzip
import json
from collections.abc import Iterable
from pathlib import Path

from airpath.runs.flows import MOST_LINES
from airpath.runs.memory import FEW_EVENTS, FIRST_STEP_S, LONGEST_STEP_S, MANY_EVENTS
from airpath.studio.document import SMALL_FRONTS, document, front_files, modules
from airpath.studio.facts import BY_NEED, MOST_ITEMS, MOST_SCENARIO, MOST_TEXT
from airpath.studio.page import needed
from airpath.studio.runs import AIM, CHUNK_EVENTS, MOST_EVENTS, TELL_S
from airpath.studio.sources import FIRST, TEXT, Sources, schema

ENGINE = Path("target/wasm32-unknown-unknown/wasm/airpath_wasm.wasm")
WORKER = "worker/engine.js"


def write(engine: Path, folder: Path) -> None:
    """Write the files; `engine` is what `make wasm` has built."""
    folder.mkdir(parents=True, exist_ok=True)
    texts = dict(modules())
    for name, text in texts.items():
        (folder / f"{name}.js").write_text(text, encoding="utf-8")
    (folder / "worker").mkdir(exist_ok=True)
    (folder / WORKER).write_bytes((front_files() / WORKER).read_bytes())
    studio = {name: text for name, text in texts.items() if name not in SMALL_FRONTS}
    _page(folder / "index.html", "main", studio)
    for front in SMALL_FRONTS:
        _page(folder / f"{front}.html", front, needed(texts, front))
    (folder / "worker" / "engine.json").write_text(json.dumps(settings()), encoding="utf-8")
    (folder / "worker" / "engine.wasm.gz").write_bytes(gzip.compress(engine.read_bytes(), 9, mtime=0))


def _page(file: Path, front: str, names: Iterable[str]) -> None:
    """Write the page of a front, which needs modules of these names."""
    marked = [f'<script type="text/plain" data-of="engine">{WORKER}</script>']
    directives = ("connect-src 'self'", "worker-src 'self'")
    addresses = {name: f"./{name}.js" for name in names}
    html, _ = document(
        "airpath playground",
        addresses,
        "'self' 'wasm-unsafe-eval'",
        *directives,
        front=front,
        blocks=marked,
        is_served=True,
    )
    file.write_text(html, encoding="utf-8")


def settings() -> dict[str, object]:
    """Collect the settings of `worker/engine.js` (its `Settings`)."""
    return {
        "scenarios": Sources().scenarios(),
        "schema": json.loads(schema()),
        "first": FIRST,
        "text": TEXT,
        "by_need": BY_NEED,
        "most_events": MOST_EVENTS,
        "chunk_events": CHUNK_EVENTS,
        "tell_s": TELL_S,
        "aim": AIM,
        "pace": {
            "first_step_s": FIRST_STEP_S,
            "longest_step_s": LONGEST_STEP_S,
            "many_events": MANY_EVENTS,
            "few_events": FEW_EVENTS,
        },
        "most": {"flows": MOST_LINES, "scenario": MOST_SCENARIO, "text": MOST_TEXT, "items": MOST_ITEMS},
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--engine", type=Path, default=ENGINE)
    parser.add_argument("--out", type=Path, default=Path("build/playground"))
    given = parser.parse_args()
    write(given.engine, given.out)
    print(f"{given.out}: open index.html through a file server, such as python -m http.server")
