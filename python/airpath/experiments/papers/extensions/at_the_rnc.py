"""Remedies at the RNC against losses of the radio: snoop, feedback, split TCP."""

from __future__ import annotations

from airpath.experiments.papers.base.cell import Cell, Metric, Outcome, Overrides
from airpath.experiments.papers.base.claims import Claim
from airpath.experiments.papers.base.conditions import Condition, Less, Never, Tie
from airpath.experiments.papers.base.grid import Grid, GridRow
from airpath.experiments.papers.base.paper import Experiment
from airpath.experiments.papers.base.quantity import Quantity
from airpath.experiments.papers.downloads import timeouts

_FILE_BYTES = 500_000
_DOWN, _UP = "radio.dch.downlink", "radio.dch.uplink"

_AM = (
    '{ am = { tti = "20 ms", pdu = "42 B", timer_poll = "150 ms", timer_status_prohibit = "100 ms", '
    "max_dat = 15 } }"
)

_REMEDIES: tuple[tuple[str, tuple[str, ...], Overrides], ...] = (
    ("none", (), ()),
    ("snoop", ("snoop = {}",), ()),
    ("feedback", ("rnc_feedback = {}",), (("tcp.rnf", '"first_flagged"'),)),
    ("split", ("split = {}",), ()),
)


def _bearer(rlc: str, delay_ms: int) -> Overrides:
    """A bearer with so much delay beside that of sending, each way."""
    ways = ((f"{way}.delay", f'"{delay_ms} ms"') for way in (_DOWN, _UP))
    if rlc == "UM":
        return tuple(ways)
    modes = ((f"{way}.rlc", _AM) for way in (_DOWN, _UP))
    losses = ((f"{way}.channel.bernoulli.bler", '"10 %"') for way in (_DOWN, _UP))
    return (*ways, *modes, *losses)


_LINES: tuple[tuple[str, int, str], ...] = (
    *(("UM", 15, loss) for loss in ("0", "0.5", "1", "2", "5")),
    *(("UM", delay, loss) for delay in (100, 300) for loss in ("1", "5")),
    *(("AM", 15, loss) for loss in ("0", "1", "5")),
)
"""Bearer, its delay one way in milliseconds, and packets that are lost at the UE in percent."""


def _cell(line: tuple[str, int, str], remedy: tuple[str, tuple[str, ...], Overrides]) -> Cell:
    rlc, delay_ms, loss = line
    name, boxes, more = remedy
    lossy = f'packet_loss = {{ downlink = {{ loss = "{loss} %" }} }}'
    overrides = (
        ("middlebox", f"[{', '.join(f'{{ {box} }}' for box in (*boxes, lossy))}]"),
        ("tcp.sack", "false"),
        ("tcp.recovery.newreno", "{}"),
        *_bearer(rlc, delay_ms),
        *more,
    )
    what = f"{rlc}, {delay_ms} ms, {loss} % lost, {name}"
    return Cell(what, overrides, None, goodput, scenario="umts-snoop", runs=40, most_runs=40, is_read=False)


def goodput(outcome: Outcome) -> float:
    """Size of the file over the time until the UE has all of it, kbit/s."""
    received_s = outcome.results["flows"][0]["received_s"]
    if received_s is None:
        raise ValueError("the transfer did not end within the scenario's duration")
    return _FILE_BYTES * 8 / 1000 / float(received_s)


def sent_again(outcome: Outcome) -> float:
    """Segments that the server sent again."""
    return float(outcome.results["flows"][0]["retransmissions"]["total"])


def _study(number: int, title: str, question: str, unit: str, what: str, metric: Metric) -> Experiment:
    def entry(line: tuple[str, int, str], remedy: tuple[str, tuple[str, ...], Overrides]) -> Quantity:
        cell = _cell(line, remedy)
        return Quantity(f"{what}, {cell.name}", cell, metric, unit=unit)

    rows = tuple(
        GridRow(
            (line[0], f"{line[1]} ms", f"{line[2]} %"), tuple(entry(line, remedy) for remedy in _REMEDIES)
        )
        for line in _LINES
    )
    grid = Grid(tuple(name for name, *_ in _REMEDIES), unit, rows)
    return Experiment("study", number, title, ("RLC", "delay", "lost"), (), grid=grid, question=question)


_SETTING = (
    f"A file of {_FILE_BYTES // 1000} kB with NewReno and a window of 16 kB, 75 ms from the RNC, over 64 "
    "kbit/s; packets are lost at the UE, and over AM blocks too, 10 % of them, which the link layer repairs. "
    "`delay` is that of the radio beside the time of sending, one way. "
)

RNC_GOODPUT = _study(
    11,
    "Remedies at the RNC",
    _SETTING + "What do they bring? Goodput until the UE has the file, kbit/s.",
    "kbit/s",
    "goodput",
    goodput,
)
RNC_SENT_AGAIN = _study(
    12,
    "Remedies at the RNC: what the server notices",
    _SETTING + "How many segments does the server send again?",
    "1",
    "sent again",
    sent_again,
)
RNC_TIMEOUTS = _study(
    13,
    "Remedies at the RNC: timeouts",
    _SETTING + "How often does the server's timer expire in a run?",
    "1",
    "timeouts",
    timeouts,
)


def _of(study: Experiment, line: tuple[str, int, str], remedy: str) -> Quantity:
    """What a study measures of a line with a remedy."""
    if study.grid is None:
        raise ValueError(f"{study.place} has no grid")
    entry = study.grid.rows[_LINES.index(line)].entries[study.grid.columns.index(remedy)]
    if entry is None:
        raise ValueError(f"{study.place} measures nothing for {line}, {remedy}")
    return entry


def _claim(number: int, study: Experiment, text: str, *conditions: Condition) -> Claim:
    return Claim(f"extensions-c{number}", study.place, text, conditions)


_SLOW = ("UM", 300, "5")
_FEW = (("UM", 15, "0.5"), ("UM", 15, "1"), ("UM", 15, "2"), ("UM", 100, "1"), ("UM", 300, "1"))

RNC_CLAIMS = (
    _claim(
        17,
        RNC_GOODPUT,
        "Each remedy is faster than none where one packet in twenty is lost, over UM and AM; at 300 ms "
        "already for one in a hundred.",
        *(
            Less(_of(RNC_GOODPUT, line, "none"), _of(RNC_GOODPUT, line, remedy))
            for line in (("UM", 15, "5"), ("UM", 100, "5"), _SLOW, ("UM", 300, "1"), ("AM", 15, "5"))
            for remedy in ("snoop", "feedback", "split")
        ),
    ),
    _claim(
        18,
        RNC_GOODPUT,
        "That snoop does not perform well over a slow radio (Rendon et al., as Jayanathan cites them) is "
        "not so here: with 300 ms each way and one packet in twenty lost it does as well as feedback, and "
        "better than split TCP.",
        Tie(_of(RNC_GOODPUT, _SLOW, "snoop"), _of(RNC_GOODPUT, _SLOW, "feedback")),
        Less(_of(RNC_GOODPUT, _SLOW, "split"), _of(RNC_GOODPUT, _SLOW, "snoop")),
    ),
    _claim(
        19,
        RNC_TIMEOUTS,
        "But its copies wait behind a window of packets, and where losses are few the server's timer expires "
        "more often than without the box, although the server sends less again.",
        *(Less(_of(RNC_TIMEOUTS, line, "none"), _of(RNC_TIMEOUTS, line, "snoop")) for line in _FEW),
        *(Less(_of(RNC_SENT_AGAIN, line, "snoop"), _of(RNC_SENT_AGAIN, line, "none")) for line in _FEW),
    ),
    _claim(
        20,
        RNC_SENT_AGAIN,
        "Split TCP keeps every loss of the radio from the server.",
        *(Never(_of(RNC_SENT_AGAIN, line, "split")) for line in _LINES),
    ),
)
"""What these studies show."""
