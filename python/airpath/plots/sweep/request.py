"""A request for a figure: its kind, its axes, and the keys that distinguish its lines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from airpath.errors import SweepError
from airpath.experiments.sweep.results import SweepResults
from airpath.plots.sweep.choice import conditions, listed, named_in

KINDS = ("line", "plane", "cdf", "heat")
_FORMS = {
    "line": "--x KEY --y METRIC",
    "plane": "--x METRIC --y METRIC, and --along KEY where points are to be joined",
    "cdf": "--x METRIC",
    "heat": "--x KEY --y KEY --z METRIC",
}
"""Options of each kind."""
_AXES = {"line": {"x": "key", "y": "metric"}, "plane": {"x": "metric", "y": "metric"}}
_AXES |= {"cdf": {"x": "metric"}, "heat": {"x": "key", "y": "key", "z": "metric"}}
"""What each axis shows: a key of the scenario, or a metric."""


@dataclass(frozen=True)
class Request:
    """A valid request; names are full keys and metrics.

    Attributes
    ----------
    kind : str
        One of `KINDS`.
    names : dict of str
        Keys and metrics on the axes ``x``, ``y`` and ``z``.
    by : tuple of str
        Keys that distinguish lines, paths, curves or panels.
    along : str or None
        Key that changes along the paths of a plane, if named.
    where : dict of list of str
        Keys and the values that points must have.
    log : frozenset of str
        Logarithmic axes.
    """

    kind: str
    names: dict[str, str]
    by: tuple[str, ...]
    along: str | None
    where: dict[str, list[str]]
    log: frozenset[str]

    @property
    def metrics(self) -> list[str]:
        """Metrics on axes."""
        return [name for axis, name in self.names.items() if _AXES[self.kind][axis] == "metric"]

    @property
    def keys(self) -> list[str]:
        """Keys on axes."""
        return [name for axis, name in self.names.items() if _AXES[self.kind][axis] == "key"]


def request(
    results: SweepResults,
    *,
    kind: str | None,
    x: str | None,
    y: str | None,
    z: str | None,
    by: Sequence[str],
    along: str | None,
    where: Sequence[str],
    log: Sequence[str],
) -> Request:
    """Check a request; the kind follows from the axes if it is not named.

    Raises
    ------
    SweepError
        If the sweep has no such key or metric, or no kind of figure shows them.
    """
    if kind is not None and kind not in KINDS:
        raise SweepError("--kind", f"there is no kind '{kind}'", f"choose from {', '.join(KINDS)}")
    given = {axis: name for axis, name in (("x", x), ("y", y), ("z", z)) if name}
    if "x" not in given:
        hint = f"name a parameter, {listed(results.parameters) or 'of which it has none'}, or a metric, "
        raise SweepError("--x", "is missing", hint + listed(results.metrics))
    chosen = kind or _kind(results, given)
    _check_axes(chosen, given)
    names = {axis: _named(results, chosen, axis, name) for axis, name in given.items()}
    twice = [axis for axis in names if list(names.values()).count(names[axis]) > 1]
    if twice:
        raise SweepError(f"--{twice[-1]}", f"'{names[twice[-1]]}' is on another axis too", "name another")
    if along is not None:
        if chosen != "plane":
            raise SweepError("--along", f"has no meaning in a {chosen} figure", "leave it out, or use --by")
        along = named_in("--along", along, results.parameters, "parameter")
    keys = tuple(dict.fromkeys(named_in("--by", name, results.parameters, "parameter") for name in by))
    for key in keys:
        if key in names.values() or key == along:
            raise SweepError("--by", f"'{key}' is on an axis already", "leave it out of --by")
    return Request(chosen, names, keys, along, conditions(results, where), _log(chosen, log))


def _kind(results: SweepResults, given: dict[str, str]) -> str:
    if "z" in given:
        return "heat"
    if "y" not in given:
        if _is_metric(results, "x", given["x"]):
            return "cdf"
        metrics = listed(results.metrics)
        raise SweepError("--y", "is missing", f"name the metric to show over --x: {metrics}")
    on_x, on_y = (_is_metric(results, axis, given[axis]) for axis in "xy")
    if on_y:
        return "plane" if on_x else "line"
    if on_x:
        what = f"'{given['y']}' is a parameter and '{given['x']}' a metric"
        raise SweepError("--y", what, "exchange --x and --y")
    what = "both --x and --y are parameters"
    raise SweepError("--z", what, f"name the metric to show as colours: {listed(results.metrics)}")


def _is_metric(results: SweepResults, axis: str, name: str) -> bool:
    everything = (*results.parameters, *results.metrics)
    return named_in(f"--{axis}", name, everything, "parameter or metric") in results.metrics


def _check_axes(kind: str, given: dict[str, str]) -> None:
    for axis in _AXES[kind]:
        if axis not in given:
            raise SweepError(f"--{axis}", "is missing", f"a {kind} figure is {_FORMS[kind]}")
    for axis in given:
        if axis not in _AXES[kind]:
            raise SweepError(
                f"--{axis}", f"has no meaning in a {kind} figure", f"such a figure is {_FORMS[kind]}"
            )


def _named(results: SweepResults, kind: str, axis: str, name: str) -> str:
    if _AXES[kind][axis] == "metric":
        return named_in(f"--{axis}", name, results.metrics, "metric")
    return named_in(f"--{axis}", name, results.parameters, "parameter")


def _log(kind: str, log: Sequence[str]) -> frozenset[str]:
    axes = [axis.strip() for entry in log for axis in entry.split(",") if axis.strip()]
    possible = {"line": "xy", "plane": "xy", "cdf": "x", "heat": "z"}[kind]
    for axis in axes:
        if axis not in possible:
            what = f"'{axis}' cannot be logarithmic in a {kind} figure"
            raise SweepError("--log", what, f"choose from {', '.join(possible)}")
    return frozenset(axes)
