"""Results of sweeps as a table: means with intervals by point, and differences from another point.

Numbers are rounded to what their interval allows: two significant digits of half its width, and the mean to
the same decimal. Source: JCGM 100:2008 (GUM), 7.2.6: an uncertainty has at most two significant digits, and
the estimate is rounded to be consistent with it. An interval that is not symmetric about the mean is written
by its ends, to the same decimal. CSV and JSON are not rounded.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from airpath.errors import SweepError
from airpath.experiments.paired import paired
from airpath.experiments.sweep.results import PointResult, SweepResults, merge, read_results
from airpath.plots.sweep.choice import conditions, fulfilling, is_value, listed, values_of, varying
from airpath.plots.sweep.labels import Labels, read_labels
from airpath.plots.sweep.quantity import metric_unit, same, scaled_unit
from airpath.plots.sweep.wording import with_unit
from airpath.report.document import Note, Part, Table
from airpath.stats.estimate import Estimate, estimate, is_lopsided
from airpath.terminal import counted

SIGNIFICANT = 2
"""Digits of half the width of an interval."""


@dataclass(frozen=True)
class Column:
    """A column of numbers: a metric, or its difference from the point that others are compared with.

    `factor` makes numbers in `unit` of those of the results.
    """

    metric: str
    label: str
    unit: str
    factor: float
    is_difference: bool = False

    @property
    def heading(self) -> str:
        """Label with its unit, on one line."""
        label = f"{self.label}, difference" if self.is_difference else self.label
        return with_unit(label, self.unit)

    @property
    def short_heading(self) -> str:
        """Label, and below it the unit: a terminal prints the label once over both columns of a metric."""
        below = ", ".join(filter(None, ("difference" if self.is_difference else "", self.unit)))
        return f"{self.label}\n{below}" if below else self.label


@dataclass(frozen=True)
class Row:
    """A point; estimates by column, in the units of the results, None where there is none.

    `is_reference` says that it is what other points are compared with.
    """

    point: PointResult
    estimates: Sequence[Estimate | None]
    is_reference: bool = False


class Cell(NamedTuple):
    """Mean and half of the interval, rounded, and a remark; empty texts for what there is not.

    `ends` are those of an interval that is not symmetric, which are written instead of its half.
    """

    mean: str
    half: str
    remark: str
    ends: tuple[str, str] | None = None

    @property
    def text(self) -> str:
        """``2.04 ± 0.35``, or ``2.04 [1.48, 2.18]``; a dash without a mean."""
        if self.ends is not None:
            return f"{self.mean} [{', '.join(self.ends)}]"
        return f"{self.mean} ± {self.half}" if self.half else self.mean or "–"


class SweepTable:
    """Results of sweeps as a table; `report.sweep_formats` writes it, a notebook shows it.

    Attributes
    ----------
    results : SweepResults
        What the folders hold, all together.
    keys : tuple of str
        Parameters in the first columns.
    columns : list of Column
    rows : list of Row
    warnings : list of str
        Damaged files, missing runs, and points without a partner.
    """

    def __init__(
        self,
        results: SweepResults,
        *,
        where: Mapping[str, Any] | Iterable[str] = (),
        against: Mapping[str, Any] | Iterable[str] = (),
        labels: Iterable[str] = (),
    ) -> None:
        self.results, self.warnings = results, list(results.warnings)
        self.labels: Labels = read_labels(results, labels)
        self.points = fulfilling(results, conditions(results, where))
        self.keys: tuple[str, ...] = results.parameters
        self.reference = conditions(results, against, "--against")
        self.columns = self._columns()
        partners = _partners(results, self.points, self.reference) if self.reference else {}
        if self.reference:
            alone = [point for point in self.points if id(point) not in partners]
            if len(alone) == len(self.points):
                what = f"no shown point has a partner with {self.reference_words}"
                raise SweepError("--against", what, "name a point by parameters that other points share")
            if alone:
                without = f"{counted(len(alone), 'point')} without partner"
                self.warnings.append(f"{without}: nothing else equal has {self.reference_words}")
        self.rows = [self._row(point, partners.get(id(point))) for point in self.points]

    @property
    def reference_words(self) -> str:
        """The point that others are compared with, in words."""
        names = self.labels.keys(self.reference)
        pairs = zip(names, self.reference.items(), strict=True)
        return ", ".join(f"{name} {self._value_words(key, texts[0])}" for name, (key, texts) in pairs)

    @property
    def varied(self) -> list[str]:
        """Parameters whose values differ among the points, or all of them if none does."""
        return varying(self.points, self.keys) or list(self.keys)

    @property
    def caption(self) -> str:
        """Say what the numbers are."""
        fewest, most = (choose(point.runs for point in self.points) for choose in (min, max))
        runs = counted(most, "run") if fewest == most else f"{fewest} to {most} runs"
        level = f"{100 * self.results.confidence:g} % confidence interval"
        said = f"Mean ± half of the {level}{self._or_ends}, {runs} at each point"
        if self.reference:
            said += f"; differences from {self.reference_words}, run by run with the same seeds"
        constant = [key for key in self.keys if key not in self.varied]
        names = self.labels.keys(constant)
        values = [self.labels.value(self.points[0].parameters.get(key), key) for key in constant]
        named = [f"{name}: {value}" for name, value in zip(names, values, strict=True)]
        return "; ".join([said, *named])

    @property
    def _or_ends(self) -> str:
        """Say how intervals are written that are not symmetric, if there are any."""
        lopsided = any(
            known is not None and is_lopsided(known) for row in self.rows for known in row.estimates
        )
        return ", or [its ends] where it is not symmetric" if lopsided else ""

    def cell(self, row: Row, number: int) -> Cell:
        """Write a number of a row."""
        column, known = self.columns[number], row.estimates[number]
        if column.is_difference:
            remark = ""
        else:
            missing = row.point.missing(column.metric)
            remark = f"{missing} of {row.point.runs} without" if missing else ""
        if known is None:
            return Cell("", "", remark)
        half = known.half_width * column.factor if known.n > 1 else None
        texts = rounded(known.mean * column.factor, half)
        if not is_lopsided(known):
            return Cell(*texts, remark)
        low, high = (rounded(end * column.factor, half)[0] for end in (known.ci_low, known.ci_high))
        return Cell(*texts, remark, (low, high))

    def parts(self) -> Iterator[Part]:
        """Show it on a terminal: parts of a wide table repeat the labels."""
        level = f"{100 * self.results.confidence:g} %"
        title = f"{self.results.name} ({self.results.scenario})"
        title += f": mean ± half of the {level} interval{self._or_ends}"
        names = [
            "point",
            *self.labels.keys(self.keys),
            "runs",
            *(column.short_heading for column in self.columns),
        ]
        label_columns = range(1, 1 + len(self.keys))
        table = Table(*names, words=label_columns, keys=1 + len(self.keys), title=title)
        for row in self.rows:
            values = [self.text_of(row.point, key) for key in self.keys]
            numbers = [self._cell_text(row, number) for number in range(len(self.columns))]
            table.add(str(row.point.point), *values, str(row.point.runs), *numbers)
        yield table
        if self.reference:
            yield Note(f"differences from {self.reference_words}, run by run with the same seeds")

    def text_of(self, point: PointResult, key: str) -> str:
        """A value of a point in words; nothing where it is not set."""
        value = point.parameters.get(key)
        return "" if value is None else self.labels.value(value, key)

    def _repr_html_(self) -> str:
        from airpath.notebook import table

        headings = [*self.labels.keys(self.keys), *(column.heading for column in self.columns)]
        rows = [
            (
                *(self.text_of(row.point, key) for key in self.keys),
                *(self._cell_text(row, number) for number in range(len(self.columns))),
            )
            for row in self.rows
        ]
        return table(self.results.name, headings, rows, self.caption)

    def _cell_text(self, row: Row, number: int) -> str:
        if row.is_reference and self.columns[number].is_difference:
            return "reference"
        cell = self.cell(row, number)
        return f"{cell.text} ({cell.remark})" if cell.remark else cell.text

    def _value_words(self, key: str, text: str) -> str:
        values = [value for point in self.results.points if (value := point.parameters.get(key)) is not None]
        return next((self.labels.value(value, key) for value in values if is_value(value, text)), text)

    def _columns(self) -> list[Column]:
        columns = []
        metrics = self.results.metrics
        for metric, label in zip(metrics, self.labels.metrics(metrics), strict=True):
            written = metric_unit(metric)
            means = [abs(known.mean) for point in self.points if (known := point.estimates[metric])]
            unit = scaled_unit(written, max(means, default=0.0))
            factor = float(written.size / unit.size)
            columns.append(Column(metric, label, unit.name, factor))
            if self.reference:
                columns.append(Column(metric, label, unit.name, factor, True))
        return columns

    def _row(self, point: PointResult, partner: PointResult | None) -> Row:
        metrics = self.results.metrics
        estimates = []
        for column in self.columns:
            if not column.is_difference:
                estimates.append(point.estimates[column.metric])
            elif partner is None or partner is point:
                estimates.append(None)
            else:
                estimates.append(
                    _difference(point, partner, metrics.index(column.metric), self.results.confidence)
                )
        return Row(point, estimates, partner is point)


def sweep_table(
    *folders: str | Path,
    where: Mapping[str, Any] | Iterable[str] = (),
    against: Mapping[str, Any] | Iterable[str] = (),
    labels: Iterable[str] = (),
) -> SweepTable:
    """Make a table of the results of one or more sweeps.

    Parameters
    ----------
    *folders : str or Path
        What `airpath sweep` wrote. What distinguishes several, such as the scenario, becomes a column.
    where : mapping or list of str
        Only these points: ``{"tcp.cc": "reno"}`` or ``["tcp.cc=reno"]``. Values are compared as quantities.
    against : mapping or list of str
        Parameters of the point that others are compared with: ``{"tcp.cc": "reno"}``. The partner of a point
        has these values, and is equal in all other parameters. Differences are point minus partner, seed by
        seed, in the unit of the metric, with the interval of their mean.
    labels : list of str
        Texts instead of names, ``KEY=TEXT``: of parameters, metrics or values.

    Raises
    ------
    SweepError
        If a folder is not one of a sweep, or has no such key, value or point.
    """
    if not folders:
        raise SweepError("DIR", "no sweep is named", "name what 'airpath sweep' wrote")
    found = merge({str(folder): read_results(Path(folder)) for folder in folders})
    return SweepTable(found, where=where, against=against, labels=labels)


def rounded(mean: float, half_width: float | None) -> tuple[str, str]:
    """Round a mean and half the width of its interval to `SIGNIFICANT` digits of the latter.

    The second text is empty without an interval. Then, and where the half-width is 0, the mean has six
    significant digits.
    """
    if half_width is None or not math.isfinite(half_width):
        return f"{mean:.6g}", ""
    if half_width <= 0:
        return f"{mean:.6g}", "0"
    # Digits are those of the rounded number: 0.0996 becomes 0.10.
    places = SIGNIFICANT - 1 - int(f"{half_width:.{SIGNIFICANT - 1}e}".partition("e")[2])
    decimals = max(places, 0)
    texts = [f"{round(number, places):.{decimals}f}" for number in (mean, half_width)]
    return texts[0].removeprefix("-") if float(texts[0]) == 0 else texts[0], texts[1]


def _partners(
    results: SweepResults, points: Sequence[PointResult], reference: Mapping[str, Sequence[str]]
) -> dict[int, PointResult]:
    """Partners of points by the identity of the point: equal except for the keys of the reference."""
    several = next((key for key, texts in reference.items() if len(texts) > 1), None)
    if several is not None:
        raise SweepError("--against", f"'{several}' has two values", "name one point")
    known = fulfilling(results, {key: list(texts) for key, texts in reference.items()}, "--against")
    others = [key for key in results.parameters if key not in reference]

    def rest(point: PointResult) -> tuple[object, ...]:
        return tuple(same(point.parameters.get(key)) for key in others)

    by_rest: dict[tuple[object, ...], PointResult] = {}
    for point in known:
        if by_rest.setdefault(rest(point), point) is not point:
            among = listed(str(value) for value in values_of(known, next(iter(reference))))
            raise SweepError(
                "--against", f"several points are meant: {among}", "name one value as it is written"
            )
    return {id(point): by_rest[rest(point)] for point in points if rest(point) in by_rest}


def _difference(point: PointResult, partner: PointResult, metric: int, confidence: float) -> Estimate | None:
    """Mean of a point's metric minus the partner's, over the seeds where both measured it."""
    seeds, own, other = np.intersect1d(point.seeds, partner.seeds, return_indices=True)
    a, b = point.values[own, metric], partner.values[other, metric]
    both = ~(np.isnan(a) | np.isnan(b))
    if not len(seeds) or not both.any():
        return None
    return paired(estimate(a[both], confidence), estimate(b[both], confidence)).difference
