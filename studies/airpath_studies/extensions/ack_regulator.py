"""The Ack Regulator of Chan and Ramjee (1xEV-DO, 2002) on HSDPA and LTE."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

from airpath.scenario import inline
from airpath_studies.base.cell import Outcome, Overrides
from airpath_studies.base.claims import claims_of
from airpath_studies.base.conditions import AtLeast, AtMost, Less, NotLess, WithinPoints
from airpath_studies.base.measure import Measure, element
from airpath_studies.base.paper import study
from airpath_studies.base.quantity import Gain, Times
from airpath_studies.extensions.cures import Place, compare, queue, tcp_of

_CHAN: Overrides = (tcp_of("hdr-single"),)
_PASSING: Overrides = (("radio.hsdpa.downlink.iub", '{ capacity = 60, interval = "2 ms", delay = "0 ms" }'),)
"""A Node B that holds next to nothing, so that packets wait where the box looks."""


def _buffer(place: Place) -> Overrides:
    """Only queued packets take room: this is the buffer that the middlebox observes."""
    return queue(place, {"droptail": {"packets": place.limit, "in_service": "excluded"}})


def _regulated(keys: Mapping[str, str], place: Place) -> Overrides:
    # Linux has an ACK for two segments, counts bytes, and sends two more for the first two duplicates.
    linux = {"growth": "acked", "reserve_limited_transmit": 2}
    counts = {"count": "acks"} if _CHAN[0] in place.options else linux
    return (*_buffer(place), ("middlebox", inline([{"ack_regulator": {**keys, **counts}}])))


def acks_held(outcome: Outcome) -> float:
    """ACKs that the box holds back for a while, percent; none without the box."""
    if not any(part["element"] == "middlebox.ack_regulator" for part in outcome.results["elements"]):
        return 0.0
    flows = element(outcome, "middlebox.ack_regulator")["flows"]
    return 100 * float(sum(flow["acks_held"] for flow in flows) / sum(flow["acks"] for flow in flows))


HELD = Measure("ACKs held", "percent", acks_held)

_CURES: dict[str, Callable[[Place], Overrides]] = {
    "none": _buffer,
    "regulated": partial(_regulated, {}),
    "regulated, as printed": partial(
        _regulated, {"reset": "departure", "window": "outstanding", "threshold": "waiting"}
    ),
}

_BUNDLED = tuple(Place(radio, users) for radio in ("HSDPA", "LTE") for users in (1, 4))
_FEW = 15
_SMALL = tuple(Place(radio, packets=_FEW) for radio in ("HSDPA", "LTE"))
_OF_CHAN = tuple(replace(place, what="Chan's TCP", options=_CHAN) for place in _SMALL)
_PASSED_ON = replace(_OF_CHAN[0], what="Chan's TCP, small Node B", options=(*_CHAN, *_PASSING))

ACK_REGULATOR = study(
    18,
    "The Ack Regulator on HSDPA and LTE",
    "Chan and Ramjee's box holds ACKs until the buffer has room for what they bring. Does it help in the "
    "cells of study 17, HSDPA with an uplink of 384 kbit/s, with the bundled buffers (133 and 666 packets), "
    "and with the 15 packets of their own cell? CUBIC of Linux, or the TCP of their paper (`hdr-single`). "
    "`regulated` expects nothing whenever the buffer is empty, `as printed` only when a packet leaves it so "
    "(`ack_regulator.reset`). A minute, start included; only packets that wait count in a buffer.",
    *compare("cell, users", _CURES, (*_BUNDLED, *_SMALL, *_OF_CHAN, _PASSED_ON), HELD),
)

_GOODPUT, _RTT, _P95, _AGAIN, _TIMEOUTS, _HELD = ACK_REGULATOR.tables
_NONE, _WORKING, _PRINTED = _CURES
_SMALL_HSDPA, _SMALL_LTE = (place.name for place in _SMALL)
_HSDPA_CHAN, _LTE_CHAN = (place.name for place in _OF_CHAN)

_claim = claims_of("extensions", ACK_REGULATOR.place)

ACK_REGULATOR_CLAIMS = (
    _claim(
        36,
        "With the bundled buffers the Ack Regulator brings nothing: goodput is as without it, or below.",
        (
            NotLess(_GOODPUT.entry(_NONE, place), _GOODPUT.entry(reading, place))
            for reading in (_WORKING, _PRINTED)
            for place in (place.name for place in _BUNDLED)
        ),
    ),
    _claim(
        37,
        "With 15 packets on LTE it helps both senders, as printed: CUBIC by a fifth and more, the TCP of "
        "its paper by half and more. In the other reading it does not: so small a buffer is empty most of "
        "the time, since TCP takes less than a quarter of what the cell carries, and an empty buffer ends "
        "the box's prediction. It holds fewer than one in a hundred ACKs of the paper's TCP.",
        (
            AtLeast(Gain(_GOODPUT.entry(_PRINTED, place), _GOODPUT.entry(_NONE, place)), gain, slack=0)
            for place, gain in ((_SMALL_LTE, 20), (_LTE_CHAN, 50))
        ),
        NotLess(_GOODPUT.entry(_NONE, _SMALL_LTE), _GOODPUT.entry(_WORKING, _SMALL_LTE)),
        (
            Less(Times(4, _GOODPUT.entry(_NONE, place)), _GOODPUT.entry(_NONE, "LTE, 1"))
            for place in (_SMALL_LTE, _LTE_CHAN)
        ),
        AtMost(_HELD.entry(_WORKING, _LTE_CHAN), 1, slack=0),
        AtLeast(_HELD.entry(_PRINTED, _LTE_CHAN), 5, slack=0),
    ),
    _claim(
        38,
        "With 15 packets on HSDPA it does not help either sender: the Node B has room for 40 kB, and "
        "the box sees the RNC's buffer. If the Node B holds next to nothing, it helps as printed.",
        (
            WithinPoints(Gain(_GOODPUT.entry(reading, place), _GOODPUT.entry(_NONE, place)), 0, 5)
            for reading in (_WORKING, _PRINTED)
            for place in (_SMALL_HSDPA, _HSDPA_CHAN)
        ),
        AtLeast(
            Gain(_GOODPUT.entry(_PRINTED, _PASSED_ON.name), _GOODPUT.entry(_NONE, _PASSED_ON.name)),
            15,
            slack=0,
        ),
    ),
)
"""What the study shows."""
