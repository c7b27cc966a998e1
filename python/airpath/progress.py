"""How far a run is: a bar on a terminal or in a notebook."""

from __future__ import annotations

import contextlib
import html
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any, TypeAlias

from airpath.terminal import clean

OnProgress: TypeAlias = Callable[[float], None]
"""Takes the share that is done, 0 to 1."""


def reporting(progress: bool | OnProgress | None, name: str) -> AbstractContextManager[OnProgress]:
    """Report to the caller's function, to a bar if `progress` is True, or to nothing."""
    return progress_bar(name) if progress is True else contextlib.nullcontext(progress or _ignore)


def progress_bar(name: str) -> AbstractContextManager[OnProgress]:
    """Show a progress bar, in a notebook or on a terminal only; it vanishes at the end."""
    if (display := _notebook_display()) is not None:
        return _notebook_bar(name, display)
    return _terminal_bar(name) if sys.stderr.isatty() else contextlib.nullcontext(_ignore)


def _ignore(_share: float) -> None:
    pass


@contextlib.contextmanager
def _terminal_bar(name: str) -> Iterator[OnProgress]:
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


@contextlib.contextmanager
def _notebook_bar(name: str, display: Any) -> Iterator[OnProgress]:
    """A bar of HTML, which needs no widgets: it is there in Jupyter, JupyterLab, VS Code and Colab alike."""
    percent = 0

    def bar() -> Any:
        return display.HTML(f"{html.escape(name)} <progress value={percent} max=100></progress> {percent} %")

    handle = display.display(bar(), display_id=True)

    def report(share: float) -> None:
        nonlocal percent
        if int(100 * share) != percent:
            percent = int(100 * share)
            handle.update(bar())

    try:
        yield report
    finally:
        handle.update(display.HTML(""))


def _notebook_display() -> Any:
    """The module `IPython.display`, where a notebook runs this; else None."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    if not hasattr(shell, "kernel"):
        return None
    from IPython import display

    return display
