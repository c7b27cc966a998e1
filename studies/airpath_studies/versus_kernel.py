"""Published values compared with simulated and live ones: a handful of short cells of three papers.

Each cell is the paper's own scenario, as `airpath reproduce` simulates it, and where that lasts an hour a
shorter one; simulated and live are as long as each other. The simulated TCP is the paper's, the kernel's
as near to it as it comes (`tcp.as_written`).
"""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from airpath import _core
from airpath.experiments.paired import PairedComparison
from airpath.experiments.versus_kernel.campaign import Job, Outcomes, Runs, Variant, crossed
from airpath.experiments.versus_kernel.judgement import Judgement, as_json, judged
from airpath.experiments.versus_kernel.measured import Figures, Metric
from airpath.experiments.versus_kernel.tcp import as_near, as_written
from airpath.report.comparison import mean_text, notes
from airpath.report.document import Note, Part, Table
from airpath.scenario import load
from airpath.stats.estimate import Estimate, estimate
from airpath_studies.alcaraz import model as alcaraz
from airpath_studies.alcaraz.observed import PACKET_BYTES, PAYLOAD_BYTES
from airpath_studies.base.cell import Overrides
from airpath_studies.base.description import description
from airpath_studies.base.published import Published, load_published
from airpath_studies.chan import model as chan
from airpath_studies.shared import lundsten
from airpath_studies.shared.downloads import NO_BLOCK_ERRORS, Download

CONGESTION_CONTROL = "reno"
CHAN_RUN_S = 240
"""Instead of an hour."""
LUNDSTEN_FILE_BYTES = 2_000_000
"""Instead of 16,000,000."""
CHAN_PACKET_BYTES, CHAN_PAYLOAD_BYTES = 1000, 960

TOLERANCE = 0.05
"""Within which simulated and live agree."""

Measure = Callable[[Figures], float | None]


@dataclass(frozen=True)
class Trio:
    """The runs of a cell: `paper` with the paper's TCP is simulated alone, `kernel` live too.

    They are made `repeat` times as often as requested: short runs scatter widely, and cost little.
    """

    paper: Variant
    kernel: Variant
    repeat: int = 1


@dataclass(frozen=True)
class PublishedCell:
    """A published value, and the runs that give the same quantity.

    `measure` makes it, in its unit, of the figures of a run. With a `twin`, which has the same seeds, it is
    the percentage that the twin's is higher: an increase of time where what is measured is a speed. The
    `note` says how the runs differ from the paper's.
    """

    published: Published
    runs: Trio
    measure: Measure
    twin: Trio | None = None
    note: str = ""


def cells() -> list[PublishedCell]:
    """All of them, in the order of the papers."""
    return [*_lundsten(), *_chan(), *_alcaraz()]


def jobs(chosen: list[PublishedCell], runs: int, first_seed: int) -> list[Job]:
    """What is to be run for these cells, each once, the long runs first."""
    trios = {trio.kernel.name: trio for cell in chosen for trio in (cell.runs, cell.twin) if trio}
    return [
        job
        for trio in sorted(trios.values(), key=lambda trio: trio.repeat)
        for job in crossed((trio.kernel, trio.paper), range(first_seed, first_seed + runs * trio.repeat))
    ]


def _trio(name: str, base: str, overrides: Overrides, repeat: int = 1) -> Trio:
    changed = load(base, overrides)
    near, kernel = as_near(changed, CONGESTION_CONTROL)
    _, told = as_written(changed, CONGESTION_CONTROL)
    paper = Variant(f"{name}-paper", CONGESTION_CONTROL, None, changed, changed, None)
    like = Variant(name, CONGESTION_CONTROL, None, near, changed, replace(kernel, unlike=told.unlike))
    return Trio(paper, like, repeat)


def _lundsten() -> list[PublishedCell]:
    published = load_published("lundsten")
    tie = description("lundsten").judging.overrides
    made = []
    for packet_bytes in (576, 1500):
        download = lundsten.make_download(384, packet_bytes, lundsten.SMALL_FILE_BYTES)
        for percent in (0, 10):
            errors = (NO_BLOCK_ERRORS,) if percent == 0 else ()
            name = f"lundsten-384-{packet_bytes}-bler{percent}"
            trio = _trio(name, "lundsten-384-576", (*download.overrides, *tie, *errors), repeat=4)
            value = published[f"lundsten-t10-384-{packet_bytes}-bler{percent}"]
            made.append(PublishedCell(value, trio, _speed(download)))
    download = lundsten.make_download(384, 576, LUNDSTEN_FILE_BYTES)
    large = _trio("lundsten-384-576-large", "lundsten-dch", (*download.overrides, *tie))
    no_errors = (*download.overrides, *tie, NO_BLOCK_ERRORS)
    twin = _trio("lundsten-384-576-large-bler0", "lundsten-dch", no_errors)
    note = f"{LUNDSTEN_FILE_BYTES // 1_000_000} MB instead of 16"
    made.append(PublishedCell(published["lundsten-t3-384-576"], large, _speed(download), twin, note))
    return made


def _chan() -> list[PublishedCell]:
    published = load_published("chan")
    made = []
    for flow, name in (
        (chan.RENO, "reno"),
        (chan.RENO_AR, "reno-ar"),
        (chan.SACK, "sack"),
        (chan.SACK_AR, "sack-ar"),
    ):
        cell = chan.make_cell(flow, chan.CASES[4])
        overrides = (*cell.overrides, ("duration", f"{CHAN_RUN_S} s"))
        trio = _trio(f"chan-{name}", "chan-variable-delay", overrides)
        measure = _goodput(CHAN_PACKET_BYTES, CHAN_PAYLOAD_BYTES, CHAN_RUN_S)
        note = f"{CHAN_RUN_S} s instead of an hour"
        made.append(PublishedCell(published[f"chan-t3-{name}-goodput"], trio, measure, note=note))
    return made


def _alcaraz() -> list[PublishedCell]:
    published = load_published("alcaraz")
    # At most one ACK in a TTI, as the live runs were made.
    reading = description("alcaraz").reading("one per TTI, unsent")
    made = []
    for name in ("conventional", "ackrate", "pdpc", "combined2"):
        cell = alcaraz.make_cell(alcaraz.SCHEMES[name])
        overrides = (*cell.overrides, *reading.changes(cell))
        trio = _trio(f"alcaraz-{name}", alcaraz.BASE, overrides, repeat=2)
        measure = _goodput(PACKET_BYTES, PAYLOAD_BYTES, 60)
        made.append(PublishedCell(published[f"alcaraz-t2-{name}-1f-goodput"], trio, measure))
    return made


def _speed(download: Download) -> Measure:
    """Size of the file, headers included, over the time from the first data to the last ACK, kbit/s."""
    kbit = download.packets * download.packet_bytes * 8 / 1000

    def speed(figures: Figures) -> float | None:
        return None if figures.transfer_s is None else kbit / figures.transfer_s

    return speed


def _goodput(packet_bytes: int, payload_bytes: int, run_s: float) -> Measure:
    """Packets acknowledged over the whole run, headers included, kbit/s."""
    return lambda figures: figures.bytes_acked / payload_bytes * packet_bytes * 8 / 1000 / run_s


@dataclass(frozen=True)
class Row:
    """A published value with what was measured.

    `paper` is simulated with the paper's TCP, and the `judgement` is of a TCP like the kernel's, simulated
    and live; None if a run did not have the quantity.
    """

    cell: PublishedCell
    paper: Estimate | None
    judgement: Judgement | None


def row_of(cell: PublishedCell, outcomes: Outcomes) -> Row:
    """Compare the results of a cell's runs with the published value."""
    trios = [trio for trio in (cell.runs, cell.twin) if trio]
    live = [set(outcomes.seeds(trio.kernel.name)) for trio in trios]
    seeds = sorted(set.intersection(*live))
    metric = Metric(cell.published.id, cell.published.quantity, 1.0, 1, TOLERANCE)
    simulated = _values(cell, outcomes.simulated, seeds, lambda trio: trio.kernel.name)
    measured = _values(cell, outcomes.live, seeds, lambda trio: trio.kernel.name)
    paper = _values(cell, outcomes.simulated, seeds, lambda trio: trio.paper.name)
    return Row(
        cell,
        estimate(paper) if paper else None,
        judged(metric, simulated, measured) if simulated and measured else None,
    )


def _values(
    cell: PublishedCell, world: Runs, seeds: Sequence[int], name: Callable[[Trio], str]
) -> list[float]:
    """The quantity in every run; empty if a run does not have it."""
    found = []
    for seed in seeds:
        value = cell.measure(world[name(cell.runs), seed][0])
        other = cell.measure(world[name(cell.twin), seed][0]) if cell.twin else 0.0
        if value is None or other is None:
            return []
        found.append(100 * (other / value - 1) if cell.twin else value)
    return found


def unlike(trio: Trio) -> list[str]:
    """Where the kernel's TCP is not the paper's."""
    return trio.kernel.tcp.unlike if trio.kernel.tcp else []


def rows_as_json(rows: Sequence[Row], outcomes: Outcomes) -> dict[str, Any]:
    """Everything for files."""
    return {
        "airpath": _core.version(),
        "rng": _core.RNG_VERSION,
        "kernel": platform.release(),
        "cells": [_row(row) for row in rows],
        "live": {"repeated": len(outcomes.repeated), "lateness_p99_us": outcomes.lateness_p99_us},
    }


def _row(row: Row) -> dict[str, Any]:
    value, found, kernel = row.cell.published, row.judgement, row.cell.runs.kernel
    return {
        "id": value.id,
        "place": value.place,
        "quantity": value.quantity,
        "unit": value.unit,
        "published": value.target,
        "simulated_paper": None if row.paper is None else as_json(row.paper),
        "simulated_like_kernel": None if found is None else as_json(found.pair.a),
        "live": None if found is None else as_json(found.pair.b),
        "relative": None if found is None or found.pair.relative is None else as_json(found.pair.relative),
        "verdict": None if found is None else found.verdict,
        "words": None if found is None else found.words,
        "note": row.cell.note,
        "scenario": row.cell.runs.paper.simulated.text,
        "kernel_sysctl": kernel.tcp.sysctls if kernel.tcp else None,
        "unlike": unlike(row.cell.runs),
    }


def published_report(rows: Sequence[Row], outcomes: Outcomes) -> Iterator[Part]:
    """Compare published values with the simulated and the live results."""

    def of_pair(which: Callable[[PairedComparison], str]) -> Callable[[Row], str]:
        return lambda row: "-" if row.judgement is None else which(row.judgement.pair)

    def published(row: Row) -> str:
        value = row.cell.published
        return f"{value.target:.1f} {'%' if value.unit == 'percent' else value.unit}"

    yield Table.of(
        rows,
        ("", lambda row: row.cell.published.id),
        ("runs", of_pair(lambda pair: str(pair.runs))),
        ("published", published),
        ("simulated\npaper's TCP", lambda row: "-" if row.paper is None else mean_text(row.paper, 1, 1)),
        ("simulated\nlike the kernel", of_pair(lambda pair: mean_text(pair.a, 1, 1))),
        ("live", of_pair(lambda pair: mean_text(pair.b, 1, 1))),
        (
            "the latter two",
            lambda row: "not measured in every run" if row.judgement is None else row.judgement.words,
        ),
        words=(0, 6),
    )
    yield Note(f"Linux {platform.release()}, reno")
    yield from (Note(f"{row.cell.published.id}: {row.cell.note}") for row in rows if row.cell.note)
    for line in dict.fromkeys(line for row in rows for line in unlike(row.cell.runs)):
        yield Note(f"the kernel is not the papers' TCP in {line}")
    yield from notes(outcomes)
