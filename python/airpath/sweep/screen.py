"""How far a sweep is, on a terminal."""

from __future__ import annotations

import contextlib
import math
import sys
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from airpath.sweep.driver import Progress

SHOW_EVERY_S = 0.5


@contextlib.contextmanager
def sweep_bar(name: str) -> Iterator[Callable[[Progress], None] | None]:
    """Show runs, points, rates, the widest interval and the time left, on a terminal only."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
    from rich.progress import Progress as Bar

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[words]}"),
    )
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(name, total=None, words="starting")
        shown = -math.inf

        def show(progress: Progress) -> None:
            nonlocal shown
            if time.monotonic() - shown >= SHOW_EVERY_S:
                shown = time.monotonic()
                words = progress_words(progress)
                bar.update(task, completed=progress.done, total=progress.expected, words=words)

        yield show


def progress_words(progress: Progress) -> str:
    """What the bar does not say of a sweep: points, rates, the widest interval, the time left."""
    parts = [f"{progress.points_done}/{progress.points} points"]
    if progress.fresh and progress.seconds > 0:
        rate = progress.fresh / progress.seconds
        # Points per second follow from runs: points with many runs end all at once.
        share = progress.points / progress.expected
        parts.append(f"{rate:.3g} runs/s, {rate * share:.3g} points/s")
    worst = progress.worst()
    if math.isfinite(worst):
        parts.append(f"widest ± {100 * worst:.3g} %")
    if progress.fresh and progress.seconds > 0:
        left = int((progress.expected - progress.done) / rate)
        parts.append(f"{left // 3600}:{left // 60 % 60:02}:{left % 60:02} left")
    return ", ".join(parts)
