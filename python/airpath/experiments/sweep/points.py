"""Points of a sweep: grids, explicit points, random draws and Latin hypercubes over dotted keys.

A Latin hypercube (McKay, Beckman and Conover 1979) has, on each axis, one point in each of as many equally
likely intervals as there are points.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from random import Random
from typing import Any

from airpath.errors import SweepError

Value = str | int | float | bool
Point = dict[str, Value]
"""A point: dotted keys and their values."""

DESIGNS = ("random", "latin_hypercube")
MAX_POINTS = 1_000_000
"""More than that is a slip: each is a scenario of its own, and held in memory."""

MOST_PARTS = 80
"""Parts of a key at most: the core's limit."""

LARGEST = 1e300
"""Beyond every number that a sweep may mean; whole numbers in TOML may be beyond any float."""

_QUANTITY = re.compile(r"\s*([-+]?[0-9.]+(?:[eE][-+]?[0-9]+)?)\s*(\S.*?)?\s*")


@dataclass(frozen=True)
class Range:
    """A range of a design's axis: its ends, the unit of both, and how it is gone through."""

    low: float
    high: float
    unit: str
    is_whole: bool
    is_log: bool

    def at(self, share: float) -> Value:
        """The value at a share of the range, 0 up to 1, to six digits."""
        if self.is_whole:
            return int(self.low) + int(share * (int(self.high) - int(self.low) + 1))
        if self.is_log:
            value = self.low * math.exp(share * math.log(self.high / self.low))
        else:
            value = self.low + share * (self.high - self.low)
        text = format(Decimal(f"{value:.6g}"), "f")
        return f"{text} {self.unit}" if self.unit else float(text)


def points_of(sweep: dict[str, Any], seed: int) -> list[Point]:
    """List the points that a sweep's tables stand for, each once, in their order.

    Each point of a design is tried at each of the grid, in which keys that change together are one axis;
    explicit points come after all others.
    Without any table there is one point, the scenario as it is.

    Raises
    ------
    SweepError
        If a table is not as it should be.
    """
    parts: list[list[Point]] = []
    if "axes" in sweep:
        parts.append(_grid(_columns("axes", sweep["axes"])))
    parts += _groups(sweep.get("together", []))
    parts += [_design(name, sweep[name], seed) for name in DESIGNS if name in sweep]
    keys = [key for part in parts for key in part[0]]
    for key in keys:
        if keys.count(key) > 1:
            raise SweepError(key, "is an axis twice", "keep it in one of [axes], [[together]], [random]...")
    size = math.prod(len(part) for part in parts)
    if size > MAX_POINTS:
        raise SweepError("axes", f"makes {size} points", f"write at most {MAX_POINTS}")
    combined = itertools.product(*parts) if parts else ()
    points = [{key: value for part in those for key, value in part.items()} for those in combined]
    points += _explicit(sweep.get("list", []))
    kept: dict[frozenset[tuple[str, str]], Point] = {}
    for point in points or [{}]:
        kept.setdefault(frozenset((key, repr(value)) for key, value in point.items()), point)
    return list(kept.values())


def text_of(value: Value) -> str:
    """A value as it is given to a scenario."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def flat_values(name: str, table: Any) -> Point:
    """Flatten a table of single values, such as `[set]`, to dotted keys."""
    flat = _flat(name, table)
    return {key: _checked(f"{name}.{key}", value) for key, value in flat.items()}


def drawn_keys(sweep: dict[str, Any]) -> set[str]:
    """Keys that a sweep's designs draw, rather than go through one by one."""
    designs = {name: sweep[name] for name in DESIGNS if isinstance(sweep.get(name), dict)}
    return {key for name, table in designs.items() for key in _drawn(name, table)}


def _columns(name: str, table: Any) -> dict[str, list[Value]]:
    """Keys of a table with a list of values for each."""
    columns = _flat(name, table)
    for key, values in columns.items():
        if not isinstance(values, list) or not values:
            raise SweepError(f"{name}.{key}", f"{values!r} is no list of values", "write values in [...]")
        for value in values:
            _checked(f"{name}.{key}", value)
    return columns


def _grid(axes: dict[str, list[Value]]) -> list[Point]:
    size = math.prod(len(values) for values in axes.values())
    if size > MAX_POINTS:
        raise SweepError("axes", f"makes {size} points", f"write at most {MAX_POINTS}")
    return [dict(zip(axes, values, strict=True)) for values in itertools.product(*axes.values())]


def _groups(tables: Any) -> list[list[Point]]:
    """Groups of keys that change together: first values of all keys, then second ones, and so on."""
    if not isinstance(tables, list):
        raise SweepError("together", "is no list of groups", "begin each group with the line [[together]]")
    groups = []
    for number, table in enumerate(tables):
        name = f"together.{number}"
        columns = _columns(name, table)
        if len({len(values) for values in columns.values()}) != 1:
            lengths = ", ".join(f"{len(values)} ({key})" for key, values in columns.items()) or "nothing"
            raise SweepError(name, f"has lists of {lengths}", "write as many values for each key of a group")
        groups.append([dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)])
    return groups


def _explicit(tables: Any) -> list[Point]:
    if not isinstance(tables, list):
        raise SweepError("list", "is no list of points", "begin each point with the line [[list]]")
    return [flat_values(f"list.{number}", table) for number, table in enumerate(tables)]


def _design(name: str, table: Any, seed: int) -> list[Point]:
    if not isinstance(table, dict):
        raise SweepError(name, f"{table!r} is no table", f"write [{name}] with points and ranges")
    count, seed = table.get("points"), table.get("seed", seed)
    if count is None or not _is_whole(count) or not 1 <= count <= MAX_POINTS:
        what = "is missing" if count is None else f"is {count!r}"
        raise SweepError(f"{name}.points", what, f"write how many, 1 to {MAX_POINTS}")
    if not _is_whole(seed):
        raise SweepError(f"{name}.seed", f"is {seed!r}", "write a whole number")
    found = _drawn(name, table)
    ranges = {key: _range(f"{name}.{key}", entry) for key, entry in found.items()}
    if not ranges:
        raise SweepError(name, "has no axis", "write KEY = { min = ..., max = ... }")
    # A generator of its own for each key: a further axis leaves the others as they were, and further random
    # points leave the earlier ones. Only `random` of a generator is the same in every version of Python.
    columns = []
    for key, axis in ranges.items():
        draw = Random(f"{name}/{seed}/{key}").random
        shares = [draw() for _ in range(count)]
        if name == "latin_hypercube":
            order = [draw() for _ in range(count)]
            places = sorted(range(count), key=order.__getitem__)
            shares = [(place + share) / count for place, share in zip(places, shares, strict=True)]
        columns.append([axis.at(share) for share in shares])
    return [dict(zip(ranges, values, strict=True)) for values in zip(*columns, strict=True)]


def _drawn(name: str, table: dict[str, Any]) -> dict[str, Any]:
    axes = {key: value for key, value in table.items() if key not in ("points", "seed")}
    return _flat(name, axes, _is_range)


def _range(key: str, table: Any) -> Range:
    remedy = 'write { min = "10 ms", max = "200 ms" }, or numbers, and scale = "log" if wanted'
    if not isinstance(table, dict) or not {"min", "max"} <= set(table) <= {"min", "max", "scale"}:
        raise SweepError(key, f"{table!r} is no range", remedy)
    scale = table.get("scale", "linear")
    if scale not in ("linear", "log"):
        raise SweepError(f"{key}.scale", f"is {scale!r}", "write 'linear' or 'log'")
    (low, low_unit), (high, high_unit) = (_quantity(f"{key}.{end}", table[end]) for end in ("min", "max"))
    if low_unit != high_unit:
        raise SweepError(key, f"has '{low_unit}' at one end and '{high_unit}' at the other", "write one unit")
    if not low < high:
        raise SweepError(key, f"min is {table['min']} and max {table['max']}", "write min below max")
    is_whole = _is_whole(table["min"]) and _is_whole(table["max"])
    if scale == "log" and (low <= 0 or is_whole):
        raise SweepError(key, "cannot be logarithmic", "write a range of decimal numbers above 0")
    return Range(low, high, low_unit, is_whole, scale == "log")


def _quantity(key: str, value: Any) -> tuple[float, str]:
    if isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < LARGEST:
        return float(value), ""
    match = _QUANTITY.fullmatch(value) if isinstance(value, str) else None
    try:
        if match:
            return float(match[1]), match[2] or ""
    except ValueError:
        pass
    raise SweepError(key, f"{value!r} is no quantity", "write a number, or text such as '10 ms'")


def _checked(key: str, value: Any) -> Value:
    if isinstance(value, (str, int, float, bool)):
        return value
    raise SweepError(key, f"{value!r} is no single value", "write a table or a list as text in quotes")


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_range(entry: Any) -> bool:
    """Whether it is a range and no table of keys: keys of a scenario may be named `min` and `max` too."""
    if not isinstance(entry, dict):
        return True
    return any(not isinstance(entry.get(name, {}), dict) for name in ("min", "max", "scale"))


def _flat(
    name: str, table: Any, is_leaf: Callable[[Any], bool] = lambda entry: not isinstance(entry, dict)
) -> dict[str, Any]:
    """Keys as in TOML, `tcp.mss` or `"tcp.mss"`, both as dotted text."""
    if not isinstance(table, dict):
        raise SweepError(name, f"{table!r} is no table", f"write [{name}] with KEY = VALUE lines")
    flat: dict[str, Any] = {}
    for key, value in _leaves(name, table, is_leaf):
        if key in flat:
            raise SweepError(f"{name}.{key}", "is there twice", "write the key once")
        flat[key] = value
    return flat


def _leaves(
    name: str, table: dict[str, Any], is_leaf: Callable[[Any], bool], level: int = 1
) -> Iterator[tuple[str, Any]]:
    for key, value in table.items():
        if is_leaf(value) or not value:
            yield key, value
        elif level == MOST_PARTS:
            raise SweepError(name, "is nested too deeply", f"write keys of at most {MOST_PARTS} parts")
        else:
            yield from ((f"{key}.{inner}", leaf) for inner, leaf in _leaves(name, value, is_leaf, level + 1))
