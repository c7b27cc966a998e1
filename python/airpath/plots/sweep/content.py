"""The content of a figure as numbers: axes, panels, lines, curves and cells."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from airpath.plots.sweep.quantity import Value
from airpath.plots.sweep.roles import BY, COLOR, COLUMN, MARKER, PANEL, PLACES, ROW, STYLES
from airpath.plots.sweep.wording import with_unit
from airpath.runs.changes import Changes

PanelPlace = tuple[int, int, int]
"""Row and column of a panel in a grid, or its place among panels one after the other."""
FORMAT = 1
MOST_BANDS = 6
"""A panel with more lines than this has bars instead of bands, and none for distributions."""


@dataclass(frozen=True)
class Axis:
    """An axis: the key or metric on it, its name, and the unit of its numbers.

    `categories` are the names of its places 0, 1, 2 ...; None if it has numbers. `is_whole`: they are counts.
    Numbers of a metric are those of the results times `factor`.
    """

    key: str
    label: str
    unit: str = ""
    is_log: bool = False
    categories: tuple[str, ...] | None = None
    is_whole: bool = False
    factor: float = 1.0

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

    `value`: of the key on the x axis, or along the path; `word` is its name. `not_measured`: runs of the
    point without a value. `parameters` are those on axes and along the path.
    """

    point: int
    places: dict[str, Place]
    value: Value = None
    word: str = ""
    not_measured: int = 0
    parameters: dict[str, Value] = field(default_factory=dict)

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
class Factor:
    """Parameters that distinguish series: their keys, their name, and the words of each combination."""

    keys: tuple[str, ...]
    label: str
    words: tuple[str, ...]

    @property
    def titles(self) -> tuple[str, ...]:
        """Titles of panels, each with the name of the parameters."""
        return tuple(f"{self.label}: {word}" if self.label else word for word in self.words)


@dataclass(frozen=True)
class Series:
    """A line, a path, a curve, or the panel of a heat map.

    `places` says by role which of the words of a `Factor` are its own.
    """

    by: dict[str, Value]
    label: str
    marks: tuple[Mark, ...] = ()
    curve: Curve | None = None
    places: dict[str, int] = field(default_factory=dict)

    @property
    def panel(self) -> PanelPlace:
        """Place of its panel."""
        row, column, place = (self.places.get(role, 0) for role in (ROW, COLUMN, PANEL))
        return row, column, place

    @property
    def look(self) -> tuple[int, int]:
        """Numbers of its colour and of its mark; -1 where all series have the same."""
        if BY in self.places:
            return self.places[BY], self.places[BY]
        if COLOR in self.places or MARKER in self.places:
            return self.places.get(COLOR, -1), self.places.get(MARKER, -1)
        return 0, 0

    def as_json(self) -> dict[str, Any]:
        """Make plain data of it."""
        plain: dict[str, Any] = {"by": self.by, "label": self.label}
        if self.curve is not None:
            return plain | {"curve": self.curve.as_json()}
        return plain | {"points": [mark.as_json() for mark in self.marks]}


@dataclass(frozen=True)
class Content:
    """A figure of a kind (``"line"``, ``"plane"``, ``"cdf"`` or ``"heat"``), as numbers.

    Points are chosen by `where`, the parameters of `factors` distinguish the series by role, and `along` a
    key go the paths of a plane. Lines join the points if `is_joined`; random designs are scattered.
    """

    kind: str
    sweep: str
    scenario: str
    changes: Changes  # Settings of the sweep for all points.
    confidence: float  # Of the intervals and bands.
    axes: dict[str, Axis]  # By their names x, y and z.
    factors: dict[str, Factor]
    free: frozenset[str]  # Axes with a separate scale in each panel.
    where: dict[str, list[str]]
    along: Axis | None
    is_joined: bool
    series: tuple[Series, ...]
    runs: int  # Done at these points.
    missing: int  # If known.
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
    def by(self) -> tuple[str, ...]:
        """Keys that distinguish the series."""
        return tuple(key for factor in self.factors.values() for key in factor.keys)

    @property
    def has_panels(self) -> bool:
        """Whether the figure has a panel for each value of a parameter."""
        return any(role in self.factors for role in PLACES)

    @property
    def panels(self) -> dict[PanelPlace, Content]:
        """Content of each panel by its place."""
        found: dict[PanelPlace, list[Series]] = {}
        for one in self.series:
            found.setdefault(one.panel, []).append(one)
        return {place: replace(self, series=tuple(own)) for place, own in sorted(found.items())}

    @property
    def is_grid(self) -> bool:
        """Whether panels have rows and columns."""
        return ROW in self.factors and COLUMN in self.factors

    def scope(self, place: PanelPlace, axis: str) -> Content:
        """Content of the panels that share an axis with the panel at a place.

        All panels share an axis, unless it is free: then those of a row of a grid share ``"y"``, those of a
        column ``"x"``, and other panels have their own.
        """
        if axis not in self.free:
            return self
        number = {"x": 1, "y": 0}[axis]
        return replace(
            self,
            series=tuple(
                one
                for one in self.series
                if (one.panel[number] == place[number] if self.is_grid else one.panel == place)
            ),
        )

    @property
    def looks(self) -> list[tuple[int, int]]:
        """Different looks of series, in the order of the legend."""
        return sorted({one.look for one in self.series})

    @property
    def legend(self) -> list[tuple[str, Factor]]:
        """Roles that a legend explains, with their parameters."""
        return [(role, self.factors[role]) for role in STYLES if role in self.factors]

    @property
    def is_drawn_through(self) -> bool:
        """Whether lines join the points of a line figure: a grid over numbers."""
        return self.is_joined and self.axes["x"].categories is None

    @property
    def has_bands(self) -> bool:
        """Whether intervals are drawn as bands; many would cover each other."""
        is_line = self.kind == "cdf" or self.is_drawn_through
        return is_line and max(len(one.series) for one in self.panels.values()) <= MOST_BANDS

    def as_json(self) -> dict[str, Any]:
        """Make plain data of it: everything that is drawn."""
        return {
            "format": FORMAT,
            "kind": self.kind,
            "sweep": self.sweep,
            "scenario": self.scenario,
            "set": dict(self.changes),
            "confidence": self.confidence,
            "axes": {name: axis.as_json() for name, axis in self.axes.items()},
            "by": list(self.by),
            "roles": {role: list(factor.keys) for role, factor in self.factors.items()},
            "where": self.where,
            "along": None if self.along is None else self.along.key,
            "joined": self.is_joined,
            "series": [series.as_json() for series in self.series],
            "runs": {"there": self.runs, "missing": self.missing, "not_measured": self.not_measured},
            "points_without_value": self.empty_points,
            "points_without_x": self.points_without_x,
        }
