"""The report of a scorecard: a table on the terminal, and the page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from airpath import _core
from airpath.experiments.scorecard.card import BETTER, HARMS, SAME, UNCLEAR, WORSE, Card, Score
from airpath.experiments.scorecard.conditions import GROUPS
from airpath.report.comparison import mean_text
from airpath.report.document import Heading, Items, Note, Part, Picture, Source, Span, Table, Tally
from airpath.scenario import inline

MEANS = {
    BETTER: "better than CUBIC by more than the tolerance, and the interval leaves 0 out",
    SAME: "the whole interval is within the tolerance",
    UNCLEAR: "neither; more --runs would tell",
    WORSE: "worse than CUBIC by more than the tolerance, and the interval leaves 0 out",
    HARMS: "worse for others: it harms a competing flow more than CUBIC would",
}
"""What verdicts mean."""


def title_of(name: str) -> str:
    """Title of the scorecard of a component."""
    return f"Scorecard of {name}"


def scorecard_report(card: Card) -> Iterator[Part]:
    """Report on a scorecard in short, for a terminal."""
    yield Note(f"{_parameters(card)} beside CUBIC, {_runs(card)}")
    table = Table("", "", *_headings(card), words=(0, 1), keys=2)
    for score in card.scores:
        table.add(score.condition.name, _measure(score), *_cells(score))
    yield table
    yield _tally(card)


def scorecard_page(card: Card, command: str) -> Iterator[Part]:
    """Report on a scorecard in full; `command` gives the same page."""
    from airpath.plots.scorecard import scorecard_picture  # Slow to import.

    yield Heading(title_of(card.name), level=1)
    yield Note(
        f"{_parameters(card)} compared with Linux's CUBIC in conditions of RFC 9743 "
        f"and RFC 8869; {_runs(card)}.",
        "citation",
    )
    yield _tally(card)
    yield Heading("Effect on others")
    harms = [score for score in card.scores if score.verdict == HARMS]
    if harms:
        yield _table(card, harms)
    else:
        yield Note("Nothing that CUBIC in its place would not do, within the tolerance, where it is clear.")
    yield Heading("All rows")
    yield Picture(scorecard_picture([(_label(score), score) for score in card.scores]))
    for group in GROUPS:
        scores = [score for score in card.scores if score.condition in group.conditions]
        if scores:
            yield Heading(group.heading)
            yield Note(group.says)
            yield _table(card, scores)
    yield Heading("How to read it")
    yield Note(
        "Each row compares the mean over runs with this algorithm with the mean over runs of the same "
        "seeds with CUBIC. The difference has its 95 % interval: in percent of CUBIC's mean, "
        "or in points where the row is a share. Rows that name CUBIC, Reno, a call or bursts report how "
        "these fare when competing with it. The tolerance is 5 %, of losses and retransmissions 1 point."
    )
    yield Items([f"{verdict}: {says}" for verdict, says in MEANS.items()])
    yield Heading("How to get it again")
    yield Source(command)
    yield Note(
        "The folder conditions has each condition as a scenario with this algorithm, for a look at one run: "
        "airpath run, airpath studio."
    )
    yield Note(f"airpath {_core.version()}, random streams {_core.RNG_VERSION}.")


def _parameters(card: Card) -> str:
    said = ", ".join(f"{key} = {inline(value)}" for key, value in card.cc[card.name].items())
    return f"{card.name} ({said})" if said else card.name


def _runs(card: Card) -> str:
    return f"{len(card.seeds)} pairs of runs in each condition, seeds {card.seeds[0]} to {card.seeds[-1]}"


def _headings(card: Card) -> tuple[str, ...]:
    return (card.name, "CUBIC", "difference", "verdict")


def _table(card: Card, scores: Sequence[Score]) -> Table:
    table = Table("", "", "", *_headings(card), words=(0, 1, 2))
    for score in scores:
        table.add(Span(score.condition.name, "bold"), score.condition.says, _measure(score), *_cells(score))
    return table


def _cells(score: Score) -> tuple[str | Span, ...]:
    pair, measure = score.pair, score.row.measure
    if measure.is_share:
        apart = f"{_signed(mean_text(pair.difference, 1, measure.digits))} points"
    elif pair.relative is None:
        apart = _signed(mean_text(pair.difference, 1, measure.digits))
    else:
        apart = f"{_signed(mean_text(pair.relative, 100, 1))} %"
    means = (f"{side.mean:.{measure.digits}f}" for side in (pair.a, pair.b))
    return (*means, apart, Span(score.verdict, score.verdict))


def _signed(text: str) -> str:
    return text if text.startswith("-") else f"+{text}"


def _measure(score: Score) -> str:
    measure, of = score.row.measure, score.row.of
    return f"{f'{of}: ' if of else ''}{measure.title}, {measure.unit}"


def _label(score: Score) -> str:
    of = score.row.of
    return f"{score.condition.name}  {f'{of}: ' if of else ''}{score.row.measure.title}"


def _tally(card: Card) -> Tally:
    return Tally([(count, verdict, verdict) for verdict, count in card.counts().items()])
