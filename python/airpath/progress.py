"""How far a run is, on a terminal."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator

from airpath.terminal import clean


@contextlib.contextmanager
def progress_bar(name: str) -> Iterator[Callable[[float], None]]:
    """Show a progress bar with the time left, on a terminal only."""
    if not sys.stderr.isatty():
        yield lambda _share: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TaskProgressColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(clean(name), total=1.0)
        yield lambda share: progress.update(task, completed=share)
