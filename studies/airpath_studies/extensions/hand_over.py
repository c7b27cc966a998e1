"""Hand-overs: what an outage costs a download, and what freezing its sender or splitting it saves."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from itertools import product

import numpy as np

from airpath.runs.trace import Events
from airpath_studies.base.cell import Cell, Metric, Outcome, Overrides
from airpath_studies.base.grid import Grid, make_grid
from airpath_studies.base.observe import Observation, column, times_s, words
from airpath_studies.base.paper import study
from airpath_studies.base.quantity import Quantity

RUN_S = 60
"""Length of a run, seconds; the outage begins after 20."""

OUTAGES_S = (1, 3, 10)

_NETWORK, _UE = '[{ freeze.at = "network" }]', '[{ freeze.at = "ue" }]'
_SHRUNK = "tcp.shrunk_window"

REMEDIES: dict[str, Overrides] = {
    "nothing": (("middlebox", "[]"),),
    "freeze, network": (("middlebox", _NETWORK),),
    "the same, goes back": (("middlebox", _NETWORK), (_SHRUNK, "persist_and_go_back")),
    "the same, retransmits": (("middlebox", _NETWORK), (_SHRUNK, "retransmit")),
    "freeze, UE": (("middlebox", _UE),),
    "split, state moves": (("middlebox", '[{ split.handover = "transfer" }]'),),
    "split, state lost": (("middlebox", '[{ split.handover = "lose" }]'),),
}
"""What is done about a hand-over. A sender that goes back is BSD's, one that retransmits Linux'."""

_UM: Overrides = (
    ("radio.dch.downlink.rlc", '{ um = { tti = "10 ms" } }'),
    ("radio.dch.uplink.rlc", '{ um = { tti = "20 ms" } }'),
    ("radio.dch.downlink.channel.bernoulli.bler", "0.02 %"),
    ("radio.dch.uplink.channel.bernoulli.bler", "0.02 %"),
)

LINK_LAYERS: dict[str, Overrides] = {"AM": (), "UM": _UM}
BEARERS = ("pause", "lose")


@dataclass(frozen=True)
class HandOver:
    """The outage of a run, read from its trace."""

    arrives_s: float
    """From the end of the outage until the receiver has new data in order, or until the run ends, seconds."""
    kept: float
    """Smallest congestion window of the server from the beginning of the outage until a second after its
    end, over that before."""


def _hand_over(events: Events) -> HandOver:
    at_s, phases = times_s(events, "outage"), words(events, "outage", "phase")
    begins_s, ends_s = (at_s[phases == phase][0] for phase in ("began", "ended"))
    in_order = np.maximum.accumulate(column(events, "segment_received", "rcv_nxt"))
    received_s = times_s(events, "segment_received")[np.diff(in_order, prepend=0) > 0]
    behind = received_s[received_s >= ends_s]
    arrives_s = float(behind[0] - ends_s) if behind.size else RUN_S - float(ends_s)
    cwnd, state_s = column(events, "tcp_state", "tcpi_snd_cwnd"), times_s(events, "tcp_state")
    before = cwnd[state_s < begins_s - 2][-1]
    during = cwnd[(state_s >= begins_s) & (state_s < ends_s + 1)]
    return HandOver(arrives_s, float(min(during.min() if during.size else before, before) / before))


HAND_OVER = Observation(("outage", "segment_received", "tcp_state"), _hand_over)
"""A :class:`HandOver`."""


def arrives_s(outcome: Outcome) -> float:
    """From the end of the outage until the receiver has new data in order, seconds."""
    return float(outcome.observed.arrives_s)


def window_kept(outcome: Outcome) -> float:
    """Smallest congestion window of the server over that before the outage, percent."""
    return 100 * float(outcome.observed.kept)


def lost_s(outcome: Outcome) -> float:
    """Time in which a run without outage receives what this one does not, seconds."""
    return RUN_S * (1 - float(outcome.flow["bytes_received"]) / float(outcome.twin.flow["bytes_received"]))


def timeouts(outcome: Outcome) -> float:
    """Timeouts, those of a proxy included, more than without outage."""

    def of(run: Outcome) -> float:
        boxes = [part for part in run.results["elements"] if part["element"] == "middlebox.split"]
        proxies = [connection["timeouts"] for box in boxes for connection in box["connections"]]
        return float(run.flow["timeouts"] + sum(proxies))

    return of(outcome) - of(outcome.twin)


def arrived_twice(outcome: Outcome) -> float:
    """Segments that the receiver got though it had them, more than without outage."""
    twice, without = (run.flow["receiver"]["duplicates"] for run in (outcome, outcome.twin))
    return float(twice - without)


_UNITS: dict[Metric, str] = {
    arrives_s: "s",
    lost_s: "s",
    timeouts: "1",
    arrived_twice: "1",
    window_kept: "percent",
}

Key = tuple[str, str, int]
"""Link layer, what becomes of the bearers, and length of the outage in seconds."""

KEYS: tuple[Key, ...] = tuple(product(LINK_LAYERS, BEARERS, OUTAGES_S))


@cache
def _cell(remedy: str, link_layer: str, bearers: str, outage_s: int) -> Cell:
    box = (*REMEDIES[remedy], *LINK_LAYERS[link_layer])
    outage = (("handover.0.outage", f"{outage_s} s"), ("handover.0.bearers", bearers))
    return Cell(
        f"{remedy}, {link_layer}, {bearers}, {outage_s} s",
        (*box, *outage),
        (*box, ("handover", "[]")),
        lost_s,
        paired=True,
        observe=HAND_OVER,
        scenario="umts-handover",
        is_read=False,
        runs=10,
        most_runs=20,
    )


def measure(metric: Metric, remedy: str, key: Key) -> Quantity:
    """Make a quantity of one hand-over."""
    cell = _cell(remedy, *key)
    return Quantity(cell.name, cell, metric, unit=_UNITS[metric])


def _table(title: str, metric: Metric, remedies: Iterable[str] = REMEDIES) -> Grid:
    columns = {remedy: remedy for remedy in remedies}
    lines = [((link_layer, bearers, f"{s} s"), (link_layer, bearers, s)) for link_layer, bearers, s in KEYS]
    return make_grid(_UNITS[metric], columns, lines, lambda key, remedy: measure(metric, remedy, key), title)


HANDOVER = study(
    14,
    "Hand-overs",
    "A UE is out of reach for 1, 3 or 10 s while it downloads. Its bearers pause, or send on and lose "
    "the blocks in transmission. What does that cost a sender that is not notified; one that is frozen by "
    "the network (M-TCP) or by the UE 2 s before (Freeze-TCP); one that takes the closed window as "
    "BSD does, or as Linux; and one whose connection is split at the RNC, where the proxy's state moves "
    "with the UE or is lost?",
    _table("From the end of the outage until new data is at the UE, in order", arrives_s),
    _table("What the hand-over costs: time in which a run without it receives as much more", lost_s),
    _table("Timeouts, those of the proxy included", timeouts),
    _table("Segments that reach the UE twice", arrived_twice),
    _table(
        "Smallest congestion window up to a second behind the outage, over that before",
        window_kept,
        [remedy for remedy in REMEDIES if not remedy.startswith("split")],
    ),
    heads=("link layer", "bearers", "outage"),
)
