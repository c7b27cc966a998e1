"""What the text of Lundsten's thesis says about its simulations, in numbers."""

from __future__ import annotations

from collections.abc import Sequence

from airpath.stats.estimate import Estimate, by_seed
from airpath_studies.base.cell import Cell
from airpath_studies.base.observe import FIRST_DATA, FIRST_FLIGHT, LOST_AGAIN
from airpath_studies.base.paired import highest, lowest
from airpath_studies.base.paper import text
from airpath_studies.lundsten.figures import row
from airpath_studies.shared.downloads import (
    decrease,
    increase,
    observed,
    observed_round_trips,
    retransmission_share,
)
from airpath_studies.shared.lundsten import (
    CELLS,
    EIFEL,
    SIX,
    SMALL_FILE_BYTES,
    SMALL_PDUS,
    WESTWOOD,
    WORST,
    beside_reno,
    initial_window_cell,
    make_download,
)

SWEPT_PACKETS = (1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 26, 35, 52, 70, 104, 174, 260, 348)
"""Sizes of files in packets of 576 bytes for the effect of the initial window."""


def formula_window(mss_bytes: int) -> int:
    """Initial window in segments: RFC 2414 and RFC 3390, min(4 MSS, max(2 MSS, 4380 B)), rounded down.

    Parameters
    ----------
    mss_bytes : int
        Maximum segment size (SMSS), bytes.

    Raises
    ------
    ValueError
        If the segment size is not positive.
    """
    if mss_bytes < 1:
        raise ValueError(f"a segment needs at least one byte, not {mss_bytes}")
    return min(4 * mss_bytes, max(2 * mss_bytes, 4380)) // mss_bytes


def _first_flight(packet_bytes: int) -> Cell:
    """Send the initial window of the formula; what is counted are segments on the path."""
    initial = formula_window(packet_bytes - 40)
    download = make_download(384, packet_bytes, SMALL_FILE_BYTES, initial_window=initial)
    return download.watched(FIRST_FLIGHT, errors=False)


SWEEP = tuple(
    make_download(*WORST, packets * 576, initial_window=3).against_initial_window_1(errors=False)
    for packets in SWEPT_PACKETS
)
"""Error-free downloads of growing size with an initial window of 3 compared with 1."""


def _size_of_largest(estimates: Sequence[Estimate]) -> Estimate:
    """Estimate the swept size where a run saves most, bytes."""
    return by_seed(lambda *run: 576.0 * SWEPT_PACKETS[max(range(len(run)), key=run.__getitem__)], *estimates)


def _further_from_34(estimates: Sequence[Estimate]) -> Estimate:
    """Pick the variant that is further from the thesis' value for both."""
    return max(estimates, key=lambda known: abs(known.mean - 34))


def _set_up() -> Cell:
    """Open the connection with three segments, as the sweep and the tables do not."""
    options = (("tcp.handshake", '"three_way"'),)
    download = make_download(*WORST, SMALL_FILE_BYTES, variant="connection set-up", options=options)
    return download.watched(FIRST_DATA, errors=False)


def _one_block_at_a_time() -> Cell:
    """One packet, and so one block, in flight: the block after a loss is its retransmission."""
    options = (("tcp.max_window", "1"),)
    return make_download(*WORST, 1_000_000, variant="window 1", options=options).watched(LOST_AGAIN)


_ALL_CELLS = tuple(CELLS.values())
_SMALL_FILES = tuple(make_download(*key, SMALL_FILE_BYTES).against_no_errors() for key in SIX if key != WORST)
_EIFEL, _WESTWOOD = beside_reno(*WORST, EIFEL), beside_reno(*WORST, WESTWOOD)
_IN_SEQUENCE = make_download(*WORST, in_sequence=True).against_no_errors()
_SMALL_PDUS = make_download(*WORST, **SMALL_PDUS).against_no_errors()
_ERROR_FREE = make_download(384, 1500, SMALL_FILE_BYTES)
_SAVED = initial_window_cell(384, 1500, 50_000, 3)
_GAIN = "throughput gained without errors, 100 kB, {} of the five cells"

TEXT = text(
    row("s523-residual", "share of retransmissions lost again", _one_block_at_a_time(), observed),
    row("s531-floor", "least increase of any cell", _ALL_CELLS, increase, pick=lowest),
    row("s531-optimal", "increase in the best case", _ALL_CELLS, increase, pick=lowest),
    row("s531-rlc-share", "increase due to blocks retransmitted", CELLS[128, 1500], retransmission_share),
    row("s533-eifel-before", "increase at 384 kbit/s, 576 B", CELLS[WORST], increase),
    row("s533-eifel-after", "the same with Eifel", _EIFEL, increase),
    row(
        "s533-both-34",
        "the same with Eifel and with Westwood, the one further away",
        (_EIFEL, _WESTWOOD),
        increase,
        pick=_further_from_34,
    ),
    row("s534-inseq", "the same in sequence", _IN_SEQUENCE, increase),
    row(
        "s541-250",
        "speed at 384 kbit/s, 1500 B, 100 kB",
        _ERROR_FREE.alone(errors=False),
        _ERROR_FREE.speed,
    ),
    row(
        "s541-setup",
        "connection set-up before the first data",
        _set_up(),
        observed_round_trips,
    ),
    *(
        row(f"s541-gain-{end}", _GAIN.format(said), _SMALL_FILES, increase, pick=pick, averaged_runs=20)
        for end, said, pick in (("lo", "least", lowest), ("hi", "most", highest))
    ),
    row("s542-iw536", "first flight by the formula, 536 B", _first_flight(576), observed),
    row("s542-iw1460", "first flight by the formula, 1460 B", _first_flight(1500), observed),
    row(
        "f18-20k",
        "size at which an initial window of 3 saves most",
        SWEEP,
        decrease,
        pick=_size_of_largest,
    ),
    row("s543-20", "time saved by window 3, 384 kbit/s, 1500 B, 50 kB", _SAVED, decrease, averaged_runs=20),
    row("s552-300", "increase in sequence, PDUs of 40 B", _SMALL_PDUS, increase),
)
