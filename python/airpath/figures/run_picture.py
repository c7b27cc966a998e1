"""The picture of a run: windows, round-trip times, buffer and sequence numbers over one time axis."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from airpath.figures.lines import FlowLines, choose_flows, flow_names, read_lines
from airpath.figures.picture import PAGE_DPI, Picture

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SHOWN = ("cwnd", "rtt", "buffer", "sequence")


@dataclass(frozen=True, repr=False)
class RunPicture(Picture):
    """The picture of a run.

    Attributes
    ----------
    flows : tuple of FlowLines
        What is drawn.
    title, time_label : str
        Line above it, and label of the time axis.
    end_s : float
        End of the time axis in seconds.
    """

    flows: tuple[FlowLines, ...]
    title: str
    time_label: str
    end_s: float

    dpi = PAGE_DPI

    @property
    def data(self) -> dict[str, Any]:
        """The numbers that are drawn, as plain data: by panel and flow, the lines."""
        from airpath.figures.panels import panels_data

        return panels_data(SHOWN, self.flows)

    def _draw(self) -> Figure:
        from airpath.figures.panels import FEW, draw_panels

        return draw_panels(
            SHOWN,
            self.flows,
            title=self.title,
            time_label=self.time_label,
            end_s=self.end_s,
            has_details=len(self.flows) <= FEW,
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
