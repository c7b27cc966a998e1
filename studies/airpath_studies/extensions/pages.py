"""Web pages: one connection or one for each object."""

from __future__ import annotations

from itertools import product

from airpath_studies.base.cell import Cell, Outcome
from airpath_studies.base.grid import make_grid
from airpath_studies.base.paper import study
from airpath_studies.base.quantity import Quantity
from airpath_studies.shared.downloads import NO_BLOCK_ERRORS, Key, by_key
from airpath_studies.shared.lundsten import SIX, make_download

_PAGE = 'request = "300 B", page = "20 kB", objects = 16, object = "5 kB"'

_FORMS = {
    "HTTP/1.1, one connection": 'connections = "persistent"',
    "the same, pipelined": 'connections = "persistent", pipelining = true',
    "HTTP/1.0, one after the other": 'connections = "per_object", parallel = 1',
    "HTTP/1.0, four at once": 'connections = "per_object", parallel = 4',
}


def page_load_s(outcome: Outcome) -> float:
    """Time until the last object has arrived, seconds."""
    seconds = outcome.results["flows"][0]["web"]["page_load_s"]
    if seconds is None:
        raise ValueError("the page was not complete within the scenario's duration")
    return float(seconds)


def _entry(line: tuple[str, str], key: Key) -> Quantity:
    form, bler = line
    name = f"{key[0]}/{key[1]} {form}{'' if bler == '10 %' else ', no block errors'}"
    changes = (
        *(change for change in make_download(*key).overrides if not change[0].startswith("flow")),
        ("tcp.handshake", "three_way"),
        ("flow", f"[{{ app = {{ web = {{ {_PAGE}, {_FORMS[form]} }} }} }}]"),
        *(() if bler == "10 %" else (NO_BLOCK_ERRORS,)),
    )
    return Quantity(name, Cell(name, changes, None, page_load_s), page_load_s, unit="s")


PAGES = study(
    10,
    "Web pages",
    "The thesis models a page as a file of 100 kB, and expects less of older versions of HTTP, which "
    "need a connection for each object. How long until a page of 20 kB with 16 objects of 5 kB is "
    "complete, requests of 300 B and connection set-up included? Seconds.",
    make_grid("s", by_key(SIX), [(line, line) for line in product(_FORMS, ("0 %", "10 %"))], _entry),
    heads=("connections", "block errors"),
)
