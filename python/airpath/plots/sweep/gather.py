"""Gathers the numbers of a figure from the results of a sweep."""

from __future__ import annotations

import math
from collections.abc import Sequence

from airpath.errors import SweepError
from airpath.experiments.sweep.results import PointResult, SweepResults
from airpath.plots.sweep.choice import (
    fulfilling,
    grouped,
    listed,
    rank_by,
    refuse_mixture,
    values_of,
    varying,
)
from airpath.plots.sweep.content import Axis, Content, Curve, Mark, Place, Series
from airpath.plots.sweep.quantity import Unit, common_unit, metric_unit, quantities, same, scaled_unit
from airpath.plots.sweep.request import Request
from airpath.plots.sweep.wording import counted, distinct_labels, key_label, metric_label, value_label

MOST_SERIES = 14
"""Most lines in a figure: each colour with two line styles."""
MOST_PANELS = 12

_Places = dict[str, dict[object, Place]]
"""Where the values of keys are, by axis."""


def gather(results: SweepResults, asked: Request) -> Content:
    """Gather the content of a figure; a `SweepError` if points differ in more keys than it can show."""
    return _Gatherer(results, asked).content()


class _Gatherer:
    def __init__(self, results: SweepResults, asked: Request) -> None:
        self._results, self._asked = results, asked
        chosen = fulfilling(results, asked.where)
        self._points = [
            point for point in chosen if all(point.parameters.get(key) is not None for key in asked.keys)
        ]
        self._without_x = len(chosen) - len(self._points)
        if not self._points:
            raise SweepError("--x", f"no chosen point sets {listed(asked.keys)}", "choose another parameter")
        self._groups = grouped(self._points, asked.by)
        most = MOST_PANELS if asked.kind == "heat" else MOST_SERIES
        if len(self._groups) > most:
            what = (
                f"{', '.join(asked.by)}: {len(self._groups)} different values, of which {most} can be shown"
            )
            raise SweepError("--by", what, "choose some with --where KEY=VALUE")
        self._units = {metric: self._unit(metric) for metric in asked.metrics}

    def content(self) -> Content:
        asked, results, points = self._asked, self._results, self._points
        along, is_joined = self._joining()
        axes, places = self._axes()
        series = self._series(places, along)
        if not any(one.marks or one.curve for one in series):
            raise self._nothing()
        _check_logarithms(axes, series)
        runs = sum(point.runs for point in points)
        return Content(
            asked.kind,
            results.name,
            results.scenario,
            results.confidence,
            axes,
            asked.by,
            ", ".join(_axis_of(key).title for key in asked.by),
            asked.where,
            None if along is None else _axis_of(along),
            is_joined,
            series,
            runs,
            max(0, sum(map(results.expected_runs, points)) - runs),
            {metric: sum(point.missing(metric) for point in points) for metric in asked.metrics},
            sum(any(point.estimates[metric] is None for metric in asked.metrics) for point in points),
            self._without_x,
        )

    def _joining(self) -> tuple[str | None, bool]:
        """Choose the key along which points are joined, if any; refuse to mix points."""
        asked, drawn, kind = self._asked, self._results.drawn, self._asked.kind
        shown = {*asked.by, *asked.keys, asked.along}
        further = varying(self._points, [key for key in self._results.parameters if key not in shown])
        scattered = [key for key in further if key in drawn]
        others = [key for key in further if key not in drawn]
        remedy = "name it in --by, or choose with --where KEY=VALUE"
        along = asked.along
        if kind == "plane":
            if along is None and len(others) == 1 and not scattered:
                return others[0], True
            refuse_mixture(self._points, others, f"{remedy}; --along KEY joins points along one key")
            if along in drawn:  # The other drawn keys go with it.
                return along, False
            if along is not None:
                refuse_mixture(self._points, scattered, remedy)
            return along, along is not None
        if kind == "line" and asked.names["x"] in drawn:
            refuse_mixture(self._points, others, remedy)
            return None, False
        if kind == "heat" and (on_axis := [key for key in asked.keys if key in drawn]):
            what = f"{on_axis[0]} is drawn, and a heat map wants the values of a grid"
            raise SweepError("--kind", what, "show it as --x KEY --y METRIC")
        refuse_mixture(self._points, further, remedy)
        return None, True

    def _unit(self, metric: str) -> Unit:
        """Unit of an axis for means, or for the values of all runs."""
        known = [one for point in self._points if (one := point.estimates[metric])]
        if self._asked.kind == "cdf":
            sizes = [abs(value) for one in known for value in one.values]
        else:
            sizes = [abs(one.mean) for one in known]
        return scaled_unit(metric_unit(metric), max(sizes, default=0.0))

    def _factor(self, metric: str) -> float:
        return float(metric_unit(metric).size / self._units[metric].size)

    def _axes(self) -> tuple[dict[str, Axis], _Places]:
        asked, axes, places = self._asked, {}, {}
        names = list(asked.names.values())
        labels = distinct_labels(
            names, [key_label(name) if name in asked.keys else metric_label(name) for name in names]
        )
        for (axis, name), label in zip(asked.names.items(), labels, strict=True):
            if name in asked.keys:
                axes[axis], places[axis] = self._key_axis(axis, name, label)
            else:
                axes[axis] = Axis(name, label, self._units[name].name, axis in asked.log)
        if asked.kind == "cdf":
            left_out = any(point.missing(asked.names["x"]) for point in self._points)
            axes["y"] = Axis("share", "share of runs with a value" if left_out else "share of runs")
        return axes, places

    def _key_axis(self, axis: str, key: str, label: str) -> tuple[Axis, dict[object, Place]]:
        """The axis of a key, and where its values are on it."""
        values, is_log = values_of(self._points, key), axis in self._asked.log
        known = quantities(values) or []
        unit = common_unit(known) if known else None
        named = (unit and unit.name) or counted(key)
        numbers = [one.written_in(unit) for one in known] if unit else []
        if numbers and self._asked.kind != "heat":
            is_whole = not is_log and all(number.is_integer() for number in numbers)
            made = Axis(key, label, named, is_log, is_whole=is_whole)
        elif is_log:
            raise SweepError("--log", f"{axis} has words: {listed(map(str, values))}", f"leave {axis} out")
        else:
            words = [f"{number:g}" for number in numbers] or [value_label(value) for value in values]
            made = Axis(key, label, named, categories=tuple(words))
            numbers = [float(place) for place in range(len(values))]
        return made, {same(value): Place(at) for value, at in zip(values, numbers, strict=True)}

    def _series(self, places: _Places, along: str | None) -> tuple[Series, ...]:
        asked, series = self._asked, []
        shared = [[own[0].parameters.get(key) for key in asked.by] for own in self._groups]
        words = [", ".join(map(value_label, values)) for values in shared]
        if len(set(words)) < len(words):
            words = [", ".join(map(str, values)) for values in shared]
        for own, values, label in zip(self._groups, shared, words, strict=True):
            by = dict(zip(asked.by, values, strict=True))
            if asked.kind == "cdf":
                one = Series(by, label, curve=self._curve(*own))
            else:
                one = Series(by, label, self._marks(own, places, along))
            # Empty panels are kept, since they show what is missing; lines without points are not.
            if one.marks or one.curve or asked.kind == "heat":
                series.append(one)
        return tuple(series)

    def _marks(self, points: list[PointResult], on: _Places, along: str | None) -> tuple[Mark, ...]:
        asked, marks = self._asked, []
        key = along or (asked.keys[0] if asked.keys else None)
        if key is not None:  # Lines join points in this order.
            points = sorted(points, key=rank_by(self._points, key))
        for point in points:
            places = {
                axis: on[axis][same(point.parameters[name])] if axis in on else self._mean(point, name)
                for axis, name in asked.names.items()
            }
            known = {axis: place for axis, place in places.items() if place is not None}
            if len(known) == len(places):
                value = None if key is None else point.parameters.get(key)
                without = max(point.missing(metric) for metric in asked.metrics)
                marks.append(Mark(point.point, known, value, without))
        return tuple(marks)

    def _mean(self, point: PointResult, metric: str) -> Place | None:
        known, by = point.estimates[metric], self._factor(metric)
        if known is None:
            return None
        low, high = (known.ci_low * by, known.ci_high * by) if known.n > 1 else (None, None)
        return Place(known.mean * by, low, high, known.n)

    def _curve(self, point: PointResult) -> Curve | None:
        """Empirical distribution of the values of a metric, with a band that holds at all values together.

        The band is that of Dvoretzky, Kiefer and Wolfowitz with Massart's constant (Annals of Probability 18,
        1990): the true distribution leaves it with a probability of at most 1 - confidence.
        """
        (metric,) = self._asked.metrics
        known, factor = point.estimates[metric], self._factor(metric)
        if known is None:
            return None
        half = math.sqrt(math.log(2 / (1 - known.confidence)) / (2 * known.n))
        shares = [(place + 1) / known.n for place in range(known.n)]
        low, high = [max(0.0, share - half) for share in shares], [min(1.0, share + half) for share in shares]
        return Curve(point.point, sorted(value * factor for value in known.values), shares, low, high)

    def _nothing(self) -> SweepError:
        metrics = self._asked.metrics
        runs = sum(point.runs for point in self._points)
        if runs == 0:
            return SweepError("--where", "the chosen points have no runs yet", "let the sweep go on first")
        axis = next(axis for axis, name in self._asked.names.items() if name in metrics)
        what = f"none of the {runs} runs measured {listed(metrics, ' and ')}"
        return SweepError(f"--{axis}", what, "choose other points or another metric")


def _axis_of(key: str) -> Axis:
    return Axis(key, key_label(key), counted(key))


def _check_logarithms(axes: dict[str, Axis], series: Sequence[Series]) -> None:
    for name, axis in axes.items():
        if axis.is_log:
            numbers = [mark.places[name].at for one in series for mark in one.marks]
            numbers += [value for one in series if one.curve for value in one.curve.x]
            if min(numbers) <= 0:
                what = f"{name} reaches {min(numbers):g}, and a logarithmic axis ends above 0"
                raise SweepError("--log", what, f"leave {name} out")
