"""The picture of a run: windows, round-trip times, buffer and sequence numbers over one time axis."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from airpath.drawing.picture import PAGE_DPI, Picture
from airpath.runs.lines import FlowLines, choose_flows, flow_names, read_lines

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SHOWN = ("cwnd", "rtt", "buffer", "sequence")


@dataclass(frozen=True, repr=False)
class RunPicture(Picture):
    """The picture of a run.

    Attributes
    ----------
    flows : tuple of FlowLines
        Flows that are drawn.
    title, time_label : str
        Line above it, and label of the time axis.
    end_s : float
        End of the time axis in seconds.
    panels : tuple of str
        Names of the panels, from the top.
    size_in : (float, float) or None
        Width and height in inches; a page's width if None.
    """

    flows: tuple[FlowLines, ...]
    title: str
    time_label: str
    end_s: float
    panels: tuple[str, ...] = SHOWN
    size_in: tuple[float, float] | None = None

    dpi = PAGE_DPI

    @property
    def data(self) -> dict[str, Any]:
        """Numbers of the lines, as plain data, by panel and flow."""
        from airpath.runs.panels import panels_data

        return panels_data(self.panels, self.flows)

    def _draw(self) -> Figure:
        from airpath.runs.panels import FEW

        return self._draw_panels(has_details=len(self.flows) <= FEW)

    def _draw_panels(self, has_details: bool, words: dict[str, str] | None = None) -> Figure:
        from airpath.runs.panels import draw_panels

        return draw_panels(
            self.panels,
            self.flows,
            title=self.title,
            time_label=self.time_label,
            end_s=self.end_s,
            has_details=has_details,
            size_in=self.size_in,
            words=words,
        )

    def __repr__(self) -> str:
        return f"RunPicture({self.title!r})"


def picture_of(
    trace: Path | BinaryIO, summary: dict[str, Any], scenario: dict[str, Any], title: str
) -> RunPicture:
    """Make the picture of a run.

    Parameters
    ----------
    trace : Path or file
        Its `trace.parquet`.
    summary : dict
        Content of its `results.json`.
    scenario : dict
        The resolved scenario.
    title : str
        Line above the picture.

    Raises
    ------
    OSError
        If the trace cannot be read.
    """
    places, names = choose_flows(summary), flow_names(summary, scenario)
    if len(summary["flows"]) > len(places):
        title += f" (the busiest {len(places)} of {len(summary['flows'])} flows)"
    if not summary["complete"]:
        title += " (ended early)"
    end_s = summary["simulated_s"]
    flows = read_lines(trace, summary, [(place, names[place]) for place in places], end_s)
    return RunPicture(tuple(flows), title, "time (s)" if "live" in summary else "simulated time (s)", end_s)
