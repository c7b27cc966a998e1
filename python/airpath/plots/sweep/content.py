"""The content of a figure as numbers: axes, lines, curves and cells."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from airpath.plots.sweep.quantity import Value
from airpath.plots.sweep.wording import with_unit

FORMAT = 1
MOST_BANDS = 6
"""With more lines than this, bars replace bands, which would cover each other."""


@dataclass(frozen=True)
class Axis:
    """An axis: the key or metric on it, its name, and the unit of its numbers.

    `categories` are the names of its places 0, 1, 2 ...; None if it has numbers. `is_whole`: they are counts.
    """

    key: str
    label: str
    unit: str = ""
    is_log: bool = False
    categories: tuple[str, ...] | None = None
    is_whole: bool = False

    @property
    def title(self) -> str:
        """Its name, and the unit in brackets."""
        return with_unit(self.label, self.unit)

    def as_json(self) -> dict[str, Any]:
        """Make plain data of it."""
        scale = "category" if self.categories else "log" if self.is_log else "linear"
        plain = {"key": self.key, "label": self.label, "unit": self.unit, "scale": scale}
        return plain | ({"categories": list(self.categories)} if self.categories else {})


@dataclass(frozen=True)
class Place:
    """A number on an axis; a mean also has its interval (None after one run) and number of runs."""

    at: float
    low: float | None = None
    high: float | None = None
    n: int | None = None

    @property
    def ends(self) -> tuple[float, float]:
        """Ends of the interval; the mean twice if there is none."""
        return (self.at if self.low is None else self.low, self.at if self.high is None else self.high)


@dataclass(frozen=True)
class Mark:
    """A point of the sweep in a figure: its number, and where it is on the axes ``x``, ``y`` and ``z``.

    `value`: of the key on the x axis, or along the path. `not_measured`: runs of the point without a value.
    """

    point: int
    places: dict[str, Place]
    value: Value = None
    not_measured: int = 0

    @property
    def x(self) -> Place:
        """Place on the axis x."""
        return self.places["x"]

    @property
    def y(self) -> Place:
        """Place on the axis y."""
        return self.places["y"]

    def as_json(self) -> dict[str, Any]:
        """Make plain data of it."""
        plain: dict[str, Any] = {"point": self.point, "value": self.value, "not_measured": self.not_measured}
        for name, place in self.places.items():
            plain[name] = place.at
            if place.n is not None:
                plain |= {f"{name}_low": place.low, f"{name}_high": place.high, f"{name}_n": place.n}
        return plain


@dataclass(frozen=True)
class Curve:
    """An empirical distribution: the share of runs at or below each value of `x`, with its band."""

    point: int
    x: list[float]
    share: list[float]
    low: list[float]
    high: list[float]

    def as_json(self) -> dict[str, Any]:
        """Make plain data of it; equal values are one step."""
        return {"point": self.point, "n": len(self.x)} | vars(self)


@dataclass(frozen=True)
class Series:
    """A line, a path, a curve, or the panel of a heat map."""

    by: dict[str, Value]
    label: str
    marks: tuple[Mark, ...] = ()
    curve: Curve | None = None

    def as_json(self) -> dict[str, Any]:
        """Make plain data of it."""
        plain: dict[str, Any] = {"by": self.by, "label": self.label}
        if self.curve is not None:
            return plain | {"curve": self.curve.as_json()}
        return plain | {"points": [mark.as_json() for mark in self.marks]}


@dataclass(frozen=True)
class Content:
    """A figure of a kind (``"line"``, ``"plane"``, ``"cdf"`` or ``"heat"``), as numbers.

    Points are chosen by `where`, the keys `by` distinguish the series, and `along` a key go the paths of a
    plane. Lines join the points if `is_joined`; random designs are scattered.
    """

    kind: str
    sweep: str
    scenario: str
    confidence: float  # Of the intervals and bands.
    axes: dict[str, Axis]  # By their names x, y and z.
    by: tuple[str, ...]
    by_label: str
    where: dict[str, list[str]]
    along: Axis | None
    is_joined: bool
    series: tuple[Series, ...]
    runs: int  # Done at these points.
    missing: int  # As far as known.
    not_measured: dict[str, int]  # Runs without a value, by metric.
    empty_points: int  # Not drawn, as no run has a value.
    points_without_x: int  # Left out, as they do not set the key of an axis.

    @property
    def marks(self) -> Iterator[Mark]:
        """All points that are drawn."""
        return (mark for series in self.series for mark in series.marks)

    @property
    def sizes(self) -> list[int]:
        """Number of values of each mean or curve."""
        means = [place.n for mark in self.marks for place in mark.places.values() if place.n]
        return means + [len(series.curve.x) for series in self.series if series.curve]

    @property
    def is_drawn_through(self) -> bool:
        """Whether lines join the points of a line figure: a grid over numbers."""
        return self.is_joined and self.axes["x"].categories is None

    @property
    def has_bands(self) -> bool:
        """Whether intervals are drawn as bands, not bars."""
        return self.is_drawn_through and len(self.series) <= MOST_BANDS

    def as_json(self) -> dict[str, Any]:
        """Make plain data of it: everything that is drawn."""
        return {
            "format": FORMAT,
            "kind": self.kind,
            "sweep": self.sweep,
            "scenario": self.scenario,
            "confidence": self.confidence,
            "axes": {name: axis.as_json() for name, axis in self.axes.items()},
            "by": list(self.by),
            "where": self.where,
            "along": None if self.along is None else self.along.key,
            "joined": self.is_joined,
            "series": [series.as_json() for series in self.series],
            "runs": {"there": self.runs, "missing": self.missing, "not_measured": self.not_measured},
            "points_without_value": self.empty_points,
            "points_without_x": self.points_without_x,
        }
