"""`airpath reproduce` of a paper: files and output."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from airpath.cli.output import as_text, folder_for, tell, write_files
from airpath.cli.status import INTERRUPTED
from airpath.errors import ScenarioError
from airpath.report import html
from airpath.report.document import Heading, Source
from airpath.runner.cluster import Security
from airpath.terminal import console_for, say, warn
from airpath_studies.as_json import outcome_as_json
from airpath_studies.base.paper import Experiment, Paper
from airpath_studies.explore.plan import load_exploration
from airpath_studies.explore.search import search
from airpath_studies.journal import NAME as JOURNAL
from airpath_studies.journal import Journal
from airpath_studies.outcome import Effort
from airpath_studies.papers import PAPERS
from airpath_studies.report.explored import explored, found_as_json
from airpath_studies.report.page import paper_page, title_of
from airpath_studies.report.paper import paper_report
from airpath_studies.reproduction import Reproduction


def reproduce(
    name: str,
    wanted: Mapping[str, Sequence[int]],
    quick: bool,
    runs: int | None,
    json_: bool,
    folder: Path,
    force: bool,
    *,
    workers: int | None,
    dask: str | None,
    dask_wait_s: float | None,
    dask_security: Security | None,
) -> None:
    """Reproduce a paper, or the `wanted` tables, figures and studies of it, and write a page about it."""
    paper = PAPERS[name]
    experiments = _select(paper, wanted)
    page, data, journal = "index.html", "report.json", folder / JOURNAL
    # A resumed reproduction replaces the files of the interrupted one.
    replace = force or journal.is_file()
    folder_for("out", folder / page, folder / data, force=replace)

    everything = not any(wanted.values())
    reproduction = Reproduction(paper, experiments, Effort.of(quick, runs), claims=everything)
    with Journal(journal, reproduction.digest, replace=force) as kept, _progress() as on_progress:
        complete = reproduction.simulate(
            workers,
            on_progress,
            dask=dask,
            dask_wait_s=dask_wait_s,
            dask_security=dask_security,
            journal=kept,
            warn=warn,
        )
        outcome = reproduction.outcome(complete, background=everything)
        said = outcome_as_json(outcome)
        parts = paper_page(outcome, _command(name, wanted, quick, runs))
        files = {page: html.page(title_of(paper), parts), data: as_text(said) + "\n"}
        write_files("out", folder, files, replace)
        if complete:
            kept.remove()
    tell(json_, said, paper_report(outcome))
    say(console_for(stderr=json_), f"page: {folder / page}")
    if not complete:
        warn("interrupted: what was not finished is missing; the same command resumes")
        raise typer.Exit(INTERRUPTED)


def explore(
    name: str, file: Path | None, workers: int | None, json_: bool, folder: Path, force: bool
) -> None:
    """Search the free choices of a paper, and write a page about what was found."""
    paper = PAPERS[name]
    exploration = load_exploration(paper, file)
    page, data = "explored.html", "explored.json"
    folder_for("out", folder / page, folder / data, force=force)
    with _progress() as on_progress:
        found = search(paper, exploration, workers, on_progress)
    if found is None:
        warn("interrupted: nothing was written; begin again")
        raise typer.Exit(INTERRUPTED)
    said = found_as_json(paper, exploration, found)
    own = f" --choices {file}" if file else ""
    parts = list(explored(paper, exploration, found))
    whole = [*parts, Heading("To get it again"), Source(f"airpath reproduce {paper.name} --explore{own}")]
    title = f"{paper.name.capitalize()}: free choices"
    files = {page: html.page(title, [Heading(title, level=1), *whole]), data: as_text(said) + "\n"}
    write_files("out", folder, files, force)
    tell(json_, said, parts)
    say(console_for(stderr=json_), f"page: {folder / page}")


def _select(paper: Paper, numbers: Mapping[str, Sequence[int]]) -> list[Experiment]:
    """Find the experiments asked for by kind and number; all if none is named."""
    wanted = [(kind, which) for kind, chosen in numbers.items() for which in chosen]
    if not wanted:
        return list(paper.experiments)
    there = {(experiment.kind, experiment.number): experiment for experiment in paper.experiments}
    for kind, which in wanted:
        if (kind, which) not in there:
            known = ", ".join(e.place for e in paper.experiments if e.number is not None)
            what = f"{paper.name} has no {kind} {which} to reproduce"
            raise ScenarioError(f"--{kind}", what, f"choose from: {known}")
    return [experiment for key, experiment in there.items() if key in wanted]


def _command(paper: str, numbers: Mapping[str, Sequence[int]], quick: bool, runs: int | None) -> str:
    """Write the command that gives the same page, without options about workers and files."""
    words = [f"--{kind} {which}" for kind, chosen in numbers.items() for which in chosen]
    words += ["--quick"] if quick else []
    words += [f"--runs {runs}"] if runs else []
    return " ".join(["airpath", "reproduce", paper, *words])


@contextlib.contextmanager
def _progress() -> Iterator[Callable[[int, int, str], None]]:
    """Show a bar of done and expected runs, and the cell being simulated, on a terminal only."""
    if not sys.stderr.isatty():
        yield lambda _done, _total, _what: None
        return
    columns = (
        TextColumn("{task.completed:.0f} of about {task.total:.0f} runs"),
        BarColumn(),
        TimeElapsedColumn(),
        TextColumn("ETA"),
        TimeRemainingColumn(),
        TextColumn("{task.description}", markup=False),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=1)
        yield lambda done, total, what: bar.update(task, completed=done, total=total, description=what)
