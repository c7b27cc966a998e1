"""Pictures of a reproduction page, as PNG; the same numbers give the same bytes."""

from __future__ import annotations

import math
from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator

from airpath.drawing.style import GRID, as_bytes, finish, without_frame
from airpath.experiments.papers.base.observe import Received
from airpath.experiments.papers.base.send_window import SendWindow
from airpath.experiments.papers.base.wording import unit_name

MEASURED = "#1f6fb4"
OTHERS = ("#8a9aa8", "#c08a3e", "#6f9a5b", "#9a6fa8")
PUBLISHED = "#b3261e"
CLOSE_UP_S = 60.0
"""Length of the close-up of a window over time, seconds."""

Point = tuple[float, float]
"""Mean and half-width of its interval (NaN if there is none)."""


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
    labels: list[str], unit: str, published: list[float], measured: dict[str, list[Point | None]]
) -> bytes:
    """Draw published values, the first on top, and what each reading gives for them, the default one first.

    `labels`, `published` and the points of each reading in `measured` are as long; all values have one unit.
    """
    figure = Figure(figsize=(8.0, 1.2 + 0.5 * len(labels)), layout="constrained")
    axes = figure.add_subplot()
    rows = [-float(index) for index in range(len(labels))]
    for index, (reading, points) in enumerate(measured.items()):
        known = [(row, *point) for row, point in zip(rows, points, strict=True) if point is not None]
        axes.errorbar(
            [mean for _, mean, _ in known],
            # The default reading is at the height of its row, the others below.
            [row - 0.16 * index for row, _, _ in known],
            xerr=[0.0 if math.isnan(half) else half for _, _, half in known],
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
