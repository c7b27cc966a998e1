"""What the text of Chan and Ramjee's paper says in numbers, beside its tables and figures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from airpath.experiments.papers.base.cell import Cell, Metric, Outcome
from airpath.experiments.papers.base.paired import by_seed, gain, reduction
from airpath.experiments.papers.base.paper import Experiment, Row, lowest
from airpath.experiments.papers.chan import measured
from airpath.experiments.papers.chan.curves import (
    BUFFERS_OF_BOTH,
    HDR_BUFFERS,
    HDR_REMARK,
    ONE_BDP,
    RANGES_OF_SUMMARY,
    RATE_SDS_KBPS,
    over_buffer_both,
    over_delay,
    over_hdr_buffer,
    over_rate,
    pairs,
)
from airpath.experiments.papers.chan.figures import LIVE_DOWNLOAD, LIVE_TEXT, ack_time_ms, packet_time_ms
from airpath.experiments.papers.chan.measured import least, most
from airpath.experiments.papers.chan.model import CASES, RENO, RENO_AR, SACK, SACK_AR, Flow, make_cell
from airpath.experiments.papers.chan.tables import ACCURACIES, CELLS, WIDEST
from airpath.stats.estimate import Estimate

ALPHA_BUFFERS = (4, 6, 10, 15, 20)
HDR_ROUND_TRIP_S = 0.2
NEAR = 0.95
"""Share of the largest throughput that counts as close to it."""

_OF_OWN = tuple(CELLS.values())
_ACCURACY = measured.percent(ACCURACIES["chan_ramjee"])
_LINK_NOT_STATED = "the paper does not say over which link; ours is that of Section 6.3 (Study 2 has others)"
_NO_FACTOR = "(b - a) / (ln b - ln a); 6.2 prints 1 / (ln b - ln a), which lacks the factor (1.08 kbit/s)"
_ALPHA_4 = (
    "the paper does not say over which link; over that of Section 6.3 alpha 4 is ahead at 6 packets, level "
    "at 8, and 1 to 5 % below alpha 3 from 10 on"
)


def over_wired_delay(flow: Flow, wired_ms: float) -> Cell:
    """Section 6.6: wired delay, with rate and delay of Section 6.3."""
    return make_cell(flow, CASES[8], wired_ms=wired_ms)


def over_alpha(alpha: float, buffer: int) -> Cell:
    """Section 6.6: alpha, with rate and delay of Section 6.3."""
    return make_cell(Flow(alpha=alpha), CASES[8], buffer)


def row(
    name: str, what: str, cells: tuple[Cell, ...], metric: Metric = measured.goodput_kbps, **more: Any
) -> Row:
    """Make the row of a value that stands in the text."""
    return Row(f"chan-{name}", (what,), cells, metric, **more)


def per_flow_pipe(outcome: Outcome) -> float:
    """Packets that a flow's mean throughput sends in 0.2 s."""
    return measured.goodput_per_flow_kbps(outcome) * HDR_ROUND_TRIP_S / 8


def _in_seconds(metric: Metric) -> Metric:
    return lambda outcome: metric(outcome) / 1000


def hdr_pipe(outcome: Outcome) -> float:
    """Packets that the link of one user serves in 0.2 s."""
    return measured.service_rate(outcome) * HDR_ROUND_TRIP_S


def _last_without_loss(estimates: Sequence[Estimate]) -> Estimate:
    """The largest buffer up to which alpha 4 is within 1 % of alpha 3, seed by seed."""

    def find(*run: float) -> float:
        ratios = [four / three for three, four in zip(run[::2], run[1::2], strict=True)]
        fits = [buffer for buffer, ratio in zip(ALPHA_BUFFERS, ratios, strict=True) if ratio >= 0.99]
        return float(fits[-1] if fits else ALPHA_BUFFERS[0])

    return by_seed(find, *estimates)


def _buffers_needed(users: int) -> tuple[Cell, ...]:
    flows = (RENO, RENO_AR, SACK, SACK_AR)
    return tuple(over_hdr_buffer(users)(flow, buffer) for flow in flows for buffer in HDR_BUFFERS[users])


def _times_the_buffer(estimates: Sequence[Estimate]) -> Estimate:
    """Smallest ratio, unregulated to regulated, of the buffers that bring close to the most, seed by seed."""
    buffers = HDR_BUFFERS[8]

    def needed(throughputs: tuple[float, ...], largest: float) -> float:
        return float(
            next((b for b, t in zip(buffers, throughputs, strict=True) if t >= NEAR * largest), buffers[-1])
        )

    def find(*run: float) -> float:
        n, largest = len(buffers), max(run)
        reno, reno_ar, sack, sack_ar = (needed(run[i * n : (i + 1) * n], largest) for i in range(4))
        return min(reno / reno_ar, sack / sack_ar)

    return by_seed(find, *estimates)


_AT_ONE_BDP = tuple(
    over_hdr_buffer(users)(flow, buffer)
    for users, buffer in ONE_BDP.items()
    for flow in (RENO_AR, RENO, SACK_AR, SACK)
)
_MULTI = "gain with several HDR flows at one bandwidth-delay product"
_WIDEST_RENO = (over_delay(RENO_AR, 100), over_delay(RENO, 100))
_WIDEST_SACK = (over_delay(SACK_AR, 100), over_delay(SACK, 100))
_ABOVE_6 = tuple(buffer for buffer in BUFFERS_OF_BOTH if buffer > 6)
_HDR_1 = over_hdr_buffer(1)(RENO_AR, 40)

TEXT = Experiment(
    "text",
    None,
    "What the text says about these simulations",
    ("quantity",),
    (
        row("abs-40", "gain of the abstract: over Reno at e(100)", _WIDEST_RENO, pick=gain),
        row(
            "s7-40",
            "gain of the conclusion: over Reno and SACK at e(100), the larger",
            (*_WIDEST_RENO, *_WIDEST_SACK),
            pick=most(gain),
        ),
        row(
            "s7-acc",
            "accuracy of model 3 with our own counts, least of nine cases",
            _OF_OWN,
            _ACCURACY,
            pick=lowest,
        ),
        row("s4-acc", "the same at the widest variation, case 9", (CELLS[9],), _ACCURACY),
        row("s4-p1-from", "p1, case 1", (CELLS[1],), measured.single_share),
        row("s4-p1-to", "p1, case 4", (CELLS[4],), measured.single_share),
        row(
            "s3-tx",
            "transmission time of a packet of 1448 bytes of data",
            (LIVE_DOWNLOAD,),
            packet_time_ms(1),
        ),
        *LIVE_TEXT,
        row("s3-ack52", "transmission time of an ACK", (LIVE_DOWNLOAD,), ack_time_ms),
        row("f3-25s", "transmission time of 30 packets", (LIVE_DOWNLOAD,), _in_seconds(packet_time_ms(30))),
        row("s61-bdp", "bandwidth-delay product, case 1", (CELLS[1],), measured.pipe_packets),
        row("s61-wf-ar", "Wf, SACK regulated, e(100)", (WIDEST["SACK+AR"],), measured.max_window),
        row("s61-wf-none", "Wf, SACK, e(100)", (WIDEST["SACK"],), measured.max_window),
        row(
            "s63-max",
            "throughput of a link never idle, u(200,50)",
            (CELLS[8],),
            measured.max_throughput_kbps,
            remark=_NO_FACTOR,
        ),
        row("s63-bdp", "bandwidth-delay product, u(200,50)", (CELLS[8],), measured.pipe_packets),
        row(
            "s64-bw",
            "mean rate of the HDR link, one user",
            (_HDR_1,),
            measured.max_throughput_kbps,
            remark=HDR_REMARK,
        ),
        row("s64-bdp", "bandwidth-delay product at 0.2 s, one user", (_HDR_1,), hdr_pipe, remark=HDR_REMARK),
        row(
            "s65-rate4",
            "throughput of each of 4 flows, regulated, buffer 15",
            (over_hdr_buffer(4)(RENO_AR, 15),),
            measured.goodput_per_flow_kbps,
        ),
        row(
            "s65-rate8",
            "throughput of each of 8 flows, regulated, buffer 9",
            (over_hdr_buffer(8)(RENO_AR, 9),),
            measured.goodput_per_flow_kbps,
        ),
        row(
            "s65-bdp4",
            "bandwidth-delay product of each of 4 flows",
            (over_hdr_buffer(4)(RENO_AR, 15),),
            per_flow_pipe,
        ),
        row(
            "s65-bdp8",
            "bandwidth-delay product of each of 8 flows",
            (over_hdr_buffer(8)(RENO_AR, 9),),
            per_flow_pipe,
        ),
        row(
            "s65-3x",
            "buffer for 95 % of the most, unregulated to regulated, 8 flows, the lesser",
            _buffers_needed(8),
            pick=_times_the_buffer,
            remark=HDR_REMARK,
        ),
        row(
            "s65-fair", "fairness index, least of 4 and 8 flows", _AT_ONE_BDP, measured.fairness, pick=lowest
        ),
        row(
            "s66-reno",
            "loss of Reno from 20 to 100 ms to the RNC",
            tuple(over_wired_delay(RENO, ms) for ms in (100, 20)),
            pick=reduction,
            remark=_LINK_NOT_STATED,
        ),
        row(
            "s66-reno-ar",
            "loss of regulated Reno from 20 to 100 ms",
            tuple(over_wired_delay(RENO_AR, ms) for ms in (100, 20)),
            pick=reduction,
            remark=_LINK_NOT_STATED,
        ),
        row(
            "s66-alpha4",
            "buffer up to which alpha 4 keeps up with alpha 3",
            tuple(over_alpha(alpha, buffer) for buffer in ALPHA_BUFFERS for alpha in (3, 4)),
            pick=_last_without_loss,
            remark=_ALPHA_4,
        ),
        row("s67-reno-delay", "gain over Reno, variable delay, e(100)", _WIDEST_RENO, pick=gain),
        row("s67-sack-delay", "gain over SACK, variable delay, e(100)", _WIDEST_SACK, pick=gain),
        row(
            "s67-reno-rate",
            "gain over Reno, variable rate, the most",
            pairs(over_rate, RATE_SDS_KBPS, RENO_AR, RENO),
            pick=most(gain),
        ),
        row(
            "s67-both-reno",
            "gain over Reno, both variable, buffers from 7, the most",
            pairs(over_buffer_both, _ABOVE_6, RENO_AR, RENO),
            pick=most(gain),
        ),
        row(
            "s67-both-sack",
            "gain over SACK, both variable, buffers from 7, the most",
            pairs(over_buffer_both, _ABOVE_6, SACK_AR, SACK),
            pick=most(gain),
        ),
        *RANGES_OF_SUMMARY,
        row("s67-multi-low", f"{_MULTI}, least", _AT_ONE_BDP, pick=least(gain), remark=HDR_REMARK),
        row("s67-multi-high", f"{_MULTI}, most", _AT_ONE_BDP, pick=most(gain), remark=HDR_REMARK),
    ),
)
