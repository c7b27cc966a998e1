"""Downloads over a dedicated channel, as Lundsten and Zhang simulate them: what is read off, and tables."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from airpath.stats.estimate import Estimate
from airpath_studies.base.cell import Cell, Metric, Outcome, Overrides
from airpath_studies.base.grid import Grid, make_grid
from airpath_studies.base.observe import Observation
from airpath_studies.base.paper import Row
from airpath_studies.base.quantity import Quantity

HEADER_BYTES, TIMESTAMPS_BYTES = 40, 12
# A file that is not worth a word.
LARGE_FILE_BYTES = 10_000_000

ARQ = "radio.dch.downlink.rlc.fixed_delay_arq"
RETURN = f"{ARQ}.retransmission_delay"
FLOOR = 100 * (1 / 0.9 - 1)
"""What the link's own retransmissions cost at 10 % block errors, percent."""

Key = tuple[int, int]
"""Speed in kbit/s and packet size in bytes."""

NO_BLOCK_ERRORS = ("radio.dch.downlink.channel.bernoulli.bler", "0 %")


@dataclass(frozen=True)
class Download:
    """A download; what is not said is as in the paper's base scenario."""

    rate_kbps: int
    """Speed of the bearer."""
    packet_bytes: int
    """Size of a packet, headers included."""
    window: int
    """Window limit and initial slow start threshold, segments."""
    file_bytes: int
    """Size of the file, headers included."""
    delay_ms: int | None = None
    """One-way delay between server and cell."""
    small_pdus: bool = False
    """Whether a TTI holds PDUs of 40 bytes instead of one block."""
    in_sequence: bool = False
    """Whether the link layer hands packets up in sequence."""
    initial_window: int | None = None
    """Segments."""
    timestamps: bool = False
    """Whether segments carry timestamps, which leaves less room for data."""
    variant: str = ""
    """Name of what `options` make of TCP."""
    options: Overrides = ()
    """Further changes to the base scenario."""

    @property
    def _differences(self) -> list[tuple[str, tuple[str, str]]]:
        """In what it differs from the base scenario: in words, and the change."""
        known = (
            (self.delay_ms is not None, f"{self.delay_ms} ms", ("wired.delay", f"{self.delay_ms} ms")),
            (self.small_pdus, "PDUs of 40 B", (f"{ARQ}.pdu", "40 B")),
            (self.in_sequence, "in sequence", (f"{ARQ}.delivery", "in_sequence")),
            (
                self.initial_window is not None,
                f"initial window {self.initial_window}",
                ("tcp.initial_window", f"{self.initial_window}"),
            ),
        )
        return [(words, change) for differs, words, change in known if differs]

    @property
    def name(self) -> str:
        """Its differences from the base scenario, in words."""
        size = [f"{self.file_bytes // 1000} kB"] if self.file_bytes < LARGE_FILE_BYTES else []
        differs = [words for words, _ in self._differences] + ([self.variant] if self.variant else [])
        return ", ".join([f"{self.rate_kbps} kbit/s", f"{self.packet_bytes} B", *size, *differs])

    @property
    def payload_bytes(self) -> int:
        """Data in a packet."""
        return self.packet_bytes - HEADER_BYTES - (TIMESTAMPS_BYTES if self.timestamps else 0)

    @property
    def packets(self) -> int:
        """Packets of the file."""
        return math.ceil(self.file_bytes / self.packet_bytes)

    @property
    def overrides(self) -> Overrides:
        """Changes to the base scenario."""
        return (
            ("radio.dch.downlink.rate", f"{self.rate_kbps} kbit/s"),
            ("tcp.mss", f"{self.packet_bytes - HEADER_BYTES} B"),
            ("tcp.max_window", f"{self.window}"),
            ("tcp.initial_ssthresh", f"{self.window * self.payload_bytes} B"),
            ("flow[0].app.file.size", f"{self.packets * self.payload_bytes} B"),
            *(change for _, change in self._differences),
            *self.options,
        )

    @property
    def is_read(self) -> bool:
        """Whether the papers' readings apply: not where an option says when a lost block comes back."""
        return RETURN not in {path for path, _ in self.options}

    def against_no_errors(self, other: Download | None = None) -> Cell:
        """Compared with the same download, or another one, without block errors."""
        twin = (*(other or self).overrides, NO_BLOCK_ERRORS)
        return Cell(self.name, self.overrides, twin, increase, is_read=self.is_read)

    def against_initial_window_1(self, *, errors: bool = True) -> Cell:
        """Compared with the same download with an initial window of one segment."""
        overrides = self.overrides if errors else (*self.overrides, NO_BLOCK_ERRORS)
        return Cell(self.name, overrides, (*overrides, ("tcp.initial_window", "1")), decrease, paired=True)

    def alone(self, *, errors: bool) -> Cell:
        """Without a comparison, with or without block errors."""
        overrides = self.overrides if errors else (*self.overrides, NO_BLOCK_ERRORS)
        name = self.name if errors else f"{self.name}, no block errors"
        return Cell(name, overrides, None, self.speed, is_read=self.is_read)

    def watched(self, observe: Observation, *, errors: bool = True) -> Cell:
        """Without a comparison, with an observation of its trace."""
        return replace(self.alone(errors=errors), observe=observe)

    def speed(self, outcome: Outcome) -> float:
        """Size of the file, headers included, over the transfer time, kbit/s."""
        return self.packets * self.packet_bytes * 8 / 1000 / transfer_s(outcome)

    def share_of_bearer(self, outcome: Outcome) -> float:
        """Speed in percent of the bearer's."""
        return 100 * self.speed(outcome) / self.rate_kbps


def link_alone(row: Row, measured: Estimate) -> float | None:
    """What a bearer that is never idle gives for a row: the cost of its own retransmissions, or its rate."""
    if row.metric is increase:
        return FLOOR
    if row.metric is retransmission_share:
        return measured.mean
    if row.metric in (decrease, increase_without_retransmissions):
        return 0.0
    download = getattr(row.metric, "__self__", None)
    if isinstance(download, Download):
        has_errors = NO_BLOCK_ERRORS not in row.cells[0].overrides
        return download.rate_kbps * (0.9 if has_errors else 1.0)
    return None


def transfer_s(outcome: Outcome) -> float:
    """Transfer time, seconds."""
    return _time_s(outcome, "transfer_s")


def received_s(outcome: Outcome) -> float:
    """Time until the receiver has the last byte, seconds."""
    return _time_s(outcome, "received_s")


def _time_s(outcome: Outcome, key: str) -> float:
    time_s = outcome.flow[key]
    if time_s is None:
        raise ValueError("the transfer did not end within the scenario's duration")
    return float(time_s)


def _time_ratio(outcome: Outcome) -> float:
    return transfer_s(outcome) / transfer_s(outcome.twin)


def increase(outcome: Outcome) -> float:
    """Extra transfer time, percent."""
    return 100 * (_time_ratio(outcome) - 1)


def decrease(outcome: Outcome) -> float:
    """Transfer time saved, percent."""
    return 100 * (1 - _time_ratio(outcome))


def received_later(outcome: Outcome) -> float:
    """Extra time until the receiver has the last byte, percent."""
    return 100 * (received_s(outcome) / received_s(outcome.twin) - 1)


def received_earlier(outcome: Outcome) -> float:
    """Time saved until the receiver has the last byte, percent."""
    return -received_later(outcome)


def increase_without_retransmissions(outcome: Outcome) -> float:
    """Extra transfer time by the rule of Table 4, with a tenth of the time taken off, percent."""
    return 100 * (0.9 * _time_ratio(outcome) - 1)


def retransmission_share(outcome: Outcome) -> float:
    """Lost blocks per block that arrived, percent."""
    downlink = outcome.element("radio.dch")["ues"][0]["downlink"]
    lost, sent = int(downlink["pdus_lost"]), int(downlink["pdus_sent"])
    return 100 * lost / (sent - lost)


def largest_window(outcome: Outcome) -> float:
    """Largest send window, segments."""
    return outcome.traced_window.maximum


def plateau(outcome: Outcome) -> float:
    """Send window that stood longest without a change, segments."""
    return outcome.traced_window.plateau


def lowest_window(outcome: Outcome) -> float:
    """Smallest send window after the first slow start, segments."""
    return outcome.traced_window.lowest_after_start


def saved_s(outcome: Outcome) -> float:
    """Transfer time saved, seconds."""
    return transfer_s(outcome.twin) - transfer_s(outcome)


def stale_acks(outcome: Outcome) -> float:
    """ACKs older than the latest that have come to a snoop box."""
    return float(outcome.element("middlebox.snoop")["stale_acks"])


def fast_retransmits(outcome: Outcome) -> float:
    """Fast retransmits in a run."""
    return float(outcome.flow["fast_retransmits"])


def timeouts(outcome: Outcome) -> float:
    """Timeouts in a run."""
    return float(outcome.flow["timeouts"])


def retransmissions(outcome: Outcome) -> float:
    """Segments that the server retransmitted."""
    return float(outcome.flow["retransmissions"]["total"])


def retransmitted(outcome: Outcome) -> float:
    """Retransmissions per new segment, percent."""
    segments = retransmissions(outcome)
    return 100 * segments / (float(outcome.flow["segments_sent"]) - segments)


def window_at_limit(outcome: Outcome) -> float:
    """Share of the time that the send window spends at its largest value, percent."""
    return 100 * outcome.traced_window.share_at_maximum


def window_variation(outcome: Outcome) -> float:
    """Standard deviation of the send window over time, percent of its mean."""
    return 100 * outcome.traced_window.variation


def observed(outcome: Outcome) -> float:
    """What the cell's observation gave."""
    return float(outcome.observed)


def observed_round_trips(outcome: Outcome) -> float:
    """The observed time in round-trip times of the idle path."""
    return 1000 * observed(outcome) / float(outcome.flow["rtt_ms"]["min"])


def by_key(keys: Iterable[Key]) -> dict[str, Key]:
    """Downloads below heads."""
    return {f"{rate}/{packet}": (rate, packet) for rate, packet in keys}


def make_table(
    title: str,
    columns: Mapping[str, Any],
    lines: Mapping[str, Callable[[Any], Cell]],
    metric: Metric = increase,
    unit: str = "percent",
) -> Grid:
    """Make a table of a metric: a column for each head, and a line for each function from column to cell."""

    def entry(line: str, head: str) -> Quantity:
        return Quantity(f"{head} {line}", lines[line](columns[head]), metric, unit)

    return make_grid(unit, {head: head for head in columns}, [(line, line) for line in lines], entry, title)


def fast_retransmits_of(quantity: Quantity) -> Quantity:
    """The fast retransmits in the same runs."""
    return Quantity(f"fast retransmits {quantity.name}", quantity.cell, fast_retransmits, unit="1")
