"""What the thesis says of remedies and settings that it does not simulate: claims that its studies check."""

from __future__ import annotations

from airpath.experiments.papers.base.claims import Claim
from airpath.experiments.papers.base.conditions import Condition, Less, Tie
from airpath.experiments.papers.base.quantity import Minus, Quantity, Times
from airpath.experiments.papers.downloads import increase, received_s, transfer_s
from airpath.experiments.papers.lundsten.figures import WORST
from airpath.experiments.papers.lundsten.model import CELLS
from airpath.experiments.papers.lundsten.studies import (
    GIVEN_UP,
    SACK_OPTIONS,
    asymmetric,
    faster,
    opened,
    recovering,
)
from airpath.experiments.papers.lundsten.study import THREE, Key


def _claim(number: int, place: str, text: str, *conditions: Condition) -> Claim:
    return Claim(f"lundsten-c{number}", place, text, conditions)


def _narrower(key: Key, factor: int) -> Quantity:
    cell = asymmetric(key, factor).alone(errors=False)
    return Quantity(f"{key[0]}/{key[1]}, {factor} times narrower", cell, transfer_s, "s")


def _opened(handshake: str, key: Key, size: int) -> Quantity:
    name = f"{handshake}, {key[0]}/{key[1]}, {size // 1000} kB"
    return Quantity(name, opened(handshake, key, size), received_s, "s")


_RENO = Quantity("Reno, out of sequence", CELLS[WORST], increase)
_SACK = Quantity("SACK, out of sequence", recovering("SACK", SACK_OPTIONS, WORST), increase)
_RENO_LOSES = Quantity(
    "Reno, blocks given up", recovering("Reno, blocks given up", (), WORST, GIVEN_UP), increase
)
_SACK_LOSES = Quantity(
    "SACK, blocks given up", recovering("SACK, blocks given up", SACK_OPTIONS, WORST, GIVEN_UP), increase
)
_FAST_REPAIR = Quantity("384/576, blocks back after 10 ms", faster(384, 2, 10)(576), increase)

STUDY_CLAIMS = (
    _claim(
        45,
        "Section 2.2",
        "An uplink 3 to 6 times narrower than the downlink does TCP no harm.",
        *(
            Tie(_narrower(key, factor), _narrower(key, 1))
            for key in ((384, 576), (384, 1500))
            for factor in (3, 6)
        ),
    ),
    _claim(
        46,
        "Section 3.1.7",
        "T/TCP shortens transfers of small files.",
        *(
            Less(*(_opened(how, key, size) for how in ("ttcp", "three_way")))
            for key in THREE
            for size in (50_000, 100_000)
        ),
    ),
    _claim(
        47,
        "Section 3.1.7",
        "SACK helps especially where several packets of a window are lost: more there than where packets are "
        "only reordered.",
        Less(_SACK_LOSES, _RENO_LOSES),
        Less(Minus(_RENO, _SACK), Minus(_RENO_LOSES, _SACK_LOSES)),
    ),
    _claim(
        48,
        "Section 3.1.6",
        "A link that repairs losses sooner, as HSDPA does, reduces the problem substantially (to less than "
        "half of the increase at 384/576).",
        Less(_FAST_REPAIR, Times(0.5, _RENO)),
    ),
)
"""Claims 45 to 48."""
