"""The report of `airpath reproduce` on the terminal, and the tables that it shares with the page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from airpath.experiments.papers.base.grid import Grid
from airpath.experiments.papers.base.verdict import VERDICTS
from airpath.experiments.papers.base.wording import VERDICT_WORDS, interval_text, number, unit_name
from airpath.experiments.papers.outcome import PaperOutcome, Section
from airpath.report.document import BLANK, Note, Part, Span, Table, Tally
from airpath.report.paper_words import (
    CLAIM_WORDS,
    averaged_columns,
    averaged_texts,
    claims_text,
    grid_texts,
    heading,
    not_covered_text,
    other_text,
    published_text,
    verdict_words,
)
from airpath.terminal import counted


def paper_report(outcome: PaperOutcome) -> Iterator[Part]:
    """Report on a reproduction: what was measured, the claims, and at the end how it came out."""
    for section in outcome.sections:
        if section.experiment.rows:
            yield from _section(outcome, section)
        for grid in section.experiment.grids:
            yield grid_table(section, grid)
            yield from (Note(f"{', '.join(row.labels)}: {row.note}") for row in grid.rows if row.note)
            yield BLANK
    if outcome.claims:
        table = Table("claim", "place", "says", "verdict", words=range(4), title="Claims")
        for result in outcome.claims:
            claim, verdict = result.claim, result.verdict
            table.add(claim.id, claim.place, claim.text, Span(CLAIM_WORDS[verdict], verdict))
        yield table
        yield from (Note(f"{result.claim.id}: {result.reason}") for result in outcome.claims if result.reason)
        yield BLANK
    if outcome.readings_compare:
        yield scores_table(outcome)
    yield from _scoreboard(outcome)


def _section(outcome: PaperOutcome, section: Section) -> Iterator[Part]:
    yield measured_table(outcome, section)
    level = outcome.paper.confidence
    heads = averaged_columns(section.averaged_runs, level)
    for comparison in section.comparisons if heads else ():
        texts = averaged_texts(section.averaged_runs, comparison, level)
        said = ", ".join(f"{head} {text}" for head, text in zip(heads, texts, strict=True) if text)
        if said:
            yield Note(f"{comparison.published.id}: {said}")
    for comparison in section.comparisons:
        if comparison.reason and comparison.verdict != "more_runs_needed":
            yield Note(f"{comparison.published.id}: {comparison.reason}")
    yield BLANK


def _scoreboard(outcome: PaperOutcome) -> Iterator[Part]:
    paper = outcome.paper
    what = "studies" if paper.is_own else f"{counted(measured_values(outcome), 'value')} measured"
    yield Note((Span(paper.name, "bold"), f": {what} under reading '{paper.default_reading}'"))
    if outcome.comparisons:
        yield tally(outcome)
    if outcome.claims:
        yield Note(f"claims: {claims_text(result.verdict for result in outcome.claims)}")
    if missing := not_covered_text(paper):
        yield Note(missing)


def measured_values(outcome: PaperOutcome) -> int:
    """Number of published values that were measured."""
    return sum(comparison.verdict != "background" for comparison in outcome.comparisons)


def tally(outcome: PaperOutcome) -> Tally:
    """Count the verdicts on values."""
    counts = Counter(comparison.verdict for comparison in outcome.comparisons)
    return Tally(
        [(counts[name], verdict_words(name, counts[name]), name) for name in VERDICTS if counts[name]]
    )


def measured_table(outcome: PaperOutcome, section: Section, *, averaged: bool = False) -> Table:
    """Published values beside what was measured; `averaged` adds columns for what the paper averaged."""
    experiment, others, level = section.experiment, outcome.other_readings, outcome.paper.confidence
    runs, keys = section.averaged_runs if averaged else 1, len(section.experiment.columns)
    table = Table(
        *(*experiment.columns, "published", "measured", "95 % interval", *averaged_columns(runs, level)),
        *("runs", "unit", "verdict", *others),
        words=(*(range(keys) if keys == 1 else ()), keys + 4, keys + 5),
        keys=keys,
        title=heading(experiment),
        kind="numbers" if keys > 1 else "words",
    )
    for comparison in section.comparisons:
        value, measured, row = comparison.published, comparison.measured, comparison.row
        if measured is None or row is None:
            continue
        table.add(
            *row.labels,
            published_text(value),
            number(measured.mean),
            interval_text((measured.ci_low, measured.ci_high), value.unit, value.quantity),
            *averaged_texts(runs, comparison, level),
            str(measured.n) if row.cells else "",
            unit_name(value.unit),
            Span(VERDICT_WORDS[comparison.verdict], comparison.verdict),
            *(Span(other_text(comparison, name), "other") for name in others),
            name=value.id,
        )
    return table


def grid_table(section: Section, grid: Grid, *, on_page: bool = False) -> Table:
    """What was measured side by side; the unit is in the headings on a page, else in the title."""
    experiment, unit = section.experiment, unit_name(grid.unit)
    title = f"{experiment.place} {grid.title}" if grid.title else heading(experiment)
    heads = grid.heads or experiment.columns
    behind = f", {unit}" if unit and on_page else ""
    table = Table(
        *(*heads, *(f"{column}{behind}" for column in grid.columns)),
        words=range(len(heads)),
        keys=len(heads),
        title=f"{title} [{unit}]" if unit else title,
        kind="numbers",
    )
    for row in grid.rows:
        table.add(*row.labels, *grid_texts(section, row))
    return table


def scores_table(outcome: PaperOutcome) -> Table:
    """How each reading would do if it judged."""
    heads = (VERDICT_WORDS[verdict] for verdict in outcome.scored)
    table = Table("reading", *heads, title="How each reading would do", kind="words")
    for name, counts in outcome.scores.items():
        said = f"{name} (judged)" if name == outcome.paper.default_reading else name
        table.add(said, *(str(counts[verdict]) for verdict in outcome.scored))
    return table
