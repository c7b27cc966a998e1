"""The Ack Regulator of Chan and Ramjee (1xEV-DO, 2002) on HSDPA and LTE."""

from __future__ import annotations

from airpath.experiments.papers.base.cell import Outcome, Overrides
from airpath.experiments.papers.base.measure import Measure, element, study, tables
from airpath.experiments.papers.extensions.cures import MEASURES, Place, columns, queue, tcp_of
from airpath.scenario import inline

_CHAN: Overrides = (tcp_of("hdr-single"),)
_PASSING: Overrides = (
    ("radio.hsdpa.downlink.iub", '{ capacity = 60, interval = "2 ms", delay = "0 ms" }'),
)
"""A Node B that holds next to nothing, so that packets wait where the box looks."""


def _buffer(place: Place) -> Overrides:
    """Only what waits takes room: this is the buffer that the box looks at."""
    return (queue(place, {"droptail": {"packets": place.limit, "in_service": "excluded"}}),)


def _regulated(reading: str, place: Place) -> Overrides:
    # Linux has an ACK for two segments, counts bytes, and sends two more for the first two duplicates.
    linux = {"growth": "acked", "reserve_limited_transmit": 2}
    counts = {"count": "acks"} if _CHAN[0] in place.options else linux
    return (*_buffer(place), ("middlebox", inline([{"ack_regulator": {"reading": reading, **counts}}])))


def acks_held(outcome: Outcome) -> float:
    """ACKs that the box holds back for a while, percent; none without the box."""
    if not any(part["element"] == "middlebox.ack_regulator" for part in outcome.results["elements"]):
        return 0.0
    flows = element(outcome, "middlebox.ack_regulator")["flows"]
    return 100 * float(sum(flow["acks_held"] for flow in flows) / sum(flow["acks"] for flow in flows))


HELD = Measure("ACKs held", "percent", acks_held)

_CURES = {
    "none": _buffer,
    "regulated": lambda place: _regulated("working", place),
    "regulated, as printed": lambda place: _regulated("literal", place),
}

_PLACES = {
    "HSDPA, 1": Place("HSDPA"),
    "HSDPA, 4": Place("HSDPA", 4),
    "LTE, 1": Place("LTE"),
    "LTE, 4": Place("LTE", 4),
    "HSDPA, 1, 15 packets": Place("HSDPA", packets=15),
    "LTE, 1, 15 packets": Place("LTE", packets=15),
    "HSDPA, 1, 15 packets, Chan's TCP": Place("HSDPA", packets=15, options=_CHAN),
    "the same, a Node B that holds little": Place("HSDPA", packets=15, options=(*_CHAN, *_PASSING)),
    "LTE, 1, 15 packets, Chan's TCP": Place("LTE", packets=15, options=_CHAN),
}

ACK_REGULATOR = study(
    18,
    "The Ack Regulator on HSDPA and LTE",
    "q",
    *tables("cell, users", columns(_CURES), _PLACES, (*MEASURES, HELD)),
)
