"""Studies of boxes on the path: snoop and its stale ACKs, and what a proxy can be set to."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from airpath.experiments.papers.base.cell import Cell, Overrides
from airpath.experiments.papers.base.grid import Grid
from airpath.experiments.papers.downloads import HEADER_BYTES, fast_retransmits, received_later, stale_acks
from airpath.experiments.papers.lundsten.model import (
    LARGE_FILE_BYTES,
    SMALL_FILE_BYTES,
    make_download,
    split_box,
)
from airpath.experiments.papers.lundsten.study import THREE, make_grid, make_tables

_UP = "radio.dch.uplink"
_BLOCKS_UP: Overrides = (
    (
        f"{_UP}.rlc.fixed_delay_arq",
        '{ tti = "20 ms", retransmission_delay = "59 ms", delivery = "out_of_sequence" }',
    ),
    (f"{_UP}.channel.bernoulli.bler", "10 %"),
)
_UPLINKS: tuple[tuple[str, Overrides], ...] = (("uplink whole", ()), ("uplink at 10 %", _BLOCKS_UP))
_BOXES: tuple[tuple[str, Overrides], ...] = (
    ("none", ()),
    ("snoop, stale ACKs pass", (("middlebox", "[{ snoop = {} }]"),)),
    ("snoop, stale ACKs end there", (("middlebox", "[{ snoop = { drop_stale_acks = true } }]"),)),
)


def _snooped(name: str, box: Overrides) -> tuple[str, list[Cell]]:
    return name, [
        make_download(*key, variant=f"{name}, {where}", options=(*box, *uplink)).against_no_errors(
            make_download(*key)
        )
        for where, uplink in _UPLINKS
        for key in THREE
    ]


_SNOOPED = [_snooped(*known) for known in _BOXES]
_WHERE = [f"{rate}/{packet}, {where}" for where, _ in _UPLINKS for rate, packet in THREE]

SNOOP = make_tables(
    2,
    "Snoop and stale ACKs",
    "Section 3.1.3: snoop discards spurious ACKs. The thesis' uplink keeps ACKs in order, so that none is "
    "older than the one before; here beside one that sends blocks, loses a tenth of them and hands up what "
    "comes. Increase over Reno without errors on an uplink that keeps the order.",
    "box",
    make_grid("increase", _WHERE, _SNOOPED),
    make_grid("fast retransmits in a run", _WHERE, _SNOOPED, fast_retransmits, "1"),
    make_grid(
        "stale ACKs at the box in a run",
        _WHERE,
        _SNOOPED[1:],
        stale_acks,
        "1",
    ),
)

_FILES = ((384, 576, SMALL_FILE_BYTES), (384, 1500, SMALL_FILE_BYTES), (384, 576, LARGE_FILE_BYTES))
_FILE_HEADS = ("384/576, 100 kB", "384/1500, 100 kB", "384/576, 16 MB")


Keys = Callable[[int], str]
"""Keys of a proxy, by the data in a segment, bytes."""


def _proxied(keys: Keys) -> list[Cell]:
    """Beside Reno end to end without block errors, by when the receiver has the last byte."""

    def make(rate: int, packet: int, size: int) -> Cell:
        through = split_box(rate, packet, size, proxy=keys(packet - HEADER_BYTES))
        twin = make_download(rate, packet, size).against_no_errors().reference
        return Cell(through.name, through.overrides, twin, received_later)

    return [make(*file) for file in _FILES]


def _table(title: str, lines: Sequence[tuple[str, Keys]]) -> Grid:
    return make_grid(title, _FILE_HEADS, [(name, _proxied(keys)) for name, keys in lines], received_later)


def _said(keys: str) -> Keys:
    return lambda _: keys


def _at_most(segments: int) -> Keys:
    return lambda mss: f'tcp.max_window = {segments}, tcp.initial_ssthresh = "{segments * mss} B"'


PROXY = make_tables(
    7,
    "A proxy's buffer, windows and processor",
    "Section 7.2: small files through split TCP depend on the proxy's implementation, its caching and its "
    "windows; 3.2: on its processing power. The proxy is 30 ms from the cell. Increase over Reno end to end "
    "without block errors, until the UE has the last byte.",
    "proxy",
    _table(
        "buffer",
        (
            *((f"{size} kB", _said(f'buffer = "{size} kB"')) for size in (3, 6, 12, 24)),
            ("65,535 B, as in Table 1", _said("")),
            ("1 MB", _said('buffer = "1 MB"')),
        ),
    ),
    _table(
        "initial window on the radio side",
        tuple((f"{n}", _said(f"tcp.initial_window = {n}" if n > 1 else "")) for n in (1, 3, 10)),
    ),
    _table(
        "window limit on the radio side",
        (*((f"{n}", _at_most(n)) for n in (6, 9, 12, 18)), ("that of Table 3", _said(""))),
    ),
    _table(
        "processing of a packet",
        (("none", _said("")), *((f"{ms} ms", _said(f'processing = "{ms} ms"')) for ms in (1, 2, 5, 10))),
    ),
)
