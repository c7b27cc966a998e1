"""What a notebook shows of scenarios, runs and estimates: a small table, and of a run its picture."""

from __future__ import annotations

import base64
import math
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

from airpath.drawing.picture import Picture

MOST_FLOWS = 20
"""Flows that are listed."""

_CELL = "padding:0 1em 0 0;text-align:"


def table(title: str, headings: Sequence[str], rows: Iterable[Sequence[str]], note: str = "") -> str:
    """Write a table as HTML, between the lines `title` and `note`; the first cell of a row is its name.

    It has `headings` over columns of numbers; none if all cells are text.
    """
    lines = [f"<div><strong>{escape(title)}</strong>", '<table style="margin:0">']
    if headings:
        lines.append(_row("th", headings, "right"))
    lines += [_row("td", row, "right" if headings else "left") for row in rows]
    lines.append("</table>" + (f"<div>{escape(note)}</div>" if note else "") + "</div>")
    return "\n".join(lines)


def image(picture: Picture) -> str:
    """Write a picture as HTML, with the PNG inside."""
    png = base64.b64encode(picture.as_bytes("png")).decode()
    style = "max-width:100%;width:720px"
    return f'<img alt="{escape(repr(picture))}" style="{style}" src="data:image/png;base64,{png}">'


def number(value: float | None, digits: int = 4) -> str:
    """Write a number with some significant digits, without exponent where it is of the usual size."""
    if value is None or math.isnan(value):
        return "–"
    if not math.isfinite(value) or value == 0 or not 1e-4 <= abs(value) < 1e15:
        return f"{value:.{digits}g}"
    places = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    return f"{value:,.{places}f}".replace(",", " ")


def interval(low: float, high: float, scale: float = 1.0) -> str:
    """Write an interval."""
    return f"{number(scale * low)} … {number(scale * high)}"


def _names(boxes: list[dict[str, Any]]) -> str:
    return ", ".join(name for box in boxes for name in box)


def scenario_rows(resolved: dict[str, Any]) -> list[tuple[str, str]]:
    """List the parts of a path from a scenario with every default: links, boxes, flows, their components."""
    flows = resolved["flow"]
    rows = [("duration", resolved["duration"])]
    for way in resolved.get("way", ()):
        rows += [(f"way {way['name']}", _parts(way["wired"])), ("boxes", _names(way["middlebox"]))]
    for place in resolved.get("cell", (resolved,)):
        ((cell, bearer),) = place["radio"].items()
        name = f"cell {place['name']}" if "name" in place else "cell"
        rows += [
            ("wired link", _parts(place.get("wired", {}))),
            (name, f"{cell}, UEs: {bearer['ues']}"),
            *((way, _parts(bearer.get(way, {}))) for way in ("downlink", "uplink")),
            ("boxes", _names(place["middlebox"])),
        ]
    for place, flow in enumerate(flows[:MOST_FLOWS]):
        carried = ", ".join(flow["app"])
        cc = ", ".join(flow.get("tcp", resolved["tcp"])["cc"])
        whose = (
            f"each UE {flow['direction']}" if flow["ue"] == "each" else f"UE {flow['ue']} {flow['direction']}"
        )
        rows.append((f"flow {place}", f"{whose}, {carried}, {cc}"))
    if len(flows) > MOST_FLOWS:
        rows.append(("", f"and {len(flows) - MOST_FLOWS} more flows"))
    return [(name, text) for name, text in rows if text]


def _parts(link: dict[str, Any]) -> str:
    """Rate and delay of a link, and its components."""
    known = {key: link.get(key, "0 ") for key in ("rate", "delay", "loss")}
    quantities = [f"{key} {value}" for key, value in known.items() if not value.startswith("0 ")]
    components = [
        f"{key} {name}"
        for key in ("queue", "rlc", "channel", "fading", "scheduler")
        for name in link.get(key, ())
    ]
    return ", ".join((*quantities, *components))


def _row(tag: str, cells: Sequence[str], side: str) -> str:
    styled = ((_CELL + (side if place else "left"), escape(cell)) for place, cell in enumerate(cells))
    return "<tr>" + "".join(f'<{tag} style="{style}">{cell}</{tag}>' for style, cell in styled) + "</tr>"
