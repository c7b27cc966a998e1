"""Numbers in the text of Alcaraz and Cerdan's paper, outside its table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from airpath.stats.estimate import Estimate
from airpath.terminal import counted
from airpath_studies.alcaraz import measured
from airpath_studies.alcaraz.figures import BUFFERS, CELLS, MAXTHS, RATIOS, cell, cell_of_buffer
from airpath_studies.alcaraz.measured import first_near_the_most, value_of_highest
from airpath_studies.alcaraz.model import RUNS, ack_rate, make_cell, pdpc
from airpath_studies.base.cell import Cell, Metric
from airpath_studies.base.measure import figure
from airpath_studies.base.paired import Pick, by_seed, difference, most, reduction
from airpath_studies.base.paper import Row, first, highest

NEAR = 0.98
"""Share of the most that counts as optimum goodput."""

COMBINED = (CELLS["combined1", 1], CELLS["combined2", 1])
_CONVENTIONAL = (CELLS["conventional", 1],)


def _mean(estimates: Sequence[Estimate]) -> Estimate:
    return by_seed(lambda *run: sum(run) / len(run), *estimates)


def _mean_difference(estimates: Sequence[Estimate]) -> Estimate:
    """Mean of the differences of pairs of cells."""
    return by_seed(lambda *run: sum(run[::2]) / len(run[::2]) - sum(run[1::2]) / len(run[1::2]), *estimates)


def _pdpc_cells(flows: int) -> tuple[Cell, ...]:
    return tuple(make_cell(pdpc(maxth), flows) for maxth in (45, 30))


def _row(
    name: str,
    what: str,
    cells: Iterable[Cell],
    metric: Metric = measured.goodput_kbps,
    pick: Pick = first,
    remark: str = "",
) -> Row:
    """Make the row of a value that stands in the text; all of them rest on means of 20 runs."""
    return Row(f"alcaraz-{name}", (what,), tuple(cells), metric, pick, averaged_runs=RUNS, remark=remark)


_FIGURE_7A = tuple(cell(1, maxth, ratio) for maxth in MAXTHS for ratio in RATIOS)
_REDUCED = tuple(CELLS[name, 4] for name in ("combined1", "conventional", "combined2", "conventional"))
_BEST_MAXTH = "maxth whose curve in Figure 7a reaches the highest goodput"
_SPACING = (
    "140 ms between ACKs of two segments are half of the goodput that the paper measures; airpath's is the "
    "time of two packets at its goodput"
)
_LESS_T_ID = (
    "the paper divides 400 ms by the 140 ms of the line above; over the time of two packets at our goodput "
    "it is more"
)
_BUFFER = "Figure 1a: from 40 SDUs on four flows have the same goodput, so 50 are enough but not needed"
_PDPC_DELAY = (
    "the paper does not name the largest maxth; the goodput at 35 and 40 is that at 30 (Study 5), and only "
    "45 has more"
)
_ACK_RATIO = (
    "the goodput is highest at the lowest ratio, and falls from there (Study 5): with a window of 44 "
    "segments there are hardly any overflows to avoid"
)
_GAP = "ACK rate control has less goodput, not more: at a ratio of 20 it holds ACKs for too long (Study 5)"

TEXT = figure(
    None,
    "What the text says about these simulations",
    _row("s5-bo-best", "mean BO, mean of both combined schemes", COMBINED, measured.occupancy_sdus, _mean),
    _row("s5-bo-conv", "mean BO, conventional RLC", _CONVENTIONAL, measured.occupancy_sdus),
    *(
        _row(f"s5-maxth-{maxth}", _BEST_MAXTH, _FIGURE_7A, pick=value_of_highest(MAXTHS))
        for maxth in (35, 40)
    ),
    _row(
        "s5-ackspacing",
        "mean time between ACKs, conventional RLC",
        _CONVENTIONAL,
        measured.ack_spacing_ms,
        remark=_SPACING,
    ),
    _row(
        "s5-tid-low",
        "largest t_id up to 10 SDUs, both combined schemes",
        COMBINED,
        measured.t_id_below_pipe_ms,
        highest,
    ),
    _row("s5-bdp", "384 kbit/s times the shortest round trip", _CONVENTIONAL, measured.pipe_sdus),
    _row(
        "s5-tid-high",
        "largest t_id, mean of both combined schemes",
        COMBINED,
        measured.largest_t_id_ms,
        _mean,
    ),
    _row(
        "s5-factor3",
        "largest t_id over the mean time between ACKs, both combined schemes",
        COMBINED,
        measured.t_id_factor,
        _mean,
        _LESS_T_ID,
    ),
    *(
        _row(name, what, _REDUCED, measured.delay_s, most(reduction))
        for name, what in (
            ("s51-50", "delay saved with 4 flows, the more of both combined"),
            ("s7-50", "the same, as the conclusion repeats it"),
        )
    ),
    _row(
        "s51-buf",
        "smallest buffer with 98 % of the most goodput, 4 flows",
        (cell_of_buffer(4, packets) for packets in BUFFERS),
        pick=first_near_the_most(BUFFERS, NEAR),
        remark=_BUFFER,
    ),
    _row("s6-pdpc-goodput", "goodput from maxth 30 to 45, PDPC, 1 flow", _pdpc_cells(1), pick=difference),
    *(
        _row(
            f"s6-pdpc-delay-{flows}f",
            f"delay from maxth 30 to 45, PDPC, {counted(flows, 'flow')}",
            _pdpc_cells(flows),
            lambda outcome: 1000 * measured.delay_s(outcome),
            difference,
            _PDPC_DELAY,
        )
        for flows in (1, 4)
    ),
    _row(
        "s6-ack-ratio",
        "maxd/maxth with the highest goodput, ACK rate control alone",
        (make_cell(ack_rate(ratio)) for ratio in RATIOS),
        pick=value_of_highest(RATIOS),
        remark=_ACK_RATIO,
    ),
    _row(
        "s6-gap",
        "goodput of ACK rate control over Combined Scheme 1, mean of 1 and 4 flows",
        (CELLS[name, flows] for flows in (1, 4) for name in ("ackrate", "combined1")),
        pick=_mean_difference,
        remark=_GAP,
    ),
)
