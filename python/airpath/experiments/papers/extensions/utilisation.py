"""Utilisation of a cell by 1, 4 and 16 users: what TCP makes of what the radio carries, and who gets it.

What a cell can carry depends on how many users its scheduler may choose among. So the same cell, with the same
users and the same channels, seed by seed, is run with datagrams that keep every buffer full: that is 100 %.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from airpath.experiments.papers.base.cell import Cell, Metric, Outcome, Overrides
from airpath.experiments.papers.base.claims import claims_of
from airpath.experiments.papers.base.conditions import AtLeast, AtMost, Less, Tie
from airpath.experiments.papers.base.grid import Grid, make_grid
from airpath.experiments.papers.base.paper import study
from airpath.experiments.papers.base.quantity import Quantity
from airpath.experiments.papers.extensions.users import fairness

USERS = (1, 4, 16)


@dataclass(frozen=True)
class Radio:
    """A kind of cell, with the parameters and buffers of a bundled scenario, whose users are all alike."""

    scenario: str
    kind: str
    """Its key below `[radio]`."""
    run_s: int
    peak_kbps: int
    """The most that a user gets, and more than that."""
    overrides: Overrides = ()


RADIOS: dict[str, Radio] = {
    "DCH": Radio("umts-384", "dch", 60, 384),
    "HSDPA": Radio(
        "hsdpa-7.2-4ue", "hsdpa", 60, 7200, (("radio.hsdpa.downlink.reception.mean_sinr", "5 dB"),)
    ),
    "LTE": Radio("lte-10mhz-10ue", "lte", 20, 36_700, (("radio.lte.downlink.reception.mean_sinr", "15 dB"),)),
}

SENDERS = {"Reno": "linux-reno", "CUBIC": "linux"}
"""Profiles of TCP."""

_PACKET_BYTES, _PAYLOAD_BYTES, _DATAGRAM_BYTES = 1500, 1448, 1472
"""An IP packet, and what it carries of a file and of a datagram."""


def all_users(radio: Radio, users: int, app: str) -> Overrides:
    """Make all users of a cell do the same."""
    return (
        ("duration", f"{radio.run_s} s"),
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
    return _received_bytes(outcome.twin, _DATAGRAM_BYTES) * 8e-6 / float(outcome.twin.results["time_s"])


def rtt_ms(outcome: Outcome) -> float:
    """Mean of all round-trip times measured, ms."""
    known = [flow["rtt_ms"] for flow in outcome.results["flows"] if flow["rtt_ms"]["samples"]]
    return float(sum(rtt["mean"] * rtt["samples"] for rtt in known) / sum(rtt["samples"] for rtt in known))


def timeouts(outcome: Outcome) -> float:
    """Timeouts of all users in a run."""
    return float(sum(flow["timeouts"] for flow in outcome.results["flows"]))


@cache
def _cell(radio: str, users: int, sender: str, options: Overrides = ()) -> Cell:
    kind = RADIOS[radio]
    overrides = (*all_users(kind, users, "bulk = {}"), ("tcp.profile", SENDERS[sender]), *options)
    return Cell(
        f"{users} users, {radio}, {sender}",
        overrides,
        datagrams(kind, users),
        utilisation,
        paired=True,
        scenario=kind.scenario,
        is_read=False,
        most_runs=10,
    )


def _table(title: str, metric: Metric, unit: str = "percent") -> Grid:
    columns = {f"{radio}, {sender}": (radio, sender) for radio in RADIOS for sender in SENDERS}

    def entry(users: int, column: tuple[str, str]) -> Quantity:
        cell = _cell(column[0], users, column[1])
        return Quantity(f"{title}, {cell.name}", cell, metric, unit)

    return make_grid(unit, columns, [(f"{users}", users) for users in USERS], entry, title)


UTILISATION = study(
    17,
    "Utilisation of a cell",
    "One, four and sixteen users",
    "users",
    _table("share of what datagrams bring", utilisation),
    _table("Jain's index", fairness),
    _table("Jain's index of datagrams", datagram_fairness),
    _table("round-trip time", rtt_ms, "ms"),
    _table("timeouts", timeouts, "1"),
    _table("what datagrams bring", capacity_mbps, "Mbit/s"),
)
