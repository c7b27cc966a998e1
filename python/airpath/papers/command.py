"""`airpath reproduce`: published values beside measured ones, on the terminal, as a page and as JSON."""

from __future__ import annotations

import contextlib
import json
import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

from airpath.papers import PAPERS
from airpath.papers.harness import Comparison, Effort, Report, Reproduction, Section
from airpath.papers.paper import Experiment, Paper
from airpath.papers.verdict import VERDICTS
from airpath.papers.wording import (
    VERDICT_WORDS,
    heading,
    interval_text,
    mean_text,
    not_covered_text,
    number,
    published_text,
    unit_name,
)
from airpath.replicate import Estimate

PAGE = "index.html"
BAD_INPUT, INTERRUPTED = 2, 130
# In a file or a pipe a table is as wide as it needs to be: nobody else breaks its lines.
UNBROKEN_WIDTH = 10_000
COLOURS = {"reproduced": "green", "close": "yellow", "not_reproduced": "red", "background": "dim"}


def reproduce(
    paper: Annotated[str, typer.Argument(help="Name of the paper.")],
    table: Annotated[list[int] | None, typer.Option(help="Only this table; may be repeated.")] = None,
    figure: Annotated[list[int] | None, typer.Option(help="Only this figure; may be repeated.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="At most 5 runs per cell, one reading.")] = False,
    runs: Annotated[int | None, typer.Option(help="Exactly so many runs per cell.")] = None,
    workers: Annotated[int | None, typer.Option(help="Threads; all processors if absent.")] = None,
    json_file: Annotated[Path | None, typer.Option("--json", help="Write the comparisons here.")] = None,
    out: Annotated[Path | None, typer.Option(help="Folder for the page; out/PAPER if absent.")] = None,
) -> None:
    """Set the published values of a paper beside what airpath measures."""
    from airpath.papers.page import render  # It draws pictures: slow to import.

    for key, count in (("runs", runs), ("workers", workers)):
        if count is not None and count < 1:
            _fail(key, f"{count} is too few", "give at least 1")
    chosen_paper = _find_paper(paper)
    experiments = _select(chosen_paper, table or [], figure or [])
    folder = out or Path("out") / paper
    page = folder / PAGE
    _check_writable("out", page)
    if json_file:
        _check_writable("json", json_file)

    console = Console() if Console().is_terminal else Console(width=UNBROKEN_WIDTH)
    reproduction = Reproduction(chosen_paper, experiments, Effort.of(quick, runs))
    complete = _simulate(reproduction, workers)
    report = reproduction.report(complete, background=not table and not figure)
    for section in report.sections:
        _print_section(console, report, section)
    _write("out", page, render(report, _command(paper, table or [], figure or [], quick, runs)))
    if json_file:
        _write("json", json_file, json.dumps([as_json(c) for c in report.comparisons], indent=2) + "\n")
    _print_scoreboard(console, report)
    console.print(f"page: {page}", highlight=False, soft_wrap=True)
    if not complete:
        console.print("interrupted: what was not finished is missing")
        raise typer.Exit(INTERRUPTED)


def as_json(comparison: Comparison) -> dict[str, Any]:
    """One published value with its measurement, as `--json` writes it."""
    value, measured = comparison.published, comparison.measured
    interval = (None, None) if measured is None or measured.n == 1 else (measured.ci_low, measured.ci_high)
    return {
        "id": value.id,
        "place": value.place,
        "published": value.value,
        "corrected": value.corrected,
        "measured": None if measured is None else measured.mean,
        "ci_low": interval[0],
        "ci_high": interval[1],
        "runs": 0 if measured is None else measured.n,
        "unit": value.unit,
        "verdict": comparison.verdict,
        "reason": comparison.reason,
    }


def _find_paper(name: str) -> Paper:
    if name not in PAPERS:
        _fail("paper", f"there is no '{name}'", f"choose one of: {', '.join(PAPERS)}")
    return PAPERS[name]


def _select(paper: Paper, tables: Sequence[int], figures: Sequence[int]) -> list[Experiment]:
    """Find the experiments asked for: all of them if none is named."""
    if not tables and not figures:
        return list(paper.experiments)
    wanted = [("table", which) for which in tables] + [("figure", which) for which in figures]
    there = {(experiment.kind, experiment.number): experiment for experiment in paper.experiments}
    for kind, which in wanted:
        if (kind, which) not in there:
            known = ", ".join(e.place for e in paper.experiments if e.number is not None)
            _fail(kind, f"{paper.name} has no {kind} {which} to reproduce", f"choose from: {known}")
    return [experiment for key, experiment in there.items() if key in wanted]


def _command(paper: str, tables: Sequence[int], figures: Sequence[int], quick: bool, runs: int | None) -> str:
    """Write the command that gives the same page; workers and files make no difference to it."""
    words = ["airpath", "reproduce", paper]
    words += [word for table in tables for word in ("--table", str(table))]
    words += [word for figure in figures for word in ("--figure", str(figure))]
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
        measured, row = comparison.measured, comparison.row
        if measured is None or row is None:
            continue
        view.add_row(
            *row.labels,
            published_text(comparison.published),
            number(measured.mean),
            interval_text(measured),
            str(measured.n),
            unit_name(comparison.published.unit),
            f"[{COLOURS[comparison.verdict]}]{VERDICT_WORDS[comparison.verdict]}",
            *(_other(comparison.others.get(name)) for name in others),
        )
    console.print(view)
    for comparison in section.comparisons:
        if comparison.reason:
            console.print(f"{comparison.published.id}: {comparison.reason}", highlight=False, markup=False)
    console.print()


def _other(estimate: Estimate | None) -> str:
    return "not finished" if estimate is None else mean_text(estimate)


def _print_scoreboard(console: Console, report: Report) -> None:
    counts = Counter(comparison.verdict for comparison in report.comparisons)
    total = sum(counts.values()) - counts["background"]
    parts = [f"[{COLOURS[name]}]{counts[name]} {VERDICT_WORDS[name]}[/]" for name in VERDICTS if counts[name]]
    reading = f"under reading '{report.paper.default_reading}'"
    console.print(f"[bold]{report.paper.name}[/]: {total} values measured {reading}", highlight=False)
    console.print(", ".join(parts), highlight=False)
    console.print(not_covered_text(report.paper), highlight=False)


def _check_writable(key: str, path: Path) -> None:
    """Find out before the simulations whether their results can be kept."""
    with _output_errors(key, path):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.open("a", encoding="utf-8").close()


def _write(key: str, path: Path, text: str) -> None:
    with _output_errors(key, path):
        path.write_text(text, encoding="utf-8")


@contextlib.contextmanager
def _output_errors(key: str, path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        _fail(key, f"cannot write to '{path}': {error.strerror or error}", "choose another place for it")


def _fail(key: str, what: str, remedy: str) -> NoReturn:
    typer.echo(f"error: {key}: {what}; {remedy}", err=True)
    raise typer.Exit(BAD_INPUT)
