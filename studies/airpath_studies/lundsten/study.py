"""What a study is made of: a line for each variant, a column for each download."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from airpath_studies.base.cell import Cell, Metric
from airpath_studies.base.grid import Grid, make_grid
from airpath_studies.base.paper import Experiment, study
from airpath_studies.base.quantity import Quantity
from airpath_studies.downloads import fast_retransmits, increase
from airpath_studies.lundsten.model import Key, beside_reno, make_download

Lines = Mapping[str, Callable[[Any], Cell]]
"""The cell of each line, as a function of the column."""


def by_key(keys: Iterable[Key]) -> dict[str, Key]:
    """Downloads below heads."""
    return {f"{rate}/{packet}": (rate, packet) for rate, packet in keys}


def make_table(
    title: str,
    columns: Mapping[str, Any],
    lines: Lines,
    metric: Metric = increase,
    unit: str = "percent",
) -> Grid:
    """Make a table of a metric, with a column for each head."""

    def entry(line: str, head: str) -> Quantity:
        return Quantity(f"{head} {line}", lines[line](columns[head]), metric, unit)

    return make_grid(unit, {head: head for head in columns}, [(line, line) for line in lines], entry, title)


def make_study(
    number: int,
    title: str,
    question: str,
    label: str,
    keys: Iterable[Key],
    lines: Lines,
    metric: Metric = increase,
) -> Experiment:
    """Make a study of one table, with a column for each download."""
    return study(number, title, question, make_table("", by_key(keys), lines, metric), heads=label)


def with_options(*options: tuple[str, str]) -> Callable[[Key], Cell]:
    """Compare a download under changed conditions with the same download without block errors."""
    return lambda key: make_download(*key, options=options).against_no_errors()


def of_variant(**variant: Any) -> Callable[[Key], Cell]:
    """Compare a variant of TCP with Reno without block errors."""
    return lambda key: beside_reno(*key, variant)


def fast_retransmits_of(quantity: Quantity) -> Quantity:
    """The fast retransmits in the same runs."""
    return Quantity(f"fast retransmits {quantity.name}", quantity.cell, fast_retransmits, unit="1")
