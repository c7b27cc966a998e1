"""The report of `airpath reproduce` on the terminal; the tables and words that it shares with the page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from airpath.report.document import BLANK, Note, Part, Span, Table, Tally
from airpath.terminal import counted
from airpath_studies.base.grid import Grid
from airpath_studies.base.paper import Experiment, Paper
from airpath_studies.base.published import Published
from airpath_studies.base.quantity import Quantity
from airpath_studies.base.verdict import CLAIM_VERDICTS, VERDICTS, ClaimVerdict, Verdict
from airpath_studies.base.wording import (
    VERDICT_WORDS,
    interval_text,
    mean_text,
    number,
    unit_name,
)
from airpath_studies.outcome import Comparison, PaperOutcome, Section

_SIGNS = {"claim_upper": "≤ ", "claim_lower": "≥ ", "claim_approx": "≈ ", "claim_up_to": "up to "}


def claim_words(verdict: ClaimVerdict) -> str:
    """Write a verdict on a claim."""
    return verdict.replace("_", " ")


def published_text(value: Published) -> str:
    """Write a published value: its direction, its interval, and what it should have been if a misprint."""
    text = f"{_SIGNS.get(value.kind, '')}{value.value:g}"
    if value.half_width is not None:
        text += f" ± {value.half_width:g}"
    return text if value.corrected is None else f"{text} (misprint of {value.corrected:g})"


def verdict_words(verdict: Verdict, number: int) -> str:
    """Write a verdict behind the number of values that have it: 1 holds, 2 hold."""
    return "hold" if verdict == "holds" and number != 1 else VERDICT_WORDS[verdict]


def heading(experiment: Experiment) -> str:
    """Write the title of an experiment with its number."""
    return experiment.title if experiment.number is None else f"{experiment.place}. {experiment.title}"


def _averaged_columns(runs: int, confidence: float | None) -> tuple[str, ...]:
    """Head the columns about what the paper averaged; none if it did not."""
    if runs == 1:
        return ()
    spread = "sd" if confidence is None else f"{100 * confidence:g} %"
    return (f"first {runs} runs ± {spread}", f"a mean of {runs} falls in")


def _averaged_texts(runs: int, comparison: Comparison, confidence: float | None) -> tuple[str, ...]:
    """Write mean and spread of as many runs as the paper averaged, and where such a mean falls; none for 1.

    The spread is half the width of the interval at this confidence; if None the standard deviation of a run.
    """
    if runs == 1:
        return ()
    like, falls_in, value = comparison.like_the_paper, comparison.prediction, comparison.published
    if like is None or like.n == 1 or falls_in is None:
        return ("", "")
    fewer = f" ({like.n} runs)" if like.n < runs else ""
    spread = like.sd if confidence is None else like.half_width_at(confidence)
    return (
        f"{number(like.mean)} ± {number(spread)}{fewer}",
        interval_text(falls_in, value.unit, value.quantity),
    )


def _other_text(comparison: Comparison, reading: str) -> str:
    """Write what another reading gives."""
    estimate, value = comparison.others.get(reading), comparison.published
    return "not finished" if estimate is None else mean_text(estimate, value.unit, value.quantity)


def claims_text(verdicts: Iterable[ClaimVerdict]) -> str:
    """Count verdicts on claims."""
    counts = Counter(verdicts)
    words = ("hold", "do not hold", "cannot be checked", "calibrated", "follow from the set-up")
    known = zip(CLAIM_VERDICTS, words, strict=True)
    return ", ".join(f"{counts[name]} {said}" for name, said in known if counts[name])


def not_covered_text(paper: Paper) -> str:
    """Say how much of the paper no experiment covers yet."""
    missing = paper.not_covered()
    return f"{missing} further values of this paper are not covered yet." if missing else ""


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
        rows = [
            (one.claim.id, one.claim.place, one.claim.text, Span(claim_words(one.verdict), one.verdict))
            for one in outcome.claims
        ]
        yield Table("claim", "place", "says", "verdict", rows=rows, words=range(4), title="Claims")
        yield from (Note(f"{result.claim.id}: {result.reason}") for result in outcome.claims if result.reason)
        yield BLANK
    if outcome.readings_compare:
        yield scores_table(outcome)
    yield from _scoreboard(outcome)


def _section(outcome: PaperOutcome, section: Section) -> Iterator[Part]:
    yield measured_table(outcome, section)
    level = outcome.paper.confidence
    heads = _averaged_columns(section.averaged_runs, level)
    for comparison in section.comparisons if heads else ():
        texts = _averaged_texts(section.averaged_runs, comparison, level)
        said = ", ".join(f"{head} {text}" for head, text in zip(heads, texts, strict=True) if text)
        if said:
            yield Note(f"{comparison.published.id}: {said}")
    for comparison in section.comparisons:
        if comparison.reason and comparison.verdict != "more_runs_needed":
            yield Note(f"{comparison.published.id}: {comparison.reason}")
    yield BLANK


def _scoreboard(outcome: PaperOutcome) -> Iterator[Part]:
    paper = outcome.paper
    values = sum(comparison.verdict != "background" for comparison in outcome.comparisons)
    what = f"{counted(values, 'published value')} measured" if values else "nothing published to compare with"
    if paper.is_own:
        what = "studies"
    yield Note((Span(paper.name, "bold"), f": {what} under reading '{paper.default_reading}'"))
    if outcome.comparisons:
        yield tally(outcome)
    if link := link_alone_text(outcome):
        yield Note(link)
    if outcome.claims:
        yield Note(f"claims: {claims_text(result.verdict for result in outcome.claims)}")
    if missing := not_covered_text(paper):
        yield Note(missing)


def link_alone_text(outcome: PaperOutcome) -> str:
    """State how many reproduced values do not depend on TCP; empty if none was reproduced."""
    met, link = outcome.met
    return f"{link} of the {met} reproduced values a link without TCP would match, too" if met else ""


def tally(outcome: PaperOutcome) -> Tally:
    """Count the verdicts on values."""
    counts = Counter(comparison.verdict for comparison in outcome.comparisons)
    return Tally(
        [(counts[name], verdict_words(name, counts[name]), name) for name in VERDICTS if counts[name]]
    )


def measured_table(outcome: PaperOutcome, section: Section, *, averaged: bool = False) -> Table:
    """Published and measured values; `averaged` adds columns for the values that the paper averaged."""
    experiment, others, level = section.experiment, outcome.other_readings, outcome.paper.confidence
    runs, keys = section.averaged_runs if averaged else 1, len(section.experiment.columns)
    table = Table(
        *(*experiment.columns, "published", "measured", "95 % interval", *_averaged_columns(runs, level)),
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
            *_averaged_texts(runs, comparison, level),
            str(measured.n) if row.cells else "",
            unit_name(value.unit),
            Span(VERDICT_WORDS[comparison.verdict], comparison.verdict),
            *(Span(_other_text(comparison, name), "other") for name in others),
            name=value.id,
        )
    return table


def grid_table(section: Section, grid: Grid, *, on_page: bool = False) -> Table:
    """What was measured side by side; the unit is in the headings on a page, else in the title."""
    experiment, unit = section.experiment, unit_name(grid.unit)
    title = f"{experiment.place} {grid.title}" if grid.title else heading(experiment)
    heads = grid.heads or experiment.columns
    behind = f", {unit}" if unit and on_page else ""

    def text(mark: str, entry: Quantity | None) -> str:
        """What the paper prints, if anything, and what was measured."""
        measured = entry and section.grid.get(entry)
        said = "-" if entry is None else mean_text(measured, entry.unit) if measured else "not finished"
        return f"{mark} {said}".strip()

    return Table(
        *(*heads, *(f"{column}{behind}" for column in grid.columns)),
        rows=[
            (*row.labels, *map(text, row.marks or ("",) * len(row.entries), row.entries)) for row in grid.rows
        ],
        words=range(len(heads)),
        keys=len(heads),
        title=f"{title} [{unit}]" if unit else title,
        kind="numbers",
    )


def scores_table(outcome: PaperOutcome) -> Table:
    """How each reading would do if it judged."""
    heads = (VERDICT_WORDS[verdict] for verdict in outcome.scored)
    rows = [
        (
            f"{name} (judged)" if name == outcome.paper.default_reading else name,
            *(str(counts[verdict]) for verdict in outcome.scored),
        )
        for name, counts in outcome.scores.items()
    ]
    return Table("reading", *heads, rows=rows, title="How each reading would do", kind="words")
