"""Logs of phones by the second: UCC's of 4G and 5G (G-NetTrack), and 5Gophers and Lumos5G."""

from __future__ import annotations

from array import array
from datetime import datetime

import numpy as np

from airpath.recordings.formats.table import (
    LineError,
    cell,
    check_row,
    column_of,
    header_of,
    number,
    optional,
    rows,
    series_of,
)
from airpath.recordings.recording import Recording

STAMP = "%Y.%m.%d_%H.%M.%S"
UCC_RADIO = {
    "RSRP": "rsrp_dbm",
    "RSRQ": "rsrq_db",
    "SNR": "snr_db",
    "CQI": "cqi",
    "NRxRSRP": "neighbour_rsrp_dbm",
    "Speed": "speed_kmh",
}
IDLE = "I"
LONGEST_BACK_S = 60
"""Doubled seconds are at most so far from the last; more is another drive, or the end of summer time."""
THROUGHPUT = "_throughput_mbps"


def find_ucc(lines: list[str]) -> bool:
    """Whether the first line has the columns of G-NetTrack."""
    names = header_of(lines)
    return "Timestamp" in names and "DL_bitrate" in names


def read_ucc(name: str, text: str, column: str = "DL_bitrate") -> Recording:
    """Read rates in kbit/s by second, without doubled seconds, rows of an idle phone, and positions."""
    header, body = rows(text)
    at = {own: index for index, own in enumerate(header)}
    at_time, at_rate = column_of(header, "Timestamp"), column_of(header, column)
    times, rates = array("d"), array("d")
    radio = {to: array("d") for own, to in UCC_RADIO.items() if own in at}
    doubled = idle = missing = 0
    first: datetime | None = None
    for line, row in body:
        stamp = cell(line, row, at_time, "Timestamp")
        try:
            when = datetime.strptime(stamp, STAMP)
        except ValueError:
            raise LineError(line, f"Timestamp is {stamp[:30]!r}", "write it as 2020.02.14_09.38.22") from None
        first = first or when
        time = (when - first).total_seconds()
        if times and time <= times[-1]:
            if times[-1] - time > LONGEST_BACK_S:
                problem = f"the Timestamp is {times[-1] - time:g} s before the last"
                raise LineError(line, problem, "give one drive, without the end of summer time")
            doubled += 1
            continue
        if "State" in at and cell(line, row, at["State"], "State") == IDLE:
            idle += 1
            continue
        rate = optional(line, column, cell(line, row, at_rate, column))
        if rate != rate:
            missing += 1
            continue
        check_row(line, time, rate, times)
        times.append(time)
        rates.append(rate)
        for own, to in UCC_RADIO.items():
            if own in at:
                radio[to].append(optional(line, own, cell(line, row, at[own], own)))
    dropped = (
        (doubled, "doubled seconds"),
        (idle, "seconds of an idle phone"),
        (missing, "seconds without a rate"),
    )
    notes = (*(f"{count} {what} are left out" for count, what in dropped if count), "positions are dropped")
    series = series_of(times, rates, 1.0, {own: np.array(values) for own, values in radio.items()})
    return Recording(
        name, "seconds of a phone (UCC, G-NetTrack)", series=series, is_goodput=True, notes=notes
    )


def find_gophers(lines: list[str]) -> bool:
    """Whether the first line names columns of throughput in Mbit/s."""
    return any(name.lower().endswith(THROUGHPUT) for name in header_of(lines))


def read_gophers(name: str, text: str, operator: str | None = None) -> Recording:
    """Read throughput in Mbit/s by second; `operator` chooses the column where there are several."""
    header, body = rows(text)
    columns = {
        own[: -len(THROUGHPUT)]: column_of(header, own) for own in header if own.lower().endswith(THROUGHPUT)
    }
    if operator is None and len(columns) > 1:
        known = ", ".join(columns)
        raise LineError(
            1,
            f"the file has a column for each of {known}",
            "choose one with --column of airpath import, such as " + next(iter(columns)),
        )
    chosen = next(iter(columns)) if operator is None else operator
    if chosen not in columns:
        raise LineError(1, f"there is no column of '{chosen}'", f"choose from {', '.join(columns)}")
    times, rates = array("d"), array("d")
    missing = 0
    for index, (line, row) in enumerate(body):
        rate = optional(line, f"{chosen}{THROUGHPUT}", cell(line, row, columns[chosen], chosen))
        if rate != rate:
            missing += 1
            continue
        # `seq_num` is the number of the second; Lumos5G counts from the row alone.
        at = header.index("seq_num") if "seq_num" in header else None
        time = float(index) if at is None else number(line, "seq_num", cell(line, row, at, "seq_num"))
        check_row(line, time, 1000 * rate, times)
        times.append(time)
        rates.append(1000 * rate)
    notes = (f"{missing} seconds without a rate are left out",) if missing else ()
    return Recording(
        f"{name} {chosen}",
        "seconds of a phone (5Gophers, Lumos5G)",
        series=series_of(times, rates, 1.0),
        is_goodput=True,
        notes=notes,
    )
