"""Logs of phones by the second: UCC's of 4G and 5G (G-NetTrack), and 5Gophers and Lumos5G."""

from __future__ import annotations

from datetime import datetime

import numpy as np

from airpath.recordings.formats.table import LineError, cell, number, optional, rows, series_of
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
THROUGHPUT = "_throughput_mbps"


def find_ucc(lines: list[str]) -> bool:
    """Whether the first line has the columns of G-NetTrack."""
    names = [name.strip() for name in lines[0].split(",")] if lines else []
    return "Timestamp" in names and "DL_bitrate" in names


def read_ucc(name: str, text: str, column: str = "DL_bitrate") -> Recording:
    """Read rates in kbit/s by second, without doubled seconds, rows of an idle phone, and positions."""
    header, body = rows(text)
    at = {own: index for index, own in enumerate(header)}
    times: list[float] = []
    rates: list[float] = []
    radio: dict[str, list[float]] = {to: [] for own, to in UCC_RADIO.items() if own in at}
    doubled = idle = missing = 0
    first: datetime | None = None
    for line, row in body:
        stamp = cell(line, row, at["Timestamp"], "Timestamp")
        try:
            when = datetime.strptime(stamp, STAMP)
        except ValueError:
            raise LineError(line, f"Timestamp is {stamp[:30]!r}", "write it as 2020.02.14_09.38.22") from None
        first = first or when
        time = (when - first).total_seconds()
        if times and time <= times[-1]:
            doubled += 1
            continue
        if "State" in at and cell(line, row, at["State"], "State") == IDLE:
            idle += 1
            continue
        rate = optional(line, column, cell(line, row, at[column], column))
        if rate != rate:
            missing += 1
            continue
        if rate < 0:
            raise LineError(line, f"{column} is {rate:g}", "write kbit/s, 0 or more")
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
    names = [name.strip() for name in lines[0].split(",")] if lines else []
    return any(name.lower().endswith(THROUGHPUT) for name in names)


def read_gophers(name: str, text: str, operator: str | None = None) -> Recording:
    """Read throughput in Mbit/s by second; `operator` chooses the column where there are several."""
    header, body = rows(text)
    columns = {
        own[: -len(THROUGHPUT)]: index for index, own in enumerate(header) if own.lower().endswith(THROUGHPUT)
    }
    if operator is None and len(columns) > 1:
        known = ", ".join(columns)
        raise LineError(
            1,
            f"the file has a column for each of {known}",
            "choose one with --column, such as " + next(iter(columns)),
        )
    chosen = next(iter(columns)) if operator is None else operator
    if chosen not in columns:
        raise LineError(1, f"there is no column of '{chosen}'", f"choose from {', '.join(columns)}")
    times: list[float] = []
    rates: list[float] = []
    missing = 0
    for index, (line, row) in enumerate(body):
        rate = optional(line, f"{chosen}{THROUGHPUT}", cell(line, row, columns[chosen], chosen))
        if rate != rate:
            missing += 1
            continue
        if rate < 0:
            raise LineError(line, f"the throughput is {rate:g}", "write Mbit/s, 0 or more")
        # `seq_num` is the number of the second; Lumos5G counts from the row alone.
        at = header.index("seq_num") if "seq_num" in header else None
        time = float(index) if at is None else number(line, "seq_num", cell(line, row, at, "seq_num"))
        if times and time <= times[-1]:
            raise LineError(
                line, f"second {time:g} is not after {times[-1]:g}", "give one walk or drive at a time"
            )
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
