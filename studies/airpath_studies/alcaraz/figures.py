"""Table 2 and the figures of Alcaraz and Cerdan's paper: schemes compared, and over time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

from airpath.terminal import counted
from airpath_studies.alcaraz.measured import DELAY, GOODPUT, goodput_kbps
from airpath_studies.alcaraz.model import (
    ACK_RATE,
    COMBINED_1,
    COMBINED_2,
    CONVENTIONAL,
    PDPC,
    RUNS,
    SCHEMES,
    TABLE_2_FLOWS,
    Scheme,
    combined,
    droptail,
    make_cell,
)
from airpath_studies.alcaraz.observed import (
    HELD_ACKS,
    HELD_AND_DROPPED,
    OCCUPANCY,
    PACKETS,
    T_ID,
    T_ID_OVER_TIME,
    WINDOW,
)
from airpath_studies.base.cell import Cell
from airpath_studies.base.measure import chart
from airpath_studies.base.observe import Observation
from airpath_studies.base.panel import Path, Plane, Reference, Trace
from airpath_studies.base.paper import Experiment, figure, row_of, table

MAXTHS = (20, 25, 30, 35, 40, 45)
"""Discarding thresholds of Section 5, SDUs."""

RATIOS = (5.0, 7.5, 10.0, 12.5, 15.0, 17.5, 20.0, 22.5, 25.0, 27.5, 30.0)
"""maxd / maxth of Section 5, ms per SDU."""

BUFFERS = (10, 20, 30, 40, 50, 60, 80)
"""Buffers of Figure 1, SDUs; the paper does not print its own."""

FLOW_COUNTS = (1, 2, 3, 4)

CELLS = {
    (name, flows): make_cell(scheme, flows) for flows in TABLE_2_FLOWS for name, scheme in SCHEMES.items()
}
"""The rows of Table 2, by scheme and number of flows."""

row = row_of("alcaraz", goodput_kbps, RUNS)
"""All values rest on means of 20 runs."""

TABLE_2 = table(
    2,
    "Performance of each scheme",
    ("TCP flows", "algorithm", "of"),
    *(
        row(
            f"t2-{name}-{flows}f-{measure.name}",
            (f"{flows}", SCHEMES[name].name, measure.name),
            cell,
            measure.metric,
        )
        for (name, flows), cell in CELLS.items()
        for measure in (GOODPUT, DELAY)
    ),
)


def cell(alpha: float, maxth: int, ratio: float, flows: int = 1, f2_alpha: float | None = None) -> Cell:
    """Run a combined scheme of Section 5."""
    return make_cell(combined(alpha, maxth, ratio, f2_alpha), flows)


def cell_of_buffer(flows: int, packets: int) -> Cell:
    """Run the conventional buffer of another size."""
    return make_cell(droptail(packets), flows)


def plane(
    title: str, values: tuple[float, ...], lines: Mapping[str, Callable[[float], Cell]], flows: int
) -> Plane:
    """Draw goodput over delay along maxd/maxth, with drop-tail; a line has the cell of each value."""
    paths = []
    for label, cell_of in lines.items():
        cells = [cell_of(value) for value in values]
        paths.append(Path(label, tuple(map(DELAY.of, cells)), tuple(map(GOODPUT.of, cells))))
    conventional = make_cell(CONVENTIONAL, flows)
    reference = Reference("DT", DELAY.of(conventional), GOODPUT.of(conventional))
    parameter = "maxd/maxth, ms/SDU"
    return Plane(title, parameter, values, "delay", "s", "goodput", "kbit/s", tuple(paths), reference)


def _plane(alpha: float, flows: int, title: str = "f2 = 0", f2_alpha: float | None = None) -> Plane:
    lines = {
        f"maxth {maxth}": partial(cell, alpha, maxth, flows=flows, f2_alpha=f2_alpha) for maxth in MAXTHS
    }
    return plane(title, RATIOS, lines, flows)


def _over_time(title: str, y_label: str, scheme: Scheme, observe: Observation) -> Trace:
    return Trace(title, "time [s]", y_label, replace(make_cell(scheme), observe=observe))


def _scheme_over_time(number: int, scheme: Scheme) -> Experiment:
    traces = (
        _over_time("(a) RLC buffer occupancy", "BO [SDUs]", scheme, OCCUPANCY),
        _over_time("(b) congestion window", "cwnd [packets]", scheme, WINDOW),
        _over_time("(c) sequence numbers", "packet", scheme, PACKETS),
    )
    return figure(number, f"{scheme.name}, one flow over time", traces=traces)


_BY_OCCUPANCY = {
    "(a) Combined Scheme 1: alpha 1, f2 = 0": COMBINED_1,
    "(b) Combined Scheme 2: alpha 0.5, alpha 1 in f2": COMBINED_2,
    "(c) combined: alpha 0.2, f2 = 0, maxd/maxth 10": combined(0.2, 40, 10),
    "(d) ACK rate control alone: alpha 1": ACK_RATE,
}

FIGURES = (
    figure(
        1,
        "Drop-tail RLC buffers of several sizes",
        charts=(
            chart(
                title,
                "buffer, SDUs",
                BUFFERS,
                measure,
                {counted(flows, "flow"): partial(cell_of_buffer, flows) for flows in FLOW_COUNTS},
            )
            for title, measure in (("(a)", GOODPUT), ("(b)", DELAY))
        ),
    ),
    _scheme_over_time(2, CONVENTIONAL),
    figure(
        4,
        "Operation of the combined algorithm over time: Combined Scheme 1, one flow",
        question=(
            "At a drop Counter is set to BO. While it is above zero f2 = 0 lets all held ACKs go and delays "
            "none that comes; then f1 is in force again."
        ),
        traces=(
            _over_time("(a) BO, Counter and drops", "SDUs", COMBINED_1, HELD_AND_DROPPED),
            _over_time("(b) t_id", "t_id [ms]", COMBINED_1, T_ID_OVER_TIME),
            _over_time("(c) ACKs held", "ACKs", COMBINED_1, HELD_ACKS),
        ),
    ),
    figure(
        5,
        "Time between two ACKs over the occupancy, as it is in a run",
        traces=[
            Trace(title, "occupancy [SDUs]", "t_id [ms]", replace(make_cell(scheme), observe=T_ID))
            for title, scheme in _BY_OCCUPANCY.items()
        ],
    ),
    figure(
        7,
        "Combined schemes with alpha 1, one flow",
        planes=(_plane(1, 1, "(a) f2 = 0"), _plane(1, 1, "(b) alpha 1 in f2", f2_alpha=1)),
    ),
    *(
        figure(number, f"Combined schemes with alpha {alpha:g}, {flows}", planes=[_plane(alpha, count)])
        for number, alpha, count, flows in (
            (8, 0.5, 1, "one flow"),
            (9, 0.2, 1, "one flow"),
            (10, 1, 4, "four flows"),
            (11, 0.5, 4, "four flows"),
        )
    ),
    _scheme_over_time(12, PDPC),
    _scheme_over_time(13, ACK_RATE),
    _scheme_over_time(14, COMBINED_1),
)
