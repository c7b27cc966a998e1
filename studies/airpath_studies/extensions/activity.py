"""Activity: what promotions and DRX cost the thesis' small files after a silence."""

from __future__ import annotations

from functools import cache
from itertools import product

from airpath_studies.base.cell import Cell, Metric, Outcome
from airpath_studies.base.claims import claims_of
from airpath_studies.base.conditions import AtLeast, AtMost, Less, Never, WithinPoints
from airpath_studies.base.grid import Grid, make_grid
from airpath_studies.base.paper import study
from airpath_studies.base.quantity import Quantity
from airpath_studies.extensions.pages import page_load_s

NETWORKS = {
    "UMTS, carrier 1": ("umts-384", "dch", "qian-2010-carrier-1"),
    "UMTS, carrier 2": ("umts-384", "dch", "qian-2010-carrier-2"),
    "LTE, 2012": ("lte-10mhz-still", "lte", "huang-2012"),
    "LTE, 2021": ("lte-10mhz-still", "lte", "verizon-lte-2021"),
}
"""Bundled scenario, cell and preset."""

SIZES = ("300 B", "10 kB", "100 kB")
SILENCES_S = (1, 8, 30)


def cost_s(outcome: Outcome) -> float:
    """Time from the start to the last octet, more than of a UE that is always active, seconds."""
    return page_load_s(outcome) - page_load_s(outcome.twin)


@cache
def _cell(network: str, size: str, silence_s: int) -> Cell:
    scenario, radio, preset = NETWORKS[network]
    page = f'web = {{ request = "300 B", page = "{size}", objects = 0 }}'
    changes = (
        ("duration", "120 s"),
        ("tcp.handshake", "three_way"),
        ("flow", f'[{{ start = "{silence_s} s", app = {{ {page} }} }}]'),
    )
    return Cell(
        f"{network}, {size}, {silence_s} s",
        (*changes, (f"radio.{radio}.activity.preset", f'"{preset}"')),
        changes,
        cost_s,
        paired=True,
        scenario=scenario,
        is_read=False,
        runs=10,
        most_runs=20,
    )


def _measured(metric: Metric, network: str, size: str, silence_s: int) -> Quantity:
    cell = _cell(network, size, silence_s)
    return Quantity(cell.name, cell, metric, unit="s")


def _table(title: str, metric: Metric) -> Grid:
    lines = [((network, size), (network, size)) for network, size in product(NETWORKS, SIZES)]
    silences = {f"{silence_s} s": silence_s for silence_s in SILENCES_S}

    def measured(line: tuple[str, str], silence_s: int) -> Quantity:
        return _measured(metric, *line, silence_s)

    return make_grid("s", silences, lines, measured, title)


ACTIVITY = study(
    21,
    "Promotions and DRX before small files",
    "The thesis' small files come to a UE that is always on its dedicated channel. What do they cost a UE "
    "that was silent for 1, 8 or 30 s, in networks that were measured: from the first SYN to the last octet, "
    "the request of 300 B included?",
    _table("Time to the file", page_load_s),
    _table("Of that, more than of a UE that is always active", cost_s),
    heads=("network", "file"),
)

_claim = claims_of("extensions", ACTIVITY.place)

ACTIVITY_CLAIMS = (
    _claim(
        47,
        "After 30 s on UMTS a small file costs the promotion; TCP adds no more than a second.",
        (
            condition
            for size in SIZES
            for condition in (
                AtLeast(_measured(cost_s, "UMTS, carrier 1", size, 30), 2.0, slack=0.05),
                AtMost(_measured(cost_s, "UMTS, carrier 1", size, 30), 3.0, slack=0),
            )
        ),
    ),
    _claim(
        48,
        "After 8 s the SYN and the request go by CELL_FACH at once; only a file above the threshold asks "
        "for a dedicated channel, and pays for it.",
        AtMost(_measured(cost_s, "UMTS, carrier 1", "300 B", 8), 0.5, slack=0),
        (AtLeast(_measured(cost_s, "UMTS, carrier 1", size, 8), 1.5, slack=0) for size in SIZES[1:]),
    ),
    _claim(
        49,
        "After 1 s nothing is lost on UMTS, and on LTE no more than a DRX cycle: the UE sends first.",
        (
            Never(_measured(cost_s, network, size, 1))
            for network in ("UMTS, carrier 1", "UMTS, carrier 2")
            for size in SIZES
        ),
        (AtMost(_measured(cost_s, "LTE, 2012", size, 1), 0.04, slack=0) for size in SIZES),
    ),
    _claim(
        50,
        "LTE halved the promotion and more: after 30 s a file costs 0.26 s, far below UMTS.",
        (WithinPoints(_measured(cost_s, "LTE, 2012", size, 30), 0.26, 0.05) for size in SIZES),
        (
            Less(_measured(cost_s, "LTE, 2012", size, 30), _measured(cost_s, "UMTS, carrier 2", size, 30))
            for size in SIZES
        ),
    ),
)
"""What the study shows."""
