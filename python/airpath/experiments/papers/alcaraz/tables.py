"""Table 2 of Alcaraz and Cerdan's paper, and RED beside it."""

from __future__ import annotations

from functools import cache

from airpath.experiments.papers.alcaraz import measured
from airpath.experiments.papers.alcaraz.model import RUNS, SCHEMES, TABLE_2_FLOWS, make_cell
from airpath.experiments.papers.base.cell import Cell, Metric
from airpath.experiments.papers.base.paper import Experiment, Row
from airpath.experiments.papers.base.quantity import Quantity

CELLS = {
    (name, flows): make_cell(scheme, flows) for flows in TABLE_2_FLOWS for name, scheme in SCHEMES.items()
}
"""The rows of Table 2, by scheme and number of flows."""

_ACK_CONTROL = (
    "of the six ways to release ACKs and to count SDUs (Study 1) none has all rows; goodput near the "
    "published one takes a BO of SDUs of which nothing has been sent, against section 2"
)
_UNEXPLAINED = {name: _ACK_CONTROL for name in ("ackrate", "combined1", "combined2")}


@cache
def quantity(cell: Cell, metric: Metric, what: str, unit: str) -> Quantity:
    """Measure something of a cell."""
    return Quantity(f"{what}, {cell.name}", cell, metric, unit)


def goodput(cell: Cell) -> Quantity:
    """Goodput of a cell, all flows together."""
    return quantity(cell, measured.goodput_kbps, "goodput", "kbit/s")


def delay(cell: Cell) -> Quantity:
    """Mean packet delay of a cell."""
    return quantity(cell, measured.delay_s, "delay", "s")


def _row(name: str, flows: int, what: str, metric: Metric) -> Row:
    return Row(
        f"alcaraz-t2-{name}-{flows}f-{what}",
        (f"{flows}", SCHEMES[name].name, what),
        (CELLS[name, flows],),
        metric,
        averaged_runs=RUNS,
        remark=_UNEXPLAINED.get(name, ""),
    )


TABLE_2 = Experiment(
    "table",
    2,
    "Performance of each scheme",
    ("TCP flows", "algorithm", "of"),
    tuple(
        _row(name, flows, what, metric)
        for flows in TABLE_2_FLOWS
        for name in SCHEMES
        for what, metric in (("goodput", measured.goodput_kbps), ("delay", measured.delay_s))
    ),
)

TABLES = (TABLE_2,)
