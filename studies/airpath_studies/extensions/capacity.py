"""Power against block errors: what a target for them costs a cell, and where TCP's best one lies.

The cell is `models.capacity`'s. All bearers are dedicated and the wire has no limit, so that users do not
meet: what one of them receives, times their number, is what the cell delivers.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np

from airpath.models.capacity import SLOPES_DB
from airpath.models.capacity import Cell as Wcdma
from airpath_studies.base.cell import Cell, Outcome, Overrides
from airpath_studies.base.claims import claims_of
from airpath_studies.base.conditions import Less, Tie, rising
from airpath_studies.base.grid import Grid, GridRow, make_grid
from airpath_studies.base.paper import study
from airpath_studies.base.quantity import Quantity, Times
from airpath_studies.shared.downloads import ARQ, HEADER_BYTES, TIMESTAMPS_BYTES
from airpath_studies.shared.lundsten import EIFEL, WINDOWS

TARGETS = (0.5, 1, 2, 5, 10, 20, 40)
"""Block error rates, percent."""

USERS = (1, 2, 4, 8, 16, 32)

_RUN_S = 300
_DATAGRAM_HEADER_BYTES = 28
_PEAK_KBPS = 384
_SLOPE = "fast fading"

_IN_SEQUENCE: Overrides = ((f"{ARQ}.delivery", "in_sequence"),)
_EIFEL: Overrides = EIFEL["options"]
_ALONE = "the link alone"


def _window(rate_kbps: float, packet_bytes: int) -> int:
    """Window limit, segments: the thesis' for its speeds, in proportion between them."""
    known = sorted((rate, window) for (rate, packet), window in WINDOWS.items() if packet == packet_bytes)
    rates, windows = (np.array(column, dtype=np.float64) for column in zip(*known, strict=True))
    return math.ceil(np.interp(rate_kbps, rates, windows))


def _received_kbps(outcome: Outcome) -> float:
    """Payload that arrives, kbit/s."""
    return float(outcome.flow["bytes_received"]) * 8 / 1000 / _RUN_S


@cache
def _delivered(
    bearers: float, rate_kbps: float, target: float, packet_bytes: int, what: str, options: Overrides
) -> Quantity:
    """What so many bearers deliver, headers included; TCP sends, or datagrams that keep the link busy."""
    rate = math.floor(rate_kbps / 0.4) * 0.4  # a whole number of octets in 20 ms
    window = _window(rate, packet_bytes)
    is_alone = what == _ALONE
    app = f'cbr = {{ size = "{packet_bytes} B", rate = "{rate:.1f} kbit/s" }}' if is_alone else "bulk = {}"
    timestamps = TIMESTAMPS_BYTES if ("tcp.timestamps", "true") in options else 0
    headers = _DATAGRAM_HEADER_BYTES if is_alone else HEADER_BYTES + timestamps
    mss = packet_bytes - HEADER_BYTES
    overrides = (
        ("duration", f"{_RUN_S} s"),
        ("radio.dch.downlink.rate", f"{rate:.1f} kbit/s"),
        ("radio.dch.downlink.channel.bernoulli.bler", f"{target:g} %"),
        ("tcp.mss", f"{mss} B"),
        ("tcp.max_window", f"{window}"),
        ("tcp.initial_ssthresh", f"{window * mss} B"),
        ("flow", f"[{{ app = {{ {app} }} }}]"),
        *options,
    )
    name = f"{what}, {packet_bytes} B, {bearers:.2f} bearers of {rate:.1f} kbit/s, {target:g} %"
    factor = bearers * packet_bytes / (packet_bytes - headers)
    return Quantity(
        name,
        Cell(name, overrides, None, _received_kbps, most_runs=20),
        lambda outcome: factor * _received_kbps(outcome),
        "kbit/s",
    )


def shared(
    slope: str,
    users: int,
    target: float,
    packet_bytes: int = 576,
    what: str = "Reno",
    options: Overrides = (),
) -> Quantity:
    """So many users share the power: each has that part of the rate, at most 384 kbit/s."""
    rate = min(_PEAK_KBPS, Wcdma(SLOPES_DB[slope]).rate_kbps(target / 100) / users)
    return _delivered(users, rate, target, packet_bytes, what, options)


def as_many(
    rate_kbps: int, target: float, packet_bytes: int, what: str = "Reno", options: Overrides = ()
) -> Quantity:
    """As many bearers of a rate as the power is enough for, fractions counted."""
    bearers = Wcdma(SLOPES_DB[_SLOPE]).rate_kbps(target / 100) / rate_kbps
    return _delivered(bearers, rate_kbps, target, packet_bytes, what, options)


_COLUMNS = {f"{target:g} %": target for target in TARGETS}


def _by_users(title: str, packet_bytes: int, options: Overrides = (), what: str = "Reno") -> Grid:
    def entry(users: int, target: float) -> Quantity:
        return shared(_SLOPE, users, target, packet_bytes, what, options)

    lines = [(f"{users}", users) for users in USERS]
    return make_grid("kbit/s", _COLUMNS, lines, entry, f"Users who share the power, {title}")


def _by_download() -> Grid:
    lines: list[tuple[str, tuple[int, int, str, Overrides]]] = [
        (_ALONE, (384, 1500, _ALONE, ())),
        *((f"{rate}/{packet}, Reno", (rate, packet, "Reno", ())) for rate, packet in WINDOWS),
        ("384/576, Eifel", (384, 576, "Eifel", _EIFEL)),
        ("384/576, in sequence", (384, 576, "in sequence", _IN_SEQUENCE)),
    ]

    def entry(line: tuple[int, int, str, Overrides], target: float) -> Quantity:
        rate, packet, what, options = line
        return as_many(rate, target, packet, what, options)

    title = "As many bearers of one rate as the power is enough for"
    return make_grid("kbit/s", _COLUMNS, lines, entry, title, ("download",))


def _by_slope() -> Grid:
    rows = tuple(
        GridRow(
            (f"{slope} ({db:g} dB)", said),
            tuple(shared(slope, users, target, packet, what) for target in TARGETS),
            note=f"most arrives of the link at {100 * Wcdma(db).best_bler:.1f} %" if what == _ALONE else "",
        )
        for slope, db in SLOPES_DB.items()
        for said, users, packet, what in (
            (_ALONE, 16, 1500, _ALONE),
            ("16 users", 16, 576, "Reno"),
            ("4 users", 4, 576, "Reno"),
        )
    )
    title = "dB for a tenth of the errors, Reno, packets of 576 B"
    return Grid(tuple(_COLUMNS), "kbit/s", rows, title, ("channel", "who"))


CAPACITY = study(
    15,
    "Power and block errors",
    "The thesis argues (6.2) that more block errors leave a station power for more users, and asks (7.2) "
    "for the whole system instead of one link. What does a cell of dedicated channels deliver together, "
    "headers included, by its target for block errors (columns), if a lower target takes power? Load "
    "equation with 5 dB for 10 % of errors, 0.8 dB for a tenth of them if it is not said otherwise, and "
    f"at most {_PEAK_KBPS} kbit/s for a user; {_RUN_S} s.",
    _by_download(),
    _by_users("Reno, packets of 576 B", 576),
    _by_users("Reno, packets of 1500 B", 1500),
    _by_users("packets of 576 B in sequence", 576, _IN_SEQUENCE, "in sequence"),
    _by_slope(),
    heads="users",
)

_claim = claims_of("extensions", CAPACITY.place)


def _link(target: float) -> Quantity:
    return as_many(384, target, 1500, _ALONE)


def _repaired(target: float) -> tuple[Quantity, Quantity]:
    """At 384/576, with the two remedies."""
    return (
        as_many(384, target, 576, "Eifel", _EIFEL),
        as_many(384, target, 576, "in sequence", _IN_SEQUENCE),
    )


CAPACITY_CLAIMS = (
    _claim(
        21,
        "More block errors leave power for more (Lundsten 6.2): up to 5 % the link alone delivers the more "
        "the higher the target, 10 % is as good, and 20 % less.",
        *rising(*map(_link, (0.5, 1, 2, 5))),
        Tie(_link(10), _link(5)),
        Less(_link(20), _link(10)),
    ),
    _claim(
        22,
        "Where each user has little, TCP takes nothing of that: eight users or more with packets of 1500 B, "
        "16 or more with 576 B.",
        *(
            Tie(shared(_SLOPE, users, target, packet), _link(target))
            for users, packet in ((8, 1500), (16, 1500), (32, 1500), (16, 576), (32, 576))
            for target in (5, 10)
        ),
    ),
    _claim(
        23,
        "With bearers of 384 kbit/s and packets of 576 B Reno's best target is the lowest, and at 10 % the "
        "cell delivers less than half of that.",
        Less(as_many(384, 1, 576), as_many(384, 0.5, 576)),
        Less(as_many(384, 5, 576), as_many(384, 1, 576)),
        Less(Times(2, as_many(384, 10, 576)), as_many(384, 0.5, 576)),
    ),
    _claim(
        24,
        "Eifel or delivery in sequence bring the best target back to where the link has it.",
        *map(Less, _repaired(1), _repaired(5)),
        *map(Less, _repaired(20), _repaired(5)),
    ),
)
"""What the study shows."""
