"""Pictures of a reproduction page, as PNG; the same numbers give the same bytes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator
from numpy.typing import NDArray

from airpath.drawing.style import (
    GRID,
    INK,
    MARKERS,
    MEASURED,
    OTHERS,
    PUBLISHED,
    as_bytes,
    finish,
    without_frame,
)
from airpath.stats.estimate import Estimate
from airpath_studies.base.grid import Grid
from airpath_studies.base.observe import Received
from airpath_studies.base.panel import (
    Chart,
    Layers,
    Line,
    Map,
    Path,
    Plane,
    Reference,
    Series,
    Trace,
)
from airpath_studies.base.quantity import Quantity
from airpath_studies.base.send_window import SendWindow
from airpath_studies.base.wording import number, unit_name

CLOSE_UP_S = 60.0
"""Length of the close-up of a window over time, seconds."""
_COLOURS = (MEASURED, *OTHERS, INK)
# Dashes keep lines visible that coincide with others.
_STYLES = ("-", "-", "--", "--")
WIDTH_IN, PANEL_IN = 8.0, 3.6
"""Width of a picture and height of a row of panels, inches."""
_INSIDE = 4
"""With more lines than this, the legend is below the axes."""


def window_picture(window: SendWindow) -> bytes:
    """Draw a send window over a whole transfer, and a close-up from its middle."""
    figure = Figure(figsize=(8.0, 4.6), layout="constrained")
    middle = window.end_s / 2
    whole, close_up = figure.subplots(2, 1)
    _draw_window(whole, window, (0.0, window.end_s), linewidth=0.6, title="whole transfer")
    ends, title = (middle, middle + CLOSE_UP_S), f"{CLOSE_UP_S:.0f} s from its middle"
    _draw_window(close_up, window, ends, title=title, time="time [s]")
    return as_bytes(figure)


def round_trips_picture(window: SendWindow, round_trip_s: float) -> bytes:
    """Draw a send window over a whole transfer, time in round trips of `round_trip_s` seconds."""
    figure = Figure(figsize=(8.0, 3.2), layout="constrained")
    time = f"time [round trips of {1000 * round_trip_s:.0f} ms]"
    _draw_window(figure.add_subplot(), window, (0, window.end_s), round_trip_s, time=time)
    return as_bytes(figure)


def _draw_window(
    axes: Axes,
    window: SendWindow,
    ends_s: tuple[float, float],
    unit_s: float = 1.0,
    *,
    linewidth: float = 1.2,
    title: str = "",
    time: str = "",
) -> None:
    times = [*window.time_s / unit_s, window.end_s / unit_s]
    segments = [*window.segments, window.segments[-1]]
    axes.step(times, segments, where="post", color=MEASURED, linewidth=linewidth)
    axes.set_xlim(ends_s[0] / unit_s, min(ends_s[1], window.end_s) / unit_s)
    axes.set_ylim(0, window.maximum * 1.12)
    axes.yaxis.set_major_locator(MaxNLocator(integer=True))
    finish(axes, time, "send window [segments]", title)


def received_picture(curves: Sequence[tuple[str, float, Received]]) -> bytes:
    """Draw data received over time, one line per run: its label, bytes of file per byte of payload, data."""
    figure = Figure(figsize=(8.0, 4.2), layout="constrained")
    axes = figure.add_subplot()
    largest = max(scale * float(received.data_bytes[-1]) for _, scale, received in curves)
    unit, factor = ("MB", 1e6) if largest > 1e6 else ("kB", 1e3)
    colours = (MEASURED, *OTHERS)
    # With more runs than colours, the second half is dashed.
    solid = len(curves) if len(curves) <= len(colours) else (len(curves) + 1) // 2
    for index, (label, scale, received) in enumerate(curves):
        axes.step(
            [0.0, *received.time_s],
            [0.0, *(scale * received.data_bytes / factor)],
            where="post",
            color=colours[index % solid],
            linestyle="-" if index < solid else "--",
            linewidth=1.2,
            label=f"{label}: {received.time_s[-1]:.{0 if received.time_s[-1] > 100 else 1}f} s",
        )
    axes.set_xlim(left=0)
    axes.set_ylim(bottom=0)
    finish(axes, "time [s]", f"received in order [{unit}, with headers]")
    axes.legend(fontsize=8, frameon=False, loc="lower right")
    return as_bytes(figure)


def comparison_picture(
    labels: list[str], unit: str, published: list[float], measured: dict[str, list[Estimate | None]]
) -> bytes:
    """Draw published values, the first on top, and what each reading gives for them, the default one first.

    `labels`, `published` and the estimates of each reading in `measured` are as long; values have one unit.
    """
    figure = Figure(figsize=(8.0, 1.2 + 0.5 * len(labels)), layout="constrained")
    axes = figure.add_subplot()
    rows = [-float(index) for index in range(len(labels))]
    for index, (reading, points) in enumerate(measured.items()):
        known = [(row, point) for row, point in zip(rows, points, strict=True) if point is not None]
        axes.errorbar(
            [point.mean for _, point in known],
            # The default reading is at the height of its row, the others below.
            [row - 0.16 * index for row, _ in known],
            xerr=_reach([point for _, point in known]),
            fmt="o",
            markersize=5 if index == 0 else 3.5,
            capsize=2,
            linewidth=1,
            color=MEASURED if index == 0 else OTHERS[(index - 1) % len(OTHERS)],
            label=reading if index else f"measured, {reading}",
        )
    axes.plot(published, rows, "D", color=PUBLISHED, markersize=6, fillstyle="none", label="published")
    if max(published) > max(1.0, 10 * min(published)):
        axes.set_xscale("symlog", linthresh=1.0)
        axes.xaxis.set_major_locator(FixedLocator([0, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000]))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axes.set_xlim(0 if min(published) < 1 else 0.8 * min(published), 1.25 * max(published))
    axes.set_yticks(rows, labels)
    axes.set_ylim(rows[-1] - 0.7, 0.5)
    axes.set_xlabel(f"[{unit_name(unit)}]" if unit_name(unit) else "")
    axes.grid(True, axis="x", which="both", color=GRID, linewidth=0.7)
    axes.legend(fontsize=8, frameon=False, loc="lower right")
    without_frame(axes)
    return as_bytes(figure)


def charts_picture(charts: Sequence[Chart], estimates: Mapping[Quantity, Estimate]) -> bytes:
    """Draw charts side by side, two in a row."""
    columns = min(2, len(charts))
    rows = -(-len(charts) // columns)
    figure = Figure(figsize=(WIDTH_IN, PANEL_IN * rows), layout="constrained")
    for index, chart in enumerate(charts):
        axes = figure.add_subplot(rows, columns, index + 1)
        for place, line in enumerate(chart.lines):
            _draw_line(axes, chart, line, estimates, place)
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
    """Draw planes side by side, two in a row, with common axes unless they have their own."""
    columns = min(2, len(planes))
    rows = -(-len(planes) // columns)
    figure = Figure(figsize=(WIDTH_IN, 1.2 * PANEL_IN * rows), layout="constrained")
    shared = not any(plane.has_own_axes for plane in planes)
    grid = figure.subplots(rows, columns, squeeze=False, sharex=shared, sharey=shared).flat
    for axes in grid[len(planes) :]:
        axes.set_visible(False)
    for axes, plane in zip(grid, planes, strict=False):
        for place, path in enumerate(plane.paths):
            _draw_path(axes, path, estimates, place / max(1, len(plane.paths) - 1))
        if plane.reference is not None:
            _draw_reference(axes, plane.reference, estimates)
        x_name = f"{plane.x_name} [{unit_name(plane.x_unit)}]"
        y_name = f"{plane.y_name} [{unit_name(plane.y_unit)}]"
        finish(axes, x_name, y_name, plane.title)
        axes.tick_params(labelbottom=True, labelleft=True)
        if plane.has_own_axes:
            axes.set_xlim(left=0)
            bottom, top = axes.get_ylim()
            axes.set_ylim(min(bottom, top / 2), top + 0.02 * top)  # small differences stay small
        first, last = (
            value if isinstance(value, str) else f"{value:g}"
            for value in plane.values[:: len(plane.values) - 1]
        )
        marks = f"marks: {plane.parameter}, {first} (ringed) to {last}"
        axes.legend(fontsize=7, frameon=False, title=marks, title_fontsize=7)
    return as_bytes(figure)


def _draw_reference(axes: Axes, reference: Reference, estimates: Mapping[Quantity, Estimate]) -> None:
    x, y = estimates[reference.x], estimates[reference.y]
    axes.errorbar(
        [x.mean],
        [y.mean],
        xerr=_reach([x]),
        yerr=_reach([y]),
        fmt="*",
        markersize=10,
        capsize=2,
        color=PUBLISHED,
        label=reference.label,
        zorder=5,
    )


def _draw_path(axes: Axes, path: Path, estimates: Mapping[Quantity, Estimate], shade: float) -> None:
    """Draw a line with a mark for each value of the parameter, the first ringed; later lines are darker."""
    x = [estimates[entry].mean for entry in path.x]
    y = [estimates[entry].mean for entry in path.y]
    colour = colormaps["viridis"](0.92 - 0.92 * shade)
    axes.plot(x, y, "-o", color=colour, markersize=2.5, linewidth=1.0, label=path.label)
    axes.plot(x[:1], y[:1], "o", color=colour, markersize=6, fillstyle="none")


_LARGEST_CHANGE = 50.0
"""Changes from this on have the full colour, percent."""


def maps_picture(maps: Sequence[Map], estimates: Mapping[Quantity, Estimate]) -> bytes:
    """Draw maps, see `maps_figure`."""
    return as_bytes(maps_figure(maps, estimates))


def maps_figure(maps: Sequence[Map], estimates: Mapping[Quantity, Estimate]) -> Figure:
    """Draw maps, two in a row: in each the larger is the lighter; of changes a rise is blue, a fall red."""
    columns = min(2, len(maps))
    rows = -(-len(maps) // columns)
    figure = Figure(figsize=(WIDTH_IN, 0.6 * PANEL_IN * rows), layout="constrained")
    grid = figure.subplots(rows, columns, squeeze=False).flat
    for axes in grid[len(maps) :]:
        axes.set_visible(False)
    for axes, drawn in zip(grid, maps, strict=False):
        _draw_map(axes, drawn, estimates)
    return figure


def _draw_map(axes: Axes, drawn: Map, estimates: Mapping[Quantity, Estimate]) -> None:
    means = _means(drawn.grid, estimates)
    if drawn.over is not None:
        values = 100 * (means / _means(drawn.over, estimates) - 1)
        colours, ends = colormaps["RdBu"], (-_LARGEST_CHANGE, _LARGEST_CHANGE)
    else:
        # Small differences stay small: the darkest is at most four fifths of the lightest.
        largest = float(np.nanmax(means))
        values, colours, ends = (
            means,
            colormaps["viridis"],
            (min(float(np.nanmin(means)), 0.8 * largest), largest),
        )
    axes.imshow(values, cmap=colours, vmin=ends[0], vmax=ends[1], aspect="auto")
    for (row, column), value in np.ndenumerate(values):
        if not np.isnan(value):
            text = number(value) if drawn.over is None else f"{value:+z.0f}"
            level = float(np.clip((value - ends[0]) / (ends[1] - ends[0] or 1), 0, 1))
            is_dark = np.dot(colours(level)[:3], (0.299, 0.587, 0.114)) < 0.5
            axes.text(
                column, row, text, ha="center", va="center", fontsize=7, color="white" if is_dark else INK
            )
    axes.set_xticks(range(len(drawn.grid.columns)), drawn.grid.columns, fontsize=7)
    axes.set_yticks(
        range(len(drawn.grid.rows)), [", ".join(row.labels) for row in drawn.grid.rows], fontsize=7
    )
    axes.tick_params(length=0)
    unit = "change, %" if drawn.over is not None else unit_name(drawn.grid.unit)
    axes.set_title(f"{drawn.grid.title} [{unit}]", fontsize=8)
    without_frame(axes)


def _means(grid: Grid, estimates: Mapping[Quantity, Estimate]) -> NDArray[np.float64]:
    """The means of a grid, of shape (rows, columns); NaN where nothing is measured."""
    return np.array(
        [[np.nan if of is None else estimates[of].mean for of in row.entries] for row in grid.rows]
    )


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


def _reach(known: Sequence[Estimate]) -> list[list[float]]:
    """How far intervals reach below and above their means; 0 after one run."""
    below = [one.mean - one.ci_low if one.n > 1 else 0.0 for one in known]
    return [below, [one.ci_high - one.mean if one.n > 1 else 0.0 for one in known]]
