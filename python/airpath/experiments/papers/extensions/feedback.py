"""RNC feedback (Jayanathan et al., 2002) on HSDPA and LTE."""

from __future__ import annotations

from airpath.experiments.papers.base.cell import Outcome, Overrides
from airpath.experiments.papers.base.measure import Measure, study, tables
from airpath.experiments.papers.extensions.cures import MEASURES, Place, columns

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
    place = Place(radio)
    lost = ((f"radio.{place.kind}.downlink.harq.nack_as_ack", misread),)
    # What sets the uplink comes before: a bearer in UM has no such key.
    return Place(radio, options=(*(_UM[radio] if mode == "UM" else ()), *lost))


def kept(outcome: Outcome) -> float:
    """Recoveries in a run that leave the window as it is, because of feedback."""
    return float(sum((flow["rnf"] or {}).get("wireless_fast_retransmits", 0) for flow in outcome.results["flows"]))


KEPT = Measure("recoveries with the window kept", "1", kept)

_CURES = {
    "SACK": lambda place: _SACK,
    "SACK, feedback": lambda place: (*_SACK, *_FEEDBACK),
    "NewReno": lambda place: _NEWRENO,
    "NewReno, feedback": lambda place: (*_NEWRENO, *_FEEDBACK),
}

_PLACES = {
    f"{radio}, {mode}, {misread}": _place(radio, mode, misread)
    for radio in ("HSDPA", "LTE")
    for mode, shares in (("AM", ("0 %", "10 %")), ("UM", ("0 %", "1 %", "10 %")))
    for misread in shares
}

FEEDBACK = study(
    20,
    "RNC feedback on HSDPA and LTE",
    "q",
    *tables("cell, RLC, NACKs misread", columns(_CURES), _PLACES, (*MEASURES, KEPT)),
)
