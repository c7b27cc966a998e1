"""Finds numbers in the prose of a paper's page that are neither generated nor given.

Given are the numbers of the paper (its `published.csv`) and those of what is run: the settings of its
scenarios and cells, what rows and columns are called, the parameters and the claims as stated. Any other
number is a result, or follows from some, and is to be generated (see `docs_figures`). A number with a unit
that results have is given with that unit alone. What refers to a place, a standard or a year is no number
here, nor is a quotation, nor a whole number up to twenty without a unit.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache

from airpath_studies.base.cell import Cell
from airpath_studies.base.paper import Paper
from airpath_studies.base.wording import unit_name
from airpath_studies.explore.plan import explorations, load_exploration
from airpath_studies.papers import PAPERS

_UNITS = (
    "kbit/s",
    "Mbit/s",
    "%",
    "ms/SDU",
    "ms",
    "s",
    "dB",
    "Hz",
    "kB",
    "bytes",
    "B",
    "SDUs",
    "segments",
    "packets",
    "points",
    "runs",
    "timeouts",
    "overflows",
)
_SAME = {
    "percent": "%",
    "SDU": "SDUs",
    "segment": "segments",
    "packet": "packets",
    "byte": "bytes",
    "B": "bytes",
}
"""Other words for a unit."""
_NUMBER = re.compile(
    r"(?<![\w./^-])(?P<number>\d+(?:,\d{3})*(?:\.\d+)?)(?![\w/^]|[.,]\d)"
    rf"(?:[ \n]+(?P<unit>{'|'.join(_UNITS)})(?![\w/]))?"
)
_SECTION = r"\d\.\d(?:\.\d)?"
_PLACES = "[Ss]ections?|[Cc]laims?|[Tt]ables?|[Ff]igures?|Stud(?:y|ies)|[Ee]quations?|[Cc]ases?|[Rr]ules?"
_NO_NUMBER = re.compile(
    "|".join(
        (
            r"`[^`]*`",
            r"\"[^\"]{1,80}\"",
            r"\]\([^)]*\)",
            r"\b(?:RFC|TS|Appendix) [\d.]+(?:, \d\.\d+)?",
            r"\b(?:[12]?\d [A-Z][a-z]+ )?(?:19|20)\d\d(?:-\d\d)*\b",
            rf"\b(?:{_PLACES}) (?:\d[\d.]*[a-z]?(?:, |,? and | to |-|\b))+",
            rf"(?<=[(;]){_SECTION}(?:(?:, |; |,? and | to ){_SECTION})*(?=[),;])",
            rf"\b{_SECTION} (?:has|implies|prints|speaks|gives)\b",
        )
    )
)
_SMALL = 20


def typed(page: str, text: str) -> Iterator[tuple[int, str]]:
    """Yield line and number of what a text about a paper has typed; nothing for a page of no paper."""
    paper = PAPERS.get(page)
    if paper is None:
        return
    known = given(page)
    text = _NO_NUMBER.sub(lambda found: re.sub(r"[^\n]", "_", found[0]), text)
    for found in _NUMBER.finditer(text):
        number, unit = found["number"].replace(",", ""), _unit(found["unit"])
        small = unit is None and "." not in number and int(number) <= _SMALL
        if not small and (float(number), unit) not in known:
            yield text.count("\n", 0, found.start()) + 1, " ".join(found[0].split())


@cache
def given(page: str) -> frozenset[tuple[float, str | None]]:
    """Collect the numbers that a paper and its settings give, each with its unit and without one."""
    paper, known = PAPERS[page], set()
    for value in paper.published.values():
        for number in (value.value, value.corrected, value.half_width):
            if number is not None:
                known.add((abs(number), _unit(unit_name(value.unit))))
    for text in _settings(paper):
        for found in _NUMBER.finditer(text):
            known.add((float(found["number"].replace(",", "")), _unit(found["unit"])))
    return frozenset(known | {(number, None) for number, _ in known})


def _unit(word: str | None) -> str | None:
    return _SAME.get(word, word) if word else None


def _settings(paper: Paper) -> Iterator[str]:
    """Yield what says how a paper is run."""
    yield paper.base.text
    for pair in paper.parameters:
        yield from pair
    for cell in dict.fromkeys(_cells(paper)):
        yield cell.name
        yield from (value for _, value in cell.overrides)
    for experiment in paper.experiments:
        yield from (label for row in experiment.rows for label in row.labels)
        for grid in experiment.grids:
            yield from (grid.title, *grid.columns, *(label for row in grid.rows for label in row.labels))
    for reading in paper.readings:
        yield reading.description
        yield from (value for _, value in reading.overrides)
    if paper.name in explorations():
        yield from (option.name for choice in load_exploration(paper).choices for option in choice.options)
    for claim in paper.claims:
        yield from (claim.place, claim.text)
    for value in paper.published.values():
        yield value.place
        yield re.sub(r"(?<=\d)(?=[a-z])", " ", " ".join(map(str, value.context.values())))


def _cells(paper: Paper) -> Iterable[Cell]:
    for experiment in paper.experiments:
        yield from experiment.single_runs
        yield from (quantity.cell for quantity in experiment.quantities)
        for row in experiment.rows:
            yield from row.cells
    for claim in paper.claims:
        yield from (quantity.cell for quantity in claim.quantities)
