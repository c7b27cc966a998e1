"""The progress of a sweep on a terminal."""

from __future__ import annotations

import contextlib
import math
import sys
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from airpath.terminal import clean

if TYPE_CHECKING:
    from airpath.experiments.sweep.run import Worst
    from airpath.runner.driver import Progress

SHOW_EVERY_S = 0.5


@contextlib.contextmanager
def sweep_bar(name: str) -> Iterator[tuple[Callable[[int, int], None], Callable[[Progress, Worst], None]]]:
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
