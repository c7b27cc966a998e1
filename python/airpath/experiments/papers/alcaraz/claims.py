"""The claims of Alcaraz and Cerdan's paper, in own words; the rules are in `conditions` and `choices`."""

from __future__ import annotations

from itertools import combinations

from airpath.experiments.papers.alcaraz import measured
from airpath.experiments.papers.alcaraz.model import (
    CONFIDENCE,
    RUNS,
    TABLE_2_FLOWS,
    Function,
    Scheme,
    make_cell,
    pdpc,
)
from airpath.experiments.papers.alcaraz.planes import FLOW_COUNTS, MAXTHS, RATIOS, cell, cell_of_buffer
from airpath.experiments.papers.alcaraz.tables import CELLS, delay, goodput, quantity
from airpath.experiments.papers.base.cell import Cell
from airpath.experiments.papers.base.claims import Claim
from airpath.experiments.papers.base.conditions import (
    About,
    AllOf,
    AtLeast,
    AtMost,
    Condition,
    HalfWidth,
    Less,
    NotLess,
    OneOf,
    Tie,
    WithinPoints,
    rising,
)
from airpath.experiments.papers.base.quantity import Gain, Highest, Minus, Operand, Quantity

SIZES = (10, 20, 30, 40, 50)
"""Buffers of Figure 1 up to that of all other figures, SDUs."""

OCCUPANCIES = (15, 20, 30)
"""Where t_id is compared for several alphas, SDUs."""

_COMBINED = ("combined1", "combined2")
_ALONE = ("conventional", "ackrate", "pdpc")


def _claim(number: int, place: str, text: str, *conditions: Condition) -> Claim:
    return Claim(f"alcaraz-c{number}", place, text, conditions)


def _goodput(name: str, flows: int = 1) -> Quantity:
    return goodput(CELLS[name, flows])


def _delay(name: str, flows: int = 1) -> Quantity:
    return delay(CELLS[name, flows])


def _occupancy(name: str) -> Quantity:
    return quantity(CELLS[name, 1], measured.occupancy_sdus, "mean BO", "SDU")


def _unsteady(name: str) -> Quantity:
    return quantity(CELLS[name, 1], measured.occupancy_sd_sdus, "standard deviation of BO", "SDU")


def _overflows(of: Cell) -> Quantity:
    return quantity(of, measured.overflow_drops, "overflow drops", "1")


def _drops(name: str) -> Quantity:
    return quantity(CELLS[name, 1], measured.deliberate_drops, "drops of the discipline", "1")


def _over_sizes(flows: int) -> tuple[Condition, ...]:
    goodputs = [goodput(cell_of_buffer(packets, flows)) for packets in SIZES]
    delays = [delay(cell_of_buffer(packets, flows)) for packets in SIZES]
    steps = zip(goodputs[1:], goodputs, strict=False)
    return (
        Less(goodputs[0], goodputs[-1]),
        *(NotLess(larger, smaller) for larger, smaller in steps),
        *rising(*delays),
    )


def _t_id(alpha: float, sdus: int) -> Quantity:
    """t_id of ACK rate control alone, from minth = 10 on with every alpha, as in Figure 5."""
    scheme = Scheme(
        f"ACK rate control, alpha {alpha:g} from 10 SDUs on",
        "{ droptail = { packets = 50 } }",
        Function(alpha, 10, 40, 10),
    )
    return quantity(make_cell(scheme), measured.t_id_ms_at(sdus), f"t_id at {sdus} SDUs", "ms")


_AT_40 = {ratio: cell(1, 40, ratio) for ratio in RATIOS}
_FIGURE_7A = {(maxth, ratio): cell(1, maxth, ratio) for maxth in MAXTHS for ratio in RATIOS}


def _best(name: str, cells: list[Cell]) -> Highest:
    return Highest(f"highest goodput, {name}", tuple(map(goodput, cells)))


def _best_of(*maxths: int) -> Highest:
    cells = [of for (maxth, _), of in _FIGURE_7A.items() if maxth in maxths]
    return _best(f"maxth {' or '.join(map(str, maxths))}", cells)


def _beats_droptail(of: Cell) -> Condition:
    return AllOf((Less(delay(of), _delay("conventional")), Less(_goodput("conventional"), goodput(of))))


_ONE_FLOW = [cell(alpha, maxth, ratio) for alpha in (1, 0.5, 0.2) for maxth in MAXTHS for ratio in RATIOS]
_FOUR_FLOWS = [
    cell(alpha, maxth, ratio, flows=4) for alpha in (1, 0.5) for maxth in MAXTHS for ratio in RATIOS
]


def _f2_ties() -> tuple[Condition, ...]:
    pairs = [(of, cell(1, maxth, ratio, f2_alpha=1)) for (maxth, ratio), of in _FIGURE_7A.items()]
    return tuple(Tie(what(one), what(other)) for one, other in pairs for what in (goodput, delay))


def _apart(alpha: float) -> Minus:
    """How far the delays of two thresholds lie apart at the same ratio."""
    return Minus(delay(cell(alpha, 45, 10)), delay(cell(alpha, 25, 10)))


def _saves_half_the_delay(of: Cell) -> Condition:
    kept = AtLeast(Gain(goodput(of), _goodput("conventional", 4)), 0)
    return AllOf((kept, AtMost(Gain(delay(of), _delay("conventional", 4)), -50)))


def _is_good(name: str, flows: int) -> tuple[Condition, ...]:
    gain = Gain(_goodput(name, flows), _goodput("conventional", flows))
    return (Less(_delay(name, flows), _delay("conventional", flows)), AtLeast(gain, 0))


def _change(name: str) -> Minus:
    """Delay with four flows beyond that with one."""
    return Minus(_delay(name, 4), _delay(name, 1))


def _ties(operands: list[Operand]) -> tuple[Condition, ...]:
    return tuple(Tie(one, other) for one, other in combinations(operands, 2))


_PDPC = {maxth: make_cell(pdpc(maxth)) for maxth in MAXTHS}

CLAIMS = (
    _claim(
        1,
        "Figure 1, Section 2",
        "Drop-tail: a larger buffer (10 to 50 SDUs) raises goodput and delay.",
        *(condition for flows in FLOW_COUNTS for condition in _over_sizes(flows)),
    ),
    _claim(
        2,
        "Figure 2",
        "Drop-tail, one flow: several SDUs overflow in the first slow start, a timeout follows, the buffer "
        "drains (5 SDUs at most), and later it is filled again (40 SDUs at least).",
        AtLeast(
            quantity(CELLS["conventional", 1], measured.early_overflow_drops, "early overflow drops", "1"),
            2,
            slack=0,
        ),
        AtLeast(quantity(CELLS["conventional", 1], measured.timeouts, "timeouts", "1"), 1, slack=0),
        AtMost(
            quantity(
                CELLS["conventional", 1], measured.lowest_after_overflow_sdus, "least BO afterwards", "SDU"
            ),
            5,
            slack=0,
        ),
        AtLeast(
            quantity(CELLS["conventional", 1], measured.late_peak_sdus, "late peak of BO", "SDU"), 40, slack=0
        ),
    ),
    _claim(
        3,
        "Equation 1, Figure 5",
        "At a given occupancy t_id is the longer the smaller alpha is.",
        *(
            condition
            for sdus in OCCUPANCIES
            for condition in rising(*(_t_id(alpha, sdus) for alpha in (1, 0.5, 0.2)))
        ),
    ),
    _claim(
        4,
        "Section 5, Figure 7",
        "A lower maxth and a higher maxd/maxth give less delay; beyond some point goodput falls.",
        *rising(*(delay(_AT_40[ratio]) for ratio in (30.0, 20.0, 10.0, 5.0))),
        *rising(*(delay(cell(1, maxth, 5)) for maxth in (20, 30, 40))),
        Less(goodput(cell(1, 20, 30)), _best("Figure 7a", list(_FIGURE_7A.values()))),
    ),
    _claim(
        5,
        "Sections 5, 7, Figures 7 to 9",
        "One flow: some combined schemes have both more goodput and less delay than drop-tail.",
        OneOf(tuple(map(_beats_droptail, _ONE_FLOW))),
    ),
    _claim(
        6,
        "Section 5, Figure 7",
        "Which f2 is used hardly matters: with either, goodput and delay tie.",
        *_f2_ties(),
    ),
    _claim(
        7,
        "Section 5, Figures 7 to 9",
        "With a smaller alpha goodput falls from a lower maxd/maxth on, and the curves of different maxth "
        "lie closer together.",
        *rising(*(goodput(cell(alpha, 40, 15)) for alpha in (0.2, 0.5, 1))),
        *rising(*(goodput(cell(alpha, 40, 30)) for alpha in (0.2, 0.5, 1))),
        *rising(*(_apart(alpha) for alpha in (0.2, 0.5, 1))),
    ),
    _claim(
        8,
        "Section 5, rule 1",
        "The highest goodput is that of a maxth of 35 or 40 SDUs.",
        *(NotLess(_best_of(35, 40), _best_of(maxth)) for maxth in MAXTHS if maxth not in (35, 40)),
        Less(_best_of(20), _best_of(35, 40)),
    ),
    _claim(
        9,
        "Section 5, rules 2 and 3",
        "Good schemes keep t_id below about 140 ms up to 10 SDUs, and near 400 ms close to maxth.",
        *(
            AtMost(quantity(CELLS[name, 1], measured.t_id_below_pipe_ms, "t_id up to 10 SDUs", "ms"), 140)
            for name in _COMBINED
        ),
        *(
            About(quantity(CELLS[name, 1], measured.largest_t_id_ms, "largest t_id", "ms"), 400)
            for name in _COMBINED
        ),
    ),
    _claim(
        10,
        "Section 5",
        "The mean BO is about 16 SDUs with the best schemes, about 24 with drop-tail.",
        *(About(_occupancy(name), 16) for name in _COMBINED),
        About(_occupancy("conventional"), 24),
    ),
    _claim(
        11,
        "Section 5.1, Figures 10, 11",
        "Four flows: no combined scheme has more goodput than drop-tail, and some halve the delay at no loss "
        "of goodput.",
        AtMost(Gain(_best("Figures 10, 11", _FOUR_FLOWS), _goodput("conventional", 4)), 0),
        OneOf(tuple(map(_saves_half_the_delay, _FOUR_FLOWS))),
    ),
    _claim(
        12,
        "Section 5.1",
        "What is good for one flow is for four: both combined schemes save delay at no loss of goodput.",
        *(condition for name in _COMBINED for flows in TABLE_2_FLOWS for condition in _is_good(name, flows)),
    ),
    _claim(
        13,
        "Table 2",
        "Goodput with one flow: ACK rate control, combined 2, combined 1, PDPC, drop-tail; of each the one "
        "after next is lower.",
        *(
            Less(_goodput(low), _goodput(high))
            for low, high in (
                ("conventional", "combined1"),
                ("pdpc", "combined2"),
                ("combined1", "ackrate"),
            )
        ),
    ),
    _claim(
        14,
        "Table 2",
        "Delay with one flow: PDPC and combined 1, then combined 2, ACK rate control, drop-tail.",
        Tie(_delay("pdpc"), _delay("combined1")),
        *rising(*(_delay(name) for name in ("combined1", "combined2", "ackrate", "conventional"))),
    ),
    _claim(
        15,
        "Table 2",
        "Goodput with four flows: all five tie.",
        *_ties([_goodput(name, 4) for name in (*_ALONE, *_COMBINED)]),
    ),
    _claim(
        16,
        "Table 2",
        "Delay with four flows: combined 1 and ACK rate control, then combined 2, PDPC, drop-tail.",
        Tie(_delay("combined1", 4), _delay("ackrate", 4)),
        *rising(*(_delay(name, 4) for name in ("combined1", "combined2", "pdpc", "conventional"))),
        Less(_delay("ackrate", 4), _delay("combined2", 4)),
    ),
    _claim(
        17,
        "Table 2",
        "Every scheme has less delay than drop-tail, with one flow and with four.",
        *(
            Less(_delay(name, flows), _delay("conventional", flows))
            for name in ("ackrate", "pdpc", *_COMBINED)
            for flows in TABLE_2_FLOWS
        ),
    ),
    _claim(
        18,
        "Table 2",
        "From one flow to four the delay of the combined schemes changes by 0.06 s at most; with drop-tail "
        "and PDPC it grows by 0.2 s and more, with ACK rate control it falls by as much.",
        *(WithinPoints(_change(name), 0, 0.06) for name in _COMBINED),
        *(AtLeast(_change(name), 0.2) for name in ("conventional", "pdpc")),
        AtLeast(Minus(_delay("ackrate", 1), _delay("ackrate", 4)), 0.2),
    ),
    _claim(
        19,
        "Figure 12, Section 6",
        "PDPC drops several SDUs one by one (two a run at least) and avoids overflow (less than one SDU a "
        "run); a higher maxth raises goodput and delay.",
        AtLeast(_drops("pdpc"), 2, slack=0),
        AtMost(_overflows(CELLS["pdpc", 1]), 1, slack=0),
        *rising(*(goodput(_PDPC[maxth]) for maxth in (20, 30, 45))),
        *rising(*(delay(_PDPC[maxth]) for maxth in (20, 30, 40))),
    ),
    _claim(
        20,
        "Figure 13",
        "ACK rate control alone avoids overflow (less than one SDU a run), and BO swings more than with "
        "combined 1.",
        AtMost(_overflows(CELLS["ackrate", 1]), 1, slack=0),
        Less(_unsteady("combined1"), _unsteady("ackrate")),
    ),
    _claim(
        21,
        "Figure 14, Section 7",
        "Combined 1 has the steadiest BO of all and drops less than PDPC.",
        *(Less(_unsteady("combined1"), _unsteady(name)) for name in _ALONE),
        Less(_drops("combined1"), _drops("pdpc")),
    ),
    _claim(
        22,
        "Table 2",
        "Twenty runs give goodput within 2.5 to 8.9 kbit/s, at 90 %.",
        *(HalfWidth(goodput(of), RUNS, CONFIDENCE, 2.5, 8.9) for of in CELLS.values()),
    ),
)
"""All claims, in the order of the paper."""
