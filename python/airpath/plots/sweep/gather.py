"""Gathers the numbers of a figure from the results of a sweep."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

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
from airpath.plots.sweep.content import Axis, Content, Curve, Factor, Mark, Place, Series
from airpath.plots.sweep.labels import Labels
from airpath.plots.sweep.quantity import Unit, common_unit, metric_unit, quantities, same, scaled_unit
from airpath.plots.sweep.request import Request
from airpath.plots.sweep.roles import BY, COLOR, COLUMN, MARKER, PANEL, PLACES, ROW, STYLES, option_of
from airpath.plots.sweep.wording import counted, with_unit
from airpath.scenario import inline

MOST_SERIES = 16
"""Most lines in a panel: each colour with two line styles."""
MOST_LOOKS = 8
"""Most colours, and most marks, where they show different parameters."""
MOST_PANELS = 24
MOST_ACROSS, MOST_DOWN = 6, 8
"""Most columns and rows of a grid of panels."""

_Places = dict[str, dict[object, Place]]
"""Where the values of keys are, by axis."""


def gather(results: SweepResults, asked: Request, labels: Labels) -> Content:
    """Gather the content of a figure; a `SweepError` if points differ in more keys than it can show."""
    return _Gatherer(results, asked, labels).content()


class _Gatherer:
    def __init__(self, results: SweepResults, asked: Request, labels: Labels) -> None:
        self._results, self._asked, self._labels = results, asked, labels
        chosen = fulfilling(results, asked.where)
        self._points = [
            point for point in chosen if all(point.parameters.get(key) is not None for key in asked.keys)
        ]
        self._without_x = len(chosen) - len(self._points)
        if not self._points:
            raise SweepError("--x", f"no chosen point sets {listed(asked.keys)}", "choose another parameter")
        self._along, self._is_joined = self._joining()
        self._groups = grouped(self._points, self._asked.by)
        # Per role, the groups whose keys have the same values.
        self._shared = {role: grouped(self._points, keys) for role, keys in self._asked.roles.items()}
        self._check_numbers()
        self._units = {metric: self._unit(metric) for metric in asked.metrics}

    def content(self) -> Content:
        asked, results, points, along = self._asked, self._results, self._points, self._along
        axes, places = self._axes()
        series = self._series(places)
        if not any(one.marks or one.curve for one in series):
            raise self._nothing()
        _check_logarithms(axes, series)
        runs = sum(point.runs for point in points)
        return Content(
            asked.kind,
            results.name,
            results.scenario,
            tuple(
                (key, value if isinstance(value, str) else inline(value))
                for key, value in results.fixed.items()
            ),
            results.confidence,
            axes,
            {role: self._factor(role) for role in asked.roles},
            asked.free,
            asked.where,
            None if along is None else Axis(along, self._named(along), counted(along)),
            self._is_joined,
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
        remedy = "show it with --by, --color, --marker or --facet, or choose with --where KEY=VALUE"
        along = asked.along
        if kind == "plane":
            if along is None and len(others) == 1 and not scattered:
                if quantities(values_of(self._points, others[0])):
                    return others[0], True
                # Words have no order in which a path could join them.
                groups = grouped(self._points, asked.by)
                if not any(varying(own, others) for own in groups) or self._distinguish(others[0]):
                    others = []
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
            what = f"{on_axis[0]} is drawn, and a heat map needs the values of a grid"
            raise SweepError("--kind", what, "show it as --x KEY --y METRIC")
        # Keys that change together with a shown one mix nothing.
        groups = grouped(self._points, [*asked.by, *asked.keys])
        mixed = [key for key in further if any(varying(own, [key]) for own in groups)]
        refuse_mixture(self._points, mixed, remedy)
        return None, True

    def _distinguish(self, key: str) -> bool:
        """Distinguish series by one more key, if colours or marks are left for it."""
        roles = dict(self._asked.roles)
        if COLOR in roles and MARKER in roles:
            return False
        if BY in roles:
            roles[COLOR], roles[MARKER] = roles.pop(BY), (key,)
        else:
            roles[COLOR if MARKER in roles else MARKER if COLOR in roles else BY] = (key,)
        order = (*PLACES, *STYLES)
        self._asked = replace(self._asked, roles={role: roles[role] for role in order if role in roles})
        return True

    def _check_numbers(self) -> None:
        """Refuse more panels than can be read, and more series in a panel than can be distinguished."""
        roles, choose = self._asked.roles, "choose some with --where KEY=VALUE"
        count = {role: len(own) for role, own in self._shared.items()}
        for role, most in ((ROW, MOST_DOWN), (COLUMN, MOST_ACROSS), (PANEL, MOST_PANELS)):
            if count.get(role, 0) > most:
                what = f"{', '.join(roles[role])}: {count[role]} panels, but only {most} fit"
                raise SweepError(option_of(role), what, choose)
        panels = count.get(ROW, 1) * count.get(COLUMN, 1)
        if panels > MOST_PANELS:
            what = f"{count[ROW]} rows of {count[COLUMN]} are {panels} panels, but only {MOST_PANELS} fit"
            raise SweepError("--facet", what, choose)
        if COLOR in roles or MARKER in roles:
            for role in (COLOR, MARKER):
                if count.get(role, 0) > MOST_LOOKS:
                    what = f"{', '.join(roles[role])}: {count[role]} different values, but only {MOST_LOOKS}"
                    raise SweepError(option_of(role), f"{what} can be shown", choose)
        styled = [key for role in STYLES for key in roles.get(role, ())]
        in_panels = grouped(self._points, [key for role in PLACES for key in roles.get(role, ())])
        most = max(len(grouped(own, styled)) for own in in_panels)
        if most > MOST_SERIES:
            what = f"{', '.join(styled)}: {most} different values, but only {MOST_SERIES} can be shown"
            option = option_of(next(role for role in STYLES if role in roles))
            raise SweepError(option, what, f"{choose}, or make panels with --facet KEY")

    def _unit(self, metric: str) -> Unit:
        """Unit of an axis for means, or for the values of all runs."""
        known = [one for point in self._points if (one := point.estimates[metric])]
        if self._asked.kind == "cdf":
            sizes = [abs(value) for one in known for value in one.values]
        else:
            sizes = [abs(one.mean) for one in known]
        return scaled_unit(metric_unit(metric), max(sizes, default=0.0))

    def _scale(self, metric: str) -> float:
        return float(metric_unit(metric).size / self._units[metric].size)

    def _named(self, key: str) -> str:
        """Name of a key, other than those of all keys of the sweep."""
        keys = self._results.parameters
        return self._labels.keys(keys)[keys.index(key)]

    def _factor(self, role: str) -> Factor:
        keys = self._asked.roles[role]
        names = [with_unit(name, counted(key)) if name else "" for key in keys for name in [self._named(key)]]
        return Factor(keys, ", ".join(filter(None, names)), tuple(self._words(self._shared[role], keys)))

    def _words(self, groups: Sequence[Sequence[PointResult]], keys: Sequence[str]) -> list[str]:
        """Name what the points of each group share."""
        shared = [[own[0].parameters.get(key) for key in keys] for own in groups]
        words = [
            ", ".join(self._labels.value(value, key) for key, value in zip(keys, values, strict=True))
            for values in shared
        ]
        return words if len(set(words)) == len(words) else [", ".join(map(str, values)) for values in shared]

    def _axes(self) -> tuple[dict[str, Axis], _Places]:
        asked, axes, places = self._asked, {}, {}
        metrics = dict(zip(asked.metrics, self._labels.metrics(asked.metrics), strict=True))
        for axis, name in asked.names.items():
            if name in metrics:
                unit, factor = self._units[name].name, self._scale(name)
                axes[axis] = Axis(name, metrics[name], unit, axis in asked.log, factor=factor)
            else:
                axes[axis], places[axis] = self._key_axis(axis, name, self._named(name))
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
            words = [f"{number:g}" for number in numbers]
            words = words or [self._labels.value(value, key) for value in values]
            made = Axis(key, label, named, categories=tuple(words))
            numbers = [float(place) for place in range(len(values))]
        return made, {same(value): Place(at) for value, at in zip(values, numbers, strict=True)}

    def _series(self, places: _Places) -> tuple[Series, ...]:
        asked, series = self._asked, []
        at = {
            role: {id(point): place for place, own in enumerate(groups) for point in own}
            for role, groups in self._shared.items()
        }
        for own, label in zip(self._groups, self._words(self._groups, asked.by), strict=True):
            by = {key: own[0].parameters.get(key) for key in asked.by}
            roles = {role: places_of[id(own[0])] for role, places_of in at.items()}
            if asked.kind == "cdf":
                one = Series(by, label, curve=self._curve(*own), places=roles)
            else:
                one = Series(by, label, self._marks(own, places), places=roles)
            # Empty panels are kept, since they show missing data; lines without points are not.
            if one.marks or one.curve or asked.kind == "heat":
                series.append(one)
        return tuple(series)

    def _marks(self, points: list[PointResult], on: _Places) -> tuple[Mark, ...]:
        asked, along, marks = self._asked, self._along, []
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
                word = "" if key is None else self._labels.value(value, key)
                own = {key: point.parameters.get(key) for key in (*asked.keys, along) if key is not None}
                marks.append(Mark(point.point, known, value, word, without, own))
        return tuple(marks)

    def _mean(self, point: PointResult, metric: str) -> Place | None:
        known, by = point.estimates[metric], self._scale(metric)
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
        known, factor = point.estimates[metric], self._scale(metric)
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
            return SweepError("--where", "the chosen points have no runs yet", "let the sweep continue first")
        axis = next(axis for axis, name in self._asked.names.items() if name in metrics)
        what = f"none of the {runs} runs measured {listed(metrics, ' and ')}"
        return SweepError(f"--{axis}", what, "choose other points or another metric")


def _check_logarithms(axes: dict[str, Axis], series: Sequence[Series]) -> None:
    for name, axis in axes.items():
        if axis.is_log:
            numbers = [mark.places[name].at for one in series for mark in one.marks]
            numbers += [value for one in series if one.curve for value in one.curve.x]
            if min(numbers) <= 0:
                what = f"{name} reaches {min(numbers):g}, and a logarithmic axis ends above 0"
                raise SweepError("--log", what, f"leave {name} out")
