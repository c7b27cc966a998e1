"""`airpath compare --published`: published values, simulated and live beside each other."""

from __future__ import annotations

import json
import platform
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer

from airpath import _core
from airpath.agreement.campaign import Outcomes
from airpath.agreement.command import COMPARISON, carry_out, check_output
from airpath.agreement.figures import Figures, Metric
from airpath.agreement.judgement import Judgement, as_json, judged
from airpath.agreement.published import PublishedCell, Trio, cells, jobs
from airpath.agreement.table import mean_text, notes
from airpath.estimate import Estimate, estimate
from airpath.output import write_file
from airpath.terminal import Table, console_for, say

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


def compare_published(
    runs: int, seed: int, workers: int | None, json_: bool, out: Path | None, force: bool
) -> None:
    """Run all cells; print the table or the JSON, and write it."""
    check_output(out, force)
    chosen = cells()
    outcomes = carry_out(jobs(chosen, runs, seed), "published", workers, out)
    rows = [row_of(cell, outcomes) for cell in chosen]
    text = json.dumps(rows_as_json(rows, outcomes), indent=2)
    if json_:
        typer.echo(text)
    else:
        _print(rows, outcomes)
    if out is not None:
        write_file("out", out / COMPARISON, text + "\n", force)


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


def _print(rows: Sequence[Row], outcomes: Outcomes) -> None:
    console = console_for()
    headings = ("", "runs", "published", "simulated\npaper's TCP", "simulated\nlike the kernel", "live")
    table = Table(*headings, "the latter two", words=(0, 6))
    for row in rows:
        value, found = row.cell.published, row.judgement
        pair = ("-", "-") if found is None else (mean_text(found.pair.a, 1, 1), mean_text(found.pair.b, 1, 1))
        table.add(
            value.id,
            "-" if found is None else str(found.pair.runs),
            f"{value.target:.1f} {'%' if value.unit == 'percent' else value.unit}",
            "-" if row.paper is None else mean_text(row.paper, 1, 1),
            *pair,
            "not measured in every run" if found is None else found.words,
        )
    table.print(console)
    for line in [*_differences(rows), *notes(outcomes)]:
        say(console, line)


def _differences(rows: Sequence[Row]) -> list[str]:
    """How the runs and the kernel's TCP differ from the papers'."""
    lines = [f"Linux {platform.release()}, reno"]
    lines += [f"{row.cell.published.id}: {row.cell.note}" for row in rows if row.cell.note]
    unlike = {line: None for row in rows for line in _unlike(row.cell.runs)}
    return lines + [f"the kernel is not the papers' TCP in {line}" for line in unlike]


def _unlike(trio: Trio) -> list[str]:
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
        "unlike": _unlike(row.cell.runs),
    }
