"""The picture of a run: windows, round-trip times, buffer and sequence numbers over one time axis.

Flows of datagrams have the delay of each packet over their bearer. A panel without data is left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from airpath.drawing.picture import PAGE_DPI, Picture
from airpath.runs.flows import by_path, choose_flows, path_names
from airpath.runs.lines import FlowLines, read_lines

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    from airpath.runs.trace import Events

SHOWN = ("cwnd", "rtt", "delay", "buffer", "sequence")
"""Panels from the top, where there is something to draw."""
FEW = 2
"""Up to this number of flows, the panels show all details of each."""
TITLE_SIZE = 9.0
"""Size of the title, points."""
LINE = 1.25
"""Height of a line, in font sizes."""
HANDLE = 3.0
"""Width of a flow's colour and the gap to its name, in font sizes."""
_STEPS: dict[str, Any] = {"drawstyle": "steps-post"}
_MARK: dict[str, Any] = {"linestyle": "none", "clip_on": False, "zorder": 3}


class Trail(NamedTuple):
    """A line or a row of marks in a panel; a detail is left out where there are many flows."""

    line: str
    word: str
    look: dict[str, Any]
    is_detail: bool = False


class Panel(NamedTuple):
    """A panel: the label of its axis, its lines, and its relative height."""

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
    "delay": Panel(
        "delay of bearer (ms)",
        (Trail("delay", "each datagram, with queueing", {"marker": ".", "ms": 2, "ls": "none"}),),
        2,
    ),
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


@dataclass(frozen=True, repr=False)
class RunPicture(Picture):
    """The picture of a run, with its panels from the top; as wide as a page unless `size_in` is given."""

    flows: tuple[FlowLines, ...]
    title: str
    time_label: str
    end_s: float
    panels: tuple[str, ...] = SHOWN
    size_in: tuple[float, float] | None = None

    dpi = PAGE_DPI

    @property
    def data(self) -> dict[str, Any]:
        """By panel, flow and line: times in seconds, and values."""
        return {
            name: {
                flow.name: {
                    trail.line: {"time_s": points[0].tolist(), "value": points[1].tolist()}
                    for trail in PANELS[name].trails
                    if (points := flow.line(trail.line)).size
                }
                for flow in self.flows
            }
            for name in self.panels
        }

    def _draw(self) -> Figure:
        return self._draw_panels(has_details=len(self.flows) <= FEW)

    def _draw_panels(self, has_details: bool, words: dict[str, str] | None = None) -> Figure:
        """Draw the panels, a colour for each flow; `words` are of the legend, for lines without their own."""
        from matplotlib.figure import Figure

        from airpath.drawing.style import PAGE_IN

        chosen = [PANELS[name] for name in self.panels]
        heights = [panel.height for panel in chosen]
        figure = Figure(figsize=self.size_in or (PAGE_IN, 0.9 + 0.75 * sum(heights)), layout="constrained")
        axes = figure.subplots(len(chosen), 1, sharex=True, height_ratios=heights, squeeze=False)[:, 0]
        for place, panel in zip(axes, chosen, strict=True):
            _draw_panel(place, panel, self.flows, has_details, words or {})
        axes[-1].set_xlabel(self.time_label)
        axes[-1].set_xlim(0, max(self.end_s, 1e-3))
        _name_flows(figure, self.title, self.flows, grows=self.size_in is None)
        return figure

    def __repr__(self) -> str:
        return f"RunPicture({self.title!r})"


def _draw_panel(
    axes: Axes, panel: Panel, flows: Sequence[FlowLines], has_details: bool, words: dict[str, str]
) -> None:
    from airpath.drawing.style import COLOURS, finish

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
    from matplotlib.lines import Line2D

    from airpath.drawing.style import INK

    copy = Line2D([], [])
    copy.update_from(drawn)
    copy.set(color=INK, markeredgecolor=INK, markerfacecolor=INK)
    return copy


def _name_flows(figure: Figure, title: str, flows: Sequence[FlowLines], *, grows: bool) -> None:
    """Write the title above the panels, and each flow's colour; long texts go on in the next line."""
    from matplotlib import rcParams
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.lines import Line2D

    from airpath.drawing.measure import Measure
    from airpath.drawing.style import COLOURS

    renderer = FigureCanvasAgg(figure).get_renderer()  # type: ignore[no-untyped-call]
    in_title, in_name = Measure(renderer, TITLE_SIZE), Measure(renderer, float(rcParams["legend.fontsize"]))
    width = figure.bbox.width - 2 * in_title.em
    lines = in_title.wrapped(title, width)
    names = [in_name.wrapped(flow.name, width - HANDLE * in_name.em) for flow in flows]
    if grows:
        height = (
            LINE * in_title.em * lines.count("\n") + LINE * in_name.em * "".join(names).count("\n")
        ) / figure.dpi
        figure.set_figheight(figure.get_figheight() + height)
    handles = [Line2D([], [], color=COLOURS[number % len(COLOURS)], lw=2.5) for number in range(len(flows))]
    longest = max((len(flow.name) for flow in flows), default=0)
    columns = max(1, min(len(flows), 4, int(figure.get_figwidth() / (0.45 + 0.06 * longest))))
    figure.legend(
        handles,
        names,
        loc="outside upper left",
        ncols=columns,
        frameon=False,
        borderaxespad=0.1,
        handlelength=1.4,
        columnspacing=1.6,
        title=lines,
        title_fontsize=TITLE_SIZE,
        alignment="left",
    )


def picture_of(
    trace: Iterable[Events], summary: dict[str, Any], scenario: dict[str, Any], title: str
) -> RunPicture:
    """Make the picture of a run from pieces of its trace, `results.json` and the resolved scenario."""
    names, summary = path_names(summary, scenario), by_path(summary)
    places = choose_flows(summary)
    if len(summary["flows"]) > len(places):
        title += f" (the busiest {len(places)} of {len(summary['flows'])} flows)"
    if not summary["complete"]:
        title += " (ended early)"
    end_s = summary["simulated_s"]
    flows = read_lines(trace, summary, [(place, names[place]) for place in places], end_s)
    label = "time (s)" if "live" in summary else "simulated time (s)"
    return RunPicture(tuple(flows), title, label, end_s, with_data(SHOWN, flows))


def with_data(panels: Iterable[str], flows: Sequence[FlowLines]) -> tuple[str, ...]:
    """Choose the panels in which something is drawn; the buffer's if there are none."""
    found = (
        name
        for name in panels
        if any(flow.line(trail.line).size for trail in PANELS[name].trails for flow in flows)
    )
    return tuple(found) or ("buffer",)
