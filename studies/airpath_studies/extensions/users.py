"""Several users behind one wired link."""

from __future__ import annotations

from airpath_studies.base.cell import Cell, Metric, Outcome, Overrides
from airpath_studies.base.grid import make_grid
from airpath_studies.base.paper import study
from airpath_studies.base.quantity import Quantity
from airpath_studies.shared.downloads import ARQ

_WIRE_KBPS = 1000
_RUN_S = 300

_SHARED: Overrides = (
    ("duration", f"{_RUN_S} s"),
    ("wired.rate", f"{_WIRE_KBPS} kbit/s"),
    ("wired.queue.droptail.packets", "30"),
    ("flow", '[{ ue = "each", stagger = "100 ms", app = { bulk = {} } }]'),
)
"""Every user downloads through one wired link for the whole run."""

_IN_SEQUENCE: Overrides = ((f"{ARQ}.delivery", "in_sequence"),)
_SPLIT: Overrides = (("wired.delay", "105 ms"), ("middlebox", '[{ split = { delay = "30 ms" } }]'))


def _goodputs(outcome: Outcome) -> list[float]:
    return [float(flow["bytes_received"]) * 8 / 1000 / _RUN_S for flow in outcome.results["flows"]]


def together(outcome: Outcome) -> float:
    """What all users together receive, percent of the wire's rate."""
    return 100 * sum(_goodputs(outcome)) / _WIRE_KBPS


def fairness(outcome: Outcome) -> float:
    """Jain's index of what the users receive, percent."""
    rates = _goodputs(outcome)
    return 100 * sum(rates) ** 2 / (len(rates) * sum(rate**2 for rate in rates))


Column = tuple[str, Overrides, int, Metric]
"""Its head, what is done, block errors in percent, and what is measured."""

_COLUMNS: tuple[Column, ...] = (
    ("Reno, no block errors", (), 0, together),
    ("Reno", (), 10, together),
    ("in sequence", _IN_SEQUENCE, 10, together),
    ("split by a proxy", _SPLIT, 10, together),
    ("fairness, Reno", (), 10, fairness),
    ("fairness, split", _SPLIT, 10, fairness),
)


def _entry(users: int, column: Column) -> Quantity:
    what, remedy, bler, metric = column
    overrides = (
        *_SHARED,
        ("radio.dch.ues", f"{users}"),
        ("radio.dch.downlink.channel.bernoulli.bler", f"{bler} %"),
        *remedy,
    )
    cell = Cell(f"{users} users, {what}", overrides, None, together)
    return Quantity(f"{users} users {what}", cell, metric)


USERS = study(
    9,
    "Several users on one wired link",
    f"Users with bearers of 384 kbit/s and packets of 576 B share a wire of {_WIRE_KBPS / 1000:g} "
    "Mbit/s with a queue of 30 packets. What do they get of it together (percent of its rate, "
    "payload), and how fairly (Jain's index, 100 % if all get the same)? Where the wire is the "
    "bottleneck, losses of the papers' second kind come in: congestion.",
    make_grid(
        "percent", {column[0]: column for column in _COLUMNS}, [(f"{n}", n) for n in (1, 2, 4, 8)], _entry
    ),
    heads="users",
)
