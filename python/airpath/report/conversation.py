"""UDP conversations in the reports of `airpath analyze`, QUIC among them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from airpath.report.document import BLANK, Items, Note, Part, Table
from airpath.terminal import clean, counted

Row = tuple[dict[str, Any], dict[str, Any]]
"""A conversation, and one of its directions."""

MOST_ROWS = 20
"""Directions in the terminal's table; the JSON has all."""
MOST_IN_WORDS = 4
"""If there are more than this, the terminal describes none."""
CROSSED = {"late": "overtaken", "added": "created in between", "in_transit": "still in transit at the end"}


def conversations_report(report: dict[str, Any]) -> Iterator[Part]:
    """Summarise the conversations for the terminal; nothing if there are none."""
    rows = directions(report)
    if not rows:
        return
    yield _table(rows[:MOST_ROWS])
    if len(rows) > MOST_ROWS:
        yield Note(f"and {len(rows) - MOST_ROWS} more: see --json")
    if len(rows) <= MOST_IN_WORDS:
        for row in rows:
            yield from (BLANK, Note(_label(row)), Items(in_words(row)))


def directions(report: dict[str, Any]) -> list[Row]:
    """All directions, what took longest first."""
    found = [(one, flow) for one in report["conversations"] for flow in one["flows"]]
    return sorted(found, key=lambda row: (-row[0]["duration_s"], -row[1]["bytes"]))


def _label(row: Row) -> str:
    one, flow = row
    ends = one["client"], one["server"]
    sender, receiver = ends if flow["sender"] == "client" else ends[::-1]
    return f"{sender} > {receiver}"


def _protocol(one: dict[str, Any]) -> str:
    return f"QUIC {one['quic']}" if one["quic"] else "UDP"


def _table(rows: list[Row]) -> Table:
    return Table.of(
        [{**flow, "row": (one, flow), "of": one} for one, flow in rows],
        ("#", lambda flow: str(flow["of"]["number"])),
        ("from > to", lambda flow: _label(flow["row"])),
        ("lasts\ns", "of.duration_s", 3),
        ("protocol", lambda flow: _protocol(flow["of"])),
        ("rate\nkbit/s", lambda flow: flow["rate_bps"] and flow["rate_bps"] / 1000, 1),
        ("datagrams\nsent", "datagrams"),
        ("datagrams\nlost", "path.data.lost"),
        ("delay ms\nmedian", "path.data.delay_ms.median"),
        ("RTT ms\nby spin bit", "of.spin.rtt_ms.median"),
        words=(1, 3),
    )


def in_words(row: Row) -> list[str]:
    """Describe a direction in a few lines."""
    one, flow = row
    rate = flow["rate"]
    lines = [
        f"seen on {interface_name(flow)}: {counted(flow['datagrams'], 'datagram')} with "
        f"{counted(flow['bytes'], 'byte')} in {flow['duration_s']:.3f} s, the largest {flow['largest_bytes']}"
    ]
    if rate["samples"]:
        lines.append(
            f"rate over 16 datagrams: median {rate['median_bps'] / 1000:.1f} kbit/s, "
            f"95 % of the time below {rate['bottleneck_bps'] / 1000:.1f}"
        )
    if flow["path"] and (passed := flow["path"]["data"]):
        lines.append(f"in transit: {crossed(passed, 'datagram')}")
    if flow["bytes_on_path"] is not None:
        lines.append(f"bytes in transit: mean {flow['bytes_on_path']:.0f}")
    if path := one["path_rtt_ms"]:
        lines.append(f"path RTT: minimum {path['min']:.0f} ms, median {path['median']:.0f} ms")
    if spin := one["spin"]:
        lines.append(
            f"round trips by the spin bit: shortest {spin['rtt_ms']['min']:.0f} ms, median "
            f"{spin['rtt_ms']['median']:.0f} ms, 95 % below {spin['rtt_ms']['p95']:.0f} ms"
        )
    elif one["quic"]:
        lines.append("not known: round trips as the ends see them, as these do not spin")
    if sent := flow["bytes_in_round_trip"]:
        lines.append(f"bytes in a round trip: median {sent['median']:.0f}, 95 % below {sent['p95']:.0f}")
    return lines


def crossed(passed: dict[str, Any], noun: str) -> str:
    """Say what became of packets between two interfaces of a capture, as `path` of its analysis has it."""
    text = f"{counted(passed['lost'], noun)} lost"
    text += "".join(f", {passed[name]} {said}" for name, said in CROSSED.items() if passed[name])
    if delay := passed["delay_ms"]:
        text += f"; delay median {delay['median']:.0f} ms, 95 % below {delay['p95']:.0f} ms"
    return text


def interface_name(of: dict[str, Any]) -> str:
    """Name the interface of a capture where something was recorded."""
    name = clean(of["interface"] or f"interface {of['interface_number']}")
    return f"{name}, in GTP-U" if of["in_tunnel"] else name
