"""Series of rates: CSV with time_s and rate_kbps, Pensieve's two columns, and Norway's and Ghent's logs."""

from __future__ import annotations

from array import array

import numpy as np

from airpath.recordings.formats.table import (
    LineError,
    cell,
    check_row,
    column_of,
    header_of,
    lines_of,
    number,
    optional,
    rows,
    series_of,
)
from airpath.recordings.recording import Recording

TIME, RATE = "time_s", "rate_kbps"


def find_csv(lines: list[str]) -> bool:
    """Whether the first line names both columns."""
    names = header_of(lines)
    return TIME in names and RATE in names


def read_csv(name: str, text: str) -> Recording:
    """Read times, rates and what other columns of numbers there are."""
    header, body = rows(text)
    at_time, at_rate = column_of(header, TIME), column_of(header, RATE)
    others = {own: index for index, own in enumerate(header) if own not in (TIME, RATE)}
    times, rates = array("d"), array("d")
    more = {own: array("d") for own in others}
    for line, row in body:
        time, rate = (
            number(line, own, cell(line, row, at, own)) for at, own in ((at_time, TIME), (at_rate, RATE))
        )
        check_row(line, time, rate, times)
        times.append(time)
        rates.append(rate)
        for own in list(more):
            index = others[own]
            try:
                more[own].append(optional(line, own, row[index] if index < len(row) else ""))
            except LineError:
                del more[own]
    radio = {own: np.array(values) for own, values in more.items()}
    words = ", ".join(own for own in others if own not in more)
    notes = (f"columns of words are left out: {words}",) if words else ()
    series = series_of(times, rates, None, radio)
    return Recording(name, "series of rates (CSV)", series=series, notes=notes)


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
    times, rates = array("d"), array("d")
    for line, content in enumerate(lines_of(text), 1):
        if not (parts := content.split()):
            continue
        if len(parts) != 2:
            raise LineError(line, f"{content[:30]!r} is not two numbers", "write seconds and Mbit/s")
        time, rate = number(line, "the time", parts[0]), 1000 * number(line, "the rate", parts[1])
        check_row(line, time, rate, times)
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
    times, rates = array("d"), array("d")
    length_s = 0.0
    for line, content in enumerate(lines_of(text), 1):
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
        time, rate = (end_ms - took_ms) / 1000, octets * 8 / took_ms
        check_row(line, time, rate, times)
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
