"""The page of an analysis: one HTML file with everything in it, the same for the same capture."""

from __future__ import annotations

import base64
from collections.abc import Callable
from html import escape
from importlib.resources import files
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from airpath.analyze.words import (
    CAUSES,
    HEADINGS,
    WORDS,
    Row,
    cells,
    complaints,
    content,
    in_words,
    label,
    of_small,
    rows,
)
from airpath.figures.style import COLOURS, GRID, MARKERS, as_bytes, without_frame
from airpath.papers.picture import MEASURED, OTHERS, PUBLISHED

MOST_WITH_PICTURES = 12
"""More flows are described in words only."""

Plot = tuple[str, str, str, Callable[[Axes, dict[str, Any]], bool]]
Curve = dict[str, list[float]]


def render(report: dict[str, Any], name: str) -> str:
    """Write the page.

    Parameters
    ----------
    report : dict
        What `analyze` found, with the models' predictions.
    name : str
        The capture.
    """
    flows, small = rows(report)
    file = report["file"]
    parts = [
        f"<h1>{escape(name)}</h1>",
        f'<p class="citation">{content(report)}; {file["format"]}.</p>',
    ]
    parts += [f'<p class="warning">{escape(line)}</p>' for line in complaints(report)]
    if flows:
        parts.append(_table(flows))
    drawn = 0
    for row in flows:
        parts += _section(row, with_picture=drawn < MOST_WITH_PICTURES)
        drawn += 1
    if small:
        parts.append(f"<details><summary>{escape(of_small(small))}</summary>")
        parts.append(_table(small))
        for row in small:
            parts += _section(row, with_picture=drawn < MOST_WITH_PICTURES)
            drawn += 1
        parts.append("</details>")
    style = files("airpath.papers").joinpath("page.css").read_text(encoding="utf-8")
    head = f'<meta charset="utf-8"><title>{escape(name)} - airpath</title><style>\n{style}</style>'
    return (
        f'<!doctype html>\n<html lang="en"><head>{head}</head>\n<body>\n'
        + "\n".join(parts)
        + "\n</body></html>\n"
    )


def _table(flows: list[Row]) -> str:
    """The summary, a link to each flow's section in its first column."""
    left = [' style="text-align: left"' if column in WORDS else "" for column in range(len(HEADINGS))]
    headings = "".join(
        f"<th{side}>{escape(heading).replace(chr(10), '<br>')}</th>"
        for side, heading in zip(left, HEADINGS, strict=True)
    )
    body = []
    for row in flows:
        number, *others = cells(row)
        filled = [f'<td><a href="#{_anchor(row)}">{number}</a></td>']
        filled += [f"<td{side}>{escape(cell)}</td>" for side, cell in zip(left[1:], others, strict=True)]
        body.append(f"<tr>{''.join(filled)}</tr>")
    return f'<div class="wide"><table class="numbers"><tr>{headings}</tr>{"".join(body)}</table></div>'


def _anchor(row: Row) -> str:
    one, flow = row
    return f"{one['number']}-{flow['sender']}"


def _section(row: Row, *, with_picture: bool) -> list[str]:
    one, flow = row
    parts = [f'<h2 id="{_anchor(row)}">#{one["number"]} {escape(label(row))}</h2>']
    parts.append("<ul>" + "".join(f"<li>{escape(line)}</li>" for line in in_words(row)) + "</ul>")
    if one["not_known"]:
        unknown = "".join(f"<li>{escape(line)}</li>" for line in one["not_known"])
        parts.append(f'<p class="reason">Not known:</p><ul class="reason">{unknown}</ul>')
    if with_picture and (png := picture(flow)):
        source = base64.b64encode(png).decode("ascii")
        parts.append(f'<figure><img alt="plots" src="data:image/png;base64,{source}"></figure>')
    return parts


def picture(flow: dict[str, Any]) -> bytes | None:
    """Draw what there is of a flow; None if there is nothing."""
    plots: list[Plot] = [
        ("Bytes acknowledged", "time [s]", "kB", _progress),
        ("Bytes in flight", "time [s]", "kB", _flight),
        ("Round-trip time", "time [s]", "ms", _round_trips),
        ("RTT CDF", "ms", "share of samples", _rtt_cdf),
        ("One-way delay", "time [s]", "ms", _delay),
        ("CDF of the time between ACKs", "ms", "share of ACKs", _ack_cdf),
    ]
    figure = Figure(figsize=(10.0, 10.0), layout="constrained")
    drawn = 0
    for name, x, y, draw in plots:
        axes = figure.add_subplot(3, 2, drawn + 1)
        if not draw(axes, flow):
            axes.remove()
            continue
        drawn += 1
        axes.set_title(name, loc="left", fontsize=9)
        axes.set_xlabel(x)
        axes.set_ylabel(y)
        axes.grid(True, color=GRID, linewidth=0.7)
        axes.legend(fontsize=7, frameon=False, loc="upper center", bbox_to_anchor=(0.5, -0.17), ncols=3)
        without_frame(axes)
    return as_bytes(figure) if drawn else None


def _band(axes: Axes, curve: Curve, scale: float, colour: str, name: str) -> bool:
    """The mean over time with what lies between smallest and largest."""
    if not curve["time_s"]:
        return False
    low, middle, high = ([scale * value for value in curve[key]] for key in ("min", "mean", "max"))
    axes.fill_between(curve["time_s"], low, high, color=colour, alpha=0.25, linewidth=0, label="its range")
    axes.plot(curve["time_s"], middle, color=colour, linewidth=1.0, label=f"{name}, mean")
    axes.set_ylim(bottom=0)
    return True


def _mark(axes: Axes, flow: dict[str, Any], curve: Curve, scale: float) -> None:
    """Mark losses and retransmissions by cause on a curve over time."""
    again = flow["retransmissions"]["over_time"]
    looks = zip(CAUSES.items(), MARKERS, COLOURS, strict=False)
    marks = [(name, again[key], marker, colour) for (key, name), marker, colour in looks]
    if flow["path"]:
        marks.append(("lost", flow["path"]["lost_over_time"], "x", PUBLISHED))
    for name, found, marker, colour in marks:
        if found["time_s"]:
            heights = scale * np.interp(found["time_s"], curve["time_s"], curve["mean"])
            text = f"{name} ({sum(found['count'])})"
            axes.plot(found["time_s"], heights, marker, color=colour, markersize=4, linestyle="", label=text)


def _round_trips(axes: Axes, flow: dict[str, Any]) -> bool:
    curve = flow["rtt"]["over_time"]
    if not _band(axes, curve, 1.0, MEASURED, "RTT"):
        return False
    _mark(axes, flow, curve, 1.0)
    return True


def _flight(axes: Axes, flow: dict[str, Any]) -> bool:
    flight = flow["flight"]
    window, curve = flight["window_over_time"], flight["over_time"]
    if not _band(axes, curve, 1e-3, MEASURED, "in flight"):
        return False
    if window["time_s"]:
        kilobytes = [value / 1000 for value in window["mean"]]
        # The last one announced holds to the end.
        times, kilobytes = [*window["time_s"], curve["time_s"][-1]], [*kilobytes, kilobytes[-1]]
        axes.step(times, kilobytes, where="post", color=OTHERS[0], linewidth=0.9, label="receive window")
    _mark(axes, flow, curve, 1e-3)
    return True


def _progress(axes: Axes, flow: dict[str, Any]) -> bool:
    curve = flow["progress"]
    if not _band(axes, curve, 1e-3, OTHERS[2], "acknowledged"):
        return False
    _mark(axes, flow, curve, 1e-3)
    return True


def _delay(axes: Axes, flow: dict[str, Any]) -> bool:
    if not flow["path"]:
        return False
    return _band(axes, flow["path"]["delay_over_time"], 1.0, MEASURED, "segments, sender to receiver")


def _rtt_cdf(axes: Axes, flow: dict[str, Any]) -> bool:
    drawn = _cdf(axes, flow["rtt"]["forward_ms"], MEASURED, "RTT")
    for key, name, colour in (("data", "segments, one way", OTHERS[1]), ("acks", "ACKs, one way", OTHERS[2])):
        passed = flow["path"] and flow["path"][key]
        drawn |= bool(passed) and _cdf(axes, passed["delay_ms"], colour, name)
    return drawn


def _ack_cdf(axes: Axes, flow: dict[str, Any]) -> bool:
    drawn = _cdf(axes, flow["acks"]["between_ms"], MEASURED, "ACKs")
    if drawn:
        axes.set_xscale("symlog", linthresh=1.0)
    return drawn


def _cdf(axes: Axes, distribution: dict[str, Any] | None, colour: str, name: str) -> bool:
    if distribution is None:
        return False
    values, shares = zip(*distribution["cdf"], strict=True)
    axes.plot(values, shares, color=colour, linewidth=1.2, label=name)
    axes.set_xlim(left=0)
    axes.set_ylim(0, 1.02)
    return True
