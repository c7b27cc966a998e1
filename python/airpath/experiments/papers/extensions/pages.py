"""Web pages: one connection or one for each object."""

from __future__ import annotations

from airpath.experiments.papers.base.cell import Cell, Outcome
from airpath.experiments.papers.base.grid import Grid, GridRow
from airpath.experiments.papers.base.paper import Experiment
from airpath.experiments.papers.base.quantity import Quantity
from airpath.experiments.papers.downloads import NO_BLOCK_ERRORS
from airpath.experiments.papers.lundsten.model import make_download
from airpath.experiments.papers.lundsten.study import SIX, Key

_PAGE = 'request = "300 B", page = "20 kB", objects = 16, object = "5 kB"'

_FORMS = (
    ("HTTP/1.1, one connection", 'connections = "persistent"'),
    ("the same, pipelined", 'connections = "persistent", pipelining = true'),
    ("HTTP/1.0, one after the other", 'connections = "per_object", parallel = 1'),
    ("HTTP/1.0, four at once", 'connections = "per_object", parallel = 4'),
)


def page_load_s(outcome: Outcome) -> float:
    """Time until the last object has arrived, seconds."""
    seconds = outcome.results["flows"][0]["web"]["page_load_s"]
    if seconds is None:
        raise ValueError("the page was not complete within the scenario's duration")
    return float(seconds)


def _entry(key: Key, form: str, options: str, *, errors: bool) -> Quantity:
    name = f"{key[0]}/{key[1]} {form}{'' if errors else ', no block errors'}"
    changes = (
        *(change for change in make_download(*key).overrides if not change[0].startswith("flow")),
        ("tcp.handshake", "three_way"),
        ("flow", f"[{{ app = {{ web = {{ {_PAGE}, {options} }} }} }}]"),
        *(() if errors else (NO_BLOCK_ERRORS,)),
    )
    return Quantity(name, Cell(name, changes, None, page_load_s), page_load_s, unit="s")


PAGES = Experiment(
    "study",
    10,
    "Web pages",
    ("connections", "block errors"),
    (),
    grid=Grid(
        tuple(f"{rate}/{packet}" for rate, packet in SIX),
        "s",
        tuple(
            GridRow(
                (form, "10 %" if errors else "0 %"),
                tuple(_entry(key, form, options, errors=errors) for key in SIX),
            )
            for form, options in _FORMS
            for errors in (False, True)
        ),
    ),
    question=(
        "The thesis takes a file of 100 kB for a page, and expects less of older versions of HTTP, which "
        "need a connection for each object. How long until a page of 20 kB with 16 objects of 5 kB is "
        "complete, requests of 300 B and connection set-up included? Seconds."
    ),
)
