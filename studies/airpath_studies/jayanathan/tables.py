"""Table 2 of Jayanathan et al., and what their text says in numbers."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from airpath.stats.estimate import Estimate
from airpath_studies.base.cell import Cell, Metric
from airpath_studies.base.paired import gain
from airpath_studies.base.paper import Row, row_of, table, text
from airpath_studies.base.quantity import Quantity
from airpath_studies.jayanathan import measured
from airpath_studies.jayanathan.measured import throughput_kbps
from airpath_studies.jayanathan.model import (
    BEARER_KBPS,
    LOSSES,
    PACKET_BYTES,
    PAYLOAD_BYTES,
    TABLE_RUNS,
    make_cell,
    watched,
)
from airpath_studies.jayanathan.observed import WINDOW
from airpath_studies.shared import downloads

CELLS = {
    (loss, feedback): replace(make_cell(loss, feedback), runs=TABLE_RUNS, most_runs=TABLE_RUNS)
    for loss in LOSSES
    for feedback in (False, True)
}
"""The columns of Table 2, by drop rate in percent and whether there is feedback."""

_row = row_of("jayanathan", throughput_kbps)


@cache
def quantity(cell: Cell, metric: Metric, what: str, unit: str) -> Quantity:
    """Measure something of a cell."""
    return Quantity(f"{what}, {cell.name}", cell, metric, unit)


def throughput(cell: Cell) -> Quantity:
    """Throughput of a cell."""
    return quantity(cell, measured.throughput_kbps, "throughput", "kbit/s")


def timeouts(cell: Cell) -> Quantity:
    """Timeouts of a run."""
    return quantity(cell, downloads.timeouts, "timeouts", "1")


def _rows(loss: int) -> tuple[Row, ...]:
    standard, feedback = CELLS[loss, False], CELLS[loss, True]
    name, rate = f"t2-{loss}", f"{loss} %"
    return (
        _row(f"{name}-standard", (rate, "standard TCP"), standard),
        _row(f"{name}-rncfb", (rate, "RNC feedback"), feedback),
        _row(f"{name}-improvement", (rate, "improvement"), (feedback, standard), pick=gain),
    )


TABLE_2 = table(
    2,
    "Throughput by the share of packets dropped, and what RNC feedback improves",
    ("drop rate", "of"),
    *(row for loss in LOSSES for row in _rows(loss)),
)

_ACTING = watched(make_cell(5, feedback=True), WINDOW)

TEXT = text(
    *(
        _row(
            f"{place}-dupacks",
            f"flagged duplicate ACKs that bring the wireless fast retransmit, {said}",
            _ACTING,
            measured.flagged_dupacks,
        )
        for place, said in (("s4", "5 %"), ("s5", "5 %, said again"))
    ),
    title="What the text says in numbers",
)


def link_alone(row: Row, measured: Estimate) -> float | None:
    """The file throughput of a bearer that is never idle, in kbit/s: its rate minus headers and drops."""
    if row.metric is not throughput_kbps:
        return None
    if row.pick is gain:
        return 0.0
    loss = int(row.labels[0].removesuffix(" %"))
    return BEARER_KBPS * PAYLOAD_BYTES / PACKET_BYTES * (1 - loss / 100)
