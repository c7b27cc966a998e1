"""Columns of text: numbers of a table with their lines, and errors that name the line."""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from airpath.errors import ScenarioError
from airpath.recordings.recording import LONGEST_MS, MOST_PACKETS_PER_MS, PACKET_BITS, Recording, Series

MISSING = ("", "-", "nan", "NaN", "NA")
"""How logs write that a value is missing."""
LATEST_S = 1e11
"""Year 5138 of Unix: a later time is not in seconds."""
SHORTEST_STEP_S = 5e-7
"""A microsecond, with the rounding of Unix times."""
LONG_GAP = 10
"""A gap is noted if it takes so many seconds, and so many steps."""
_LINE = re.compile(r"[^\n]*(?:\n|\Z)")


class LineError(ValueError):
    """A line that is not what its format requires: number, what is wrong, what would be right."""

    def __init__(self, line: int, problem: str, remedy: str) -> None:
        super().__init__(f"line {line}: {problem}", remedy)


def lines_of(text: str) -> Iterator[str]:
    """Lines one by one: a list of all would take several times the memory of the text."""
    return (found[0] for found in _LINE.finditer(text))


def header_of(lines: list[str]) -> list[str]:
    """Names of the columns of CSV, from its first line that is not blank."""
    try:
        return [name.strip() for name in next(csv.reader(lines[:1]), [])]
    except csv.Error:
        return []


def rows(text: str) -> tuple[list[str], Iterator[tuple[int, list[str]]]]:
    """Split CSV into its header and its rows, each with its line number; blank lines are left out."""
    found = _rows(text)
    _, header = next(found, (1, []))
    return [name.strip() for name in header], found


def _rows(text: str) -> Iterator[tuple[int, list[str]]]:
    reader = csv.reader(lines_of(text))
    width = 0
    try:
        for row in reader:
            if not "".join(row).strip():
                continue
            width = width or len(row)
            if "".join(row[width:]).strip():
                problem = f"the line has {len(row)} columns and the first {width}"
                raise LineError(reader.line_num, problem, "write numbers with a decimal point, and no comma")
            yield reader.line_num, row
    except csv.Error as error:
        raise LineError(reader.line_num, str(error), "write CSV with commas") from None


def column_of(header: list[str], name: str) -> int:
    """Find the place of a column that must be there once."""
    if (number := header.count(name)) > 1:
        raise LineError(1, f"there are {number} columns '{name}'", "write each once")
    if number == 0:
        raise LineError(1, f"there is no column '{name}'", f"choose from {', '.join(header)}")
    return header.index(name)


def number(line: int, name: str, text: str) -> float:
    """Read a number that must be there and finite."""
    try:
        value = float(text)
    except ValueError:
        raise LineError(line, f"{name} is {text[:30]!r}", "write a number") from None
    if not math.isfinite(value):
        raise LineError(line, f"{name} is {text[:30]!r}", "write a finite number")
    return value


def optional(line: int, name: str, text: str) -> float:
    """Read a number, NaN where it is missing."""
    return math.nan if text.strip() in MISSING else number(line, name, text)


def cell(line: int, row: list[str], index: int, name: str) -> str:
    """Find a cell of a row."""
    if index >= len(row):
        raise LineError(
            line, f"there is no {name}: the line has {len(row)} columns", "complete the line, or remove it"
        )
    return row[index].strip()


def check_row(line: int, time: float, rate: float, times: Sequence[float]) -> None:
    """Check a row of a series: a time after the ones before, and a rate that a link may have."""
    if abs(time) > LATEST_S:
        raise LineError(line, f"{time:g} s is no time", "write seconds")
    if times and time - times[-1] < SHORTEST_STEP_S:
        problem = f"{time:g} s is not after {times[-1]:g} s, the time above"
        raise LineError(line, problem, "write times that rise, by a microsecond at least")
    if rate < 0:
        raise LineError(line, f"the rate is {rate:g} kbit/s", "write 0 or more")
    if rate > MOST_PACKETS_PER_MS * PACKET_BITS:
        raise LineError(line, f"a rate of {rate:g} kbit/s is no link's", "check its unit")


def series_of(
    times: Sequence[float],
    rates: Sequence[float],
    last_s: float | None,
    radio: dict[str, NDArray[np.float64]] | None = None,
) -> Series:
    """Make a series of times in order; the last row is as long as the one before unless `last_s` says it."""
    if len(times) < 2:
        raise LineError(len(times) + 1, "the file has fewer than two rows", "give a longer recording")
    time_s = np.array(times)
    length = last_s if last_s is not None else float(time_s[-1] - time_s[-2])
    end_s = float(time_s[-1] - time_s[0]) + length
    if end_s * 1000 > LONGEST_MS:
        raise LineError(len(times) + 1, f"the recording takes {end_s:g} s", "give one of at most two days")
    return Series(time_s - time_s[0], np.array(rates), end_s, radio or {})


def gaps_of(series: Series) -> tuple[str, ...]:
    """Say where a log has a gap of many steps: nothing is known of the link within it."""
    steps = np.diff(series.time_s)
    found = np.flatnonzero(steps >= LONG_GAP * max(series.step_s, 1.0))
    if len(found) == 0:
        return ()
    longest = int(steps.argmax())
    start, end = series.time_s[longest : longest + 2]
    more = f", and in {len(found) - 1} shorter gaps" if len(found) > 1 else ""
    return (f"nothing is known from {start:g} to {end:g} s{more}: the rate before is kept",)


def counts_of(times: NDArray[np.int64]) -> NDArray[np.int32]:
    """Count opportunities by millisecond; times in order."""
    if times[-1] <= 0:
        raise LineError(len(times), "the recording has no length", "write a last line above 0")
    if times[-1] > LONGEST_MS:
        raise LineError(len(times), f"{times[-1]} ms is more than two days", "give a shorter recording")
    counts = np.bincount(times).astype(np.int32)
    if counts.max() > MOST_PACKETS_PER_MS:
        worst = int(np.searchsorted(times, counts.argmax())) + 1
        raise LineError(
            worst, f"{counts.max()} opportunities in a millisecond are no link's", "write milliseconds"
        )
    return counts


Read = Callable[[str, str], Recording]


def refusal(file: str, error: LineError) -> ScenarioError:
    """Name the file in the error of a line."""
    return ScenarioError(file, *error.args)
