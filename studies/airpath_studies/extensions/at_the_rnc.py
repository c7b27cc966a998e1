"""Remedies at the RNC against losses of the radio: snoop, feedback, split TCP."""

from __future__ import annotations

from airpath_studies.base.cell import Cell, Metric, Outcome, Overrides
from airpath_studies.base.claims import claims_of
from airpath_studies.base.conditions import Less, Never, Tie
from airpath_studies.base.grid import make_grid
from airpath_studies.base.paper import Experiment, study
from airpath_studies.base.quantity import Quantity
from airpath_studies.shared.downloads import received_s, retransmissions, timeouts

_FILE_BYTES = 500_000
_DOWN, _UP = "radio.dch.downlink", "radio.dch.uplink"

_AM = (
    '{ am = { tti = "20 ms", pdu = "42 B", timer_poll = "150 ms", timer_status_prohibit = "100 ms", '
    "max_dat = 15 } }"
)

_REMEDIES: dict[str, tuple[str, Overrides]] = {
    "none": ("", ()),
    "snoop": ("{ snoop = {} }, ", ()),
    "feedback": ("{ rnc_feedback = {} }, ", (("tcp.rnf", '"first_flagged"'),)),
    "split": ("{ split = {} }, ", ()),
}


def _bearer(rlc: str, delay: str) -> Overrides:
    """A bearer with this delay in addition to the transmission time, each way."""
    ways = tuple((f"{way}.delay", f'"{delay}"') for way in (_DOWN, _UP))
    if rlc == "UM":
        return ways
    modes = ((f"{way}.rlc", _AM) for way in (_DOWN, _UP))
    losses = ((f"{way}.channel.bernoulli.bler", '"10 %"') for way in (_DOWN, _UP))
    return (*ways, *modes, *losses)


Line = tuple[str, str, str]
"""Bearer, its delay one way, and packets that are lost at the UE."""

_LINES: tuple[Line, ...] = (
    *(("UM", "15 ms", loss) for loss in ("0 %", "0.5 %", "1 %", "2 %", "5 %")),
    *(("UM", delay, loss) for delay in ("100 ms", "300 ms") for loss in ("1 %", "5 %")),
    *(("AM", "15 ms", loss) for loss in ("0 %", "1 %", "5 %")),
)


def _cell(line: Line, remedy: str) -> Cell:
    rlc, delay, loss = line
    box, more = _REMEDIES[remedy]
    overrides = (
        ("middlebox", f'[{box}{{ packet_loss = {{ downlink = {{ loss = "{loss}" }} }} }}]'),
        ("tcp.sack", "false"),
        ("tcp.recovery.newreno", "{}"),
        *_bearer(rlc, delay),
        *more,
    )
    what = f"{rlc}, {delay}, {loss} lost, {remedy}"
    return Cell(what, overrides, None, goodput, scenario="umts-snoop", runs=40, most_runs=40, is_read=False)


def goodput(outcome: Outcome) -> float:
    """Size of the file over the time until the UE has all of it, kbit/s."""
    return _FILE_BYTES * 8 / 1000 / received_s(outcome)


def _study(number: int, title: str, question: str, unit: str, what: str, metric: Metric) -> Experiment:
    def entry(line: Line, remedy: str) -> Quantity:
        cell = _cell(line, remedy)
        return Quantity(f"{what}, {cell.name}", cell, metric, unit=unit)

    columns = {remedy: remedy for remedy in _REMEDIES}
    grid = make_grid(unit, columns, [(line, line) for line in _LINES], entry)
    return study(number, title, question, grid, heads=("RLC", "delay", "lost"))


_SETTING = (
    f"A file of {_FILE_BYTES // 1000} kB with NewReno and a window of 16 kB, 75 ms from the RNC, over 64 "
    "kbit/s; packets are lost at the UE, and over AM blocks too, 10 % of them, which the link layer repairs. "
    "`delay` is the radio's in addition to the transmission time, one way. "
)

RNC_GOODPUT = _study(
    11,
    "Remedies at the RNC",
    _SETTING + "What do they bring? Goodput until the UE has the file, kbit/s.",
    "kbit/s",
    "goodput",
    goodput,
)
RNC_RETRANSMITTED = _study(
    12,
    "Remedies at the RNC: what the server notices",
    _SETTING + "How many segments does the server retransmit?",
    "1",
    "retransmitted",
    retransmissions,
)
RNC_TIMEOUTS = _study(
    13,
    "Remedies at the RNC: timeouts",
    _SETTING + "How often does the server's timer expire in a run?",
    "1",
    "timeouts",
    timeouts,
)


_claim = claims_of("extensions")
_GOODPUT, _RETRANSMITTED, _TIMEOUTS = (of.tables[0] for of in (RNC_GOODPUT, RNC_RETRANSMITTED, RNC_TIMEOUTS))

_SLOW = ("UM", "300 ms", "5 %")
_FEW = (
    *(("UM", "15 ms", loss) for loss in ("0.5 %", "1 %", "2 %")),
    *(("UM", delay, "1 %") for delay in ("100 ms", "300 ms")),
)
_MANY = (
    ("UM", "15 ms", "5 %"),
    ("UM", "100 ms", "5 %"),
    _SLOW,
    ("UM", "300 ms", "1 %"),
    ("AM", "15 ms", "5 %"),
)

RNC_CLAIMS = (
    _claim(
        17,
        RNC_GOODPUT.place,
        "Each remedy is faster than none where one packet in twenty is lost, over UM and AM; at 300 ms "
        "already for one in a hundred.",
        *(
            Less(_GOODPUT.entry("none", *line), _GOODPUT.entry(remedy, *line))
            for line in _MANY
            for remedy in ("snoop", "feedback", "split")
        ),
    ),
    _claim(
        18,
        RNC_GOODPUT.place,
        "That snoop does not perform well over a slow radio (Rendon et al., as Jayanathan cites them) is "
        "not so here: with 300 ms each way and one packet in twenty lost it does as well as feedback, and "
        "better than split TCP.",
        Tie(_GOODPUT.entry("snoop", *_SLOW), _GOODPUT.entry("feedback", *_SLOW)),
        Less(_GOODPUT.entry("split", *_SLOW), _GOODPUT.entry("snoop", *_SLOW)),
    ),
    _claim(
        19,
        RNC_TIMEOUTS.place,
        "But its copies wait behind a window of packets, and where losses are few the server's timer expires "
        "more often than without the box, although the server sends less again.",
        *(Less(_TIMEOUTS.entry("none", *line), _TIMEOUTS.entry("snoop", *line)) for line in _FEW),
        *(Less(_RETRANSMITTED.entry("snoop", *line), _RETRANSMITTED.entry("none", *line)) for line in _FEW),
    ),
    _claim(
        20,
        RNC_RETRANSMITTED.place,
        "Split TCP keeps every loss of the radio from the server.",
        *(Never(_RETRANSMITTED.entry("split", *line)) for line in _LINES),
    ),
)
"""What these studies show."""
