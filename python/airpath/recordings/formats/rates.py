"""Series of rates: CSV with time_s and rate_kbps, Pensieve's two columns, and Norway's and Ghent's logs."""

from __future__ import annotations

import numpy as np

from airpath.recordings.formats.table import LineError, cell, number, optional, rows, series_of
from airpath.recordings.recording import Recording

TIME, RATE = "time_s", "rate_kbps"
WORDS = ("mode", "cell", "state", "handoff")
"""Columns of words, which are not kept."""


def find_csv(lines: list[str]) -> bool:
    """Whether the first line names both columns."""
    names = [name.strip() for name in lines[0].split(",")] if lines else []
    return TIME in names and RATE in names


def read_csv(name: str, text: str) -> Recording:
    """Read times, rates and what other columns of numbers there are."""
    header, body = rows(text)
    at_time, at_rate = header.index(TIME), header.index(RATE)
    others = [(index, own) for index, own in enumerate(header) if own not in (TIME, RATE, *WORDS)]
    times: list[float] = []
    rates: list[float] = []
    more: dict[str, list[float]] = {own: [] for _, own in others}
    for line, row in body:
        time, rate = (
            number(line, own, cell(line, row, at, own)) for at, own in ((at_time, TIME), (at_rate, RATE))
        )
        _check(line, time, rate, times)
        times.append(time)
        rates.append(rate)
        for index, own in others:
            more[own].append(optional(line, own, row[index] if index < len(row) else ""))
    radio = {own: np.array(values) for own, values in more.items()}
    return Recording(name, "series of rates (CSV)", series=series_of(times, rates, None, radio))


def find_two(lines: list[str]) -> bool:
    """Whether lines are two numbers: seconds and Mbit/s, as Pensieve has them."""
    return bool(lines) and all(len(line.split()) == 2 and _numbers(line.split()) for line in lines)


def _numbers(parts: list[str]) -> bool:
    try:
        [float(part) for part in parts]
    except ValueError:
        return False
    return True


def read_two(name: str, text: str) -> Recording:
    """Read seconds and Mbit/s."""
    times: list[float] = []
    rates: list[float] = []
    for line, content in enumerate(text.splitlines(), 1):
        if not (parts := content.split()):
            continue
        if len(parts) != 2:
            raise LineError(line, f"{content[:30]!r} is not two numbers", "write seconds and Mbit/s")
        time, rate = number(line, "the time", parts[0]), 1000 * number(line, "the rate", parts[1])
        _check(line, time, rate, times)
        times.append(time)
        rates.append(rate)
    notes = ("two columns without names: taken for seconds and Mbit/s, as Pensieve has them",)
    return Recording(
        name,
        "seconds and Mbit/s (Pensieve)",
        series=series_of(times, rates, None),
        is_goodput=True,
        notes=notes,
    )


def find_six(lines: list[str]) -> bool:
    """Whether lines are six numbers: time, monotonic ms, latitude, longitude, bytes, ms."""
    return bool(lines) and all(len(line.split()) == 6 and _numbers(line.split()) for line in lines)


def read_six(name: str, text: str) -> Recording:
    """Read bytes by interval, as Norway's (HSDPA) and Ghent's (4G) logs have them, without positions."""
    times: list[float] = []
    rates: list[float] = []
    length_s = first_ms = 0.0
    for line, content in enumerate(text.splitlines(), 1):
        if not (parts := content.split()):
            continue
        if len(parts) != 6:
            raise LineError(
                line, f"the line has {len(parts)} columns and not 6", "complete the line, or remove it"
            )
        _, end_ms, _, _, octets, took_ms = (number(line, "a column", part) for part in parts)
        if took_ms <= 0 or octets < 0:
            raise LineError(
                line, f"{octets:g} bytes in {took_ms:g} ms", "write a number of bytes and a length above 0"
            )
        # The row is written at the end of its interval.
        first_ms = first_ms if times else end_ms
        time, rate = (end_ms - first_ms) / 1000, octets * 8 / took_ms
        _check(line, time, rate, times)
        times.append(time)
        rates.append(rate)
        length_s = took_ms / 1000
    notes = ("positions are dropped",)
    return Recording(
        name,
        "bytes by interval (Norway HSDPA, Ghent 4G)",
        series=series_of(times, rates, length_s),
        is_goodput=True,
        notes=notes,
    )


def _check(line: int, time: float, rate: float, times: list[float]) -> None:
    if times and time <= times[-1]:
        raise LineError(
            line, f"{time:g} s is not after {times[-1]:g} s, the time above", "write times that rise"
        )
    if rate < 0:
        raise LineError(line, f"the rate is {rate:g} kbit/s", "write 0 or more")
