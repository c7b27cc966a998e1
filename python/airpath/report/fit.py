"""The report of `airpath fit`: a recording and its model beside each other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from airpath.recordings.cells import Fit
from airpath.recordings.judged import Compared
from airpath.recordings.recording import Recording
from airpath.recordings.statistics import Statistics, describe
from airpath.report.difference import estimate_text
from airpath.report.document import BLANK, Items, Note, Part, Table
from airpath.report.recording import statistics_table
from airpath.terminal import number_text

SHORT_S = 300
LABELS = {
    "goodput": "goodput Mbit/s",
    "rtt_p50": "median RTT ms",
    "rtt_p95": "95th percentile of the RTT ms",
    "rtt_max": "maximum RTT ms",
    "timeouts": "timeouts per minute",
}
MOST_SIGMAS = 2.0
LEFT_OUT = {
    "process": "not explained: reaction to load; a model repeats no place that the recording did not see",
    "cell": "not explained: short silences and bursts of the recorded scheduler; other UEs look like "
    "a narrower band",
}
"""What a model of each form lacks."""


def warnings_of(read: Recording, statistics: Statistics, in_ms: Statistics) -> list[str]:
    """Say what limits a fit: a short recording, a change within it, steps of a log, goodput."""
    found = []
    if read.duration_s < SHORT_S:
        found.append(
            f"{read.duration_s:.0f} s are short: the next minutes may differ by a fifth or more; record five "
            "minutes"
        )
    if read.counts is None and read.series is not None:
        found.append(
            f"the recording has steps of {read.series.step_s:g} s: what happens within them is not known, "
            "and the median RTT over the model may be wrong by 20 %, its 95th percentile by 40 %"
        )
    if read.is_goodput:
        found.append("the recording is of goodput and not of capacity: it has the sender's recoveries in it")
    half = read.duration_s / 2
    if half >= 2 * SHORT_S / 5 and statistics.mean_error_percent:
        one, other = (describe(part) for part in (read.part(0, half), read.part(half, read.duration_s)))
        apart = 100 * abs(one.mean_mbps - other.mean_mbps) / statistics.mean_mbps
        # Each half has the square root of 2 times the error of the whole, their difference twice.
        if apart > MOST_SIGMAS * 2 * statistics.mean_error_percent:
            found.append(
                f"the halves have means of {one.mean_mbps:.2f} and {other.mean_mbps:.2f} Mbit/s: the link "
                "changed, and one model describes neither"
            )
    if in_ms.long_outages_per_min and in_ms.longest_ms and in_ms.longest_ms > 30_000:
        found.append(
            f"it has a silence of {in_ms.longest_ms / 1000:.0f} s, which the model repeats now and then"
        )
    return found


def fit_report(
    read: Recording,
    statistics: Statistics,
    modelled: Statistics,
    transfers: Sequence[Compared],
    warnings: Sequence[str],
    notes: Sequence[str],
) -> Iterator[Part]:
    """Show statistics and transfers of both, the error of the mean, and notes on the model."""
    yield Note(f"{read.name}: {read.format}")
    if lines := [*read.notes, *warnings]:
        yield Items(lines)
    yield statistics_table([("recorded", statistics), ("modelled", modelled)])
    if transfers:
        table = Table("transfers of 60 s", "", "recorded", "modelled", "error %", words=(0, 1), keys=2)
        for one in transfers:
            true = one.recorded.mean
            error = 100 * (one.modelled.mean / true - 1) if true > 0 else None
            shown = error if one.metric != "timeouts" else None
            values = (estimate_text(known) for known in (one.recorded, one.modelled))
            table.add(" over ".join(one.setup), LABELS[one.metric], *values, number_text(shown, 0))
        yield table
        yield Note(
            "± is half of the 95 % confidence interval, [its ends] where it is not symmetric; that of the "
            "recording is from windows that do not overlap"
        )
    yield BLANK
    if error := statistics.mean_error_percent:
        yield Note(f"the mean of the recording has a standard error of {error:.0f} % (blocks of 30 s)")
    for note in notes:
        yield Note(note)


def cell_parameters(fit: Fit) -> list[str]:
    """Say what a fitted cell is, and how far the recording determines its parameters."""
    cell = fit.cell
    ranges = [
        f"{words} {getattr(cell, name):.1f} {unit} [{low:.1f}, {high:.1f}]"
        for name, words, unit in (
            ("mean_db", "mean SINR", "dB"),
            ("sd_db", "shadowing", "dB"),
            ("decorrelation_s", "decorrelation", "s"),
        )
        for low, high in [fit.ranges[name]]
    ]
    outages = cell.outages
    rare = "no outages" if outages is None else f"{outages.per_minute:.2f} outages per minute"
    return [f"{cell.technology} with {cell.band}: {', '.join(ranges)}; {rare}"]
