"""Makes the runs of a sweep that its folder lacks."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from airpath.experiments.sweep.plan import Plan, words
from airpath.experiments.sweep.readers import ReadMetrics
from airpath.experiments.sweep.replications import Totals, wanted_of
from airpath.experiments.sweep.results import described_failures
from airpath.experiments.sweep.store import Store
from airpath.runner import driver
from airpath.runner.cluster import Security, pool_of

Worst = Callable[[], float]
"""Gives the widest interval of any metric and point, half of it as a fraction of the mean; NaN if none."""


@dataclass(frozen=True)
class Outcome:
    """How a sweep ended: runs in the folder, those of them made now, and whether some are missing.

    `failures` are the runs in the folder that failed: a line for each point with the number, a seed and why.
    """

    runs: int
    fresh: int
    points: int
    seconds: float
    interrupted: bool
    failures: Sequence[str] = ()


def run_sweep(
    plan: Plan,
    out: Path,
    workers: int | None = None,
    *,
    dask: str | None = None,
    dask_wait_s: float | None = None,
    dask_security: Security | None = None,
    on_progress: Callable[[driver.Progress, Worst], None] = lambda _progress, _worst: None,
    warn: Callable[[str], None] = lambda _: None,
) -> Outcome:
    """Make all runs of a sweep that its folder lacks.

    What the folder `out`, made if it is not there, holds in the end depends on `plan` alone: neither on the
    workers (see `airpath.runner.cluster.pool_of`) nor on how often a sweep was interrupted. `on_progress` is
    called several times a second with the progress and what gives the widest interval, `warn` with each file
    in the folder that is damaged or not the sweep's, and when there is no worker.

    Raises
    ------
    SweepError
        If the folder is in use, holds another sweep or cannot be written, if no run can be made, or if the
        cluster is not there or goes away. What was done until then is in the folder; a new folder without a
        run is removed. A run that fails on its own is recorded, and ends nothing.
    """
    with Store(out, plan) as store, driver.signals() as stopped:
        for warning in store.warnings:
            warn(warning)
        points, started = store.points, time.monotonic()
        totals = Totals(len(points), len(plan.metrics), plan.rule.confidence)
        wanted = wanted_of(plan.rule, len(points), len(plan.metrics), store.rows, totals.add)
        store.rows = []  # They are not read elsewhere, and there may be many millions.
        work, metrics = ReadMetrics(plan.metrics), len(plan.metrics)
        with pool_of(work, lambda _: metrics, workers, dask, dask_wait_s, warn, dask_security) as pool:
            fresh = driver.run(
                wanted,
                pool,
                lambda point: points[point].text,
                name=lambda point: f"point {point} ({words(points[point].parameters)})",
                keep=store.append,
                on_failure=store.fail,
                on_progress=lambda progress: on_progress(progress, totals.worst),
                stopped=stopped,
            )
        if wanted.is_finished:
            store.finish()
        seconds = time.monotonic() - started
        failures = described_failures(store.failures, [point.parameters for point in points])
        return Outcome(wanted.done, fresh, len(points), seconds, not wanted.is_finished, failures)
