"""ACK rate control with PDPC (Alcaraz and Cerdan, DCH, 2006) on HSDPA and LTE."""

from __future__ import annotations

from airpath.experiments.papers.base.cell import Outcome, Overrides
from airpath.experiments.papers.base.measure import Measure, element, study, tables
from airpath.experiments.papers.extensions.cures import MEASURES, Place, columns, queue, tcp_of
from airpath.scenario import inline

_ALCARAZ: Overrides = (tcp_of("alcaraz-384"),)

_SERVICE_US = {"DCH": 31_250, "HSDPA": 4000, "LTE": 500}
"""What a packet of 1500 B takes in the mean: 384 kbit/s, 3 and 24 Mbit/s."""


def _threshold(place: Place) -> int:
    """`maxth`: four fifths of the buffer, as in the paper's combined schemes."""
    return place.limit * 4 // 5


def _droptail(place: Place) -> Overrides:
    return (queue(place, {"droptail": {"packets": place.limit}}),)


def _pdpc(place: Place) -> Overrides:
    limits = {"packets": place.limit, "max_threshold": _threshold(place), "arriving": "excluded"}
    return (queue(place, {"pdpc": limits}),)


def _combined(occupancy: str, place: Place) -> Overrides:
    """Combined Scheme 1: 0.4 times what a packet of the user takes, for each SDU (12.5 of 31.25 ms)."""
    shares = 1 if place.radio == "DCH" else place.users
    maxd_us = _SERVICE_US[place.radio] * shares * 2 // 5 * _threshold(place)
    f1 = {"minth": 0, "maxth": _threshold(place), "maxd": f"{maxd_us} us"}
    box = {"t_id": {"linear": f1}, "t_id_after_drop": {"off": {}}, "occupancy": occupancy}
    return (*_pdpc(place), ("middlebox", inline([{"ack_rate_control": box}])))


def hold_ms(outcome: Outcome) -> float:
    """How long the box holds an ACK in the mean, ms; 0 without the box."""
    if not any(part["element"] == "middlebox.ack_rate_control" for part in outcome.results["elements"]):
        return 0.0
    ues = element(outcome, "middlebox.ack_rate_control")["ues"]
    return float(sum(ue["mean_hold_ms"] * ue["acks"] for ue in ues) / sum(ue["acks"] for ue in ues))


def sdus(outcome: Outcome) -> float:
    """SDUs in a user's buffer in the mean, those that are sent and not yet acknowledged included."""
    ues = element(outcome, "radio.")["ues"]
    return float(sum(ue["downlink"]["mean_queued_sdus"] for ue in ues) / len(ues))


HOLD = Measure("time that an ACK is held, mean", "ms", hold_ms)
SDUS = Measure("SDUs in a buffer, mean", "1", sdus)

_CURES = {
    "none": _droptail,
    "PDPC": _pdpc,
    "with ACK rate control": lambda place: _combined("unacked", place),
    "the same, of what was not sent": lambda place: _combined("untransmitted", place),
}

_PLACES = {
    "DCH, 1": Place("DCH"),
    "HSDPA, 1": Place("HSDPA"),
    "HSDPA, 4": Place("HSDPA", 4),
    "LTE, 1": Place("LTE"),
    "LTE, 4": Place("LTE", 4),
    "DCH, 1, Alcaraz' TCP": Place("DCH", options=_ALCARAZ),
    "HSDPA, 1, Alcaraz' TCP": Place("HSDPA", options=_ALCARAZ),
    "LTE, 1, Alcaraz' TCP": Place("LTE", options=_ALCARAZ),
}

ACK_RATE = study(
    19,
    "ACK rate control with PDPC on HSDPA and LTE",
    "q",
    *tables("cell, users", columns(_CURES), _PLACES, (*MEASURES, HOLD, SDUS)),
)
