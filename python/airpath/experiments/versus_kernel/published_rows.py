"""Published values, simulated and live beside each other: what `airpath compare --published` found."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from airpath import _core
from airpath.experiments.versus_kernel.campaign import Outcomes
from airpath.experiments.versus_kernel.judgement import Judgement, as_json, judged
from airpath.experiments.versus_kernel.measured import Figures, Metric
from airpath.experiments.versus_kernel.published import PublishedCell, Trio
from airpath.stats.estimate import Estimate, estimate

TOLERANCE = 0.05
"""Within which simulated and live agree."""
World = dict[tuple[str, int], list[Figures]]


@dataclass(frozen=True)
class Row:
    """A published value with what was measured.

    Attributes
    ----------
    cell : PublishedCell
        The value, and what was run.
    paper : Estimate or None
        Simulated with the paper's TCP; None, as below, if a run did not have the quantity.
    judgement : Judgement or None
        Simulated with a TCP like the kernel's, and live.
    """

    cell: PublishedCell
    paper: Estimate | None
    judgement: Judgement | None


def row_of(cell: PublishedCell, outcomes: Outcomes) -> Row:
    """Set what the runs of a cell gave beside the published value."""
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


def _values(cell: PublishedCell, world: World, seeds: Sequence[int], name: Any) -> list[float]:
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
