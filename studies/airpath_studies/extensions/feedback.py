"""RNC feedback (Jayanathan et al., 2002) on HSDPA and LTE."""

from __future__ import annotations

from dataclasses import replace

from airpath_studies.base.cell import Outcome, Overrides
from airpath_studies.base.claims import claims_of
from airpath_studies.base.conditions import AtLeast, Less, Never, Tie
from airpath_studies.base.measure import Measure
from airpath_studies.base.paper import study
from airpath_studies.base.quantity import Gain, Times
from airpath_studies.extensions.cures import Place, compare

_SACK: Overrides = (("tcp.recovery", "{ sack = {} }"),)
_NEWRENO: Overrides = (
    ("tcp.recovery", "{ newreno = {} }"),
    ("tcp.sack", "false"),
    ("tcp.dsack", "false"),
    ("tcp.prr", "false"),
    ("tcp.undo", "{ none = {} }"),
)
_FEEDBACK: Overrides = (("middlebox", "[{ rnc_feedback = {} }]"), ("tcp.rnf", "first_flagged"))

_UM: dict[str, Overrides] = {
    "HSDPA": (
        ("radio.hsdpa.downlink.rlc", '{ um = { pdu = "82 B" } }'),
        ("radio.hsdpa.uplink.rlc", '{ um = { tti = "10 ms", pdu = "41 B" } }'),
    ),
    "LTE": (("radio.lte.downlink.rlc", "{ um_lte = {} }"), ("radio.lte.uplink.rlc", "{ um_lte = {} }")),
}


def _place(radio: str, mode: str, misread: str) -> Place:
    place = Place(radio, what=f"{mode}, {misread}")
    lost = (f"radio.{place.kind}.downlink.harq.nack_as_ack", misread)
    return replace(place, options=(*(_UM[radio] if mode == "UM" else ()), lost))


def kept(outcome: Outcome) -> float:
    """Recoveries in a run that leave the window as it is, because of feedback."""
    told = (flow.get("rnf") or {} for flow in outcome.results["flows"])
    return float(sum(of.get("wireless_fast_retransmits", 0) for of in told))


KEPT = Measure("recoveries with the window kept", "1", kept)

_CURES = {
    "SACK": lambda place: _SACK,
    "SACK, feedback": lambda place: (*_SACK, *_FEEDBACK),
    "NewReno": lambda place: _NEWRENO,
    "NewReno, feedback": lambda place: (*_NEWRENO, *_FEEDBACK),
}

_PLACES = tuple(
    _place(radio, mode, misread)
    for radio in ("HSDPA", "LTE")
    for mode, shares in (("AM", ("0 %", "10 %")), ("UM", ("0 %", "1 %", "10 %")))
    for misread in shares
)

FEEDBACK = study(
    20,
    "RNC feedback on HSDPA and LTE",
    "The box tells a sender which losses are the radio's, so that it keeps its window. Does it help one "
    "user of HSDPA (uplink of 384 kbit/s) or LTE in the cells of study 17? The Node B or eNodeB misreads so "
    "many HARQ NACKs as ACKs; in acknowledged mode RLC repairs these losses, in unacknowledged "
    "mode TCP has to. CUBIC of Linux with the recovery of RFC 6675 or NewReno: with RACK there are no "
    "duplicate ACKs to flag. A minute, start included.",
    *compare("cell, users, RLC, NACKs misread", _CURES, _PLACES, KEPT),
)

_GOODPUT, _RTT, _P95, _AGAIN, _TIMEOUTS, _KEPT = FEEDBACK.tables
_NAMES = tuple(place.name for place in _PLACES)
_AM = tuple(name for name in _NAMES if "AM" in name)
_UM_LOSES = tuple(name for name in _NAMES if "UM" in name and ", 0 %" not in name)

_claim = claims_of("extensions", FEEDBACK.place)


def _gain(sender: str, place: str) -> Gain:
    return Gain(_GOODPUT.entry(f"{sender}, feedback", place), _GOODPUT.entry(sender, place))


FEEDBACK_CLAIMS = (
    _claim(
        43,
        "Over acknowledged mode there is nothing to tell: even with every tenth NACK misread RLC repairs "
        "all, no sender with SACK acts on feedback, and goodput and timeouts stay as they are.",
        (Never(_KEPT.entry("SACK, feedback", place)) for place in _AM),
        (
            Tie(table.entry("SACK, feedback", place), table.entry("SACK", place))
            for table in (_GOODPUT, _TIMEOUTS)
            for place in _AM
        ),
    ),
    _claim(
        44,
        "Over unacknowledged mode it helps, on HSDPA by a fifth or more; on LTE it helps less.",
        (AtLeast(_gain("SACK", place), 20, slack=0) for place in _UM_LOSES if "HSDPA" in place),
        Less(*(_gain("SACK", f"{radio}, 1, UM, 10 %") for radio in ("LTE", "HSDPA"))),
    ),
    _claim(
        45,
        "It helps NewReno more, which acts on it more often: a block has several packets, and with SACK a "
        "sender takes the second one that is missing for lost to congestion before a flag can come.",
        Less(*(_gain(who, "HSDPA, 1, UM, 10 %") for who in ("SACK", "NewReno"))),
        (
            Less(*(_KEPT.entry(f"{who}, feedback", f"{radio}, 1, UM, 10 %") for who in ("SACK", "NewReno")))
            for radio in ("HSDPA", "LTE")
        ),
    ),
    _claim(
        46,
        "Acknowledged mode does more than feedback can: with as many NACKs misread it has at least twice "
        "the goodput.",
        (
            Less(
                Times(2, _GOODPUT.entry("SACK, feedback", f"{radio}, 1, UM, 10 %")),
                _GOODPUT.entry("SACK", f"{radio}, 1, AM, 10 %"),
            )
            for radio in ("HSDPA", "LTE")
        ),
    ),
)
"""What the study shows."""
