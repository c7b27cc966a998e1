"""The page of an analysis: one HTML file with everything in it, the same for the same capture."""

from __future__ import annotations

import base64
from collections.abc import Callable
from html import escape
from importlib.resources import files
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from airpath.analyze.command import complaints, in_words, label, rows
from airpath.figures.style import GRID, as_bytes, without_frame
from airpath.papers.picture import MEASURED, OTHERS, PUBLISHED

MOST_WITH_PICTURES = 12
"""More flows are described in words only."""

Plot = tuple[str, str, str, Callable[[Axes, dict[str, Any]], bool]]


def render(report: dict[str, Any], name: str) -> str:
    """Write the page.

    Parameters
    ----------
    report : dict
        What `analyze` found, with the models' predictions.
    name : str
        The capture.
    """
    file = report["file"]
    says = (
        f"{file['format']}, {file['records']} packets in {report['duration_s']:.3f} s, "
        f"{report['connections_seen']} TCP connections."
    )
    parts = [f"<h1>{escape(name)}</h1>", f'<p class="citation">{escape(says)}</p>']
    parts += [f'<p class="warning">{escape(line)}</p>' for line in complaints(report)]
    for number, (one, flow) in enumerate(rows(report)):
        parts.append(f"<h2>#{one['number']} {escape(label(one, flow))}</h2>")
        parts.append("<ul>" + "".join(f"<li>{escape(line)}</li>" for line in in_words(flow)) + "</ul>")
        if one["not_known"]:
            unknown = "".join(f"<li>{escape(line)}</li>" for line in one["not_known"])
            parts.append(f'<p class="reason">Not known:</p><ul class="reason">{unknown}</ul>')
        if number < MOST_WITH_PICTURES and (png := picture(flow)):
            source = base64.b64encode(png).decode("ascii")
            parts.append(f'<figure><img alt="plots" src="data:image/png;base64,{source}"></figure>')
    style = files("airpath.papers").joinpath("page.css").read_text(encoding="utf-8")
    head = f'<meta charset="utf-8"><title>{escape(name)} - airpath</title><style>\n{style}</style>'
    return (
        f'<!doctype html>\n<html lang="en"><head>{head}</head>\n<body>\n'
        + "\n".join(parts)
        + "\n</body></html>\n"
    )


def picture(flow: dict[str, Any]) -> bytes | None:
    """Draw what there is of a flow; None if there is nothing."""
    plots: list[Plot] = [
        ("round trips", "time [s]", "ms", _round_trips),
        ("round trips, share up to", "ms", "share", _rtt_cdf),
        ("bytes in flight, and the receiver's window", "time [s]", "kB", _flight),
        ("times between ACKs, share up to", "ms", "share", _ack_cdf),
        ("bytes acknowledged", "time [s]", "kB", _progress),
    ]
    figure = Figure(figsize=(9.0, 7.2), layout="constrained")
    drawn = 0
    for title, x, y, draw in plots:
        axes = figure.add_subplot(3, 2, drawn + 1)
        if not draw(axes, flow):
            axes.remove()
            continue
        drawn += 1
        axes.set_title(title, loc="left", fontsize=9)
        axes.set_xlabel(x)
        axes.set_ylabel(y)
        axes.grid(True, color=GRID, linewidth=0.7)
        without_frame(axes)
    return as_bytes(figure) if drawn else None


def _band(axes: Axes, curve: dict[str, list[float]], scale: float, colour: str) -> bool:
    """The mean over time with what lies between smallest and largest."""
    if not curve["time_s"]:
        return False
    low, middle, high = ([scale * value for value in curve[key]] for key in ("min", "mean", "max"))
    axes.fill_between(curve["time_s"], low, high, color=colour, alpha=0.25, linewidth=0)
    axes.plot(curve["time_s"], middle, color=colour, linewidth=1.0)
    axes.set_ylim(bottom=0)
    return True


def _round_trips(axes: Axes, flow: dict[str, Any]) -> bool:
    return _band(axes, flow["rtt"]["over_time"], 1.0, MEASURED)


def _flight(axes: Axes, flow: dict[str, Any]) -> bool:
    flight = flow["flight"]
    window = flight["window_over_time"]
    if window["time_s"]:
        kilobytes = [value / 1000 for value in window["mean"]]
        axes.step(window["time_s"], kilobytes, where="post", color=PUBLISHED, linewidth=0.8)
    return _band(axes, flight["over_time"], 1e-3, MEASURED)


def _progress(axes: Axes, flow: dict[str, Any]) -> bool:
    return _band(axes, flow["progress"], 1e-3, OTHERS[2])


def _rtt_cdf(axes: Axes, flow: dict[str, Any]) -> bool:
    return _cdf(axes, flow["rtt"]["forward_ms"])


def _ack_cdf(axes: Axes, flow: dict[str, Any]) -> bool:
    drawn = _cdf(axes, flow["acks"]["between_ms"])
    if drawn:
        axes.set_xscale("symlog", linthresh=1.0)
    return drawn


def _cdf(axes: Axes, distribution: dict[str, Any] | None) -> bool:
    if distribution is None:
        return False
    values, shares = zip(*distribution["cdf"], strict=True)
    axes.plot(values, shares, color=MEASURED, linewidth=1.2)
    axes.set_xlim(left=0)
    axes.set_ylim(0, 1.02)
    return True
