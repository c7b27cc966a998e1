"""Utilisation of a cell by 1, 4 and 16 users: what TCP makes of what the radio carries, and who gets it.

What a cell can carry depends on how many users its scheduler may choose among. So the same cell, with the
same users and the same channels, seed by seed, is run with datagrams that keep every buffer full: that is
100 %.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache, partial

from airpath_studies.base.cell import Cell, Metric, Outcome, Overrides, buffer
from airpath_studies.base.claims import claims_of
from airpath_studies.base.conditions import AtLeast, AtMost, Less, Tie, rising
from airpath_studies.base.grid import Grid, make_grid
from airpath_studies.base.measure import element
from airpath_studies.base.paper import study
from airpath_studies.base.quantity import Quantity, Times
from airpath_studies.extensions.users import fairness

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

FAST_UPLINK: Overrides = (
    ("radio.hsdpa.uplink.rate", "384 kbit/s"),
    ("radio.hsdpa.uplink.rlc.am.tti", "10 ms"),
)
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


def least_dropped(outcome: Outcome) -> float:
    """Datagrams that found no room in a user's buffer, of the user with the fewest."""
    ues = element(outcome.twin, "radio.")["ues"]
    return float(min(ue["downlink"]["sdus_dropped"] for ue in ues))


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
    """So many users of TCP in a cell, compared with as many who receive datagrams."""
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


def _shared_out(radio: str, in_service: str, users: int) -> Overrides:
    """The bundled buffer of one user, shared out to all; `in_service`: whether sent SDUs count."""
    of = RADIOS[radio]
    limit = {"packets": of.packets // users, "in_service": in_service}
    return buffer(of.kind, {"droptail": limit})


_BUNDLED: dict[str, Column] = {
    f"{radio}, {sender}": (radio, sender, _unchanged, "") for radio in RADIOS for sender in SENDERS
}
_CELLS: dict[str, Column] = {radio: (radio, "CUBIC", _unchanged, "") for radio in RADIOS}
_UPLINKS: dict[str, Column] = {
    f"{rate} kbit/s, {sender}": (
        "HSDPA",
        sender,
        _unchanged if rate == 64 else lambda users: FAST_UPLINK,
        "" if rate == 64 else f"uplink of {rate} kbit/s",
    )
    for rate in (64, 384)
    for sender in SENDERS
}
_WAITING = "HSDPA, CUBIC, of what waits"
_SHARED_OUT: dict[str, Column] = {
    **{
        f"{radio}, {sender}": (radio, sender, partial(_shared_out, radio, "counted"), "buffer shared out")
        for radio in ("HSDPA", "LTE")
        for sender in SENDERS
    },
    _WAITING: (
        "HSDPA",
        "CUBIC",
        partial(_shared_out, "HSDPA", "excluded"),
        "buffer of what waits shared out",
    ),
}


def _table(title: str, columns: Mapping[str, Column], metric: Metric, unit: str = "percent") -> Grid:
    def entry(users: int, column: Column) -> Quantity:
        radio, sender, changes, what = column
        of = cell(radio, users, sender, changes(users), what)
        return Quantity(f"{title}, {of.name}", of, metric, unit)

    return make_grid(unit, columns, [(f"{users}", users) for users in USERS], entry, title)


_SHARE, _JAIN, _RTT = "Share of what datagrams bring", "Jain's index", "Round-trip time, mean"

UTILISATION = study(
    17,
    "Utilisation of a cell",
    "The thesis calls for several users (7.2). One, four and sixteen download for a minute in cells of "
    "`umts-384`, `hsdpa-7.2-4ue` and `lte-10mhz-10ue`, with the buffers of these, Reno and CUBIC of Linux; "
    "the mean SINR is 5 dB (HSDPA) or 15 dB (LTE) for all. Which share of the goodput of datagrams that "
    "keep all buffers full, with as many users over the same channels, do they get? How fair, how late?",
    _table(_SHARE, _BUNDLED, utilisation),
    _table(_JAIN, _BUNDLED, fairness),
    _table(f"{_JAIN} of the datagrams", _CELLS, datagram_fairness),
    _table("What datagrams bring", _CELLS, capacity_mbps, "Mbit/s"),
    _table(_RTT, _BUNDLED, rtt_ms, "ms"),
    _table(f"{_SHARE}, HSDPA with an uplink of", _UPLINKS, utilisation),
    _table(f"{_RTT}, HSDPA with an uplink of", _UPLINKS, rtt_ms, "ms"),
    _table("Timeouts, HSDPA with an uplink of", _UPLINKS, timeouts, "1"),
    _table(f"{_SHARE}, one user's buffer shared out to all", _SHARED_OUT, utilisation),
    _table(f"{_RTT}, one user's buffer shared out to all", _SHARED_OUT, rtt_ms, "ms"),
    heads="users",
)

_claim = claims_of("extensions", UTILISATION.place)
_SHARES, _INDEX, _DATAGRAM_INDEX, _CAPACITY, _RTTS, _BY_UPLINK, _, _TIMEOUTS, _PARTS, _RTT_PARTS = (
    UTILISATION.tables
)
_MANY = ("4", "16")


def _of(table: Grid, columns: Iterable[str], rows: Iterable[str]) -> tuple[Quantity, ...]:
    return tuple(table.entry(column, row) for column in columns for row in rows)


_HSDPA = tuple(f"HSDPA, {sender}" for sender in SENDERS)
_LTE = tuple(f"LTE, {sender}" for sender in SENDERS)
_DCH = tuple(f"DCH, {sender}" for sender in SENDERS)
_SLOW, _FAST = (tuple(f"{rate} kbit/s, {sender}" for sender in SENDERS) for rate in (64, 384))

UTILISATION_CLAIMS = (
    _claim(
        31,
        "With four users and sixteen TCP takes at least 95 % of what the cell carries, whichever cell and "
        "sender; over DCH and LTE one user does too. The datagrams that tell what it carries overflow each "
        "buffer, a hundred times a minute or more.",
        (AtLeast(of, 95, slack=0) for of in _of(_SHARES, _BUNDLED, _MANY)),
        (AtLeast(of, 95, slack=0) for of in _of(_SHARES, (*_DCH, *_LTE), "1")),
        (
            AtLeast(Quantity(f"datagrams dropped, {of.name}", of.cell, least_dropped, "1"), 100, slack=0)
            for of in _of(_CAPACITY, _CELLS, ("1", *_MANY))
        ),
    ),
    _claim(
        32,
        "One user on HSDPA does not: the ACKs of what the cell can give him alone do not fit into his "
        "uplink of 64 kbit/s, where they wait until timers expire. With 384 kbit/s he takes at least 93 %, "
        "without a timeout.",
        (AtMost(of, 88, slack=0) for of in _of(_BY_UPLINK, _SLOW, "1")),
        (AtLeast(of, 93, slack=0) for of in _of(_BY_UPLINK, _FAST, "1")),
        map(Less, _of(_TIMEOUTS, _FAST, "1"), _of(_TIMEOUTS, _SLOW, "1")),
    ),
    _claim(
        33,
        "TCP is as fair as the radio is: its users' index is that of the datagrams, which the channels set.",
        (
            Tie(_INDEX.entry(f"{radio}, {sender}", users), _DATAGRAM_INDEX.entry(radio, users))
            for radio in RADIOS
            for sender in SENDERS
            for users in _MANY
        ),
    ),
    _claim(
        34,
        "Bearers of their own add up, and round trips stay as they are. HSDPA carries more for four than "
        "for one, as its scheduler has a choice; but each user brings a buffer of his own, and on both "
        "shared cells the round trips of sixteen take more than two seconds.",
        (
            Tie(Times(int(users), _CAPACITY.entry("DCH", "1")), _CAPACITY.entry("DCH", users))
            for users in _MANY
        ),
        (Tie(*_of(_RTTS, (column,), users)) for column in _DCH for users in (("1", "4"), ("4", "16"))),
        Less(_CAPACITY.entry("HSDPA", "1"), _CAPACITY.entry("HSDPA", "4")),
        (AtLeast(of, 2000, slack=0) for of in _of(_RTTS, (*_HSDPA, *_LTE), ("16",))),
        (rising(*_of(_RTTS, (column,), ("1", "4", "16"))) for column in _LTE),
    ),
    _claim(
        35,
        "One user's buffer is enough for all: shared out, round trips of sixteen stay below 400 ms, and LTE "
        "carries more than nine tenths. On HSDPA it is less, since a packet counts until RLC has it "
        "acknowledged, also while it waits in the Node B. If only packets in the RNC count, it is nine "
        "tenths there too, and the round trip three times as long: the Node B's room is another buffer of "
        "each user.",
        (AtMost(of, 400, slack=0) for of in _of(_RTT_PARTS, (*_HSDPA, *_LTE), ("16",))),
        (AtLeast(of, 90, slack=0) for of in _of(_PARTS, _LTE, _MANY)),
        (AtMost(of, 88, slack=0) for of in _of(_PARTS, _HSDPA, _MANY)),
        (AtLeast(of, 90, slack=0) for of in _of(_PARTS, (_WAITING,), _MANY)),
        Less(Times(3, _RTT_PARTS.entry(_HSDPA[1], "16")), _RTT_PARTS.entry(_WAITING, "16")),
    ),
)
"""What the study shows."""
