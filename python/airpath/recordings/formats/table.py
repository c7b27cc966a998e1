"""Columns of text: numbers of a table with their lines, and errors that name the line."""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from airpath.errors import ScenarioError
from airpath.recordings.recording import LONGEST_MS, MOST_PACKETS_PER_MS, Recording, Series

MISSING = ("", "-", "nan", "NaN", "NA")
"""How logs write that a value is missing."""


class LineError(ValueError):
    """A line that is not what its format requires: number, what is wrong, what would be right."""

    def __init__(self, line: int, problem: str, remedy: str) -> None:
        super().__init__(f"line {line}: {problem}", remedy)


def rows(text: str) -> tuple[list[str], Iterator[tuple[int, list[str]]]]:
    """Split CSV into its header and its rows, each with its line number."""
    reader = csv.reader(text.splitlines())
    header = [name.strip() for name in next(reader, [])]
    return header, ((reader.line_num, row) for row in reader if row)


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


def series_of(
    times: list[float],
    rates: list[float],
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
    rate_kbps = np.array(rates)
    if rate_kbps.max() > MOST_PACKETS_PER_MS * 12_000:
        worst = int(rate_kbps.argmax())
        raise LineError(worst + 2, f"a rate of {rate_kbps[worst]:g} kbit/s is no link's", "write kbit/s")
    return Series(time_s - time_s[0], rate_kbps, end_s, radio or {})


def counts_of(times: NDArray[np.int64]) -> NDArray[np.int32]:
    """Count opportunities by millisecond; times in order."""
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
