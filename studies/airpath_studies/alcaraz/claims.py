"""The claims of Alcaraz and Cerdan's paper, in own words; the rules are in `conditions`."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from itertools import combinations

from airpath_studies.alcaraz import measured
from airpath_studies.alcaraz.figures import (
    CELLS,
    FLOW_COUNTS,
    MAXTHS,
    RATIOS,
    cell,
    cell_of_buffer,
)
from airpath_studies.alcaraz.measured import DELAY, GOODPUT, OCCUPANCY, OVERFLOWS, TIMEOUTS
from airpath_studies.alcaraz.model import (
    RUNS,
    TABLE_2_FLOWS,
    Scheme,
    droptail,
    make_cell,
    pdpc,
    time_between_acks,
)
from airpath_studies.base.cell import Cell
from airpath_studies.base.claims import Conditions, claims_of
from airpath_studies.base.conditions import (
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
from airpath_studies.base.description import description
from airpath_studies.base.measure import Measure, observed
from airpath_studies.base.quantity import Gain, Highest, Minus, Quantity

SIZES = (10, 20, 30, 40, 50)
"""Buffers of Figure 1 up to that of all other figures, SDUs."""

OCCUPANCIES = (15, 20, 30)
"""Where t_id is compared for several alphas, SDUs."""

_COMBINED = ("combined1", "combined2")
_ALONE = ("conventional", "ackrate", "pdpc")


_claim = claims_of("alcaraz")
_CONFIDENCE = description("alcaraz").confidence
assert _CONFIDENCE is not None

_UNSTEADY = Measure("standard deviation of BO", "SDU", observed("occupancy_sd_sdus"))
_DROPS = Measure("drops of the discipline", "1", observed("deliberate_drops"))
_EARLY_OVERFLOWS = Measure("early overflow drops", "1", observed("early_overflow_drops"))
_LEAST_BO = Measure("least BO afterwards", "SDU", observed("lowest_after_overflow_sdus"))
_LATE_PEAK = Measure("late peak of BO", "SDU", observed("late_peak_sdus"))
_EARLY_T_ID = Measure("t_id up to 10 SDUs", "ms", measured.t_id_below_pipe_ms)
_LARGEST_T_ID = Measure("largest t_id", "ms", measured.largest_t_id_ms)


def _of(measure: Measure, name: str, flows: int = 1) -> Quantity:
    return measure.of(CELLS[name, flows])


_goodput, _delay = partial(_of, GOODPUT), partial(_of, DELAY)


def _over_sizes(flows: int) -> Iterable[Condition]:
    cells = [cell_of_buffer(flows, packets) for packets in SIZES]
    goodputs = list(map(GOODPUT.of, cells))
    yield Less(goodputs[0], goodputs[-1])
    yield from map(NotLess, goodputs[1:], goodputs)
    yield from rising(*map(DELAY.of, cells))


def _t_id(sdus: int, alpha: float) -> Quantity:
    """t_id of ACK rate control alone, from minth = 10 on with every alpha, as in Figure 5."""
    name = f"ACK rate control, alpha {alpha:g} from 10 SDUs on"
    scheme = Scheme(name, droptail().queue, time_between_acks(alpha, 10, 40, 10))
    return Measure(f"t_id at {sdus} SDUs", "ms", measured.t_id_ms_at(sdus)).of(make_cell(scheme))


_FIGURE_7A = {(maxth, ratio): cell(1, maxth, ratio) for maxth in MAXTHS for ratio in RATIOS}
_ONE_FLOW = [cell(alpha, maxth, ratio) for alpha in (1, 0.5, 0.2) for maxth in MAXTHS for ratio in RATIOS]
_FOUR_FLOWS = [
    cell(alpha, maxth, ratio, flows=4) for alpha in (1, 0.5) for maxth in MAXTHS for ratio in RATIOS
]


def _best(name: str, cells: Iterable[Cell]) -> Highest:
    return Highest(f"highest goodput, {name}", tuple(map(GOODPUT.of, cells)))


def _best_of(*maxths: int) -> Highest:
    cells = [of for (maxth, _), of in _FIGURE_7A.items() if maxth in maxths]
    return _best(f"maxth {' or '.join(map(str, maxths))}", cells)


def _beats_droptail(of: Cell) -> Condition:
    return AllOf((Less(DELAY.of(of), _delay("conventional")), Less(_goodput("conventional"), GOODPUT.of(of))))


def _apart(alpha: float) -> Minus:
    """How far the delays of two thresholds lie apart at the same ratio."""
    return Minus(*(DELAY.of(cell(alpha, maxth, 10)) for maxth in (45, 25)))


def _saves_half_the_delay(of: Cell) -> Condition:
    kept = AtLeast(Gain(GOODPUT.of(of), _goodput("conventional", 4)), 0)
    return AllOf((kept, AtMost(Gain(DELAY.of(of), _delay("conventional", 4)), -50)))


def _is_good(name: str, flows: int) -> Conditions:
    gain = Gain(_goodput(name, flows), _goodput("conventional", flows))
    return Less(_delay(name, flows), _delay("conventional", flows)), AtLeast(gain, 0)


def _change(name: str) -> Minus:
    """Delay with four flows beyond that with one."""
    return Minus(_delay(name, 4), _delay(name, 1))


CLAIMS = (
    _claim(
        1,
        "Figure 1, Section 2",
        "Drop-tail: a larger buffer (10 to 50 SDUs) raises goodput and delay.",
        map(_over_sizes, FLOW_COUNTS),
    ),
    _claim(
        2,
        "Figure 2",
        "Drop-tail, one flow: several SDUs overflow in the first slow start, a timeout follows, the buffer "
        "drains (5 SDUs at most), and later it is filled again (40 SDUs at least).",
        AtLeast(_of(_EARLY_OVERFLOWS, "conventional"), 2, slack=0),
        AtLeast(_of(TIMEOUTS, "conventional"), 1, slack=0),
        AtMost(_of(_LEAST_BO, "conventional"), 5, slack=0),
        AtLeast(_of(_LATE_PEAK, "conventional"), 40, slack=0),
    ),
    _claim(
        3,
        "Equation 1, Figure 5",
        "At a given occupancy t_id is the longer the smaller alpha is.",
        (rising(*(_t_id(sdus, alpha) for alpha in (1, 0.5, 0.2))) for sdus in OCCUPANCIES),
    ),
    _claim(
        4,
        "Section 5, Figure 7",
        "A lower maxth and a higher maxd/maxth give less delay; beyond some point goodput falls.",
        rising(*(DELAY.of(cell(1, 40, ratio)) for ratio in (30, 20, 10, 5))),
        rising(*(DELAY.of(cell(1, maxth, 5)) for maxth in (20, 30, 40))),
        Less(GOODPUT.of(cell(1, 20, 30)), _best("Figure 7a", _FIGURE_7A.values())),
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
        (
            Tie(measure.of(of), measure.of(cell(1, maxth, ratio, f2_alpha=1)))
            for (maxth, ratio), of in _FIGURE_7A.items()
            for measure in (GOODPUT, DELAY)
        ),
    ),
    _claim(
        7,
        "Section 5, Figures 7 to 9",
        "With a smaller alpha goodput falls from a lower maxd/maxth on, and the curves of different maxth "
        "lie closer together.",
        (rising(*(GOODPUT.of(cell(alpha, 40, ratio)) for alpha in (0.2, 0.5, 1))) for ratio in (15, 30)),
        rising(*map(_apart, (0.2, 0.5, 1))),
    ),
    _claim(
        8,
        "Section 5, rule 1",
        "The highest goodput is that of a maxth of 35 or 40 SDUs.",
        (NotLess(_best_of(35, 40), _best_of(maxth)) for maxth in (20, 25, 30, 45)),
        Less(_best_of(20), _best_of(35, 40)),
    ),
    _claim(
        9,
        "Section 5, rules 2 and 3",
        "Good schemes keep t_id below about 140 ms up to 10 SDUs, and near 400 ms close to maxth.",
        (AtMost(_of(_EARLY_T_ID, name), 140) for name in _COMBINED),
        (About(_of(_LARGEST_T_ID, name), 400) for name in _COMBINED),
    ),
    _claim(
        10,
        "Section 5",
        "The mean BO is about 16 SDUs with the best schemes, about 24 with drop-tail.",
        (About(_of(OCCUPANCY, name), 16) for name in _COMBINED),
        About(_of(OCCUPANCY, "conventional"), 24),
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
        (_is_good(name, flows) for name in _COMBINED for flows in TABLE_2_FLOWS),
    ),
    _claim(
        13,
        "Table 2",
        "Goodput with one flow: ACK rate control, combined 2, combined 1, PDPC, drop-tail; of each the one "
        "after next is lower.",
        Less(_goodput("conventional"), _goodput("combined1")),
        Less(_goodput("pdpc"), _goodput("combined2")),
        Less(_goodput("combined1"), _goodput("ackrate")),
    ),
    _claim(
        14,
        "Table 2",
        "Delay with one flow: PDPC and combined 1, then combined 2, ACK rate control, drop-tail.",
        Tie(_delay("pdpc"), _delay("combined1")),
        rising(*map(_delay, ("combined1", "combined2", "ackrate", "conventional"))),
    ),
    _claim(
        15,
        "Table 2",
        "Goodput with four flows: all five tie.",
        (Tie(*pair) for pair in combinations((_goodput(name, 4) for name in (*_ALONE, *_COMBINED)), 2)),
    ),
    _claim(
        16,
        "Table 2",
        "Delay with four flows: combined 1 and ACK rate control, then combined 2, PDPC, drop-tail.",
        Tie(_delay("combined1", 4), _delay("ackrate", 4)),
        rising(*(_delay(name, 4) for name in ("combined1", "combined2", "pdpc", "conventional"))),
        Less(_delay("ackrate", 4), _delay("combined2", 4)),
    ),
    _claim(
        17,
        "Table 2",
        "Every scheme has less delay than drop-tail, with one flow and with four.",
        (
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
        (WithinPoints(_change(name), 0, 0.06) for name in _COMBINED),
        (AtLeast(_change(name), 0.2) for name in ("conventional", "pdpc")),
        AtLeast(Minus(_delay("ackrate", 1), _delay("ackrate", 4)), 0.2),
    ),
    _claim(
        19,
        "Figure 12, Section 6",
        "PDPC drops several SDUs one by one (two a run at least) and avoids overflow (less than one SDU a "
        "run); a higher maxth raises goodput and delay.",
        AtLeast(_of(_DROPS, "pdpc"), 2, slack=0),
        AtMost(_of(OVERFLOWS, "pdpc"), 1, slack=0),
        rising(*(GOODPUT.of(make_cell(pdpc(maxth))) for maxth in (20, 30, 45))),
        rising(*(DELAY.of(make_cell(pdpc(maxth))) for maxth in (20, 30, 40))),
    ),
    _claim(
        20,
        "Figure 13",
        "ACK rate control alone avoids overflow (less than one SDU a run), and BO swings more than with "
        "combined 1.",
        AtMost(_of(OVERFLOWS, "ackrate"), 1, slack=0),
        Less(_of(_UNSTEADY, "combined1"), _of(_UNSTEADY, "ackrate")),
    ),
    _claim(
        21,
        "Figure 14, Section 7",
        "Combined 1 has the steadiest BO of all and drops less than PDPC.",
        (Less(_of(_UNSTEADY, "combined1"), _of(_UNSTEADY, name)) for name in _ALONE),
        Less(_of(_DROPS, "combined1"), _of(_DROPS, "pdpc")),
    ),
    _claim(
        22,
        "Table 2",
        "Twenty runs give goodput within 2.5 to 8.9 kbit/s, at 90 %.",
        (HalfWidth(GOODPUT.of(of), RUNS, _CONFIDENCE, 2.5, 8.9) for of in CELLS.values()),
    ),
)
"""All claims, in the order of the paper."""
