"""The report of `airpath reproduce --explore`: set-ups that fit one half of the values, and the other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from airpath.report.document import Heading, Items, Note, Part, Span, Table
from airpath.terminal import counted
from airpath_studies.base.paper import Paper
from airpath_studies.base.verdict import COUNTED, Verdict
from airpath_studies.base.wording import VERDICT_WORDS, number, unit_name
from airpath_studies.explore.plan import Exploration
from airpath_studies.explore.search import Found, Tried
from airpath_studies.report.paper import published_text, verdict_words

SHOWN = 4
"""Set-ups whose values are listed, in addition to the named ones."""


def explored(paper: Paper, exploration: Exploration, found: Sequence[Found]) -> Iterator[Part]:
    """Report on a search."""
    if exploration.question:
        yield Note(exploration.question)
    for place, one in enumerate(found):
        if place:
            yield Heading("The halves exchanged")
        yield Note(summary(exploration, one))
        yield setups_table(exploration, one)
        yield Note("The values under the best set-ups, and under the named ones:")
        yield _values_table(paper, one)
        yield Note("Share of each option that survived the first and the last round:")
        yield _options_table(one)
    if exploration.excluded:
        yield Heading("Excluded")
        yield Items(exploration.excluded)


def summary(exploration: Exploration, found: Found) -> str:
    """Say how many choices there were for how many values, and how they were searched."""
    grid = len(exploration.setups)
    settled = ", ".join(f"{name}: {option}" for name, option in exploration.argued.items())
    rounds = ", ".join(f"{setups} with {counted(runs, 'run')}" for setups, runs in found.rounds)
    return (
        f"{counted(len(exploration.choices), 'choice')} with {grid} set-ups, chosen by "
        f"{counted(len(found.choose), 'value')} and tested by {counted(len(found.test), 'other')}. "
        f"Rounds: {rounds}. "
        'The misfit is the mean of the squared distances, in what "reproduced" allows and single runs '
        "scatter; 0 is perfect. The values that test were simulated in the last round alone."
        + (f" The text settles {settled}; set-ups that have this are marked *." if settled else "")
    )


def setups_table(exploration: Exploration, found: Found) -> Table:
    """The set-ups of the last round, the best on the values to choose by first."""
    heads = [choice.name for choice in exploration.choices]
    return Table(
        *("", *heads, "misfit, chosen by", "came out", "misfit, tested by", "came out"),
        *("tested: verdicts",),
        rows=[
            (
                Span(
                    (one.name or str(place)) + ("*" if exploration.argued and one.is_argued else ""),
                    "bold" if one.name else "",
                ),
                *one.setup.options,
                number(one.misfit),
                f"{one.met(found.choose)} of {len(found.choose)}",
                number(one.tested_misfit),
                f"{one.met(found.test)} of {len(found.test)}",
                verdicts_text(one, found.test),
            )
            for place, one in enumerate(found.best, 1)
        ],
        words=(*range(1 + len(heads)), 5 + len(heads)),
        keys=1,
        kind="words",
    )


def verdicts_text(tried: Tried, ids: Sequence[str]) -> str:
    """Count the verdicts on values in words."""
    counts = tried.counts(ids)
    known: list[Verdict] = [verdict for verdict in COUNTED if counts[verdict]]
    return ", ".join(f"{counts[verdict]} {verdict_words(verdict, counts[verdict])}" for verdict in known)


def _values_table(paper: Paper, found: Found) -> Table:
    shown = [*found.best[:SHOWN], *(one for one in found.best[SHOWN:] if one.name)]
    names = [one.name or str(found.best.index(one) + 1) for one in shown]
    table = Table(*("value", "", "published", *names, "unit"), words=(0, 1), keys=2, kind="columns")
    for name in (*found.choose, *found.test):
        value = paper.published[name]
        cells = (one.values[name] for one in shown)
        table.add(
            name,
            "chosen by" if name in found.choose else "tested by",
            published_text(value),
            *(Span(f"{number(known.mean)} {VERDICT_WORDS[judged]}", judged) for known, judged in cells),
            unit_name(value.unit),
        )
    return table


def _options_table(found: Found) -> Table:
    setups = found.rounds[0][0]
    return Table(
        *("choice", "option", f"least misfit of any of the {setups} set-ups", "left in the last round"),
        rows=[(choice, option, number(misfit), str(left)) for choice, option, misfit, left in found.options],
        words=(0, 1),
        keys=2,
        kind="columns",
    )


def found_as_json(paper: Paper, exploration: Exploration, found: Sequence[Found]) -> dict[str, Any]:
    """What was found, for programs."""
    return {
        "paper": paper.name,
        "choices": {
            choice.name: [option.name for option in choice.options] for choice in exploration.choices
        },
        "argued": dict(exploration.argued),
        "excluded": list(exploration.excluded),
        "searches": [_found(paper, one) for one in found],
    }


def _found(paper: Paper, found: Found) -> dict[str, Any]:
    return {
        "choose": list(found.choose),
        "test": list(found.test),
        "rounds": [{"setups": setups, "runs": runs} for setups, runs in found.rounds],
        "best": [
            {
                "name": one.name,
                "options": list(one.setup.options),
                "argued": one.is_argued,
                "misfit": one.misfit,
                "tested_misfit": one.tested_misfit,
                "came_out": one.met(found.choose),
                "tested_came_out": one.met(found.test),
                "tested_verdicts": dict(one.counts(found.test)),
                "values": {
                    name: {
                        "published": paper.published[name].target,
                        "measured": known.mean,
                        "runs": known.n,
                        "verdict": judged,
                    }
                    for name, (known, judged) in one.values.items()
                },
            }
            for one in found.best
        ],
        "options": [
            {"choice": choice, "option": option, "least_misfit": misfit, "left": left}
            for choice, option, misfit, left in found.options
        ],
    }
