"""Utilisation of a cell by 1, 4 and 16 users: what TCP makes of what the radio carries, and who gets it.

What a cell can carry depends on how many users its scheduler may choose among. So the same cell, with the same
users and the same channels, seed by seed, is run with datagrams that keep every buffer full: that is 100 %.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, partial

from airpath.experiments.papers.base.cell import Cell, Metric, Outcome, Overrides
from airpath.experiments.papers.base.claims import claims_of
from airpath.experiments.papers.base.conditions import AtLeast, AtMost, Less, Tie
from airpath.experiments.papers.base.grid import Grid, make_grid
from airpath.experiments.papers.base.paper import study
from airpath.experiments.papers.base.quantity import Quantity
from airpath.experiments.papers.extensions.users import fairness

USERS = (1, 4, 16)


RUN_S = 60
"""Length of a run, seconds, the start of the users included."""


@dataclass(frozen=True)
class Radio:
    """A kind of cell, with the parameters of a bundled scenario, whose users are all alike."""

    scenario: str
    kind: str
    """Its key below `[radio]`."""
    peak_kbps: int
    """What no user gets more of."""
    packets: int
    """Packets of 1500 B that the bundled buffer has room for."""
    overrides: Overrides = ()


_SINR = "downlink.reception.mean_sinr"

RADIOS: dict[str, Radio] = {
    "DCH": Radio("umts-384", "dch", 384, 30),
    "HSDPA": Radio("hsdpa-7.2-4ue", "hsdpa", 7200, 133, ((f"radio.hsdpa.{_SINR}", "5 dB"),)),
    "LTE": Radio("lte-10mhz-10ue", "lte", 36_700, 666, ((f"radio.lte.{_SINR}", "15 dB"),)),
}

FAST_UPLINK: Overrides = (("radio.hsdpa.uplink.rate", "384 kbit/s"), ("radio.hsdpa.uplink.rlc.am.tti", "10 ms"))
"""The uplink of `hsdpa-7.2`."""

SENDERS = {"Reno": "linux-reno", "CUBIC": "linux"}
"""Profiles of TCP."""

_PACKET_BYTES, _PAYLOAD_BYTES, _DATAGRAM_BYTES = 1500, 1448, 1472
"""An IP packet, and what it carries of a file and of a datagram."""


def all_users(radio: Radio, users: int, app: str) -> Overrides:
    """Make all users of a cell do the same."""
    return (
        ("duration", f"{RUN_S} s"),
        (f"radio.{radio.kind}.ues", f"{users}"),
        *radio.overrides,
        ("flow", f'[{{ ue = "each", stagger = "100 ms", app = {{ {app} }} }}]'),
    )


def datagrams(radio: Radio, users: int) -> Overrides:
    """Keep the buffer of each user full: four times a fair part of the peak, and the whole peak at most."""
    rate = radio.peak_kbps if radio.kind == "dch" else min(radio.peak_kbps, 4 * radio.peak_kbps // users)
    return all_users(radio, users, f'cbr = {{ size = "{_PACKET_BYTES} B", rate = "{rate} kbit/s" }}')


def _received_bytes(outcome: Outcome, payload: int) -> float:
    """What all users together receive, with headers, nothing twice, bytes."""
    received = sum(float(flow["bytes_received"]) for flow in outcome.results["flows"])
    return received * _PACKET_BYTES / payload


def utilisation(outcome: Outcome) -> float:
    """What TCP brings of what datagrams bring, percent."""
    return 100 * _received_bytes(outcome, _PAYLOAD_BYTES) / _received_bytes(outcome.twin, _DATAGRAM_BYTES)


def datagram_fairness(outcome: Outcome) -> float:
    """Jain's index of the datagrams that users receive, percent."""
    return fairness(outcome.twin)


def capacity_mbps(outcome: Outcome) -> float:
    """What datagrams bring, Mbit/s."""
    return _received_bytes(outcome.twin, _DATAGRAM_BYTES) * 8e-6 / RUN_S


def rtt_ms(outcome: Outcome) -> float:
    """Mean of all round-trip times measured, ms."""
    known = [flow["rtt_ms"] for flow in outcome.results["flows"] if flow["rtt_ms"]["samples"]]
    return float(sum(rtt["mean"] * rtt["samples"] for rtt in known) / sum(rtt["samples"] for rtt in known))


def timeouts(outcome: Outcome) -> float:
    """Timeouts of all users in a run."""
    return float(sum(flow["timeouts"] for flow in outcome.results["flows"]))


@cache
def cell(radio: str, users: int, sender: str, options: Overrides = (), what: str = "") -> Cell:
    """So many users of TCP in a cell, beside as many who are sent datagrams."""
    kind = RADIOS[radio]
    overrides = (*all_users(kind, users, "bulk = {}"), ("tcp.profile", SENDERS[sender]), *options)
    return Cell(
        f"{users} users, {radio}, {sender}{what and ', '}{what}",
        overrides,
        (*datagrams(kind, users), *options),
        utilisation,
        paired=True,
        scenario=kind.scenario,
        is_read=False,
        most_runs=10,
    )


Column = tuple[str, str, Callable[[int], Overrides], str]
"""Kind of cell, sender, what is changed for so many users, and what that is called."""


def _unchanged(users: int) -> Overrides:
    return ()


def _shared_out(radio: str, users: int) -> Overrides:
    """The bundled buffer of one user, shared out to all, whole packets."""
    kind = RADIOS[radio]
    return ((f"radio.{kind.kind}.downlink.queue", f"{{ droptail.packets = {kind.packets // users} }}"),)


_BUNDLED: dict[str, Column] = {
    f"{radio}, {sender}": (radio, sender, _unchanged, "") for radio in RADIOS for sender in SENDERS
}
_UPLINKS: dict[str, Column] = {
    f"{rate} kbit/s, {sender}": ("HSDPA", sender, lambda users, change=change: change, f"uplink of {rate} kbit/s")
    for rate, change in ((64, ()), (384, FAST_UPLINK))
    for sender in SENDERS
}
_SHARED_OUT: dict[str, Column] = {
    f"{radio}, {sender}": (radio, sender, partial(_shared_out, radio), "buffer shared out")
    for radio in ("HSDPA", "LTE")
    for sender in SENDERS
}


def _table(title: str, columns: Mapping[str, Column], metric: Metric, unit: str = "percent") -> Grid:
    def entry(users: int, column: Column) -> Quantity:
        radio, sender, changes, what = column
        of = cell(radio, users, sender, changes(users), what)
        return Quantity(f"{title}, {of.name}", of, metric, unit)

    return make_grid(unit, columns, [(f"{users}", users) for users in USERS], entry, title)


UTILISATION = study(
    17,
    "Utilisation of a cell",
    "One, four and sixteen users",
    "users",
    _table("share of what datagrams bring", _BUNDLED, utilisation),
    _table("Jain's index", _BUNDLED, fairness),
    _table("Jain's index of datagrams", _BUNDLED, datagram_fairness),
    _table("round-trip time", _BUNDLED, rtt_ms, "ms"),
    _table("timeouts", _BUNDLED, timeouts, "1"),
    _table("what datagrams bring", _BUNDLED, capacity_mbps, "Mbit/s"),
    _table("share by uplink", _UPLINKS, utilisation),
    _table("RTT by uplink", _UPLINKS, rtt_ms, "ms"),
    _table("timeouts by uplink", _UPLINKS, timeouts, "1"),
    _table("share, buffers shared out", _SHARED_OUT, utilisation),
    _table("RTT, buffers shared out", _SHARED_OUT, rtt_ms, "ms"),
    _table("Jain, buffers shared out", _SHARED_OUT, fairness),
    _table("timeouts, buffers shared out", _SHARED_OUT, timeouts, "1"),
)
