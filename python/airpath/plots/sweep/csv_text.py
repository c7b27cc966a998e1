"""CSV (RFC 4180) of the numbers behind a figure, for other programs."""

from __future__ import annotations

import csv
import io
from typing import Any

from airpath.plots.sweep.content import Axis, Content, Mark
from airpath.plots.sweep.quantity import Value

DIGITS = 15
"""Significant digits: the units of an axis and back leave no others."""


def as_csv(content: Content) -> str:
    """Write a row per mean that is drawn, or per step of a distribution.

    Parameters are as in the sweep; one that is drawn as a number with a unit is also there as that number.
    Metrics are in the units of the results: `M`, both ends of its interval `M_lower` and `M_upper`, and the
    number of values `M_n`. A distribution has the share of runs at or below each value, and its band.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerows(_curves(content) if content.kind == "cdf" else _means(content))
    return text.getvalue()


def _means(content: Content) -> list[list[Any]]:
    metrics = {name: axis for name, axis in content.axes.items() if axis.key in content.not_measured}
    keys = {name: axis for name, axis in content.axes.items() if name not in metrics}
    along = [content.along.key] if content.along is not None else []
    own = [*(axis.key for axis in keys.values()), *along]
    numbered = {name: axis for name, axis in keys.items() if _has_units(content, axis)}
    rows: list[list[Any]] = [
        ["point", *content.by, *own, *(f"{axis.key} ({axis.unit})" for axis in numbered.values())]
    ]
    for axis in metrics.values():
        rows[0] += [axis.key, f"{axis.key}_lower", f"{axis.key}_upper", f"{axis.key}_n"]
    rows[0].append("not_measured")
    for series in content.series:
        shared = [_text(value) for value in series.by.values()]
        for mark in series.marks:
            row = [mark.point, *shared, *(_text(mark.parameters.get(key)) for key in own)]
            row += [_number(mark.places[name].at) for name in numbered]
            for name, axis in metrics.items():
                row += _mean(mark, name, axis)
            rows.append([*row, mark.not_measured])
    return rows


def _has_units(content: Content, axis: Axis) -> bool:
    values = [mark.parameters.get(axis.key) for mark in content.marks]
    return axis.categories is None and any(isinstance(value, str) for value in values)


def _mean(mark: Mark, name: str, axis: Axis) -> list[str | int | None]:
    place = mark.places[name]
    ends = [None if end is None else _number(end / axis.factor) for end in (place.low, place.high)]
    return [_number(place.at / axis.factor), *ends, place.n]


def _curves(content: Content) -> list[list[Any]]:
    axis = content.axes["x"]
    rows: list[list[Any]] = [["point", *content.by, axis.key, "share", "share_lower", "share_upper"]]
    for series in content.series:
        if (curve := series.curve) is not None:
            shared = [curve.point, *map(_text, series.by.values())]
            steps = zip(curve.x, curve.share, curve.low, curve.high, strict=True)
            rows += [[*shared, _number(x / axis.factor), *map(_number, shares)] for x, *shares in steps]
    return rows


def _text(value: Value) -> str:
    return "" if value is None else str(value)


def _number(number: float) -> str:
    return f"{number:.{DIGITS}g}"
