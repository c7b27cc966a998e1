"""Pictures of panels: charts over a parameter, and traces of single runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from airpath.papers.conditions import Quantity
from airpath.papers.panel import Chart, Line, Series, Trace
from airpath.papers.picture import GRID, INK, MEASURED, OTHERS, PUBLISHED, as_png, without_frame
from airpath.papers.wording import unit_name
from airpath.replicate import Estimate

_COLOURS = (MEASURED, *OTHERS, INK)
_MARKERS = ("o", "s", "^", "D", "v", "P")
# Two lines that coincide are both seen.
_STYLES = ("-", "-", "--", "--")
WIDTH_IN, PANEL_IN = 8.0, 3.6
"""Width of a picture and height of a row of panels, inches."""


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
        _finish(axes, chart.title, chart.parameter, f"{chart.measured} [{unit}]" if unit else chart.measured)
        if all(float(value).is_integer() for value in chart.values):
            axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.legend(fontsize=8, frameon=False)
    return as_png(figure)


def _draw_line(
    axes: Axes, chart: Chart, line: Line, estimates: Mapping[Quantity, Estimate], number: int
) -> None:
    known = [estimates[entry] for entry in line.entries]
    axes.errorbar(
        chart.values,
        [estimate.mean for estimate in known],
        yerr=[0.0 if estimate.n == 1 else estimate.half_width for estimate in known],
        marker=_MARKERS[number % len(_MARKERS)],
        markersize=4,
        capsize=2,
        linewidth=1.2,
        linestyle=_STYLES[number % len(_STYLES)],
        color=_COLOURS[number % len(_COLOURS)],
        label=line.label,
    )


def traces_picture(traces: Sequence[tuple[Trace, Series]]) -> bytes:
    """Draw traces one below the other."""
    figure = Figure(figsize=(WIDTH_IN, 0.8 * PANEL_IN * len(traces)), layout="constrained")
    for index, (trace, series) in enumerate(traces):
        axes = figure.add_subplot(len(traces), 1, index + 1)
        style = "steps-post" if trace.is_step else "default"
        axes.plot(series.x, series.y, drawstyle=style, color=MEASURED, linewidth=1.0)
        axes.set_ylim(bottom=0)
        axes.set_xlim(float(series.x[0]), float(series.x[-1]))
        _finish(axes, trace.title, trace.x_label, trace.y_label)
    return as_png(figure)


def _finish(axes: Axes, title: str, x_label: str, y_label: str) -> None:
    axes.set_title(title, loc="left", fontsize=9)
    axes.set_xlabel(x_label)
    axes.set_ylabel(y_label)
    axes.grid(True, color=GRID, linewidth=0.7)
    without_frame(axes)
