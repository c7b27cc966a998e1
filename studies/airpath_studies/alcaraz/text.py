"""Numbers in the text of Alcaraz and Cerdan's paper, outside its table."""

from __future__ import annotations

from collections.abc import Sequence

from airpath.stats.estimate import Estimate, by_seed
from airpath.terminal import counted
from airpath_studies.alcaraz import measured
from airpath_studies.alcaraz.figures import BUFFERS, CELLS, MAXTHS, RATIOS, cell, cell_of_buffer, row
from airpath_studies.alcaraz.measured import first_near_the_most, value_of_highest
from airpath_studies.alcaraz.model import ack_rate, make_cell, pdpc
from airpath_studies.base.cell import Cell
from airpath_studies.base.paired import difference, highest, most, reduction
from airpath_studies.base.paper import text

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


_FIGURE_7A = tuple(cell(1, maxth, ratio) for maxth in MAXTHS for ratio in RATIOS)
_REDUCED = tuple(CELLS[name, 4] for name in ("combined1", "conventional", "combined2", "conventional"))
_BEST_MAXTH = "maxth whose curve in Figure 7a reaches the highest goodput"

TEXT = text(
    row("s5-bo-best", "mean BO, mean of both combined schemes", COMBINED, measured.occupancy_sdus, _mean),
    row("s5-bo-conv", "mean BO, conventional RLC", _CONVENTIONAL, measured.occupancy_sdus),
    *(row(f"s5-maxth-{maxth}", _BEST_MAXTH, _FIGURE_7A, pick=value_of_highest(MAXTHS)) for maxth in (35, 40)),
    row(
        "s5-ackspacing",
        "mean time between ACKs, conventional RLC",
        _CONVENTIONAL,
        measured.ack_spacing_ms,
    ),
    row(
        "s5-tid-low",
        "largest t_id up to 10 SDUs, both combined schemes",
        COMBINED,
        measured.t_id_below_pipe_ms,
        highest,
    ),
    row("s5-bdp", "384 kbit/s times the shortest round trip", _CONVENTIONAL, measured.pipe_sdus),
    row(
        "s5-tid-high",
        "largest t_id, mean of both combined schemes",
        COMBINED,
        measured.largest_t_id_ms,
        _mean,
    ),
    row(
        "s5-factor3",
        "largest t_id over the mean time between ACKs, both combined schemes",
        COMBINED,
        measured.t_id_factor,
        _mean,
    ),
    *(
        row(name, what, _REDUCED, measured.delay_s, most(reduction))
        for name, what in (
            ("s51-50", "delay saved with 4 flows, the more of both combined"),
            ("s7-50", "the same, as the conclusion repeats it"),
        )
    ),
    row(
        "s51-buf",
        "smallest buffer with 98 % of the most goodput, 4 flows",
        (cell_of_buffer(4, packets) for packets in BUFFERS),
        pick=first_near_the_most(BUFFERS, NEAR),
    ),
    row("s6-pdpc-goodput", "goodput from maxth 30 to 45, PDPC, 1 flow", _pdpc_cells(1), pick=difference),
    *(
        row(
            f"s6-pdpc-delay-{flows}f",
            f"delay from maxth 30 to 45, PDPC, {counted(flows, 'flow')}",
            _pdpc_cells(flows),
            lambda outcome: 1000 * measured.delay_s(outcome),
            difference,
        )
        for flows in (1, 4)
    ),
    row(
        "s6-ack-ratio",
        "maxd/maxth with the highest goodput, ACK rate control alone",
        (make_cell(ack_rate(ratio)) for ratio in RATIOS),
        pick=value_of_highest(RATIOS),
    ),
    row(
        "s6-gap",
        "goodput of ACK rate control over Combined Scheme 1, mean of 1 and 4 flows",
        (CELLS[name, flows] for flows in (1, 4) for name in ("ackrate", "combined1")),
        pick=_mean_difference,
    ),
)
