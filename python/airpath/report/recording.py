"""The reports of `airpath describe`: statistics of recordings and of scenarios, compared."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from airpath.recordings.classes import STATISTICS, MobilityClass
from airpath.recordings.statistics import Statistics
from airpath.report.document import Column, Items, Note, Part, Table
from airpath.terminal import number_text

COLUMNS: tuple[Column, ...] = (
    ("length\ns", "duration_s", 0),
    ("mean\nMbit/s", "mean_mbps", 2),
    ("CV of the rate in\n0.1 s", "cv_100ms", 2),
    ("CV of the rate in\n1 s", "cv_1s", 2),
    ("CV of the rate in\n10 s", "cv_10s", 2),
    ("correl.\ns", "correlation_s", 1),
    ("1 s rate / mean\np5", "p5", 2),
    ("1 s rate / mean\np95", "p95", 2),
    ("silent\n%", "silent_percent", 1),
    ("silences per minute\n> 0.1 s", "silences_per_min", 1),
    ("silences per minute\n> 0.3 s", "outages_per_min", 1),
    ("silences per minute\n> 1 s", "long_outages_per_min", 2),
    ("longest\nms", "longest_ms", 0),
    ("busy\n%", "busy_percent", 0),
    ("pkt/ms\nmean", "packets_per_ms", 1),
)
"""Columns of a table with a row for each link."""

ROWS: tuple[tuple[str, str, int], ...] = (
    ("length, s", "duration_s", 0),
    ("mean rate, Mbit/s", "mean_mbps", 3),
    ("standard error of the mean, %", "mean_error_percent", 1),
    ("CV of the rate in bins of 0.1 s", "cv_100ms", 2),
    ("CV in bins of 1 s", "cv_1s", 2),
    ("CV in bins of 10 s", "cv_10s", 2),
    ("autocorrelation below 1/e after, s", "correlation_s", 1),
    ("5th percentile of 1 s rates / mean", "p5", 2),
    ("95th percentile of 1 s rates / mean", "p95", 2),
    ("change from second to second / mean", "change_1s", 2),
    ("time in silences over 50 ms, %", "silent_percent", 1),
    ("silences over 100 ms per minute", "silences_per_min", 1),
    ("outages over 300 ms per minute", "outages_per_min", 2),
    ("outages over 1 s per minute", "long_outages_per_min", 2),
    ("longest silence, ms", "longest_ms", 0),
    ("milliseconds with opportunities, %", "busy_percent", 1),
    ("opportunities in such a millisecond", "packets_per_ms", 2),
    ("95th percentile of these", "packets_per_ms_p95", 0),
)
"""Rows of a table with a column for each link."""


def statistics_table(links: Sequence[tuple[str, Statistics]]) -> Table:
    """Compare a few links, a column each."""
    table = Table("", *(name for name, _ in links))
    for label, key, digits in ROWS:
        values = [getattr(one, key) for _, one in links]
        if any(value is not None for value in values):
            table.add(label, *(number_text(value, digits) for value in values))
    return table


@dataclass(frozen=True)
class Link:
    """A link that was described: name, what it is, statistics, notes, and the class that it imitates."""

    name: str
    what: str
    statistics: Statistics
    notes: Sequence[str] = ()
    mobility: MobilityClass | None = None

    @property
    def outside(self) -> list[str]:
        """Statistics outside the recorded bands of its class."""
        return self.mobility.outside(self.statistics) if self.mobility else []


def links_table(links: Sequence[Link]) -> Table:
    """Put many links below each other, a row each."""
    rows = [
        {
            **{"name": one.name, **one.statistics.as_dict()},
            **{"class": one.mobility.name if one.mobility else "-"},
            **{"outside": ", ".join(STATISTICS[name] for name in one.outside) or "-"},
        }
        for one in links
    ]
    columns = (("link", "name"), *COLUMNS)
    if any(one.mobility for one in links):
        columns = (*columns, ("class", "class"), ("outside\nits band", "outside"))
    own = {place for place, column in enumerate(columns) if column[1] in ("name", "class", "outside")}
    return Table.of(rows, *columns, words=own)


MOST_BESIDE = 4
"""Links that stand in columns; more stand in rows."""


def describe_report(links: Sequence[Link]) -> Iterator[Part]:
    """Report on links: what they are, statistics, notes, comparison with the class they imitate."""
    if len(links) <= MOST_BESIDE:
        for one in links:
            yield Note(f"{one.name}: {one.what}")
            if lines := [*one.notes, *_bands(one)]:
                yield Items(lines)
        yield statistics_table([(one.name, one.statistics) for one in links])
    else:
        yield links_table(links)
    if any(one.statistics.cv_100ms is None for one in links):
        yield Note("a series of rates does not tell what happens within its steps")


def _bands(link: Link) -> list[str]:
    """Compare a link with its class."""
    if link.mobility is None:
        return []
    own = link.mobility
    bands = (f"{STATISTICS[name]} {low:g} to {high:g}" for name, (low, high) in own.bands.items())
    return [f"imitates recordings of the class {own.name}: {', '.join(bands)}"] + [
        f"outside that band: {STATISTICS[name]}" for name in link.outside
    ]
