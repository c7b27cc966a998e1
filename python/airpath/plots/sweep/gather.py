"""Gathers the numbers of a figure from the results of a sweep."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from airpath.errors import SweepError
from airpath.experiments.sweep.results import PointResult, SweepResults
from airpath.plots.sweep.choice import Group, fulfilling, grouped, listed, ordered, refuse_mixture, varying
from airpath.plots.sweep.content import Axis, Content, Curve, Mark, Place, RunCounts, Series
from airpath.plots.sweep.quantity import (
    Unit,
    Value,
    common_unit,
    metric_unit,
    quantities,
    quantity,
    same,
    scaled_unit,
)
from airpath.plots.sweep.request import Request
from airpath.plots.sweep.wording import (
    counted,
    distinct_labels,
    key_label,
    metric_label,
    value_label,
    with_unit,
)
from airpath.stats.estimate import Estimate

MOST_SERIES = 14
"""Most lines in a figure: each colour with two line styles."""
MOST_PANELS = 12


def gather(results: SweepResults, asked: Request) -> Content:
    """Gather the content of a figure.

    Raises
    ------
    SweepError
        If the points differ in more keys than it can show, or have no values.
    """
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
        asked, results = self._asked, self._results
        further = varying(self._points, self._unshown())
        along, is_joined = self._joining(further)
        axes = self._axes()
        labels = self._labels()
        series: list[Series] = []
        for group, label in zip(self._groups, labels, strict=True):
            by = dict(zip(asked.by, group.values, strict=True))
            if asked.kind == "cdf":
                curve = self._curve(group)
                series += [Series(by, label, curve=curve)] if curve else []
            else:
                marks = self._marks(group, axes, along)
                # Empty panels are kept, since they show what is missing; lines without points are not.
                series += [Series(by, label, marks)] if marks or asked.kind == "heat" else []
        if not any(one.marks or one.curve for one in series):
            raise self._nothing()
        return Content(
            asked.kind,
            results.name,
            results.scenario,
            results.confidence,
            self._checked_logs(axes, series),
            asked.by,
            ", ".join(_key_axis_label(key) for key in asked.by),
            asked.where,
            None if along is None else Axis(along, key_label(along), counted(along)),
            is_joined,
            tuple(series),
            self._counts(axes, series),
        )

    def _unshown(self) -> list[str]:
        shown = {*self._asked.by, *self._asked.keys, self._asked.along}
        return [key for key in self._results.parameters if key not in shown]

    def _joining(self, further: Sequence[str]) -> tuple[str | None, bool]:
        """Choose the key along which points are joined, if any; refuse to mix points."""
        drawn, kind = self._results.drawn, self._asked.kind
        scattered = [key for key in further if key in drawn]
        others = [key for key in further if key not in drawn]
        remedy = "name it in --by, or choose with --where KEY=VALUE"
        along = self._asked.along
        if kind == "plane":
            if along is None and len(others) == 1 and not scattered:
                return others[0], True
            refuse_mixture(self._points, others, f"{remedy}; --along KEY joins points along one key")
            if along in drawn:  # The other drawn keys go with it.
                return along, False
            if along is not None:
                refuse_mixture(self._points, scattered, remedy)
            return along, along is not None
        if kind == "line" and self._asked.names["x"] in drawn:
            refuse_mixture(self._points, others, remedy)
            return None, False
        if kind == "heat" and (on_axis := [key for key in self._asked.keys if key in drawn]):
            what = f"{on_axis[0]} is drawn, and a heat map wants the values of a grid"
            raise SweepError("--kind", what, "show it as --x KEY --y METRIC")
        refuse_mixture(self._points, further, remedy)
        return None, True

    def _unit(self, metric: str) -> Unit:
        """Unit of an axis for means, or for the values of all runs."""
        known = [point.estimates[metric] for point in self._points]
        if self._asked.kind == "cdf":
            largest = max((abs(value) for one in known if one for value in one.values), default=0.0)
        else:
            largest = max((abs(one.mean) for one in known if one), default=0.0)
        return scaled_unit(metric_unit(metric), largest)

    def _axes(self) -> dict[str, Axis]:
        asked = self._asked
        names = list(asked.names.values())
        labels = distinct_labels(
            names, [key_label(name) if name in asked.keys else metric_label(name) for name in names]
        )
        axes = {}
        for (axis, name), label in zip(asked.names.items(), labels, strict=True):
            is_log = axis in asked.log
            if name in asked.keys:
                axes[axis] = self._key_axis(axis, name, label, is_log)
            else:
                axes[axis] = Axis(name, label, self._units[name].name, is_log)
        if asked.kind == "cdf":
            left_out = any(point.missing(asked.names["x"]) for point in self._points)
            axes["y"] = Axis("share", "share of runs with a value" if left_out else "share of runs")
        return axes

    def _key_axis(self, axis: str, key: str, label: str, is_log: bool) -> Axis:
        values = self._values(key)
        known = quantities(values)
        if known is None or self._asked.kind == "heat":
            if is_log:
                raise SweepError("--log", f"{axis} has words: {self._listed(values)}", f"leave {axis} out")
            if known is None:
                return Axis(
                    key, label, counted(key), categories=tuple(value_label(value) for value in values)
                )
            unit = common_unit(known)
            numbers = tuple(f"{one.written_in(unit):g}" for one in known)
            return Axis(key, label, unit.name or counted(key), categories=numbers)
        unit = common_unit(known)
        is_whole = all(float(one.written_in(unit)).is_integer() for one in known)
        return Axis(key, label, unit.name or counted(key), is_log, is_whole=is_whole and not is_log)

    def _values(self, key: str) -> list[Value]:
        """Different values of a key, in order."""
        every = {same(point.parameters.get(key)): point.parameters.get(key) for point in self._points}
        return ordered(every.values())

    @staticmethod
    def _listed(values: Sequence[Value]) -> str:
        return listed(str(value) for value in values)

    def _labels(self) -> list[str]:
        words = [", ".join(value_label(value) for value in group.values) for group in self._groups]
        written = [", ".join(str(value) for value in group.values) for group in self._groups]
        return written if len(set(words)) < len(words) else words

    def _placer(self, axis: Axis) -> Callable[[Value], Place]:
        """Place of a value on the axis of a key."""
        values = self._values(axis.key)
        if axis.categories is not None:
            index = {same(value): place for place, value in enumerate(values)}
            return lambda value: Place(float(index[same(value)]))
        unit = common_unit(quantities(values) or [])

        def place(value: Value) -> Place:
            known = quantity(value)
            assert known is not None, "an axis of numbers has numbers"
            return Place(known.written_in(unit))

        return place

    def _marks(self, group: Group, axes: dict[str, Axis], along: str | None) -> tuple[Mark, ...]:
        asked = self._asked
        placers = {axis: self._placer(axes[axis]) for axis, name in asked.names.items() if name in asked.keys}
        marks = []
        for point in self._in_order(group, along):
            places = {}
            for axis, name in asked.names.items():
                if name in asked.keys:
                    places[axis] = placers[axis](point.parameters[name])
                else:
                    mean = self._mean(point, name)
                    if mean is None:
                        break
                    places[axis] = mean
            else:
                key = along or (asked.keys[0] if asked.keys else None)
                value = None if key is None else point.parameters.get(key)
                without = max(point.missing(metric) for metric in asked.metrics)
                marks.append(Mark(point.point, places, value, without))
        return tuple(marks)

    def _in_order(self, group: Group, along: str | None) -> list[PointResult]:
        """Points in the order in which lines join them."""
        key = along or (self._asked.keys[0] if self._asked.keys else None)
        if key is None:
            return list(group.points)
        rank = {same(value): place for place, value in enumerate(self._values(key))}
        return sorted(group.points, key=lambda point: rank[same(point.parameters.get(key))])

    def _mean(self, point: PointResult, metric: str) -> Place | None:
        known = point.estimates[metric]
        if known is None:
            return None
        by = self._factor(metric)
        if known.n == 1:
            return Place(known.mean * by, n=1)
        return Place(known.mean * by, known.ci_low * by, known.ci_high * by, known.n)

    def _curve(self, group: Group) -> Curve | None:
        (metric,) = self._asked.metrics
        (point,) = group.points
        known = point.estimates[metric]
        return None if known is None else distribution(point.point, known, self._factor(metric))

    def _factor(self, metric: str) -> float:
        return float(metric_unit(metric).size / self._units[metric].size)

    def _checked_logs(self, axes: dict[str, Axis], series: Sequence[Series]) -> dict[str, Axis]:
        for name, axis in axes.items():
            if not axis.is_log:
                continue
            numbers = [mark.places[name].at for one in series for mark in one.marks]
            numbers += [value for one in series if one.curve for value in one.curve.x]
            if min(numbers) <= 0:
                what = f"{name} reaches {min(numbers):g}, and a logarithmic axis ends above 0"
                raise SweepError("--log", what, f"leave {name} out")
        return axes

    def _counts(self, axes: dict[str, Axis], series: Sequence[Series]) -> RunCounts:
        points, metrics = self._points, self._asked.metrics
        runs = sum(point.runs for point in points)
        expected = sum(self._results.expected_runs(point) for point in points)
        sizes = [place.n for one in series for mark in one.marks for place in mark.places.values() if place.n]
        sizes += [one.curve.n for one in series if one.curve]
        return RunCounts(
            runs,
            max(0, expected - runs),
            {metric: sum(point.missing(metric) for point in points) for metric in metrics},
            min(sizes),
            max(sizes),
            sum(any(point.estimates[metric] is None for metric in metrics) for point in points),
            math.prod(len(axis.categories or ()) for name, axis in axes.items() if name != "z") * len(series)
            - sum(len(one.marks) for one in series)
            if self._asked.kind == "heat"
            else 0,
            self._without_x,
        )

    def _nothing(self) -> SweepError:
        metrics = listed(self._asked.metrics, " and ")
        runs = sum(point.runs for point in self._points)
        if runs == 0:
            return SweepError("--where", "the chosen points have no runs yet", "let the sweep go on first")
        axis = next(axis for axis, name in self._asked.names.items() if name in self._asked.metrics)
        return SweepError(
            f"--{axis}",
            f"none of the {runs} runs measured {metrics}",
            "choose other points or another metric",
        )


def distribution(point: int, known: Estimate, factor: float = 1.0) -> Curve:
    """Empirical distribution of the values of a metric, with a band that holds at all values together.

    The band is that of Dvoretzky, Kiefer and Wolfowitz with Massart's constant (Annals of Probability 18,
    1990): the true distribution leaves it with a probability of at most 1 - confidence.
    """
    n = known.n
    half = math.sqrt(math.log(2 / (1 - known.confidence)) / (2 * n))
    values = tuple(sorted(value * factor for value in known.values))
    return Curve(point, values, tuple((place + 1) / n for place in range(n)), half)


def _key_axis_label(key: str) -> str:
    unit = counted(key)
    return with_unit(key_label(key), unit)
