"""Quantities with units: reads them from a scenario's text, and chooses the unit of an axis.

The units are those of the core (`crates/core/src/units.rs`), and of the suffixes of results: `_bps`, `_ms`.
"""

from __future__ import annotations

import math
import re
import tomllib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

Value = str | int | float | bool | None
"""Value of a key at a point; None where the scenario's value holds."""


@dataclass(frozen=True)
class Unit:
    """A unit: its name, its family, and its size in base units."""

    name: str
    of: str
    size: Fraction


_FAMILIES = {
    "time": {"ns": "1e-9", "us": "1e-6", "ms": "1e-3", "s": "1"},
    "rate": {"bit/s": "1", "kbit/s": "1e3", "Mbit/s": "1e6", "Gbit/s": "1e9"},
    "size": {"B": "1", "kB": "1e3", "MB": "1e6", "GB": "1e9"},
    "frequency": {"mHz": "1e-3", "Hz": "1", "kHz": "1e3", "MHz": "1e6"},
}
"""Units that figures choose from, in ascending order, and their sizes."""
_FURTHER = {
    "time": {"min": "60", "h": "3600"},
    "size": {"KiB": "1024", "MiB": "1048576"},
    "ratio": {"": "1", "%": "1e-2"},
}
UNITS = {
    name: Unit(name, of, Fraction(size))
    for families in (_FAMILIES, _FURTHER)
    for of, sizes in families.items()
    for name, size in sizes.items()
}
"""Units of scenarios by their names."""
RATIO = UNITS[""]

LEAST_OF_A_UNIT = 2
"""A larger unit is used if the largest number is at least this many of it: 1500 ms, but 2.5 s."""

_NUMBER = r"[-+]?[0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]{1,2})?"
_KNOWN_UNIT = re.compile(rf"\s*({_NUMBER})\s*({'|'.join(re.escape(name) for name in UNITS)})\s*")
_OTHER_UNIT = re.compile(rf"\s*({_NUMBER}) +([A-Za-z][A-Za-z/]*)\s*")

SUFFIXES = {
    "_packets_per_s": Unit("packets/s", "packets/s", Fraction(1)),
    "_bps": UNITS["bit/s"],
    "_bytes": UNITS["B"],
    "_ms": UNITS["ms"],
    "_us": UNITS["us"],
    "_ns": UNITS["ns"],
    "_s": UNITS["s"],
}
"""Suffixes of keys of results; the longer ones first, as they may end in a shorter one."""


@dataclass(frozen=True)
class Quantity:
    """A number and its unit."""

    number: Fraction
    unit: Unit

    @property
    def base(self) -> Fraction:
        """The number in the base unit."""
        return self.number * self.unit.size

    def written_in(self, unit: Unit) -> float:
        """The number in another unit of the same family, rounded once."""
        return float(self.base / unit.size)


def quantity(value: Value) -> Quantity | None:
    """Read a number, with or without a unit; None if it is a word, a flag or nothing."""
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, (int, float)):
        return Quantity(Fraction(repr(value)), RATIO) if math.isfinite(value) else None
    if found := _KNOWN_UNIT.fullmatch(value):
        return Quantity(Fraction(found[1]), UNITS[found[2]])
    if found := _OTHER_UNIT.fullmatch(value):  # Units such as decibels are alone in their family.
        return Quantity(Fraction(found[1]), Unit(found[2], found[2], Fraction(1)))
    return None


def quantities(values: Sequence[Value]) -> list[Quantity] | None:
    """Read all values as numbers of one family; None if they are not."""
    found = [quantity(value) for value in values]
    known = [entry for entry in found if entry is not None]
    return known if known and len(known) == len(found) and len({one.unit.of for one in known}) == 1 else None


def same(value: Value) -> object:
    """Key that is equal for equal values: 0.1 and 10 %, 1 s and 1000 ms, also inside of tables and lists."""
    if isinstance(value, str) and value.lstrip().startswith(("{", "[")):
        try:
            return _same_inside(tomllib.loads(f"v = {value}")["v"])
        except (tomllib.TOMLDecodeError, RecursionError):
            return value
    return _same_inside(value)


def matches(value: object, wanted: object) -> bool:
    """Whether two keys of `same` are equal; a bare number has the other's base unit (B, bit/s, s)."""
    if value == wanted:
        return True
    match value, wanted:
        case (_Number(own, size), _Number(other, another)):
            return size == another and RATIO.of in (own, other)
        case (_Table(own_keys), _Table(other_keys)):
            there, asked = dict(own_keys), dict(other_keys)
            return there.keys() == asked.keys() and all(matches(there[key], asked[key]) for key in there)
        case (tuple(), tuple()):
            return len(value) == len(wanted) and all(map(matches, value, wanted))
    return False


@dataclass(frozen=True)
class _Number:
    """A number in the base unit of its family."""

    of: str
    size: Fraction


@dataclass(frozen=True)
class _Table:
    """A table, whatever the order of its keys."""

    pairs: frozenset[tuple[str, object]]


def _same_inside(value: object) -> object:
    if isinstance(value, dict):
        if len(value) == 1 and next(iter(value.values())) == {}:
            return next(iter(value))  # A component without parameters is written as its name too.
        return _Table(frozenset((key, _same_inside(inner)) for key, inner in value.items()))
    if isinstance(value, list):
        return tuple(map(_same_inside, value))
    if isinstance(value, (str, int, float)) or value is None:
        known = quantity(value)
        if known is not None:
            return _Number(known.unit.of, known.base)
    return str(value).lower() if isinstance(value, bool) else value


def common_unit(known: Sequence[Quantity]) -> Unit:
    """Choose the unit of most of the quantities; the smallest of several."""
    counts = Counter(one.unit for one in known)
    return min(counts, key=lambda unit: (-counts[unit], unit.size))


def metric_unit(metric: str) -> Unit:
    """Unit in which results give a metric, by the suffix of its key; `RATIO` if it has none."""
    for part in reversed(metric.split(".")):
        if part == "samples":  # `rtt_ms.samples` is a count.
            return RATIO
        for suffix, unit in SUFFIXES.items():
            if part.endswith(suffix):
                return unit
    return RATIO


def scaled_unit(unit: Unit, largest: float) -> Unit:
    """Choose the unit of an axis whose largest number is `largest` of `unit`."""
    family = [UNITS[name] for name in _FAMILIES.get(unit.of, ())]
    if not family or largest <= 0:
        return unit
    base = Fraction(largest) * unit.size
    fitting = [one for one in family if base >= LEAST_OF_A_UNIT * one.size]
    return max(fitting, key=lambda one: one.size, default=family[0])
