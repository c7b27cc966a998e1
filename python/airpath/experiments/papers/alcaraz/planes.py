"""Figures 1, 5 and 7 to 11 of Alcaraz and Cerdan's paper: goodput and delay over the parameters."""

from __future__ import annotations

from airpath.experiments.papers.alcaraz.model import (
    ACK_RATE,
    COMBINED_1,
    COMBINED_2,
    CONVENTIONAL,
    Scheme,
    combined,
    droptail,
    make_cell,
    watched,
)
from airpath.experiments.papers.alcaraz.observed import T_ID
from airpath.experiments.papers.alcaraz.tables import delay, goodput
from airpath.experiments.papers.base.cell import Cell
from airpath.experiments.papers.base.panel import Chart, Line, Path, Plane, Reference, Trace
from airpath.experiments.papers.base.paper import Experiment

MAXTHS = (20, 25, 30, 35, 40, 45)
"""Discarding thresholds of Section 5, SDUs."""

RATIOS = (5.0, 7.5, 10.0, 12.5, 15.0, 17.5, 20.0, 22.5, 25.0, 27.5, 30.0)
"""maxd / maxth of Section 5, ms per SDU."""

BUFFERS = (10, 20, 30, 40, 50, 60, 80)
"""Buffers of Figure 1, SDUs; the paper does not print its own."""

FLOW_COUNTS = (1, 2, 3, 4)


def cell(alpha: float, maxth: int, ratio: float, flows: int = 1, f2_alpha: float | None = None) -> Cell:
    """Run a combined scheme of Section 5."""
    return make_cell(combined(alpha, maxth, ratio, f2_alpha), flows)


def cell_of_buffer(packets: int, flows: int) -> Cell:
    """Run the conventional buffer of another size."""
    return make_cell(droptail(packets), flows)


def _plane(title: str, alpha: float, flows: int = 1, f2_alpha: float | None = None) -> Plane:
    paths = []
    for maxth in MAXTHS:
        cells = [cell(alpha, maxth, ratio, flows, f2_alpha) for ratio in RATIOS]
        path = Path(f"maxth {maxth}", tuple(map(delay, cells)), tuple(map(goodput, cells)))
        paths.append(path)
    conventional = make_cell(CONVENTIONAL, flows)
    reference = Reference("DT", delay(conventional), goodput(conventional))
    parameter = "maxd/maxth, ms/SDU"
    return Plane(title, parameter, RATIOS, "delay", "s", "goodput", "kbit/s", tuple(paths), reference)


def _figure(number: int, title: str, *planes: Plane) -> Experiment:
    return Experiment("figure", number, title, ("quantity",), (), planes=planes)


def _over_buffer(title: str, what: str, unit: str) -> Chart:
    of = {"goodput": goodput, "delay": delay}[what]
    lines = tuple(
        Line(
            f"{flows} flow{'s' if flows > 1 else ''}",
            tuple(of(cell_of_buffer(packets, flows)) for packets in BUFFERS),
        )
        for flows in FLOW_COUNTS
    )
    return Chart(title, "buffer, SDUs", BUFFERS, what, unit, lines)


FIGURE_1 = Experiment(
    "figure",
    1,
    "Drop-tail RLC buffers of several sizes",
    ("quantity",),
    (),
    charts=(_over_buffer("(a)", "goodput", "kbit/s"), _over_buffer("(b)", "delay", "s")),
)


def _t_id(title: str, scheme: Scheme) -> Trace:
    return Trace(title, "occupancy [SDUs]", "t_id [ms]", watched(make_cell(scheme), T_ID))


FIGURE_5 = Experiment(
    "figure",
    5,
    "Time between two ACKs over the occupancy, as it is in a run",
    ("quantity",),
    (),
    traces=(
        _t_id("(a) Combined Scheme 1: alpha 1, f2 = 0", COMBINED_1),
        _t_id("(b) Combined Scheme 2: alpha 0.5, alpha 1 in f2", COMBINED_2),
        _t_id("(c) combined: alpha 0.2, f2 = 0, maxd/maxth 10", combined(0.2, 40, 10)),
        _t_id("(d) ACK rate control alone: alpha 1", ACK_RATE),
    ),
)

FIGURE_7 = _figure(
    7,
    "Combined schemes with alpha 1, one flow",
    _plane("(a) f2 = 0", 1),
    _plane("(b) alpha 1 in f2", 1, f2_alpha=1),
)
FIGURE_8 = _figure(8, "Combined schemes with alpha 0.5, one flow", _plane("f2 = 0", 0.5))
FIGURE_9 = _figure(9, "Combined schemes with alpha 0.2, one flow", _plane("f2 = 0", 0.2))
FIGURE_10 = _figure(10, "Combined schemes with alpha 1, four flows", _plane("f2 = 0", 1, flows=4))
FIGURE_11 = _figure(11, "Combined schemes with alpha 0.5, four flows", _plane("f2 = 0", 0.5, flows=4))

PLANES = (FIGURE_7, FIGURE_8, FIGURE_9, FIGURE_10, FIGURE_11)
