"""Selects the points of a figure: names, conditions, and checks that it does not mix different points."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from airpath.errors import SweepError
from airpath.experiments.sweep.points import text_of
from airpath.experiments.sweep.results import PointResult, SweepResults
from airpath.plots.sweep.quantity import Value, matches, quantities, same
from airpath.plots.sweep.wording import value_label
from airpath.runs.renamed import current_name, former_names

MOST_LISTED = 12
"""An error lists up to this number of names or values."""


def named_in(option: str, name: str, known: Sequence[str], what: str) -> str:
    """Find a key or metric by its full name, or by an ending that is unique; else raise a `SweepError`."""
    ending = meant_by(name, known)
    if len(ending) == 1:
        return ending[0]
    if ending:
        raise SweepError(option, f"'{name}' may be {listed(ending, ' or ')}", "write more of it")
    hint = f"choose from {listed(known)}" if known else f"the sweep has no {what}"
    raise SweepError(option, f"the sweep has no {what} '{name}'", hint)


def meant_by(name: str, known: Sequence[str]) -> list[str]:
    """Keys and metrics of this full name, or else with this ending; by their old names if there are none."""
    if name in known:
        return [name]
    if ending := [one for one in known if one.endswith(f".{name}")]:
        return ending
    former = {old: one for one in known for old in former_names(one) if f".{old}".endswith(f".{name}")}
    for old in former:
        current_name(old)  # It warns.
    return list(former.values())


def listed(words: Iterable[str], between: str = ", ") -> str:
    """List names in an error, the first ones if there are many."""
    known = list(words)
    more = len(known) - MOST_LISTED
    shown = between.join(known[:MOST_LISTED])
    return f"{shown} and {more} more" if more > 0 else shown


def conditions(
    results: SweepResults, where: Mapping[str, Any] | Iterable[str], option: str = "--where"
) -> dict[str, list[str]]:
    """Read conditions on keys of the sweep, KEY=VALUE or a mapping; several values are alternatives."""
    if isinstance(where, Mapping):
        where = [
            f"{key}={'' if value is None else text_of(value)}"
            for key, values in where.items()
            for value in (values if isinstance(values, (list, tuple, set)) else [values])
        ]
    wanted: dict[str, list[str]] = {}
    for condition in where:
        name, equals, value = condition.partition("=")
        if not equals or not name.strip():
            known = listed(results.parameters) or "none, it has no parameters"
            hint = f"write it so, with a key of the sweep: {known}"
            raise SweepError(option, f"'{condition}' is not KEY=VALUE", hint)
        key = named_in(option, name.strip(), results.parameters, "parameter")
        wanted.setdefault(key, []).append(value.strip())
    return wanted


def fulfilling(
    results: SweepResults, wanted: dict[str, list[str]], option: str = "--where"
) -> list[PointResult]:
    """Select the points that meet all conditions, if any; an empty value means that the key is not set."""
    points = list(results.points)
    for key, texts in wanted.items():
        for text in texts:
            if not any(is_value(point.parameters.get(key), text) for point in points):
                there = _described(points, key)
                raise SweepError(option, f"no point has {key} = {text or 'none'}", f"there is {there}")
        points = [
            point for point in points if any(is_value(point.parameters.get(key), text) for text in texts)
        ]
    return points


def is_value(value: Value, text: str) -> bool:
    """Whether a text means a value: as it is written, in words, or as an equal quantity."""
    if value is None:
        return not text
    words = (str(value).lower(), value_label(value).lower())
    return text.lower() in words or matches(same(value), same(text))


def _described(points: Iterable[PointResult], key: str) -> str:
    """Values of a key, for an error."""
    return listed("none set" if value is None else str(value) for value in values_of(points, key))


def values_of(points: Iterable[PointResult], key: str) -> list[Value]:
    """Different values of a key: by size if all have units of one family, else as they come; None last."""
    found = (point.parameters.get(key) for point in points)
    different = {same(value): value for value in found}.values()
    there = [value for value in different if value is not None]
    if known := quantities(there):
        there = [value for _, value in sorted(zip(known, there, strict=True), key=lambda pair: pair[0].base)]
    return there + [None] * (None in different)


def rank_by(points: Iterable[PointResult], key: str) -> Callable[[PointResult], int]:
    """Make the sort key of points: the place of a point's value among those of all `points`."""
    ranks = {same(value): place for place, value in enumerate(values_of(points, key))}
    return lambda point: ranks[same(point.parameters.get(key))]


def varying(points: Sequence[PointResult], keys: Iterable[str]) -> list[str]:
    """Keys whose values differ among the points."""
    return [key for key in keys if len({same(point.parameters.get(key)) for point in points}) > 1]


def refuse_mixture(points: Sequence[PointResult], keys: Sequence[str], remedy: str) -> None:
    """Raise a `SweepError` if points differ in keys, which the figure does not show."""
    if keys:
        others = f", and those of different {listed(keys[1:])}" if len(keys) > 1 else ""
        what = f"the figure would mix the points of {_described(points, keys[0])}{others}"
        raise SweepError(keys[0], what, remedy)


def grouped(points: Sequence[PointResult], by: Sequence[str]) -> list[list[PointResult]]:
    """Group points that have the same values under some keys, in the order of these values."""
    groups: dict[tuple[object, ...], list[PointResult]] = {}
    for point in points:
        groups.setdefault(tuple(same(point.parameters.get(key)) for key in by), []).append(point)
    found = list(groups.values())
    for key in reversed(by):
        rank = rank_by([own[0] for own in found], key)
        found.sort(key=lambda own: rank(own[0]))
    return found
