"""The claims of Zhang's paper, in own words; the rules are in `conditions`."""

from __future__ import annotations

from dataclasses import replace

from airpath_studies.base.cell import Metric
from airpath_studies.base.claims import claims_of
from airpath_studies.base.conditions import (
    Agree,
    AtLeast,
    AtMost,
    Less,
    Never,
    Tie,
    WithinPoints,
    rising,
)
from airpath_studies.base.quantity import Quantity, Times
from airpath_studies.shared.downloads import (
    FLOOR,
    Key,
    fast_retransmits_of,
    increase,
    largest_window,
    lowest_window,
)
from airpath_studies.shared.lundsten import CELLS as THESIS_CELLS
from airpath_studies.shared.zhang import CELLS, make_download

_MATCHES = {
    (384, 576): (384, 576),
    (384, 1500): (384, 1500),
    (144, 576): (128, 576),
    (144, 1500): (128, 1500),
}

_claim = claims_of("zhang")


def _window(key: Key, metric: Metric, what: str) -> Quantity:
    return Quantity(f"{what} {key[0]}/{key[1]}", CELLS[key], metric, unit="segments", traced=True)


def _used(key: Key) -> Quantity:
    """The share of the bearer that is used without block errors, percent."""
    download = make_download(*key)
    alone = download.alone(errors=False)
    return Quantity(f"{key[0]}/{key[1]}, no block errors", alone, download.share_of_bearer)


def _thesis(key: Key) -> Quantity:
    cell = replace(THESIS_CELLS[key], scenario="lundsten-dch")
    return Quantity(f"thesis {key[0]}/{key[1]}", cell, increase)


_RISE = {key: Quantity(f"{key[0]}/{key[1]}", cell, increase) for key, cell in CELLS.items()}
_USED = {key: _used(key) for key in CELLS}
_SLOW = [(144, 1500), (64, 1500), (64, 576)]
_LARGEST = {(384, 576): 22, (384, 1500): 15, (144, 576): 11, (144, 1500): 7}

CLAIMS = (
    _claim(
        1,
        "Figure 5",
        "384/576 is far worse than every other case (at least five times).",
        *(Less(Times(5, _RISE[key]), _RISE[384, 576]) for key in _RISE if key != (384, 576)),
    ),
    _claim(
        2,
        "Figure 5",
        "The increases fall in the order 384/576, 384/1500, 144/576, then three that tie near 11 %.",
        *rising(_RISE[144, 576], _RISE[384, 1500], _RISE[384, 576]),
        *(Less(_RISE[key], _RISE[144, 576]) for key in _SLOW),
        *(Tie(_RISE[_SLOW[0]], _RISE[key]) for key in _SLOW[1:]),
    ),
    _claim(
        3,
        "Sections 2.5, 3",
        "64 kbit/s pays for the link's retransmissions only (11.1 % within 0.5 points).",
        *(WithinPoints(_RISE[64, packet], FLOOR, 0.5) for packet in (576, 1500)),
    ),
    _claim(
        4,
        "Section 2.5, Figure 4",
        "So does 144/1500, whose window never falls after slow start (within 1 point).",
        WithinPoints(_RISE[144, 1500], FLOOR, 1),
        AtLeast(_window((144, 1500), lowest_window, "lowest window"), 7, slack=0),
        Never(fast_retransmits_of(_RISE[144, 1500])),
    ),
    _claim(
        5,
        "Figure 3",
        "144/576: fast retransmits halve the window.",
        AtLeast(fast_retransmits_of(_RISE[144, 576]), 1, slack=0),
        AtMost(_window((144, 576), lowest_window, "lowest window"), 5.5, slack=0),
    ),
    _claim(
        6,
        "Sections 2.5, 3",
        "1500 bytes beat 576 at every bearer speed and block error ratio.",
        *(Less(_RISE[rate, 1500], _RISE[rate, 576]) for rate in (384, 144, 64)),
        *(Less(_USED[rate, 576], _USED[rate, 1500]) for rate in (384, 144, 64)),
    ),
    _claim(
        7,
        "Section 2.4",
        "The largest windows seen are 22, 15, 11 and 7 segments.",
        *(
            WithinPoints(_window(key, largest_window, "largest window"), segments, 0)
            for key, segments in _LARGEST.items()
        ),
    ),
    _claim(
        8,
        "Figure 5, and Table 3 of the thesis",
        "New-Reno here and Reno in Lundsten's thesis agree where they meet (144 against 128 kbit/s).",
        *(Agree(_RISE[here], _thesis(there)) for here, there in _MATCHES.items()),
    ),
    _claim(
        9,
        "Section 2.5",
        "Over a link without block errors TCP performs poorly, too, and by far worst at 384/576 (less "
        "than half of the share of the bearer that other cases use).",
        *(Less(Times(2, _USED[384, 576]), _USED[key]) for key in _USED if key != (384, 576)),
    ),
)
