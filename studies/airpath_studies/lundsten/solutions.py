"""Table 1 of Lundsten's thesis, which solution addresses which problem: measured instead of argued.

Each problem is simulated separately, at 384 kbit/s with packets of 576 B, and each solution compared with
Reno.
"""

from __future__ import annotations

from airpath_studies.base.cell import Cell, Overrides
from airpath_studies.base.grid import Grid, GridRow
from airpath_studies.base.paper import table
from airpath_studies.base.quantity import Quantity
from airpath_studies.lundsten.studies import BACK_LATE, GIVEN_UP
from airpath_studies.shared.downloads import NO_BLOCK_ERRORS, Download, received_earlier
from airpath_studies.shared.lundsten import (
    EIFEL,
    LARGE_FILE_BYTES,
    SMALL_FILE_BYTES,
    WESTWOOD,
    WORST,
    make_download,
    split_box,
)

_PROBLEMS: tuple[tuple[str, str, int, Overrides], ...] = (
    ("loss, wired", "loss", LARGE_FILE_BYTES, (NO_BLOCK_ERRORS, ("wired.loss", "1 %"))),
    ("loss, radio", "loss", LARGE_FILE_BYTES, GIVEN_UP),
    ("spurious fast retransmits", "spurious", LARGE_FILE_BYTES, ()),
    ("spurious timeouts", "spurious", LARGE_FILE_BYTES, BACK_LATE),
    ("small files", "small", SMALL_FILE_BYTES, ()),
    (
        "congestion",
        "congestion",
        LARGE_FILE_BYTES,
        (NO_BLOCK_ERRORS, ("wired.rate", "256 kbit/s"), ("wired.queue.droptail.packets", "5")),
    ),
)
"""What is measured, the thesis' column for it, size of the file, and what makes the problem."""

_SOLUTIONS: tuple[tuple[str, tuple[str, ...], str], ...] = (
    ("Split TCP", ("loss", "spurious", "small", "congestion"), ""),
    ("Snoop", ("loss", "spurious"), ""),
    ("Eifel", ("spurious",), ""),
    ("TCP Westwood", ("spurious", "congestion"), ""),
    (
        "HSDPA",
        ("spurious", "small", "congestion"),
        "not measured here: it is another radio link (Study 10)",
    ),
    (
        "Parameters",
        ("spurious", "small", "congestion"),
        "packets of 1500 B, and 3 segments after a timeout and in the beginning",
    ),
)
"""Each solution, the columns that the thesis crosses for it, and a remark."""


def _solved(solution: str, file_bytes: int, problem: Overrides) -> Download | None:
    """The download with a solution; None if it cannot be simulated."""
    if solution == "Split TCP":
        return split_box(*WORST, file_bytes, options=problem)
    if solution == "Snoop":
        options = (*problem, ("middlebox", "[{ snoop = {} }]"))
        return make_download(*WORST, file_bytes, variant=solution, options=options)
    if solution == "Parameters":
        options = (*problem, ("tcp.loss_window", "3"))
        return make_download(384, 1500, file_bytes, initial_window=3, variant=solution, options=options)
    variant = {"Eifel": EIFEL, "TCP Westwood": WESTWOOD}.get(solution)
    if variant is None:
        return None
    return make_download(*WORST, file_bytes, **{**variant, "options": (*variant["options"], *problem)})


def _entry(solution: str, what: str, file_bytes: int, problem: Overrides) -> Quantity | None:
    download = _solved(solution, file_bytes, problem)
    if download is None:
        return None
    reno = make_download(*WORST, file_bytes, options=problem)
    name, is_read = f"{solution}, {what}", download.is_read
    cell = Cell(name, download.overrides, reno.overrides, received_earlier, paired=True, is_read=is_read)
    return Quantity(name, cell, received_earlier)


TABLE_1 = table(
    1,
    "Solutions (rows) and the problems they address (X: as the thesis says): time saved beside Reno",
    "solution",
    grid=Grid(
        tuple(what for what, *_ in _PROBLEMS),
        "percent",
        tuple(
            GridRow(
                (solution,),
                tuple(_entry(solution, what, size, problem) for what, _, size, problem in _PROBLEMS),
                tuple("X" if column in crossed else "" for _, column, _, _ in _PROBLEMS),
                remark,
            )
            for solution, crossed, remark in _SOLUTIONS
        ),
    ),
    question=(
        "Which solution helps against which problem? Every problem is made on its own at 384 kbit/s with "
        "packets of 576 B, the four others as well as possible left out: 1 % of the packets lost on the "
        "wire; blocks given up after two transmissions; blocks out of sequence; blocks that come back after "
        "2 s; a file of 100 kB; a wire of 256 kbit/s with a queue of 5 packets. Split TCP is a proxy with "
        "30 ms to the cell and 105 ms to the server."
    ),
)
