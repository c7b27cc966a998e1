"""The plots of one flow of an analyzed capture."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from airpath.captures import CAUSES
from airpath.drawing.style import COLOURS, MARKERS, MEASURED, OTHERS, PUBLISHED, as_bytes, finish

Plot = tuple[str, str, str, Callable[[Axes, dict[str, Any]], bool]]
Curve = dict[str, list[float]]


def flow_picture(flow: dict[str, Any]) -> bytes | None:
    """Draw what the capture shows of a flow, as PNG; None if it shows nothing."""
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
        finish(axes, x, y, name)
        axes.set_axisbelow("line")  # Yet above the ranges.
        axes.legend(fontsize=7, frameon=False, loc="upper center", bbox_to_anchor=(0.5, -0.17), ncols=3)
    return as_bytes(figure) if drawn else None


def conversation_picture(one: dict[str, Any], flow: dict[str, Any]) -> bytes:
    """Draw what the capture shows of one direction of a UDP conversation, as PNG."""
    curves: list[tuple[str, str, Curve, float, str]] = [("Bytes sent", "kB", flow["progress"], 1e-3, "sent")]
    if flow["path"]:
        curves.append(("One-way delay", "ms", flow["path"]["delay_over_time"], 1.0, "datagrams"))
    if one["spin"]:
        curves.append(("Round trips by the spin bit", "ms", one["spin"]["over_time"], 1.0, "RTT"))
    figure = Figure(figsize=(10.0, 3.2), layout="constrained")
    for place, (name, unit, curve, scale, what) in enumerate(curves):
        axes = figure.add_subplot(1, len(curves), place + 1)
        _band(axes, curve, scale, MEASURED, what)
        finish(axes, "time [s]", unit, name)
        axes.legend(fontsize=7, frameon=False)
    return as_bytes(figure)


def _band(axes: Axes, curve: Curve, scale: float, colour: str, name: str) -> bool:
    """Draw a mean over time and the range from smallest to largest."""
    if not curve["time_s"]:
        return False
    low, middle, high = ([scale * value for value in curve[key]] for key in ("min", "mean", "max"))
    axes.fill_between(curve["time_s"], low, high, color=colour, alpha=0.25, linewidth=0, label="its range")
    axes.plot(curve["time_s"], middle, color=colour, linewidth=1.0, label=f"{name}, mean")
    axes.set_ylim(bottom=0)
    return True


def _mark(axes: Axes, flow: dict[str, Any], curve: Curve, scale: float) -> bool:
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
    return True


def _round_trips(axes: Axes, flow: dict[str, Any]) -> bool:
    curve = flow["rtt"]["over_time"]
    return _band(axes, curve, 1.0, MEASURED, "RTT") and _mark(axes, flow, curve, 1.0)


def _flight(axes: Axes, flow: dict[str, Any]) -> bool:
    flight = flow["flight"]
    window, curve = flight["window_over_time"], flight["over_time"]
    if not _band(axes, curve, 1e-3, MEASURED, "in flight"):
        return False
    if window["time_s"]:
        kilobytes = [value / 1000 for value in window["mean"]]
        # The last announced window holds to the end.
        times, kilobytes = [*window["time_s"], curve["time_s"][-1]], [*kilobytes, kilobytes[-1]]
        axes.step(times, kilobytes, where="post", color=OTHERS[0], linewidth=0.9, label="receive window")
    return _mark(axes, flow, curve, 1e-3)


def _progress(axes: Axes, flow: dict[str, Any]) -> bool:
    curve = flow["progress"]
    return _band(axes, curve, 1e-3, OTHERS[2], "acknowledged") and _mark(axes, flow, curve, 1e-3)


def _delay(axes: Axes, flow: dict[str, Any]) -> bool:
    path, name = flow["path"], "segments, sender to receiver"
    return bool(path) and _band(axes, path["delay_over_time"], 1.0, MEASURED, name)


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
