"""The HDR cells of Chan and Ramjee's paper, sections 6.4 and 6.5: base scenarios `hdr-single` and `hdr-4`."""

from __future__ import annotations

from airpath.experiments.papers.base.cell import Cell, Metric, Outcome
from airpath.experiments.papers.chan.measured import goodput_kbps
from airpath.experiments.papers.chan.model import Flow

RUNS = 3
"""Runs of a cell: an hour of HDR takes longer than one of a link whose rate is drawn."""

RATES = (
    "38.4",
    "76.8",
    "102.6",
    "153.6",
    "204.8",
    "307.2",
    "614.4",
    "921.6",
    "1228.8",
    "1843.2",
    "2457.6",
)
"""Rates of Table 4 as printed, kbit/s; 102.6 is a slip for 102.4."""


def hdr_cell(flow: Flow, users: int, buffer: int) -> Cell:
    """Let so many users with a flow each share the HDR link for an hour, with a buffer for each."""
    changes = [("duration", "1 h"), ("radio.evdo.downlink.queue.droptail.packets", f"{buffer}")]
    if users > 1:
        changes.append(("radio.evdo.ues", f"{users}"))
    return Cell(
        f"HDR, {users} x {flow.name}, buffer {buffer}",
        (*changes, *flow.overrides),
        None,
        goodput_kbps,
        scenario="hdr-single" if users == 1 else "hdr-4",
        runs=RUNS,
        most_runs=RUNS,
    )


def rate_share(rate: str) -> Metric:
    """Share of the slots in which this is the highest rate that the first user can receive."""
    wanted = "102.4" if rate == "102.6" else rate

    def metric(outcome: Outcome) -> float:
        cell = next(e for e in outcome.results["elements"] if e["element"] == "radio.evdo")
        return float(cell["ues"][0]["downlink"]["drc"][f"{wanted} kbit/s"])

    return metric
