"""Panels of flows over time: windows, round-trip times, buffer, goodput, sequence numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from airpath.drawing.style import COLOURS, INK, PAGE_IN, finish

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from airpath.runs.lines import FlowLines

FEW = 2
"""Up to this number of flows, the panels show all details of each."""
_STEPS: dict[str, Any] = {"drawstyle": "steps-post"}
_MARK: dict[str, Any] = {"linestyle": "none", "clip_on": False, "zorder": 3}


@dataclass(frozen=True)
class Trail:
    """A line or a row of marks in a panel: the name of the line, its word in the legend, and its look.

    `is_detail`: left out where there are many flows.
    """

    line: str
    word: str
    look: dict[str, Any]
    is_detail: bool = False


@dataclass(frozen=True)
class Panel:
    """A panel: its lines, the label of its axis, and its relative height."""

    label: str
    trails: tuple[Trail, ...]
    height: float


PANELS = {
    "cwnd": Panel(
        "window (segments)",
        (
            Trail("cwnd", "cwnd", {"lw": 1.0, **_STEPS}),
            Trail("window", "send window", {"lw": 2.5, "alpha": 0.35, **_STEPS}, is_detail=True),
            Trail("ssthresh", "ssthresh", {"lw": 1.0, "ls": "--", "alpha": 0.7, **_STEPS}, is_detail=True),
            Trail("timeout", "timeout", {"marker": "v", "ms": 5, **_MARK}),
        ),
        3,
    ),
    "rtt": Panel("RTT (ms)", (Trail("rtt", "each sample", {"marker": ".", "ms": 2, "ls": "none"}),), 2),
    "buffer": Panel(
        "bearer buffer (SDUs)",
        (
            Trail("queued", "queue at each arrival", {"lw": 0.8}),
            Trail("dropped", "packet dropped", {"marker": "x", "ms": 4.5, "mew": 0.9, **_MARK}),
        ),
        2,
    ),
    "goodput": Panel("goodput (kbit/s)", (Trail("goodput", "", {"lw": 1.0, **_STEPS}),), 2),
    "sequence": Panel(
        "sequence number (MB)",
        (
            Trail("sent", "sent", {"marker": ".", "ms": 2, "ls": "none", "alpha": 0.6}, is_detail=True),
            Trail("acked", "acknowledged", {"lw": 1.0, **_STEPS}),
            Trail("retransmitted", "retransmitted", {"marker": "x", "ms": 4.5, "mew": 0.8, **_MARK}),
        ),
        3,
    ),
}


def draw_panels(
    names: Sequence[str],
    flows: Sequence[FlowLines],
    *,
    title: str,
    time_label: str,
    end_s: float,
    has_details: bool,
    size_in: tuple[float, float] | None = None,
    words: dict[str, str] | None = None,
) -> Figure:
    """Draw panels over one time axis, a colour for each flow; called within `print_style`.

    Parameters
    ----------
    names : sequence of str
        Keys of `PANELS`, from the top.
    flows : sequence of FlowLines
        What is drawn.
    title, time_label : str
        Line above the picture, and label of the time axis.
    end_s : float
        End of the time axis in seconds.
    has_details : bool
        Whether to draw details.
    size_in : (float, float), optional
        Width and height in inches.
    words : dict of str, optional
        Words of the legend for lines without their own.
    """
    chosen = [PANELS[name] for name in names]
    heights = [panel.height for panel in chosen]
    figure = Figure(figsize=size_in or (PAGE_IN, 0.9 + 0.75 * sum(heights)), layout="constrained")
    axes = figure.subplots(len(chosen), 1, sharex=True, height_ratios=heights, squeeze=False)[:, 0]
    for place, panel in zip(axes, chosen, strict=True):
        _draw_panel(place, panel, flows, has_details, words or {})
    axes[-1].set_xlabel(time_label)
    axes[-1].set_xlim(0, max(end_s, 1e-3))
    _name_flows(figure, title, flows)
    return figure


def _draw_panel(
    axes: Axes, panel: Panel, flows: Sequence[FlowLines], has_details: bool, words: dict[str, str]
) -> None:
    legend: dict[str, list[Line2D]] = {}
    for trail in panel.trails:
        if trail.is_detail and not has_details:
            continue
        for number, flow in enumerate(flows):
            points = flow.line(trail.line)
            if points.size:
                (drawn,) = axes.plot(*points, color=COLOURS[number % len(COLOURS)], **trail.look)
                legend.setdefault(words.get(trail.line, trail.word), []).append(drawn)
    finish(axes, "", panel.label)
    axes.set_ylim(bottom=0)
    shown = {word: drawn for word, drawn in legend.items() if word}
    if shown:
        # One entry for all flows: in the flow's colour if there is one flow, else in black.
        handles = [drawn[0] if len(flows) == 1 else _in_ink(drawn[0]) for drawn in shown.values()]
        axes.legend(
            handles,
            list(shown),
            loc="lower right",
            bbox_to_anchor=(1.0, 1.0),
            ncols=len(shown),
            frameon=False,
            borderaxespad=0.1,
            columnspacing=1.4,
            handletextpad=0.5,
        )


def _in_ink(drawn: Line2D) -> Line2D:
    copy = Line2D([], [])
    copy.update_from(drawn)
    copy.set_color(INK)
    copy.set_markeredgecolor(INK)
    copy.set_markerfacecolor(INK)
    return copy


def _name_flows(figure: Figure, title: str, flows: Sequence[FlowLines]) -> None:
    """Write the title above the panels, and each flow's colour."""
    handles = [Line2D([], [], color=COLOURS[number % len(COLOURS)], lw=2.5) for number in range(len(flows))]
    longest = max((len(flow.name) for flow in flows), default=0)
    columns = max(1, min(len(flows), 4, int(figure.get_figwidth() / (0.45 + 0.06 * longest))))
    figure.legend(
        handles,
        [flow.name for flow in flows],
        loc="outside upper left",
        ncols=columns,
        frameon=False,
        borderaxespad=0.1,
        handlelength=1.4,
        columnspacing=1.6,
        title=title,
        title_fontsize=9,
        alignment="left",
    )


def panels_data(names: Sequence[str], flows: Sequence[FlowLines]) -> dict[str, Any]:
    """Numbers that panels draw, by panel, flow and line: times in seconds, and values."""
    return {
        name: {
            flow.name: {
                trail.line: {"time_s": points[0].tolist(), "value": points[1].tolist()}
                for trail in PANELS[name].trails
                if (points := flow.line(trail.line)).size
            }
            for flow in flows
        }
        for name in names
    }
