"""Selects the points of a figure: names, conditions, and checks that it does not mix different points."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from airpath.errors import SweepError
from airpath.experiments.sweep.results import PointResult, SweepResults
from airpath.plots.sweep.quantity import Value, quantities, quantity, same
from airpath.plots.sweep.wording import value_label

MOST_LISTED = 12
"""An error lists up to this number of names or values."""


@dataclass(frozen=True)
class Group:
    """Points with the same values under the keys of `--by`; they make a line."""

    values: tuple[Value, ...]
    points: tuple[PointResult, ...]


def named_in(option: str, name: str, known: Sequence[str], what: str) -> str:
    """Find a key or metric by its full name, or by an ending that is unique.

    Raises
    ------
    SweepError
        If there is none, or more than one.
    """
    if name in known:
        return name
    ending = [one for one in known if one.endswith(f".{name}")]
    if len(ending) == 1:
        return ending[0]
    if ending:
        raise SweepError(option, f"'{name}' may be {listed(ending, ' or ')}", "write more of it")
    hint = f"choose from {listed(known)}" if known else f"the sweep has no {what}"
    raise SweepError(option, f"the sweep has no {what} '{name}'", hint)


def listed(words: Iterable[str], between: str = ", ") -> str:
    """List names in an error, the first ones if there are many."""
    known = list(words)
    more = len(known) - MOST_LISTED
    shown = between.join(known[:MOST_LISTED])
    return f"{shown} and {more} more" if more > 0 else shown


def conditions(results: SweepResults, where: Iterable[str]) -> dict[str, list[str]]:
    """Read KEY=VALUE conditions; several values of a key are alternatives.

    Raises
    ------
    SweepError
        If one is not KEY=VALUE, or its key is not the sweep's.
    """
    wanted: dict[str, list[str]] = {}
    for condition in where:
        name, equals, value = condition.partition("=")
        if not equals or not name.strip():
            known = listed(results.parameters) or "none, it has no parameters"
            raise SweepError(
                "--where", f"'{condition}' is not KEY=VALUE", f"write it so, with a key of the sweep: {known}"
            )
        key = named_in("--where", name.strip(), results.parameters, "parameter")
        wanted.setdefault(key, []).append(value.strip())
    return wanted


def fulfilling(results: SweepResults, wanted: dict[str, list[str]]) -> list[PointResult]:
    """Select the points that meet all conditions; an empty value means that a point does not set the key.

    Raises
    ------
    SweepError
        If there are none.
    """
    points = list(results.points)
    for key, texts in wanted.items():
        kept = [point for point in points if any(_is(point.parameters.get(key), text) for text in texts)]
        for text in texts:
            if not any(_is(point.parameters.get(key), text) for point in points):
                raise SweepError(
                    "--where", f"no point has {key} = {text or 'none'}", f"there is {values_of(points, key)}"
                )
        points = kept
    return points


def _is(value: Value, text: str) -> bool:
    if value is None:
        return not text
    return text.lower() in (str(value).lower(), value_label(value).lower()) or (
        quantity(text) is not None and same(text) == same(value)
    )


def values_of(points: Iterable[PointResult], key: str) -> str:
    """Values of a key, for an error."""
    values = ordered(
        {same(value): value for value in (point.parameters.get(key) for point in points)}.values()
    )
    return listed("none set" if value is None else str(value) for value in values)


def ordered(values: Iterable[Value]) -> list[Value]:
    """Sort values by size if all have units of one family, else keep their order; unset is last."""
    there = [value for value in values if value is not None]
    missing = [value for value in values if value is None]
    known = quantities(there)
    if known is not None:
        there = [value for _, value in sorted(zip(known, there, strict=True), key=lambda pair: pair[0].base)]
    return there + missing


def varying(points: Sequence[PointResult], keys: Iterable[str]) -> list[str]:
    """Keys whose values differ among the points."""
    return [key for key in keys if len({same(point.parameters.get(key)) for point in points}) > 1]


def refuse_mixture(points: Sequence[PointResult], keys: Sequence[str], remedy: str) -> None:
    """Refuse points that differ in keys which the figure does not show.

    Raises
    ------
    SweepError
        With the keys, and the values of the first.
    """
    if keys:
        others = f", and those of different {listed(keys[1:])}" if len(keys) > 1 else ""
        what = f"the figure would mix the points of {values_of(points, keys[0])}{others}"
        raise SweepError(keys[0], what, remedy)


def grouped(points: Sequence[PointResult], by: Sequence[str]) -> list[Group]:
    """Group points by their values of some keys, in the order of these values."""
    groups: dict[tuple[object, ...], list[PointResult]] = {}
    for point in points:
        groups.setdefault(tuple(same(point.parameters.get(key)) for key in by), []).append(point)
    found = [Group(tuple(own[0].parameters.get(key) for key in by), tuple(own)) for own in groups.values()]
    for place in reversed(range(len(by))):
        column = ordered({same(group.values[place]): group.values[place] for group in found}.values())
        rank = {same(value): number for number, value in enumerate(column)}
        found.sort(key=lambda group: rank[same(group.values[place])])
    return found
