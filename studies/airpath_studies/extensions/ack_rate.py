"""ACK rate control with PDPC (Alcaraz and Cerdan, DCH, 2006) on HSDPA and LTE."""

from __future__ import annotations

from airpath.scenario import inline
from airpath_studies.base.cell import Outcome, Overrides
from airpath_studies.base.claims import claims_of
from airpath_studies.base.conditions import AtLeast, Less, Never, NotLess
from airpath_studies.base.measure import Measure, element
from airpath_studies.base.paper import study
from airpath_studies.base.quantity import Gain, Times
from airpath_studies.extensions.cures import Place, compare, queue, tcp_of

_ALCARAZ: Overrides = (tcp_of("alcaraz-384"),)

_SERVICE_US = {"DCH": 31_250, "HSDPA": 4000, "LTE": 500}
"""What a packet of 1500 B takes in the mean: 384 kbit/s, 3 and 24 Mbit/s."""


def _threshold(place: Place) -> int:
    """`maxth`: four fifths of the buffer, as in the paper's combined schemes."""
    return place.limit * 4 // 5


def _droptail(place: Place) -> Overrides:
    return queue(place, {"droptail": {"packets": place.limit}})


def _pdpc(place: Place) -> Overrides:
    limits = {"packets": place.limit, "max_threshold": _threshold(place), "arriving": "excluded"}
    return queue(place, {"pdpc": limits})


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
    """Mean number of SDUs in a user's buffer, including sent but unacknowledged ones."""
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

_DCH = Place("DCH")
_SHARED = tuple(Place(radio, users) for radio in ("HSDPA", "LTE") for users in (1, 4))
_OF_ALCARAZ = tuple(Place(radio, what="Alcaraz' TCP", options=_ALCARAZ) for radio in ("DCH", "HSDPA", "LTE"))

ACK_RATE = study(
    19,
    "ACK rate control with PDPC on HSDPA and LTE",
    "Alcaraz and Cerdan space ACKs the more the fuller the buffer is, and drop one packet when it is nearly "
    "full (PDPC). Does it help in the cells of study 17, HSDPA with an uplink of 384 kbit/s? Thresholds are "
    "those of the paper's Combined Scheme 1 in proportion to the bundled buffers, its time between ACKs in "
    "proportion to that of a packet. SDUs count until they are acknowledged, as in the paper, or only until "
    "they are sent. CUBIC of Linux, and the TCP of the paper (`alcaraz-384`: Reno, a window of 64 kB). A "
    "minute, start included.",
    *compare("cell, users", _CURES, (_DCH, *_SHARED, *_OF_ALCARAZ), HOLD, SDUS),
)

_GOODPUT, _RTT, _P95, _AGAIN, _TIMEOUTS, _HOLD, _SDUS = ACK_RATE.tables
_NONE, _PDPC, _SPACED, _UNSENT = _CURES
_SHARED_CELLS = tuple(place.name for place in _SHARED)
_WITH_LINUX = (_DCH.name, *_SHARED_CELLS)
_DCH_ALCARAZ, *_SHARED_ALCARAZ = (place.name for place in _OF_ALCARAZ)

_claim = claims_of("extensions", ACK_RATE.place)

ACK_RATE_CLAIMS = (
    _claim(
        39,
        "PDPC alone helps everywhere: CUBIC sends less than half as much again, round trips are shorter, "
        "and goodput loses less than 8 %.",
        (Less(Times(2, _AGAIN.entry(_PDPC, place)), _AGAIN.entry(_NONE, place)) for place in _WITH_LINUX),
        (Less(_RTT.entry(_PDPC, place), _RTT.entry(_NONE, place)) for place in _WITH_LINUX),
        (
            AtLeast(Gain(_GOODPUT.entry(_PDPC, place), _GOODPUT.entry(_NONE, place)), -8, slack=0)
            for place in _WITH_LINUX
        ),
    ),
    _claim(
        40,
        "ACK rate control as in the paper takes goodput from all of them, from one user on HSDPA or LTE "
        "more than a third, and makes the round trip longer than with PDPC alone, although fewer packets "
        "are in the buffer: the ACKs wait.",
        (Less(_GOODPUT.entry(_SPACED, place), _GOODPUT.entry(_PDPC, place)) for place in _WITH_LINUX),
        (
            Less(Times(1.5, _GOODPUT.entry(_SPACED, place)), _GOODPUT.entry(_PDPC, place))
            for place in ("HSDPA, 1", "LTE, 1")
        ),
        (Less(_RTT.entry(_PDPC, place), _RTT.entry(_SPACED, place)) for place in _WITH_LINUX),
        (Less(_SDUS.entry(_SPACED, place), _SDUS.entry(_PDPC, place)) for place in _WITH_LINUX),
    ),
    _claim(
        41,
        "If only unstarted SDUs count, most of the goodput is back, but nothing is better "
        "than with PDPC alone: round trips are longer, as ACKs wait instead of data.",
        (Less(_GOODPUT.entry(_SPACED, place), _GOODPUT.entry(_UNSENT, place)) for place in _SHARED_CELLS),
        (NotLess(_GOODPUT.entry(_PDPC, place), _GOODPUT.entry(_UNSENT, place)) for place in _SHARED_CELLS),
        (Less(_RTT.entry(_PDPC, place), _RTT.entry(_UNSENT, place)) for place in _SHARED_CELLS),
        (Less(_SDUS.entry(_UNSENT, place), _SDUS.entry(_PDPC, place)) for place in _SHARED_CELLS),
    ),
    _claim(
        42,
        "With the TCP of the paper, a window of 64 kB, it helps where the paper has it: on a dedicated "
        "channel it brings more goodput than PDPC alone, if only unsent SDUs count. On HSDPA and LTE such a "
        "window never fills the buffer: without a box nothing is retransmitted, and the paper's only costs "
        "goodput.",
        Less(_GOODPUT.entry(_NONE, _DCH_ALCARAZ), _GOODPUT.entry(_PDPC, _DCH_ALCARAZ)),
        Less(_GOODPUT.entry(_PDPC, _DCH_ALCARAZ), _GOODPUT.entry(_UNSENT, _DCH_ALCARAZ)),
        (Never(_AGAIN.entry(_NONE, place)) for place in _SHARED_ALCARAZ),
        (Less(_GOODPUT.entry(_SPACED, place), _GOODPUT.entry(_NONE, place)) for place in _SHARED_ALCARAZ),
    ),
)
"""What the study shows."""
