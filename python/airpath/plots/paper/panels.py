"""Pictures of panels: charts over a parameter, planes of two quantities, and traces of single runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from airpath.drawing.style import INK, MARKERS, as_bytes, finish
from airpath.experiments.papers.base.panel import Chart, Layers, Line, Path, Plane, Series, Trace
from airpath.experiments.papers.base.quantity import Quantity
from airpath.experiments.papers.base.wording import unit_name
from airpath.plots.paper.picture import MEASURED, OTHERS, PUBLISHED
from airpath.stats.estimate import Estimate

_COLOURS = (MEASURED, *OTHERS, INK)
# Dashes keep lines visible that coincide with others.
_STYLES = ("-", "-", "--", "--")
WIDTH_IN, PANEL_IN = 8.0, 3.6
"""Width of a picture and height of a row of panels, inches."""
_INSIDE = 4
"""With more lines than this, the legend is below the axes."""


def charts_picture(charts: Sequence[Chart], estimates: Mapping[Quantity, Estimate]) -> bytes:
    """Draw charts beside each other, two in a row."""
    columns = min(2, len(charts))
    rows = -(-len(charts) // columns)
    figure = Figure(figsize=(WIDTH_IN, PANEL_IN * rows), layout="constrained")
    for index, chart in enumerate(charts):
        axes = figure.add_subplot(rows, columns, index + 1)
        for number, line in enumerate(chart.lines):
            _draw_line(axes, chart, line, estimates, number)
        for x, y in chart.marks:
            label = "published" if (x, y) == chart.marks[0] else None
            axes.plot([x], [y], "D", color=PUBLISHED, markersize=6, fillstyle="none", label=label)
        unit = unit_name(chart.unit)
        measured = f"{chart.measured} [{unit}]" if unit else chart.measured
        finish(axes, chart.parameter, measured, chart.title)
        if all(float(value).is_integer() for value in chart.values):
            axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        below: dict[str, Any] = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.16), "ncols": 2}
        axes.legend(fontsize=8, frameon=False, **(below if len(chart.lines) > _INSIDE else {}))
    return as_bytes(figure)


def _draw_line(
    axes: Axes, chart: Chart, line: Line, estimates: Mapping[Quantity, Estimate], number: int
) -> None:
    known = [estimates[entry] for entry in line.entries]
    axes.errorbar(
        chart.values,
        [estimate.mean for estimate in known],
        yerr=_reach(known),
        marker=MARKERS[number % len(MARKERS)],
        markersize=4,
        capsize=2,
        linewidth=1.2,
        linestyle=_STYLES[number % len(_STYLES)],
        color=_COLOURS[number % len(_COLOURS)],
        label=line.label,
    )


def planes_picture(planes: Sequence[Plane], estimates: Mapping[Quantity, Estimate]) -> bytes:
    """Draw planes beside each other, two in a row, with common axes."""
    columns = min(2, len(planes))
    rows = -(-len(planes) // columns)
    figure = Figure(figsize=(WIDTH_IN, 1.2 * PANEL_IN * rows), layout="constrained")
    grid = figure.subplots(rows, columns, squeeze=False, sharex=True, sharey=True).flat
    for axes, plane in zip(grid, planes, strict=False):
        for number, path in enumerate(plane.paths):
            _draw_path(axes, path, estimates, number / max(1, len(plane.paths) - 1))
        x, y = (estimates[known] for known in (plane.reference.x, plane.reference.y))
        axes.errorbar(
            [x.mean],
            [y.mean],
            xerr=_reach([x]),
            yerr=_reach([y]),
            fmt="*",
            markersize=10,
            capsize=2,
            color=PUBLISHED,
            label=plane.reference.label,
            zorder=5,
        )
        x_name = f"{plane.x_name} [{unit_name(plane.x_unit)}]"
        y_name = f"{plane.y_name} [{unit_name(plane.y_unit)}]"
        finish(axes, x_name, y_name, plane.title)
        axes.tick_params(labelbottom=True, labelleft=True)
        marks = f"marks: {plane.parameter}, {plane.values[0]:g} (ringed) to {plane.values[-1]:g}"
        axes.legend(fontsize=7, frameon=False, title=marks, title_fontsize=7)
    return as_bytes(figure)


def _draw_path(axes: Axes, path: Path, estimates: Mapping[Quantity, Estimate], shade: float) -> None:
    """Draw a line with a mark for each value of the parameter, the first ringed; later lines are darker."""
    x = [estimates[entry].mean for entry in path.x]
    y = [estimates[entry].mean for entry in path.y]
    colour = colormaps["viridis"](0.92 - 0.92 * shade)
    axes.plot(x, y, "-o", color=colour, markersize=2.5, linewidth=1.0, label=path.label)
    axes.plot(x[:1], y[:1], "o", color=colour, markersize=6, fillstyle="none")


def traces_picture(traces: Sequence[tuple[Trace, Series | Layers]]) -> bytes:
    """Draw traces one below the other."""
    figure = Figure(figsize=(WIDTH_IN, 0.8 * PANEL_IN * len(traces)), layout="constrained")
    for index, (trace, observed) in enumerate(traces):
        axes = figure.add_subplot(len(traces), 1, index + 1)
        if isinstance(observed, Layers):
            _draw_layers(axes, observed)
        else:
            style = "steps-post" if trace.is_step else "default"
            axes.plot(observed.x, observed.y, drawstyle=style, color=MEASURED, linewidth=1.0)
            axes.set_xlim(float(observed.x[0]), float(observed.x[-1]))
        axes.set_ylim(bottom=0)
        finish(axes, trace.x_label, trace.y_label, trace.title)
    return as_bytes(figure)


_LAYERS = ((MEASURED, ".", 2.0), (OTHERS[1], ".", 2.0), (PUBLISHED, "x", 5.0), (OTHERS[2], "s", 3.0))
"""Colour, mark and its size for each kind of point."""

_FEW = 200
"""Below this number of points, marks are larger."""


def _draw_layers(axes: Axes, layers: Layers) -> None:
    few = max(series.x.size for _, series in layers.series) < _FEW
    for (label, series), (colour, mark, size) in zip(layers.series, _LAYERS, strict=False):
        axes.plot(series.x, series.y, mark, color=colour, markersize=3 * size if few else size, label=label)
    known = [series.x for _, series in layers.series if series.x.size]
    axes.set_xlim(min(float(x.min()) for x in known), max(float(x.max()) for x in known))
    axes.legend(fontsize=8, frameon=False, markerscale=1 if few else 2, loc="best")


def _reach(known: Sequence[Estimate]) -> list[float]:
    """Half the widths of intervals; 0 after one run."""
    return [0.0 if estimate.n == 1 else estimate.half_width for estimate in known]
