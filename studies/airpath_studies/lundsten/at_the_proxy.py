"""Studies of boxes on the path: snoop and its stale ACKs, and what a proxy can be set to."""

from __future__ import annotations

from collections.abc import Callable

from airpath_studies.base.cell import Cell, Overrides
from airpath_studies.base.grid import Grid
from airpath_studies.base.paper import study
from airpath_studies.shared.downloads import (
    HEADER_BYTES,
    Key,
    fast_retransmits,
    make_table,
    received_later,
    stale_acks,
)
from airpath_studies.shared.lundsten import (
    LARGE_FILE_BYTES,
    SMALL_FILE_BYTES,
    THREE,
    make_download,
    split_box,
)

_UP = "radio.dch.uplink"
_BLOCKS_UP: Overrides = (
    (
        f"{_UP}.rlc.fixed_delay_arq",
        '{ tti = "20 ms", retransmission_delay = "59 ms", delivery = "out_of_sequence" }',
    ),
    (f"{_UP}.channel.bernoulli.bler", "10 %"),
)


def _snooped(name: str, box: Overrides = ()) -> Callable[[tuple[Key, str, Overrides]], Cell]:
    def make(column: tuple[Key, str, Overrides]) -> Cell:
        key, where, uplink = column
        download = make_download(*key, variant=f"{name}, {where}", options=(*box, *uplink))
        return download.against_no_errors(make_download(*key))

    return make


_WHERE = {
    f"{rate}/{packet}, {where}": ((rate, packet), where, uplink)
    for where, uplink in (("uplink whole", ()), ("uplink at 10 %", _BLOCKS_UP))
    for rate, packet in THREE
}
_BOXES = {"snoop, stale ACKs pass": "{}", "snoop, stale ACKs end there": "{ drop_stale_acks = true }"}
_SNOOPED = {
    name: _snooped(name, (("middlebox", f"[{{ snoop = {keys} }}]"),)) for name, keys in _BOXES.items()
}
_ALL = {"none": _snooped("none"), **_SNOOPED}

SNOOP = study(
    2,
    "Snoop and stale ACKs",
    "Section 3.1.3: snoop discards spurious ACKs. The thesis' uplink keeps ACKs in order, so that none is "
    "older than the one before; here it is compared with one that loses a tenth of its blocks and delivers "
    "out of sequence. Increase over Reno without errors on an uplink that delivers in order.",
    make_table("increase", _WHERE, _ALL),
    make_table("fast retransmits in a run", _WHERE, _ALL, fast_retransmits, "1"),
    make_table("stale ACKs at the box in a run", _WHERE, _SNOOPED, stale_acks, "1"),
    heads="box",
)

_FILES = {
    "384/576, 100 kB": (384, 576, SMALL_FILE_BYTES),
    "384/1500, 100 kB": (384, 1500, SMALL_FILE_BYTES),
    "384/576, 16 MB": (384, 576, LARGE_FILE_BYTES),
}


def _proxied(keys: str = "", at_most: int = 0) -> Callable[[tuple[int, int, int]], Cell]:
    """Compared with end-to-end Reno without block errors, by the time when the receiver has the last byte.

    The proxy has these further keys, or a window of `at_most` segments on the radio side.
    """

    def make(file: tuple[int, int, int]) -> Cell:
        ssthresh = at_most * (file[1] - HEADER_BYTES)
        window = f'tcp.max_window = {at_most}, tcp.initial_ssthresh = "{ssthresh} B"'
        through = split_box(*file, proxy=window if at_most else keys)
        twin = make_download(*file).against_no_errors().reference
        return Cell(through.name, through.overrides, twin, received_later)

    return make


def _table(title: str, lines: dict[str, Callable[[tuple[int, int, int]], Cell]]) -> Grid:
    return make_table(title, _FILES, lines, received_later)


PROXY = study(
    7,
    "A proxy's buffer, windows and processor",
    "Section 7.2: small files through split TCP depend on the proxy's implementation, its caching and its "
    "windows; 3.2: on its processing power. The proxy is 30 ms from the cell. Increase over Reno end to end "
    "without block errors, until the UE has the last byte.",
    _table(
        "buffer",
        {
            **{f"{size} kB": _proxied(f'buffer = "{size} kB"') for size in (3, 6, 12, 24)},
            "65,535 B, as in Table 1": _proxied(),
            "1 MB": _proxied('buffer = "1 MB"'),
        },
    ),
    _table(
        "initial window on the radio side",
        {f"{n}": _proxied(f"tcp.initial_window = {n}" if n > 1 else "") for n in (1, 3, 10)},
    ),
    _table(
        "window limit on the radio side",
        {**{f"{n}": _proxied(at_most=n) for n in (6, 9, 12, 18)}, "that of Table 3": _proxied()},
    ),
    _table(
        "processing of a packet",
        {"none": _proxied(), **{f"{ms} ms": _proxied(f'processing = "{ms} ms"') for ms in (1, 2, 5, 10)}},
    ),
    heads="proxy",
)
