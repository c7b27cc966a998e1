"""Cures for dedicated channels and 1xEV-DO in cells of study 17: how they stand, what is measured."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from airpath.runs.trace import Events
from airpath.scenario import inline, load
from airpath_studies.base.cell import Cell, Outcome, Overrides, buffer
from airpath_studies.base.grid import Grid
from airpath_studies.base.measure import Measure, observed, tables
from airpath_studies.base.observe import Observation, column
from airpath_studies.extensions.utilisation import FAST_UPLINK, RADIOS, RUN_S, all_users, timeouts


@dataclass(frozen=True)
class RoundTrips:
    """Round-trip times measured by all senders in a run, ms."""

    mean_ms: float
    p95_ms: float


def _round_trips(events: Events) -> RoundTrips:
    ms = column(events, "rtt_sample", "rtt_us") / 1000
    return RoundTrips(float(ms.mean()), float(np.percentile(ms, 95)))


ROUND_TRIPS = Observation(("rtt_sample",), _round_trips)
"""A :class:`RoundTrips`."""


def goodput_kbps(outcome: Outcome) -> float:
    """Payload that all users together receive, kbit/s."""
    return sum(float(flow["bytes_received"]) for flow in outcome.results["flows"]) * 8 / 1000 / RUN_S


def retransmitted(outcome: Outcome) -> float:
    """Retransmitted segments, as a percentage of all segments sent."""
    flows = outcome.results["flows"]
    again = sum(flow["retransmissions"]["total"] for flow in flows)
    return 100 * float(again / sum(flow["segments_sent"] for flow in flows))


GOODPUT = Measure("goodput of all users", "kbit/s", goodput_kbps)
RTT = Measure("round-trip time, mean", "ms", observed("mean_ms"))
RTT_P95 = Measure("round-trip time, 95 % are below", "ms", observed("p95_ms"))
AGAIN = Measure("segments retransmitted", "percent", retransmitted)
TIMEOUTS = Measure("timeouts of all users", "1", timeouts)

MEASURES = (GOODPUT, RTT, RTT_P95, AGAIN, TIMEOUTS)
"""What a cure may change."""


@dataclass(frozen=True)
class Place:
    """A cell of study 17 in which a cure is tried."""

    radio: str
    users: int = 1
    packets: int | None = None
    """Packets that a user's buffer has room for; by default the bundled scenario's."""
    what: str = ""
    """What else is changed in it, and how that is called."""
    options: Overrides = ()

    @property
    def name(self) -> str:
        """What it is."""
        packets = [] if self.packets is None else [f"{self.packets} packets"]
        return ", ".join([self.radio, f"{self.users}", *packets, *([self.what] if self.what else [])])

    @property
    def kind(self) -> str:
        """Its key below `[radio]`."""
        return RADIOS[self.radio].kind

    @property
    def limit(self) -> int:
        """Packets that a user's buffer has room for."""
        return RADIOS[self.radio].packets if self.packets is None else self.packets


def _tried(name: str, place: Place, cure: Overrides) -> Cell:
    """Make the cell of a cure: every user downloads, and HSDPA has an uplink that ACKs do not fill."""
    uplink = FAST_UPLINK if place.radio == "HSDPA" else ()
    radio = RADIOS[place.radio]
    return Cell(
        name,
        (*all_users(radio, place.users, "bulk = {}"), *uplink, *place.options, *cure),
        None,
        goodput_kbps,
        observe=ROUND_TRIPS,
        scenario=radio.scenario,
        is_read=False,
        runs=10,
        most_runs=10,
    )


def compare(
    head: str,
    cures: Mapping[str, Callable[[Place], Overrides]],
    places: Iterable[Place],
    *more: Measure,
) -> tuple[Grid, ...]:
    """Make a table for each measure: a line for each place, a column for what each cure changes there."""

    def of(name: str, cure: Callable[[Place], Overrides]) -> Callable[[Place], Cell]:
        def cell(place: Place) -> Cell:
            return _tried(f"{place.name}, {name}", place, cure(place))

        return cell

    columns = {name: of(name, cure) for name, cure in cures.items()}
    return tables(head, columns, {place.name: place for place in places}, (*MEASURES, *more))


def queue(place: Place, discipline: Mapping[str, Any]) -> Overrides:
    """Change the discipline of the buffers."""
    return buffer(place.kind, discipline)


def tcp_of(scenario: str) -> tuple[str, str]:
    """Take the TCP of another bundled scenario."""
    return ("tcp", inline(tomllib.loads(load(scenario).source)["tcp"]))
