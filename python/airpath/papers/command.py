"""`airpath reproduce`: published values beside measured ones, on the terminal, as a page and as JSON."""

from __future__ import annotations

import json
import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from airpath.arguments import WORKERS, ForceOption, JsonOption, parse_folder, runs_option
from airpath.errors import ScenarioError
from airpath.output import folder_for, write_file
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
from airpath.terminal import Table, console_for, counted, say, warn

PAGE, DATA = "index.html", "report.json"
INTERRUPTED = 130
COLOURS = {
    "reproduced": "green",
    "holds": "green",
    "consistent": "cyan",
    "close": "yellow",
    "not_reproduced": "red",
    "more_runs_needed": "magenta",
    "calibrated": "blue",
    "background": "dim",
    "does_not_hold": "red",
    "not_checkable": "dim",
}


def reproduce(
    paper: Annotated[str, typer.Argument(metavar="PAPER", help=f"Name of the paper: {', '.join(PAPERS)}.")],
    table: Annotated[list[int] | None, typer.Option(metavar="N", help="Only this table. Repeatable.")] = None,
    figure: Annotated[
        list[int] | None, typer.Option(metavar="N", help="Only this figure. Repeatable.")
    ] = None,
    study: Annotated[list[int] | None, typer.Option(metavar="N", help="Only this study. Repeatable.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="At most 5 runs per cell, one reading.")] = False,
    runs: Annotated[int | None, runs_option("Runs per cell, instead of what the precision needs.")] = None,
    workers: Annotated[int | None, WORKERS] = None,
    json_: JsonOption = False,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            parser=parse_folder,
            help="Folder for the page, index.html, and the JSON, report.json; out/PAPER if absent.",
        ),
    ] = None,
    force: ForceOption = False,
) -> None:
    """Set the published values of a paper beside what airpath measures."""
    from airpath.papers.page import render  # It draws pictures: slow to import.

    chosen_paper = _find_paper(paper)
    wanted = {"table": table or [], "figure": figure or [], "study": study or []}
    experiments = _select(chosen_paper, wanted)
    folder = out or Path("out") / paper
    page, data = folder / PAGE, folder / DATA
    folder_for("out", page, data, force=force)

    console = console_for()
    everything = not any(wanted.values())
    reproduction = Reproduction(chosen_paper, experiments, Effort.of(quick, runs), claims=everything)
    complete = _simulate(reproduction, workers)
    report = reproduction.report(complete, background=everything)
    text = json.dumps(report_as_json(report), indent=2)
    write_file("out", page, render(report, _command(paper, wanted, quick, runs)), force)
    write_file("out", data, text + "\n", force)
    if json_:
        typer.echo(text)
    else:
        _print(console, report)
    say(console_for(stderr=json_), f"page: {page}")
    if not complete:
        warn("interrupted: what was not finished is missing")
        raise typer.Exit(INTERRUPTED)


def _print(console: Console, report: Report) -> None:
    for section in report.sections:
        if section.experiment.rows:
            _print_section(console, report, section)
        for grid in section.experiment.grids:
            _print_grid(console, section, grid)
    _print_claims(console, report)
    _print_scores(console, report)
    _print_scoreboard(console, report)


def _find_paper(name: str) -> Paper:
    if name not in PAPERS:
        raise ScenarioError("PAPER", f"there is no '{name}'", f"choose one of: {', '.join(PAPERS)}")
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
            raise ScenarioError(
                f"--{kind}", f"{paper.name} has no {kind} {which} to reproduce", f"choose from: {known}"
            )
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
        TextColumn("{task.description}", markup=False),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=1)
        return reproduction.simulate(
            workers, lambda done, total, what: bar.update(task, completed=done, total=total, description=what)
        )


def _print_section(console: Console, report: Report, section: Section) -> None:
    experiment, others = section.experiment, report.other_readings
    keys = len(experiment.columns)
    words = (*(range(keys) if keys == 1 else ()), keys + 4, keys + 5)
    numbers = ("published", "measured", "95 % interval", "runs")
    headings = (*experiment.columns, *numbers, "unit", "verdict", *others)
    view = Table(*headings, words=words, keys=keys, title=heading(experiment))
    for comparison in section.comparisons:
        value, measured, row = comparison.published, comparison.measured, comparison.row
        if measured is None or row is None:
            continue
        view.add(
            *row.labels,
            published_text(value),
            number(measured.mean),
            interval_text((measured.ci_low, measured.ci_high), value.unit, value.quantity),
            str(measured.n) if row.cells else "",
            unit_name(value.unit),
            (VERDICT_WORDS[comparison.verdict], COLOURS[comparison.verdict]),
            *((other_text(comparison, name), "dim") for name in others),
        )
    view.print(console)
    averaged, level = section.averaged_runs, report.paper.confidence
    heads = averaged_columns(averaged, level)
    for comparison in section.comparisons if heads else ():
        texts = averaged_texts(
            averaged, comparison.like_the_paper, comparison.prediction, comparison.published, level
        )
        said = ", ".join(f"{head} {text}" for head, text in zip(heads, texts, strict=True) if text)
        if said:
            say(console, f"{comparison.published.id}: {said}")
    for comparison in section.comparisons:
        if comparison.reason and comparison.verdict != "more_runs_needed":
            say(console, f"{comparison.published.id}: {comparison.reason}")
    console.print()


def _print_grid(console: Console, section: Section, grid: Grid) -> None:
    """Print what was measured side by side."""
    experiment = section.experiment
    shows = f"{experiment.place} {grid.title}" if grid.title else heading(experiment)
    unit = unit_name(grid.unit)
    heads = grid.heads or experiment.columns
    title = f"{shows} [{unit}]" if unit else shows
    view = Table(*heads, *grid.columns, words=range(len(heads)), keys=len(heads), title=title)
    for row in grid.rows:
        view.add(*row.labels, *grid_texts(section, row))
    view.print(console)
    for row in grid.rows:
        if row.note:
            say(console, f"{', '.join(row.labels)}: {row.note}")
    console.print()


def _print_claims(console: Console, report: Report) -> None:
    if not report.claims:
        return
    view = Table("claim", "place", "says", "verdict", words=range(4), title="Claims")
    for result in report.claims:
        claim, verdict = result.claim, result.verdict
        view.add(claim.id, claim.place, claim.text, (CLAIM_WORDS[verdict], COLOURS[verdict]))
    view.print(console)
    for result in report.claims:
        if result.reason:
            say(console, f"{result.claim.id}: {result.reason}")
    console.print()


def _print_scores(console: Console, report: Report) -> None:
    """Print what each reading would do if it judged; nothing if there is nothing to choose from."""
    if not report.readings_compare:
        return
    verdicts = (VERDICT_WORDS[verdict] for verdict in report.scored)
    view = Table("reading", *verdicts, title="How each reading would do")
    for name, counts in report.scores.items():
        said = f"{name} (judged)" if name == report.paper.default_reading else name
        view.add(said, *(str(counts[verdict]) for verdict in report.scored))
    view.print(console)


def _print_scoreboard(console: Console, report: Report) -> None:
    counts = Counter(comparison.verdict for comparison in report.comparisons)
    total = sum(counts.values()) - counts["background"]
    parts = [
        (f"{counts[name]} {verdict_words(name, counts[name])}", COLOURS[name])
        for name in VERDICTS
        if counts[name]
    ]
    reading = f"under reading '{report.paper.default_reading}'"
    what = "studies" if report.paper.is_own else f"{counted(total, 'value')} measured"
    say(console, (report.paper.name, "bold"), f": {what} {reading}")
    if parts:
        say(console, *[piece for part in parts for piece in (", ", part)][1:])
    if report.claims:
        say(console, f"claims: {claims_text(result.verdict for result in report.claims)}")
    if missing := not_covered_text(report.paper):
        say(console, missing)
