"""`airpath sweep`: runs a scenario over many points."""

from __future__ import annotations

import contextlib
import math
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from airpath.cli.arguments import (
    WORKERS,
    DaskOption,
    DaskSecurityOption,
    DaskWaitOption,
    argument,
    check_dask,
    flag,
    out_option,
    runs_option,
)
from airpath.cli.status import INTERRUPTED
from airpath.errors import SweepError
from airpath.terminal import clean, console_for, counted, say, warn

if TYPE_CHECKING:
    from airpath.experiments.sweep.run import Worst
    from airpath.runner.driver import Progress

SHOW_EVERY_S = 0.5


def command(
    sweep_file: Annotated[
        str, argument("SWEEP", "A .toml file, see docs/sweep.md, or a bundled name such as chan:figure-11.")
    ],
    out: Annotated[
        Path | None,
        out_option("The sweep's folder, out/NAME if absent; its runs are kept, another sweep's refused."),
    ] = None,
    workers: Annotated[int | None, WORKERS] = None,
    runs: Annotated[int | None, runs_option("Runs at each point, instead of the sweep's.")] = None,
    dask: DaskOption = None,
    dask_wait: DaskWaitOption = None,
    dask_security: DaskSecurityOption = None,
    print_: Annotated[bool, flag("--print", "Print the sweep as a file to change, and run nothing.")] = False,
) -> None:
    """Run a scenario over many points, each with many runs; the same command resumes where it stopped."""
    from airpath.experiments.sweep.bundled import find
    from airpath.experiments.sweep.plan import Written, read_plan
    from airpath.experiments.sweep.run import run_sweep

    security = check_dask(workers, dask, dask_wait, dask_security)
    source = find(sweep_file)
    if print_:
        if isinstance(source, Written) and runs is None:
            typer.echo(source.text, nl=False)
        else:
            typer.echo(read_plan(source, runs).text, nl=False)
        return
    name = source.stem if isinstance(source, Path) else source.name
    folder = out or Path("out") / name
    with _bar(name) as (on_point, on_progress):
        plan = read_plan(source, runs, on_point)
        outcome = run_sweep(
            plan,
            folder,
            workers,
            dask=dask,
            dask_wait_s=dask_wait,
            dask_security=security,
            on_progress=on_progress,
            warn=warn,
        )
    if outcome.interrupted:
        warn(f"interrupted: {counted(outcome.runs, 'run')} in {folder}; the same command resumes")
        raise typer.Exit(INTERRUPTED)
    done = f"{counted(outcome.points, 'point')}, {counted(outcome.runs, 'run')}"
    made = f"{outcome.fresh} of them made now in {outcome.seconds:.1f} s"
    say(console_for(), f"{done}, {made}; see: airpath results {folder}")
    if outcome.failures:
        for failure in outcome.failures:
            warn(failure)
        what = "some runs failed, and the others are kept"
        raise SweepError("run", what, "correct these points in another sweep, or leave them out")


@contextlib.contextmanager
def _bar(name: str) -> Iterator[tuple[Callable[[int, int], None], Callable[[Progress, Worst], None]]]:
    """Show the progress of a sweep, on a terminal only.

    The first callable takes the numbers of planned points and of all, the second the progress of the runs and
    the widest interval.
    """
    if not sys.stderr.isatty():
        yield lambda _planned, _points: None, lambda _progress, _worst: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn
    from rich.progress import Progress as Bar

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(12),
        TextColumn("{task.fields[words]}"),
    )
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(clean(name), total=None, words="starting")
        shown = -math.inf

        def is_due() -> bool:
            nonlocal shown
            now = time.monotonic()
            due = now - shown >= SHOW_EVERY_S
            shown = now if due else shown
            return due

        def plan(planned: int, points: int) -> None:
            if is_due() or planned == points:
                bar.update(task, completed=planned, total=points, words=f"{planned}/{points} points planned")

        def show(progress: Progress, worst: Worst) -> None:
            if is_due():
                words = progress_words(progress, worst())
                bar.update(task, completed=progress.done, total=progress.expected, words=words)

        yield plan, show


def progress_words(progress: Progress, worst: float) -> str:
    """Describe done runs and points, points per second, the widest interval so far and the time left."""
    parts = [f"{progress.done}/{progress.expected} runs, {progress.jobs_done}/{progress.jobs} points"]
    if math.isfinite(worst):
        parts.append(f"widest ± {100 * worst:.2g} %")
    if progress.fresh and progress.seconds > 0:
        rate = progress.fresh / progress.seconds
        # From runs: points with many runs end all at once.
        parts[0] += f" at {rate * progress.jobs / progress.expected:.3g}/s"
        left = math.ceil((progress.expected - progress.done) / rate)
        parts.append(f"{left // 3600}:{left // 60 % 60:02}:{left % 60:02} left")
    return ", ".join(parts)
