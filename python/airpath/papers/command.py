"""`airpath reproduce`: published values beside measured ones, on the terminal, as a page and as JSON."""

from __future__ import annotations

import contextlib
import json
import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, NoReturn

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

from airpath.arguments import folder_path
from airpath.atomic import replacing, write_whole
from airpath.papers import PAPERS
from airpath.papers.as_json import report_as_json
from airpath.papers.grid import Grid
from airpath.papers.harness import Reproduction
from airpath.papers.paper import Experiment, Paper
from airpath.papers.report import Effort, Report, Section
from airpath.papers.verdict import VERDICTS
from airpath.papers.wording import (
    CLAIM_WORDS,
    VERDICT_WORDS,
    averaged_columns,
    averaged_texts,
    claims_text,
    grid_texts,
    heading,
    interval_text,
    not_covered_text,
    number,
    other_text,
    published_text,
    unit_name,
    verdict_words,
)

PAGE = "index.html"
BAD_INPUT, INTERRUPTED = 2, 130
# In a file or a pipe a table is as wide as it needs to be: nobody else breaks its lines.
UNBROKEN_WIDTH = 10_000
COLOURS = {
    "reproduced": "green",
    "holds": "green",
    "consistent": "cyan",
    "close": "yellow",
    "not_reproduced": "red",
    "more_runs_needed": "magenta",
    "background": "dim",
    "does_not_hold": "red",
    "not_checkable": "dim",
}


def reproduce(
    paper: Annotated[str, typer.Argument(help="Name of the paper.")],
    table: Annotated[list[int] | None, typer.Option(help="Only this table; may be repeated.")] = None,
    figure: Annotated[list[int] | None, typer.Option(help="Only this figure; may be repeated.")] = None,
    study: Annotated[list[int] | None, typer.Option(help="Only this study; may be repeated.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="At most 5 runs per cell, one reading.")] = False,
    runs: Annotated[int | None, typer.Option(help="Exactly so many runs per cell.")] = None,
    workers: Annotated[int | None, typer.Option(help="Threads; all processors if absent.")] = None,
    json_file: Annotated[Path | None, typer.Option("--json", help="Write the comparisons here.")] = None,
    out: Annotated[
        Path | None, typer.Option(parser=folder_path, help="Folder for the page; out/PAPER if absent.")
    ] = None,
) -> None:
    """Set the published values of a paper beside what airpath measures."""
    from airpath.papers.page import render  # It draws pictures: slow to import.

    for key, count in (("runs", runs), ("workers", workers)):
        if count is not None and count < 1:
            _fail(key, f"{count} is too few", "give at least 1")
    chosen_paper = _find_paper(paper)
    wanted = {"table": table or [], "figure": figure or [], "study": study or []}
    experiments = _select(chosen_paper, wanted)
    folder = out or Path("out") / paper
    page = folder / PAGE
    _check_writable("out", page)
    if json_file:
        _check_writable("json", json_file)

    console = Console() if Console().is_terminal else Console(width=UNBROKEN_WIDTH)
    everything = not any(wanted.values())
    reproduction = Reproduction(chosen_paper, experiments, Effort.of(quick, runs), claims=everything)
    complete = _simulate(reproduction, workers)
    report = reproduction.report(complete, background=everything)
    for section in report.sections:
        if section.experiment.rows:
            _print_section(console, report, section)
        for grid in section.experiment.grids:
            _print_grid(console, section, grid)
    _print_claims(console, report)
    _write("out", page, render(report, _command(paper, wanted, quick, runs)))
    if json_file:
        _write("json", json_file, json.dumps(report_as_json(report), indent=2) + "\n")
    _print_scores(console, report)
    _print_scoreboard(console, report)
    console.print(f"page: {page}", highlight=False, soft_wrap=True)
    if not complete:
        console.print("interrupted: what was not finished is missing")
        raise typer.Exit(INTERRUPTED)


def _find_paper(name: str) -> Paper:
    if name not in PAPERS:
        _fail("paper", f"there is no '{name}'", f"choose one of: {', '.join(PAPERS)}")
    return PAPERS[name]


def _select(paper: Paper, numbers: Mapping[str, Sequence[int]]) -> list[Experiment]:
    """Find the experiments asked for by kind and number: all of them if none is named."""
    wanted = [(kind, which) for kind, chosen in numbers.items() for which in chosen]
    if not wanted:
        return list(paper.experiments)
    there = {(experiment.kind, experiment.number): experiment for experiment in paper.experiments}
    for kind, which in wanted:
        if (kind, which) not in there:
            known = ", ".join(e.place for e in paper.experiments if e.number is not None)
            _fail(kind, f"{paper.name} has no {kind} {which} to reproduce", f"choose from: {known}")
    return [experiment for key, experiment in there.items() if key in wanted]


def _command(paper: str, numbers: Mapping[str, Sequence[int]], quick: bool, runs: int | None) -> str:
    """Write the command that gives the same page; workers and files make no difference to it."""
    words = ["airpath", "reproduce", paper]
    words += [
        word for kind, chosen in numbers.items() for which in chosen for word in (f"--{kind}", str(which))
    ]
    words += ["--quick"] if quick else []
    words += ["--runs", str(runs)] if runs else []
    return shlex.join(words)


def _simulate(reproduction: Reproduction, workers: int | None) -> bool:
    columns = (
        TextColumn("{task.completed:.0f} of about {task.total:.0f} runs"),
        BarColumn(),
        TimeElapsedColumn(),
        TextColumn("ETA"),
        TimeRemainingColumn(),
        TextColumn("{task.description}"),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=1)
        return reproduction.simulate(
            workers, lambda done, total, what: bar.update(task, completed=done, total=total, description=what)
        )


def _print_section(console: Console, report: Report, section: Section) -> None:
    experiment, others = section.experiment, report.other_readings
    view = Table(title=heading(experiment), title_justify="left")
    for column in experiment.columns:
        view.add_column(column, justify="right" if len(experiment.columns) > 1 else "left")
    for column in ("published", "measured", "95 % interval", "runs"):
        view.add_column(column, justify="right")
    view.add_column("unit")
    view.add_column("verdict")
    for name in others:
        view.add_column(name, justify="right", style="dim")
    for comparison in section.comparisons:
        value, measured, row = comparison.published, comparison.measured, comparison.row
        if measured is None or row is None:
            continue
        view.add_row(
            *row.labels,
            published_text(value),
            number(measured.mean),
            interval_text((measured.ci_low, measured.ci_high), value.unit, value.quantity),
            str(measured.n) if row.cells else "",
            unit_name(value.unit),
            f"[{COLOURS[comparison.verdict]}]{VERDICT_WORDS[comparison.verdict]}",
            *(other_text(comparison, name) for name in others),
        )
    console.print(view)
    averaged, level = section.averaged_runs, report.paper.confidence
    heads = averaged_columns(averaged, level)
    for comparison in section.comparisons if heads else ():
        texts = averaged_texts(
            averaged, comparison.like_the_paper, comparison.prediction, comparison.published, level
        )
        said = ", ".join(f"{head} {text}" for head, text in zip(heads, texts, strict=True) if text)
        if said:
            console.print(f"{comparison.published.id}: {said}", highlight=False, markup=False)
    for comparison in section.comparisons:
        if comparison.reason and comparison.verdict != "more_runs_needed":
            console.print(f"{comparison.published.id}: {comparison.reason}", highlight=False, markup=False)
    console.print()


def _print_grid(console: Console, section: Section, grid: Grid) -> None:
    """Print what was measured side by side."""
    experiment = section.experiment
    shows = f"{experiment.place} {grid.title}" if grid.title else heading(experiment)
    unit = unit_name(grid.unit)
    view = Table(title=escape(f"{shows} [{unit}]" if unit else shows), title_justify="left")
    for column in grid.heads or experiment.columns:
        view.add_column(column)
    for column in grid.columns:
        view.add_column(column, justify="right")
    for row in grid.rows:
        view.add_row(*row.labels, *grid_texts(section, row))
    console.print(view)
    for row in grid.rows:
        if row.note:
            console.print(f"{', '.join(row.labels)}: {row.note}", highlight=False, markup=False)
    console.print()


def _print_claims(console: Console, report: Report) -> None:
    if not report.claims:
        return
    view = Table(title="Claims", title_justify="left")
    for column in ("claim", "place", "says", "verdict"):
        view.add_column(column)
    for result in report.claims:
        claim, verdict = result.claim, result.verdict
        view.add_row(claim.id, claim.place, claim.text, f"[{COLOURS[verdict]}]{CLAIM_WORDS[verdict]}")
    console.print(view)
    for result in report.claims:
        if result.reason:
            console.print(f"{result.claim.id}: {result.reason}", highlight=False, markup=False)
    console.print()


def _print_scores(console: Console, report: Report) -> None:
    """Print what each reading would do if it judged; nothing if there is nothing to choose from."""
    if not report.readings_compare:
        return
    view = Table(title="How each reading would do", title_justify="left")
    view.add_column("reading")
    for verdict in report.scored:
        view.add_column(VERDICT_WORDS[verdict], justify="right")
    for name, counts in report.scores.items():
        said = f"{name} (judged)" if name == report.paper.default_reading else name
        view.add_row(said, *(str(counts[verdict]) for verdict in report.scored))
    console.print(view)


def _print_scoreboard(console: Console, report: Report) -> None:
    counts = Counter(comparison.verdict for comparison in report.comparisons)
    total = sum(counts.values()) - counts["background"]
    parts = [
        f"[{COLOURS[name]}]{counts[name]} {verdict_words(name, counts[name])}[/]"
        for name in VERDICTS
        if counts[name]
    ]
    reading = f"under reading '{report.paper.default_reading}'"
    what = "studies" if report.paper.is_own else f"{total} values measured"
    console.print(f"[bold]{report.paper.name}[/]: {what} {reading}", highlight=False)
    if parts:
        console.print(", ".join(parts), highlight=False)
    if report.claims:
        console.print(f"claims: {claims_text(result.verdict for result in report.claims)}", highlight=False)
    if missing := not_covered_text(report.paper):
        console.print(missing, highlight=False)


class _GivenUpError(Exception):
    """Ends an attempt to write before it leaves anything."""


def _check_writable(key: str, path: Path) -> None:
    """Find out before the simulations whether their results can be kept; leaves what is there as it is."""
    with _output_errors(key, path), contextlib.suppress(_GivenUpError):
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as unfinished:
            unfinished.open("ab").close()
            raise _GivenUpError


def _write(key: str, path: Path, text: str) -> None:
    with _output_errors(key, path):
        write_whole(path, text)


@contextlib.contextmanager
def _output_errors(key: str, path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        _fail(key, f"cannot write to '{path}': {error.strerror or error}", "choose another place for it")


def _fail(key: str, what: str, remedy: str) -> NoReturn:
    typer.echo(f"error: {key}: {what}; {remedy}", err=True)
    raise typer.Exit(BAD_INPUT)
