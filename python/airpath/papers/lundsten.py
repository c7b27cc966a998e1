"""Lundsten's thesis: TCP Reno over a dedicated channel whose blocks are lost and sent again.

How the thesis is read where it leaves things open is in `PARAMETERS` and `READINGS`; the base scenario
is `lundsten-dch`. Increases are of the transfer time over that of an error-free bearer.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from airpath.papers.paper import Cell, Experiment, Metric, Outcome, Paper, Reading, Row, lowest
from airpath.replicate import Results

HEADER_BYTES = 40
FILE_BYTES = 16_000_000

_ARQ = "radio.dch.downlink.rlc.fixed_delay_arq"

READINGS = (
    Reading(
        "before",
        "60 ms; a block that comes back just as a slot begins catches it (80 ms cycle)",
        ((f"{_ARQ}.tie", "before"),),
    ),
    Reading(
        "after",
        "60 ms; a block that comes back just as a slot begins misses it (100 ms cycle)",
        ((f"{_ARQ}.tie", "after"),),
    ),
    Reading(
        "probability 0.5",
        "60 ms; a block that comes back just as a slot begins catches it half the time",
        ((f"{_ARQ}.tie", "{ probability = 0.5 }"),),
    ),
    Reading(
        "59 ms",
        "59 ms as in the configuration example of Appendix B.5: always in time for the slot",
        ((f"{_ARQ}.retransmission_delay", "59 ms"),),
    ),
)

DEFAULT_READING = "probability 0.5"

PARAMETERS = (
    ("Network", "135 ms one way, infinite rate, no loss; the radio link adds no propagation delay"),
    ("Downlink", "384, 128 or 64 kbit/s; one block fills a TTI of 20 ms; out-of-sequence delivery"),
    ("Block errors", "10 % of all transmissions, independent; no limit of retransmissions"),
    ("Slots", "back to back, at once when idle; a block returns to the head of the queue"),
    ("Uplink", "64 kbit/s, ACKs of 40 bytes whole, no errors; all queues unlimited"),
    ("TCP", "ns-2's Reno: initial window 1, limited transmit, halving to whole segments, no delayed ACKs"),
    ("Windows", "limit and initial slow start threshold as in Table 3; no connection set-up"),
    ("Retransmission timer", "ticks of 0.1 s, at least 1 s, initially 3 s"),
    ("File", "16,000,000 bytes with headers: whole packets of 576 or 1500 bytes, 40 of them headers"),
    ("Transfer time", "from the first segment sent to the last ACK at the server"),
    ("Increase", "transfer time at 10 % over that at 0 % block errors, both simulated, less one"),
)


def increase(outcome: Outcome) -> float:
    """Extra transfer time, percent."""
    return 100 * (_time_ratio(outcome) - 1)


def increase_without_retransmissions(outcome: Outcome) -> float:
    """Extra transfer time by the rule of Table 4, with a tenth of the time taken off, percent."""
    return 100 * (0.9 * _time_ratio(outcome) - 1)


def retransmission_share(outcome: Outcome) -> float:
    """Lost blocks per block that arrived, percent."""
    downlink = _downlink(outcome.results)
    return 100 * downlink["pdus_lost"] / (downlink["pdus_sent"] - downlink["pdus_lost"])


def largest_window(outcome: Outcome) -> float:
    """Largest send window, segments."""
    return outcome.traced_window.maximum


def plateau(outcome: Outcome) -> float:
    """Send window that stood longest without a change, segments."""
    return outcome.traced_window.plateau


def lowest_window(outcome: Outcome) -> float:
    """Smallest send window after the first slow start, segments."""
    return outcome.traced_window.lowest_after_start


def _time_ratio(outcome: Outcome) -> float:
    return _transfer_s(outcome.results) / _transfer_s(outcome.reference_results)


def _transfer_s(results: Results) -> float:
    time_s = results["flows"][0]["transfer_s"]
    if time_s is None:
        raise ValueError("the transfer did not end within the scenario's duration")
    return float(time_s)


def _downlink(results: Results) -> dict[str, int]:
    cell = next(element for element in results["elements"] if element["element"] == "radio.dch")
    downlink: dict[str, int] = cell["ues"][0]["downlink"]
    return downlink


def download(rate_kbps: int, packet_bytes: int, window: int) -> Cell:
    """Download of the large file with packets of `packet_bytes` and a window of `window` segments."""
    payload = packet_bytes - HEADER_BYTES
    packets = math.ceil(FILE_BYTES / packet_bytes)
    return Cell(
        name=f"{rate_kbps} kbit/s, {packet_bytes} B",
        overrides=(
            ("radio.dch.downlink.rate", f"{rate_kbps} kbit/s"),
            ("tcp.mss", f"{payload} B"),
            ("tcp.max_window", f"{window}"),
            ("tcp.initial_ssthresh", f"{window * payload} B"),
            ("flow[0].app.file.size", f"{packets * payload} B"),
        ),
        reference=(("radio.dch.downlink.channel.bernoulli.bler", "0 %"),),
        precise=increase,
    )


# Speed in kbit/s, packet size in bytes, window limit in segments: the cells of Table 3.
CELLS = {
    (rate_kbps, packet_bytes): (download(rate_kbps, packet_bytes, window), window)
    for rate_kbps, packet_bytes, window in (
        (384, 576, 25),
        (384, 1500, 14),
        (128, 576, 11),
        (128, 1500, 7),
        (64, 576, 9),
        (64, 1500, 6),
    )
}

_COLUMNS = ("kbit/s", "packet, B", "window")


def _increases(
    table: int, cells: Sequence[tuple[int, int]], metric: Metric, **remarks: str
) -> tuple[Row, ...]:
    """Make one row per cell of a table."""
    return tuple(
        Row(
            published_id=f"lundsten-t{table}-{rate_kbps}-{packet_bytes}",
            labels=(str(rate_kbps), str(packet_bytes), str(CELLS[rate_kbps, packet_bytes][1])),
            cells=(CELLS[rate_kbps, packet_bytes][0],),
            metric=metric,
            remark=remarks.get(f"cell_{rate_kbps}_{packet_bytes}", ""),
        )
        for rate_kbps, packet_bytes in cells
    )


def _row(name: str, what: str, cell: Cell, metric: Metric, **more: Any) -> Row:
    return Row(f"lundsten-{name}", (what,), (cell,), metric, **more)


def _figure(number: int, rate_kbps: int, packet_bytes: int, *rows: tuple[str, str, Metric]) -> Experiment:
    """Draw a send window over time, with rows for what the thesis says about it."""
    cell = CELLS[rate_kbps, packet_bytes][0]
    return Experiment(
        "figure",
        number,
        f"Send window over time, {cell.name}",
        ("quantity",),
        tuple(
            _row(name, what, cell, metric, traced=metric not in (increase, increase_without_retransmissions))
            for name, what, metric in rows
        ),
        window_of=cell,
    )


_NET = increase_without_retransmissions

TABLE_3 = Experiment(
    "table",
    3,
    "Increase of the transfer time at 10 % block errors",
    _COLUMNS,
    _increases(3, list(CELLS), increase),
)

TABLE_4 = Experiment(
    "table",
    4,
    "The same increase with the cost of the link's own retransmissions taken off",
    _COLUMNS,
    _increases(
        4,
        list(CELLS)[:4],
        _NET,
        cell_384_576="by the rule that the thesis states for Table 4, its Table 3 (239 %) gives 205.1 %",
    ),
)

FIGURES = (
    _figure(13, 384, 576, ("f13-maxwin", "largest window, first slow start included", largest_window)),
    _figure(
        14,
        384,
        1500,
        ("f14-plateau", "level of the longest flat stretch", plateau),
        ("f14-degradation", "loss due to TCP (read as in Table 4)", _NET),
    ),
    _figure(15, 128, 576, ("f15-increase", "increase due to TCP (as in Table 4)", _NET)),
    _figure(16, 128, 1500, ("f16-window", "lowest window after the first slow start", lowest_window)),
)

_ALL_CELLS = tuple(cell for cell, _ in CELLS.values())

TEXT = Experiment(
    "text",
    None,
    "What the text says about these simulations",
    ("quantity",),
    (
        Row("lundsten-s531-floor", ("least increase of any cell",), _ALL_CELLS, increase, pick=lowest),
        Row("lundsten-s531-optimal", ("increase in the best case",), _ALL_CELLS, increase, pick=lowest),
        _row(
            "s531-rlc-share",
            "increase due to blocks sent again",
            CELLS[128, 1500][0],
            retransmission_share,
        ),
        _row("s533-eifel-before", "increase at 384 kbit/s, 576 B", CELLS[384, 576][0], increase),
    ),
)

PAPER = Paper(
    name="lundsten",
    citation="E. Lundsten, Improving 3G Performance for the Mobile Internet. Master's thesis, KTH, Stockholm",
    scenario="lundsten-dch",
    parameters=PARAMETERS,
    readings=READINGS,
    default_reading=DEFAULT_READING,
    experiments=(TABLE_3, TABLE_4, *FIGURES, TEXT),
)
