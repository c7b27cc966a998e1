"""`airpath reproduce`: compares published values with measured ones."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from airpath.cli.arguments import (
    WORKERS,
    DaskOption,
    DaskSecurityOption,
    DaskWaitOption,
    ForceOption,
    JsonOption,
    argument,
    check_dask,
    flag,
    option,
    out_option,
    runs_option,
)
from airpath.cli.output import as_text, folder_for, tell, write_files
from airpath.cli.reality import NAME as REALITY
from airpath.cli.reality import QUICK_WINDOWS, reality
from airpath.cli.status import INTERRUPTED
from airpath.errors import ScenarioError
from airpath.experiments.papers import PAPERS
from airpath.experiments.papers.as_json import outcome_as_json
from airpath.experiments.papers.base.paper import Experiment, Paper
from airpath.experiments.papers.explore.plan import load_exploration
from airpath.experiments.papers.explore.search import search
from airpath.experiments.papers.journal import NAME as JOURNAL
from airpath.experiments.papers.journal import Journal
from airpath.experiments.papers.outcome import Effort
from airpath.experiments.papers.reproduction import Reproduction
from airpath.report import html
from airpath.report.document import Heading, Source
from airpath.report.explored import explored, found_as_json
from airpath.report.paper import paper_report
from airpath.terminal import console_for, say, warn


def command(
    paper: Annotated[
        str, argument("PAPER", f"Name of the paper: {', '.join(PAPERS)}; or reality, recorded links.")
    ],
    table: Annotated[list[int] | None, option("N", "Only this table. Repeatable.")] = None,
    figure: Annotated[list[int] | None, option("N", "Only this figure. Repeatable.")] = None,
    study: Annotated[list[int] | None, option("N", "Only this study. Repeatable.")] = None,
    quick: Annotated[bool, flag("--quick", "At most 5 runs per cell, one reading.")] = False,
    runs: Annotated[int | None, runs_option("Runs per cell, whatever the precision.")] = None,
    workers: Annotated[int | None, WORKERS] = None,
    json_: JsonOption = False,
    out: Annotated[Path | None, out_option("Folder for the page and the JSON; out/PAPER if absent.")] = None,
    explore: Annotated[
        bool,
        flag(
            "--explore", "Search the paper's free choices instead: chosen by some values, tested by others."
        ),
    ] = False,
    choices: Annotated[
        Path | None, option("FILE", "With --explore: the free choices, instead of the paper's own file.")
    ] = None,
    recordings: Annotated[
        Path | None, option("DIR", "With reality: a folder of recordings, in any of the known formats.")
    ] = None,
    force: ForceOption = False,
    dask: DaskOption = None,
    dask_wait: DaskWaitOption = None,
    dask_security: DaskSecurityOption = None,
) -> None:
    """Reproduce a paper: simulate its tables and figures and compare them with the published values.

    The same command resumes after an interruption.
    """
    from airpath.report.paper_page import paper_page, title_of  # Slow to import: it draws pictures.

    security = check_dask(workers, dask, dask_wait, dask_security)
    if paper == REALITY:
        if table or figure or study or explore or choices or dask:
            what = "has no parts, no free choices, and needs no cluster"
            raise ScenarioError(
                "reality", what, "give --recordings, --quick, --runs, --workers or --out alone"
            )
        windows = QUICK_WINDOWS if quick and runs is None else runs
        reality(recordings, windows, workers, json_, out or Path("out") / paper, force)
        return
    if recordings is not None:
        raise ScenarioError("--recordings", "is for reality alone", "leave it out")
    if paper not in PAPERS:
        raise ScenarioError("PAPER", f"there is no '{paper}'", f"choose one of: {', '.join(PAPERS)}, reality")
    chosen_paper = PAPERS[paper]
    if choices is not None and not explore:
        raise ScenarioError("--choices", "is for --explore alone", "add --explore")
    if explore:
        if table or figure or study or quick or runs or dask:
            raise ScenarioError(
                "--explore",
                "takes no part of a paper, no other number of runs and no cluster",
                "drop the others",
            )
        _explore(chosen_paper, choices, workers, json_, out or Path("out") / paper, force)
        return
    wanted = {"table": table or [], "figure": figure or [], "study": study or []}
    experiments = _select(chosen_paper, wanted)
    folder = out or Path("out") / paper
    page, data, journal = "index.html", "report.json", folder / JOURNAL
    # A resumed reproduction replaces the files of the interrupted one.
    replace = force or journal.is_file()
    folder_for("out", folder / page, folder / data, force=replace)

    everything = not any(wanted.values())
    reproduction = Reproduction(chosen_paper, experiments, Effort.of(quick, runs), claims=everything)
    with Journal(journal, reproduction.digest, replace=force) as kept, _progress() as on_progress:
        complete = reproduction.simulate(
            workers,
            on_progress,
            dask=dask,
            dask_wait_s=dask_wait,
            dask_security=security,
            journal=kept,
            warn=warn,
        )
        outcome = reproduction.outcome(complete, background=everything)
        said = outcome_as_json(outcome)
        parts = paper_page(outcome, _command(paper, wanted, quick, runs))
        files = {page: html.page(title_of(chosen_paper), parts), data: as_text(said) + "\n"}
        write_files("out", folder, files, replace)
        if complete:
            kept.remove()
    tell(json_, said, paper_report(outcome))
    say(console_for(stderr=json_), f"page: {folder / page}")
    if not complete:
        warn("interrupted: what was not finished is missing; the same command resumes")
        raise typer.Exit(INTERRUPTED)


def _explore(
    paper: Paper, file: Path | None, workers: int | None, json_: bool, folder: Path, force: bool
) -> None:
    """Search the free choices of a paper, and write a page about what was found."""
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
