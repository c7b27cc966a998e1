"""A request for a figure: its kind, its axes, and the keys that distinguish its series."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from airpath.errors import SweepError
from airpath.experiments.sweep.results import SweepResults
from airpath.plots.sweep.choice import conditions, listed, named_in
from airpath.plots.sweep.roles import PLACES, Roles, option_of, read_roles


class _Kind(NamedTuple):
    form: str  # Its options.
    axes: dict[str, str]  # What each shows: a parameter (a key of the scenario), or a metric.
    log: str  # Axes that may be logarithmic.


KINDS = {
    "line": _Kind("--x KEY --y METRIC", {"x": "parameter", "y": "metric"}, "xy"),
    "plane": _Kind(
        "--x METRIC --y METRIC, and --along KEY where points are to be joined",
        {"x": "metric", "y": "metric"},
        "xy",
    ),
    "cdf": _Kind("--x METRIC", {"x": "metric"}, "x"),
    "heat": _Kind("--x KEY --y KEY --z METRIC", {"x": "parameter", "y": "parameter", "z": "metric"}, "z"),
}


@dataclass(frozen=True)
class Request:
    """A valid request; names are full keys and metrics.

    `names` are those on the axes ``x``, ``y`` and ``z``. The keys of `roles` distinguish lines, paths, curves
    and panels; `along` changes along the paths of a plane, if named. Points have one of the values that
    `where` has for a key; `log` are the logarithmic axes; axes in `free` have a separate scale in each panel.
    """

    kind: str
    names: dict[str, str]
    roles: Roles
    along: str | None
    where: dict[str, list[str]]
    log: frozenset[str]
    free: frozenset[str]

    @property
    def by(self) -> tuple[str, ...]:
        """Keys that distinguish series, in all roles."""
        return tuple(key for keys in self.roles.values() for key in keys)

    @property
    def metrics(self) -> list[str]:
        """Metrics on axes."""
        return self._that_are("metric")

    @property
    def keys(self) -> list[str]:
        """Keys on axes."""
        return self._that_are("parameter")

    def _that_are(self, what: str) -> list[str]:
        return [name for axis, name in self.names.items() if KINDS[self.kind].axes[axis] == what]


def request(
    results: SweepResults,
    kind: str | None,
    axes: Mapping[str, str | None],
    *,
    by: Iterable[str],
    color: Iterable[str],
    marker: Iterable[str],
    facet: Mapping[str, str | Iterable[str]] | Iterable[str],
    along: str | None,
    where: Mapping[str, Any] | Iterable[str],
    log: Iterable[str],
    free: Iterable[str],
) -> Request:
    """Check a request; the kind follows from the axes if it is not named.

    A `SweepError` says that the sweep has no such key or metric, or that no kind of figure shows them.
    """
    if kind is not None and kind not in KINDS:
        raise SweepError("--kind", f"there is no kind '{kind}'", f"choose from {', '.join(KINDS)}")
    given = {axis: name for axis, name in axes.items() if name}
    if "x" not in given:
        hint = f"name a parameter, {listed(results.parameters) or '(it has none)'}, or a metric, "
        raise SweepError("--x", "is missing", hint + listed(results.metrics))
    chosen = kind or _kind(results, given)
    names = _names(results, chosen, given)
    twice = [axis for axis in names if list(names.values()).count(names[axis]) > 1]
    if twice:
        raise SweepError(f"--{twice[-1]}", f"'{names[twice[-1]]}' is on another axis too", "name another")
    if along is not None:
        if chosen != "plane":
            raise SweepError("--along", f"has no meaning in a {chosen} figure", "leave it out, or use --by")
        along = named_in("--along", along, results.parameters, "parameter")
    roles = read_roles(chosen, results.parameters, by=by, color=color, marker=marker, facet=facet)
    for role, keys in roles.items():
        for key in keys:
            if key in names.values() or key == along:
                option = option_of(role)
                raise SweepError(option, f"'{key}' is on an axis already", f"leave it out of {option}")
    wanted = conditions(results, where)
    return Request(chosen, names, roles, along, wanted, _log(chosen, log), _free(chosen, roles, free))


def _kind(results: SweepResults, given: dict[str, str]) -> str:
    def is_metric(axis: str) -> bool:
        everything = (*results.parameters, *results.metrics)
        return named_in(f"--{axis}", given[axis], everything, "parameter or metric") in results.metrics

    if "z" in given:
        return "heat"
    metrics = listed(results.metrics)
    if "y" not in given:
        if is_metric("x"):
            return "cdf"
        raise SweepError("--y", "is missing", f"name the metric to show over --x: {metrics}")
    on_x, on_y = is_metric("x"), is_metric("y")
    if on_y:
        return "plane" if on_x else "line"
    if on_x:
        what = f"'{given['y']}' is a parameter and '{given['x']}' a metric"
        raise SweepError("--y", what, "exchange --x and --y")
    what = "both --x and --y are parameters"
    raise SweepError("--z", what, f"name the metric to show as colours: {metrics}")


def _names(results: SweepResults, kind: str, given: dict[str, str]) -> dict[str, str]:
    """Full names of what the axes of a kind show."""
    form, axes, _ = KINDS[kind]
    for axis in axes:
        if axis not in given:
            raise SweepError(f"--{axis}", "is missing", f"a {kind} figure is {form}")
    for axis in given:
        if axis not in axes:
            raise SweepError(f"--{axis}", f"has no meaning in a {kind} figure", f"such a figure is {form}")
    known = {"parameter": results.parameters, "metric": results.metrics}
    return {axis: named_in(f"--{axis}", name, known[axes[axis]], axes[axis]) for axis, name in given.items()}


def _log(kind: str, log: Iterable[str]) -> frozenset[str]:
    axes, possible = _listed(log), KINDS[kind].log
    for axis in axes:
        if axis not in possible:
            what = f"'{axis}' cannot be logarithmic in a {kind} figure"
            raise SweepError("--log", what, f"choose from {', '.join(possible)}")
    return frozenset(axes)


def _free(kind: str, roles: Roles, free: Iterable[str]) -> frozenset[str]:
    axes = _listed(free)
    possible = [axis for axis, what in KINDS[kind].axes.items() if what == "metric" and kind != "heat"]
    for axis in axes:
        if axis not in possible:
            what = f"the panels of a {kind} figure share the axis '{axis}'"
            hint = f"choose from {', '.join(possible)}" if possible else "leave it out"
            raise SweepError("--free", what, hint)
    if axes and not any(role in roles for role in PLACES):
        raise SweepError("--free", "the figure has one panel", "add panels with --facet KEY")
    return frozenset(axes)


def _listed(axes: Iterable[str]) -> list[str]:
    return [axis.strip() for entry in axes for axis in entry.split(",") if axis.strip()]
