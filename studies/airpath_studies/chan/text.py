"""Numbers in the text of Chan and Ramjee's paper, outside tables and figures."""

from __future__ import annotations

from collections.abc import Sequence

from airpath.stats.estimate import Estimate, by_seed
from airpath_studies.base.cell import Cell, Outcome
from airpath_studies.base.paired import gain, least, lowest, most, reduction
from airpath_studies.base.paper import text
from airpath_studies.chan import measured
from airpath_studies.chan.curves import (
    BUFFERS_OF_BOTH,
    HDR_BUFFERS,
    ONE_BDP,
    RATE_SDS_KBPS,
    gains,
    hdr_range,
    over_buffer_both,
    over_delay,
    over_hdr_buffer,
    over_rate,
    pairs,
)
from airpath_studies.chan.figures import LIVE_DOWNLOAD, LIVE_TEXT, ack_time_ms, packet_time_ms
from airpath_studies.chan.measured import LAST, found
from airpath_studies.chan.model import CASES, FLOWS, REGULATED, RENO, RENO_AR, Flow, make_cell
from airpath_studies.chan.tables import ACCURACIES, CELLS, WIDEST, row

ALPHA_BUFFERS = (4, 6, 10, 15, 20)
HDR_ROUND_TRIP_S = 0.2
NEAR = 0.95
"""Share of the largest throughput that counts as close to it."""


def over_wired_delay(flow: Flow, wired_ms: float) -> Cell:
    """Section 6.6: wired delay, with rate and delay of Section 6.3."""
    return make_cell(flow, CASES[8], wired_ms=wired_ms)


def over_alpha(alpha: float, buffer: int) -> Cell:
    """Section 6.6: alpha, with rate and delay of Section 6.3."""
    return make_cell(Flow(alpha=alpha), CASES[8], buffer)


def _accuracy(outcome: Outcome) -> float:
    return 100 * ACCURACIES["chan_ramjee"](outcome)


def _per_flow_pipe(outcome: Outcome) -> float:
    """Packets that a flow's mean throughput sends in 0.2 s."""
    return measured.goodput_per_flow_kbps(outcome) * HDR_ROUND_TRIP_S / 8


def _times_the_buffer(estimates: Sequence[Estimate]) -> Estimate:
    """Smallest ratio, unregulated to regulated, of the buffers that bring close to the most, seed by seed."""
    buffers = HDR_BUFFERS[8]

    def find(*run: float) -> float:
        def needed(flow: int) -> float:
            got = zip(buffers, run[flow * len(buffers) :], strict=False)
            return next((buffer for buffer, kbps in got if kbps >= NEAR * max(run)), buffers[-1])

        return min(needed(0) / needed(1), needed(2) / needed(3))

    return by_seed(find, *estimates)


_AT_ONE_BDP = tuple(
    cell
    for users, buffer in ONE_BDP.items()
    for flow, regulated in REGULATED.items()
    for cell in pairs(over_hdr_buffer(users), (buffer,), regulated, flow)
)
_MULTI = "gain with several HDR flows at one bandwidth-delay product"
_WIDEST = tuple(cell for flow in REGULATED for cell in pairs(over_delay, (100,), REGULATED[flow], flow))
_ABOVE_6 = tuple(buffer for buffer in BUFFERS_OF_BOTH if buffer > 6)
_HDR_1 = over_hdr_buffer(1)(RENO_AR, 40)
_LARGE = {4: 15, 8: 9}
"""Buffers whose throughput of several users is printed."""

TEXT = text(
    row("abs-40", "gain of the abstract: over Reno at e(100)", _WIDEST[:2], pick=gain),
    row(
        "s7-40", "gain of the conclusion: over Reno and SACK at e(100), the larger", _WIDEST, pick=most(gain)
    ),
    row(
        "s7-acc",
        "accuracy of model 3 with our own counts, least of nine cases",
        CELLS.values(),
        _accuracy,
        lowest,
    ),
    row("s4-acc", "the same at the widest variation, case 9", CELLS[9], _accuracy),
    row("s4-p1-from", "p1, case 1", CELLS[1], measured.single_share),
    row("s4-p1-to", "p1, case 4", CELLS[4], measured.single_share),
    row("s3-tx", "transmission time of a packet of 1448 bytes of data", LIVE_DOWNLOAD, packet_time_ms(1)),
    *LIVE_TEXT,
    row("s3-ack52", "transmission time of an ACK", LIVE_DOWNLOAD, ack_time_ms),
    row(
        "f3-25s",
        "transmission time of 30 packets",
        LIVE_DOWNLOAD,
        lambda outcome: packet_time_ms(30)(outcome) / 1000,
    ),
    row("s61-bdp", "bandwidth-delay product, case 1", CELLS[1], measured.pipe_packets),
    row("s61-wf-ar", "Wf, SACK regulated, e(100)", WIDEST["SACK+AR"], measured.max_window),
    row("s61-wf-none", "Wf, SACK, e(100)", WIDEST["SACK"], measured.max_window),
    row("s63-max", "throughput of a link never idle, u(200,50)", CELLS[8], measured.max_throughput_kbps),
    row("s63-bdp", "bandwidth-delay product, u(200,50)", CELLS[8], measured.pipe_packets),
    row("s64-bw", "mean rate of the HDR link, one user", _HDR_1, measured.max_throughput_kbps),
    row(
        "s64-bdp",
        "bandwidth-delay product at 0.2 s, one user",
        _HDR_1,
        lambda outcome: measured.service_rate(outcome) * HDR_ROUND_TRIP_S,
    ),
    *(
        row(
            f"s65-rate{users}",
            f"throughput of each of {users} flows, regulated, buffer {buffer}",
            over_hdr_buffer(users)(RENO_AR, buffer),
            measured.goodput_per_flow_kbps,
        )
        for users, buffer in _LARGE.items()
    ),
    *(
        row(
            f"s65-bdp{users}",
            f"bandwidth-delay product of each of {users} flows",
            over_hdr_buffer(users)(RENO_AR, buffer),
            _per_flow_pipe,
        )
        for users, buffer in _LARGE.items()
    ),
    row(
        "s65-3x",
        "buffer for 95 % of the most, unregulated to regulated, 8 flows, the lesser",
        (over_hdr_buffer(8)(flow, buffer) for flow in FLOWS for buffer in HDR_BUFFERS[8]),
        pick=_times_the_buffer,
    ),
    row("s65-fair", "fairness index, least of 4 and 8 flows", _AT_ONE_BDP, measured.fairness, lowest),
    *(
        row(
            f"s66-{name}", f"loss of {what}", (over_wired_delay(flow, ms) for ms in (100, 20)), pick=reduction
        )
        for name, what, flow in (
            ("reno", "Reno from 20 to 100 ms to the RNC", RENO),
            ("reno-ar", "regulated Reno from 20 to 100 ms", RENO_AR),
        )
    ),
    row(
        "s66-alpha4",
        "buffer up to which alpha 4 keeps up with alpha 3",
        (over_alpha(alpha, buffer) for buffer in ALPHA_BUFFERS for alpha in (3, 4)),
        pick=found(LAST, ALPHA_BUFFERS, lambda three, four: four / three >= 0.99),
    ),
    *gains("s67-{}-delay", "gain over {}, variable delay, e(100)", over_delay, 100),
    row(
        "s67-reno-rate",
        "gain over Reno, variable rate, the most",
        pairs(over_rate, RATE_SDS_KBPS, RENO_AR, RENO),
        pick=most(gain),
    ),
    *gains(
        "s67-both-{}",
        "gain over {}, both variable, buffers from 7, the most",
        over_buffer_both,
        *_ABOVE_6,
        pick=most(gain),
    ),
    *hdr_range("s67-hdr-{}"),
    row("s67-multi-low", f"{_MULTI}, least", _AT_ONE_BDP, pick=least(gain)),
    row("s67-multi-high", f"{_MULTI}, most", _AT_ONE_BDP, pick=most(gain)),
)
