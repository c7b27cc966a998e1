"""The content of a figure as numbers: axes, lines, curves and cells."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from airpath.plots.sweep.quantity import Value

FORMAT = 1
MOST_BANDS = 6
"""With more lines than this, bars replace bands, which would cover each other."""


@dataclass(frozen=True)
class Axis:
    """An axis.

    Attributes
    ----------
    key : str
        Key of the scenario, or metric.
    label, unit : str
        Its name, and the unit of its numbers.
    is_log : bool
        Whether it is logarithmic.
    categories : tuple of str or None
        Names of its places 0, 1, 2 ...; None if it has numbers.
    is_whole : bool
        Whether its numbers are counts.
    """

    key: str
    label: str
    unit: str = ""
    is_log: bool = False
    categories: tuple[str, ...] | None = None
    is_whole: bool = False

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
    """An empirical distribution: the share of runs at or below each value, with its band."""

    point: int
    x: tuple[float, ...]
    share: tuple[float, ...]
    half_band: float

    @property
    def low(self) -> tuple[float, ...]:
        """Lower edge of the band."""
        return tuple(max(0.0, share - self.half_band) for share in self.share)

    @property
    def high(self) -> tuple[float, ...]:
        """Upper edge of the band."""
        return tuple(min(1.0, share + self.half_band) for share in self.share)

    @property
    def n(self) -> int:
        """Number of values; equal ones are one step."""
        return len(self.x)

    def as_json(self) -> dict[str, Any]:
        """Make plain data of it."""
        return {"point": self.point, "n": self.n} | {
            name: list(getattr(self, name)) for name in ("x", "share", "low", "high")
        }


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
class RunCounts:
    """How many runs a figure is made of.

    Attributes
    ----------
    runs : int
        Runs done.
    missing : int
        Runs still missing at these points, as far as known.
    not_measured : dict of int
        Runs without a value, by metric.
    fewest, most : int
        Fewest and most values of a drawn mean or curve.
    empty_points : int
        Points not drawn, as no run has a value.
    empty_cells : int
        Cells of a heat map without a value.
    points_without_x : int
        Points left out, as they do not set the key of an axis.
    """

    runs: int
    missing: int
    not_measured: dict[str, int]
    fewest: int
    most: int
    empty_points: int = 0
    empty_cells: int = 0
    points_without_x: int = 0


@dataclass(frozen=True)
class Content:
    """A figure, as numbers.

    Attributes
    ----------
    kind : str
        ``"line"``, ``"plane"``, ``"cdf"`` or ``"heat"``.
    sweep, scenario : str
        Names of both.
    confidence : float
        Level of the intervals and bands.
    axes : dict of Axis
        By their names ``x``, ``y`` and ``z``.
    by : tuple of str
        Keys that distinguish the series.
    by_label : str
        Their names in the figure.
    where : dict of list of str
        Conditions on the points.
    along : Axis or None
        The key that changes along the paths of a plane.
    is_joined : bool
        Whether lines join the points; random designs are scattered.
    series : tuple of Series
        The series.
    counts : RunCounts
        How many runs it is made of.
    """

    kind: str
    sweep: str
    scenario: str
    confidence: float
    axes: dict[str, Axis]
    by: tuple[str, ...]
    by_label: str
    where: dict[str, list[str]]
    along: Axis | None
    is_joined: bool
    series: tuple[Series, ...]
    counts: RunCounts

    @property
    def marks(self) -> Iterator[Mark]:
        """All points that are drawn."""
        return (mark for series in self.series for mark in series.marks)

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
        counts = self.counts
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
            "runs": {"there": counts.runs, "missing": counts.missing, "not_measured": counts.not_measured},
            "points_without_value": counts.empty_points,
            "points_without_x": counts.points_without_x,
        }
