"""The report of a rate controller's scorecard: a table on the terminal, and the page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from airpath import _core
from airpath.experiments.scorecard.calls import FAILED, PASSED, UNCLEAR, VERDICTS, Card, Score
from airpath.report.document import Heading, Items, Note, Part, Source, Span, Table, Tally
from airpath.report.scorecard import title_of
from airpath.scenario import inline

MEANS = {
    PASSED: "the whole 95 % interval of the mean is within the limit",
    UNCLEAR: "the limit is inside the interval; more --runs would tell",
    FAILED: "the whole interval is beyond the limit",
}
"""What verdicts mean."""


def calls_report(card: Card) -> Iterator[Part]:
    """Report on a scorecard in short, for a terminal."""
    yield Note(f"{_parameters(card)}, {_runs(card)}")
    yield _table(card.scores)
    yield _tally(card)


def calls_page(card: Card, command: str) -> Iterator[Part]:
    """Report on a scorecard in full; `command` gives the same page."""
    yield Heading(title_of(card.name), level=1)
    yield Note(f"{_parameters(card)} in cases of RFC 8867 and RFC 8869; {_runs(card)}.", "citation")
    yield _tally(card)
    for section, says in dict.fromkeys((score.case.section, score.case.says) for score in card.scores):
        yield Heading(section)
        yield Note(f"{says[0].upper()}{says[1:]}.")
        yield _table([score for score in card.scores if score.case.section == section])
    yield Heading("How to read it")
    yield Items([f"{verdict}: {means}" for verdict, means in MEANS.items()])
    yield Note(
        "The RFCs fix links, flows and times, and say in words what is expected. The limits are airpath's, "
        "and the same for all controllers."
    )
    yield Heading("How to get it again")
    yield Source(command)
    yield Note(f"airpath {_core.version()}, random streams {_core.RNG_VERSION}.")


def _parameters(card: Card) -> str:
    said = ", ".join(f"{key} = {inline(value)}" for key, value in card.controller[card.name].items())
    return f"{card.name} ({said})" if said else card.name


def _runs(card: Card) -> str:
    return f"{len(card.seeds)} runs of each case, seeds {card.seeds[0]} to {card.seeds[-1]}"


def _table(scores: Sequence[Score]) -> Table:
    table = Table("case", "criterion", "mean", "95 % interval", "limit", "verdict", words=(0, 1), keys=2)
    for score in scores:
        criterion, value = score.criterion, score.value
        spread = f"{value.ci_low:.4g} to {value.ci_high:.4g}" if len(value.values) > 1 else ""
        limit = f"{'at most' if criterion.is_most else 'at least'} {criterion.limit:g}"
        title = f"{criterion.title}, {criterion.unit}"
        verdict = Span(score.verdict, score.verdict)
        table.add(score.case.name, title, f"{value.mean:.4g}", spread, limit, verdict)
    return table


def _tally(card: Card) -> Tally:
    counts = card.counts()
    return Tally([(counts[verdict], verdict, verdict) for verdict in VERDICTS])
