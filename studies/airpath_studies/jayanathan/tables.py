"""Table 2 of Jayanathan et al., and what their text says in numbers."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from airpath.stats.estimate import Estimate
from airpath_studies import downloads
from airpath_studies.base.cell import Cell, Metric
from airpath_studies.base.paired import gain
from airpath_studies.base.paper import Experiment, Row
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

CELLS = {
    (loss, feedback): replace(make_cell(loss, feedback), runs=TABLE_RUNS, most_runs=TABLE_RUNS)
    for loss in LOSSES
    for feedback in (False, True)
}
"""The columns of Table 2, by drop rate in percent and whether there is feedback."""

ONE_RUN = "apparently one run of each, so the gain scatters widely; its order is claim 4"


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
    name, rate, metric = f"jayanathan-t2-{loss}", f"{loss} %", measured.throughput_kbps
    remark = ONE_RUN if loss == 5 else ""
    both = (feedback, standard)
    return (
        Row(f"{name}-standard", (rate, "standard TCP"), (standard,), metric),
        Row(f"{name}-rncfb", (rate, "RNC feedback"), (feedback,), metric),
        Row(f"{name}-improvement", (rate, "improvement"), both, metric, pick=gain, remark=remark),
    )


TABLE_2 = Experiment(
    "table",
    2,
    "Throughput by the share of packets dropped, and what RNC feedback improves",
    ("drop rate", "of"),
    tuple(row for loss in LOSSES for row in _rows(loss)),
)

_ACTING = watched(make_cell(5, feedback=True), WINDOW)

TEXT = Experiment(
    "text",
    None,
    "What the text says in numbers",
    ("quantity",),
    tuple(
        Row(
            f"jayanathan-{place}-dupacks",
            (f"flagged duplicate ACKs that bring the wireless fast retransmit, {said}",),
            (_ACTING,),
            measured.flagged_dupacks,
            remark="the sender waits for it; the third duplicate, as the first is never flagged",
        )
        for place, said in (("s4", "5 %"), ("s5", "5 %, said again"))
    ),
)


def link_alone(row: Row, measured: Estimate) -> float | None:
    """The file throughput of a bearer that is never idle, in kbit/s: its rate minus headers and drops."""
    if row.metric is not throughput_kbps:
        return None
    if row.pick is gain:
        return 0.0
    loss = int(row.labels[0].removesuffix(" %"))
    return BEARER_KBPS * PAYLOAD_BYTES / PACKET_BYTES * (1 - loss / 100)
