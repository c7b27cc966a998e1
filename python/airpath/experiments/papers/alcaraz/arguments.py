"""What the paper argues without printing figures: f2 in each scenario, timeouts, Counter, and shares."""

from __future__ import annotations

from dataclasses import replace

from airpath.experiments.papers.alcaraz import measured
from airpath.experiments.papers.alcaraz.model import (
    ACK_RATE,
    COMBINED_1,
    COMBINED_2,
    CONVENTIONAL,
    PDPC,
    RUNS,
    Scheme,
    make_cell,
    watched,
)
from airpath.experiments.papers.alcaraz.operation import LATE_S, LATE_SHARE, MEAN_RTO, MEAN_WINDOW
from airpath.experiments.papers.alcaraz.planes import cell
from airpath.experiments.papers.alcaraz.studies import (
    DELAY,
    GOODPUT,
    TIMEOUTS,
    Measure,
    flows_said,
    make_study,
    sweep,
)
from airpath.experiments.papers.alcaraz.tables import delay, goodput, quantity
from airpath.experiments.papers.base.cell import Cell, Metric, Overrides
from airpath.experiments.papers.base.grid import Grid, GridRow
from airpath.experiments.papers.base.observe import Observation
from airpath.experiments.papers.base.panel import Path, Plane, Reference
from airpath.experiments.papers.base.paper import Experiment
from airpath.experiments.papers.base.quantity import Quantity

_ALL = (CONVENTIONAL, ACK_RATE, PDPC, COMBINED_1, COMBINED_2)
_MAXTHS, _RATIOS = (20, 30, 40), (5.0, 10.0, 15.0, 20.0, 30.0)


def _both_f2(alpha: float, flows: int) -> Plane:
    paths = []
    for maxth in _MAXTHS:
        for f2_alpha, said in ((None, "f2 = 0"), (1, "alpha 1 in f2")):
            cells = [cell(alpha, maxth, ratio, flows, f2_alpha) for ratio in _RATIOS]
            paths.append(Path(f"maxth {maxth}, {said}", tuple(map(delay, cells)), tuple(map(goodput, cells))))
    conventional = make_cell(CONVENTIONAL, flows)
    return Plane(
        f"alpha {alpha:g}, {flows_said(flows)}",
        "maxd/maxth, ms/SDU",
        _RATIOS,
        "delay",
        "s",
        "goodput",
        "kbit/s",
        tuple(paths),
        Reference("DT", delay(conventional), goodput(conventional)),
    )


F2 = Experiment(
    "study",
    8,
    "Both f2 in each scenario",
    ("quantity",),
    (),
    question=(
        "Section 5 had alpha 1 in f2 and f2 = 0 in each scenario, and shows both for alpha 1 and one flow "
        "alone. Both for every alpha, with one flow and with four, on a coarser grid."
    ),
    planes=tuple(_both_f2(alpha, flows) for flows in (1, 4) for alpha in (1, 0.5, 0.2)),
)


def _few(of: Cell, observe: Observation | None) -> Cell:
    return replace(watched(of, observe) if observe else of, observe=observe, runs=RUNS, most_runs=RUNS)


def _seen(name: str, unit: str, observe: Observation) -> Measure:
    def of(known: Cell) -> Quantity:
        return quantity(_few(known, observe), measured.seen, name, unit)

    return name, unit, of


def _counted(name: str, unit: str, metric: Metric) -> Measure:
    return name, unit, lambda known: quantity(known, metric, name, unit)


TIMEOUTS_OF_SCHEMES = make_study(
    9,
    "Longer timeouts, and how often there are any",
    "Section 3.1: ACKs that are delayed inflate TCP's timeout; less delay in the buffer makes up for that, "
    "and timeouts are rare. Round trips and timeouts of the schemes of Table 2.",
    "scheme",
    tuple(map(flows_said, (1, 4))),
    tuple((scheme.name, tuple(make_cell(scheme, flows) for flows in (1, 4))) for scheme in _ALL),
    (
        DELAY,
        _counted("mean round-trip time", "s", measured.rtt_s),
        _seen("mean retransmission timeout", "s", MEAN_RTO),
        TIMEOUTS,
    ),
)

_STARTS = (0.25, 0.5, 1.0, 1.5, 2.0)


def _starting(scheme: Scheme, start: float) -> Scheme:
    if start == 1:
        return scheme
    queue = scheme.queue.replace("arriving", f"counter_start = {start:g}, arriving")
    return replace(scheme, name=f"{scheme.name}, Counter from {start:g} BO", queue=queue)


COUNTER_START = make_study(
    10,
    "BO and the window, and where Counter starts",
    "Section 3.2: BO is about the window of a flow if there is one; with several the window is smaller. "
    "Counter stands for the window and starts at BO; one that is too large makes the algorithm slow. Mean BO "
    "and mean window of a flow; then Counter from a quarter of BO to twice as much.",
    "scheme",
    tuple(map(flows_said, (1, 2, 4))),
    tuple(
        (scheme.name, tuple(make_cell(scheme, flows) for flows in (1, 2, 4)))
        for scheme in (CONVENTIONAL, PDPC)
    ),
    (
        _counted("mean BO", "SDU", measured.occupancy_sdus),
        _seen("mean window of a flow", "SDU", MEAN_WINDOW),
    ),
    charts=tuple(
        sweep(
            scheme.name,
            "Counter at a drop, times BO",
            tuple(_starting(scheme, start) for start in _STARTS),
            _STARTS,
            what,
        )
        for scheme in (PDPC, COMBINED_1)
        for what in (GOODPUT, DELAY, TIMEOUTS)
    ),
)

_BULK, _AT = "{ app = { bulk = {} } }", f'start = "{LATE_S:g} s"'
_WEB = "{ page = '20 kB', objects = 8, object = '5 kB', connections = 'per_object' }"
_PAGE = f"{{ {_AT}, app = {{ web = {_WEB} }} }}"


def _beside(scheme: Scheme, variant: str, *flows: str) -> Cell:
    options: Overrides = (("flow", f"[{', '.join(flows)}]"),)
    return _few(make_cell(scheme, options=options, variant=variant), None)


def _page(scheme: Scheme) -> tuple[Quantity, Quantity]:
    cells = (_beside(scheme, "a page", _PAGE), _beside(scheme, "a page beside a download", _BULK, _PAGE))
    alone, beside = (quantity(known, measured.page_s, "page", "s") for known in cells)
    return alone, beside


def _shares(scheme: Scheme) -> tuple[Quantity, Quantity]:
    late = _beside(scheme, "a second flow after 20 s", _BULK, f"{{ {_AT}, app = {{ bulk = {{}} }} }}")
    return (
        quantity(make_cell(scheme, 4), measured.least_over_most_percent, "least over most", "percent"),
        quantity(_few(late, LATE_SHARE), measured.seen, "share of a flow that starts late", "percent"),
    )


SHARES = Experiment(
    "study",
    11,
    "Flows that compete, and a page beside a download",
    ("scheme",),
    (),
    question=(
        "Section 2: too much in the buffer makes shares unfair and surfing slow. Four downloads from the "
        "start, least goodput over most; a second one after 20 s, its share of what arrives from then "
        "on (50 % would be fair); and a page of 20 kB with eight objects of 5 kB after 20 s, alone and "
        "beside a download."
    ),
    tables=(
        Grid(
            ("least goodput over most, 4 flows", "share of a second flow"),
            "percent",
            tuple(GridRow((scheme.name,), _shares(scheme)) for scheme in _ALL),
            "shares",
        ),
        Grid(
            ("alone", "beside a download"),
            "s",
            tuple(GridRow((scheme.name,), _page(scheme)) for scheme in _ALL),
            "page load time",
        ),
    ),
)

ARGUMENTS = (F2, TIMEOUTS_OF_SCHEMES, COUNTER_START, SHARES)
