"""Opportunities by the millisecond: mahimahi's format (also of Saturator and c2tcp), and CellReplay's.

mahimahi: whole milliseconds, one opportunity of 1500 bytes in each line. CellReplay's heavy recordings have
the same form; its light ones have lines of a time in milliseconds, a base delay in milliseconds, and the
arrival offsets of a train's packets in milliseconds. A train is a few packets into an
idle link, so it shows how the link starts to serve and not how much it can carry.
"""

from __future__ import annotations

import re

import numpy as np

from airpath.recordings.formats.table import LineError, counts_of, lines_of, number
from airpath.recordings.recording import Recording

_WRONG = re.compile(r"^(?![ \t]*+[0-9]{1,11}[ \t]*+$).*$", re.MULTILINE)
"""A line that is not one number of milliseconds."""


def find_mahimahi(lines: list[str]) -> bool:
    """Whether lines are whole milliseconds."""
    return bool(lines) and all(line.strip().isdigit() for line in lines)


def read_mahimahi(name: str, text: str) -> Recording:
    """Read milliseconds; lines that are out of order are sorted, as recorders of two threads write them."""
    text = text.rstrip()
    if wrong := _WRONG.search(text):
        line = text.count("\n", 0, wrong.start()) + 1
        problem = f"{wrong[0][:30]!r} is not a whole number of milliseconds"
        raise LineError(line, problem, "write whole milliseconds, one in each line")
    times = np.fromstring(text, dtype=np.int64, sep=" ")
    disordered = int((np.diff(times) < 0).sum())
    notes = (f"{disordered} lines were out of order and have been sorted",) if disordered else ()
    return Recording(
        name, "opportunities by the millisecond (mahimahi)", counts_of(np.sort(times)), notes=notes
    )


def find_light(lines: list[str]) -> bool:
    """Whether lines are CellReplay's trains: several whole numbers each."""
    return bool(lines) and all(len(line.split()) >= 3 and _all_numbers(line) for line in lines)


def _all_numbers(line: str) -> bool:
    return all(part.replace(".", "", 1).isdigit() for part in line.split())


def read_light(name: str, text: str) -> Recording:
    """Read CellReplay's trains: the opportunities when their packets arrived."""
    times: list[int] = []
    last = -1.0
    for line, content in enumerate(lines_of(text), 1):
        if not content.strip():
            continue
        parts = content.split()
        if len(parts) < 3:
            raise LineError(
                line, f"{content[:30]!r} has no offsets", "write time, base delay and offsets, in ms"
            )
        start, _, *offsets = (number(line, "a time", part) for part in parts)
        if start < last or min(offsets) < 0:
            raise LineError(line, f"{start:g} ms is before the line above", "write the trains in their order")
        last = start
        times += [int(start + offset) for offset in offsets]
    if not times:
        raise LineError(1, "the file is empty", "give a recording")
    notes = (
        "trains into an idle link: their mean rate is not what the link can carry; fit the heavy recording",
    )
    return Recording(
        name,
        "trains into an idle link (CellReplay, light)",
        counts_of(np.sort(np.array(times, dtype=np.int64))),
        notes=notes,
    )
