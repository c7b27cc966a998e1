"""The report of `airpath analyze` for the terminal, and the words of its page."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from airpath.captures import CAUSES, LIMITS, NEVER_LOST
from airpath.models.catalogue import MODELS
from airpath.report.conversation import conversations_report, crossed, interface_name
from airpath.report.document import BLANK, Items, Note, Part, Table
from airpath.report.elements import percent
from airpath.terminal import clean, counted, number_text

Row = tuple[dict[str, Any], dict[str, Any]]
"""A connection, and a flow: one of its directions of data."""

SMALL = 0.01
"""Flows with less than this share of the largest flow's data, and of the longest time, are folded."""

PLACES = {
    "sender": "at the sender",
    "receiver": "at the receiver",
    "between": "between sender and receiver",
    "unknown": "not known, taken as the sender's side",
}
LEAST = 0.0005
"""Shares below this are not printed: they would be 0.0 %."""
MOST_ROWS = 20
"""Flows in the terminal's table; the JSON has all."""
MOST_IN_WORDS = 4
"""If more flows than this are shown, the terminal describes none."""


def capture_report(report: dict[str, Any], name: str) -> Iterator[Part]:
    """Summarise what `analyze` found in the capture of this name, with the models' predictions."""
    yield Note(f"{name}: {_content(report)}")
    yield Items(complaints(report))
    flows, small = rows(report)
    if flows or not report["conversations"]:
        yield _table(flows[:MOST_ROWS])
    if len(flows) > MOST_ROWS:
        yield Note(f"and {len(flows) - MOST_ROWS} more: see --json")
    if small:
        yield Note(f"and {_of_small(small)}: see --connection")
    shown = flows + small if len(report["connections"]) == 1 else flows
    if len(shown) <= MOST_IN_WORDS:
        for row in shown:
            yield from (BLANK, Note(label(row)), Items(in_words(row)))
        for number, lines in {row[0]["number"]: row[0]["not_known"] for row in shown}.items():
            for line in lines:
                yield Note(f"#{number}, not known: {line}")
    yield from conversations_report(report)


def _table(flows: list[Row]) -> Table:
    return Table.of(
        [{**flow, "row": (one, flow)} for one, flow in flows],
        ("#", lambda flow: str(flow["row"][0]["number"])),
        ("from > to", lambda flow: label(flow["row"])),
        ("active\ns", lambda flow: active_s(flow["row"][0]), 3),
        ("goodput\nkbit/s", lambda flow: flow["goodput_bps"] and flow["goodput_bps"] / 1000, 1),
        ("RTT ms\nmin", "rtt.min_ms"),
        ("RTT ms\nmedian", "rtt.forward_ms.median"),
        ("segments\nsent", "counters.segments"),
        ("segments\nlost", "path.data.lost"),
        ("rexmit\ntotal", "retransmissions.total"),
        ("rexmit\nspurious", "retransmissions.spurious.total"),
        ("rexmit\ntimeout", "retransmissions.by_cause.timeout"),
        ("limited by", "verdict.limited_by"),
        words=(1, 11),
    )


def rows(report: dict[str, Any]) -> tuple[list[Row], list[Row]]:
    """All flows, longest first: the flows to show, and the small ones to fold.

    Of a connection that took long, its direction with more data is shown, however little that is.
    """
    found = [(one, flow) for one in report["connections"] for flow in one["flows"]]
    found.sort(key=lambda row: (-active_s(row[0]), -_data(row)))
    most = SMALL * max(map(_data, found), default=0)
    longest_s = SMALL * max((active_s(one) for one, _ in found), default=0.0)
    main = {one["number"]: flow["sender"] for one, flow in reversed(found)}
    shown: list[Row] = []
    small: list[Row] = []
    for one, flow in found:
        is_long = flow["sender"] == main[one["number"]] and active_s(one) >= longest_s
        (shown if is_long or _data((one, flow)) >= most else small).append((one, flow))
    return shown, small


def active_s(one: dict[str, Any]) -> float:
    """Seconds in which something of a connection was wanted."""
    seconds: float = one["phases"]["active_s"]
    return seconds


def _data(row: Row) -> int:
    _, flow = row
    data: int = max(flow["bytes_acked"], flow["bytes_known"])
    return data


def label(row: Row) -> str:
    """Sender and receiver, and the interface if only one saw the flow."""
    one, flow = row
    ends = one["client"], one["server"]
    sender, receiver = ends if flow["sender"] == "client" else ends[::-1]
    name = flow["interface"]
    where = f" on {clean(name)}" if name and len(one["views"]) == 1 else ""
    return f"{sender} > {receiver}{where}"


def _content(report: dict[str, Any]) -> str:
    """Describe the capture."""
    udp = report["conversations_seen"]
    return (
        f"{counted(report['file']['records'], 'packet')} in {report['duration_s']:.3f} s, "
        f"{counted(report['connections_seen'], 'TCP connection')}"
        + (f", {counted(udp, 'UDP conversation')}" if udp else "")
        + (f", {counted(report['tunnels_seen'], 'GTP-U tunnel')}" if report["tunnels_seen"] else "")
    )


def _of_small(small: list[Row]) -> str:
    """Describe the folded flows."""
    numbers = ", ".join(f"#{number}" for number in sorted({one["number"] for one, _ in small}))
    data = sum(_data(row) for row in small)
    return f"{counted(len(small), 'small flow')} with {counted(data, 'byte')} in all, of {numbers}"


def complaints(report: dict[str, Any]) -> list[str]:
    """List the parts of the capture that could not be read or used."""
    file, packets = report["file"], report["packets"]
    said = []
    if file["compression_error"]:
        said.append(f"the {file['compression']} stream ends early: {file['compression_error']}")
    if file["unreadable_bytes"]:
        said.append(f"{file['unreadable_bytes']} bytes unreadable, the first at {file['unreadable_from']}")
    if file["ends_within_record"]:
        said.append("the file ends within a packet")
    words = {
        "not_ip": "frames without IP",
        "other_protocol": "packets with neither TCP nor UDP",
        "fragments": "fragments",
        "bad_lengths": "packets with contradicting lengths",
        "lengths_beyond_frame": "packets with a length beyond their frame: the frame's is taken",
        "truncated_headers": "packets truncated within their headers",
        "options_unread": "segments with unreadable options",
        "time_went_back": "packets with times before the previous packet's",
        "copies": "packets recorded more than once, counted once",
        "connections_cut": "connections split in two, as there were too many at a time",
    }
    said += [f"{packets[key]} {text}" for key, text in words.items() if packets[key]]
    inside = (key for key in words if report["tunneled"][key])
    said += [f"in GTP-U tunnels: {report['tunneled'][key]} {words[key]}" for key in inside]
    if packets["unknown_link"]:
        types = ", ".join(map(str, report["unknown_link_types"]))
        said.append(f"{packets['unknown_link']} frames of an unknown kind of link (LINKTYPE {types})")
    if file["records_without_time"]:
        said.append(f"{file['records_without_time']} packets without time or interface")
    if others := report["others"]["connections"]:
        said.append(f"{others} connections with less data and less time not shown")
    if others := report["other_conversations"]["connections"]:
        said.append(f"{others} smaller UDP conversations not shown")
    return said


def in_words(row: Row) -> list[str]:
    """Describe a flow in a few lines."""
    one, flow = row
    verdict, episodes, acks = flow["verdict"], flow["loss_episodes"], flow["acks"]
    again, late, flight = flow["retransmissions"], flow["reordering"], flow["flight"]
    segments = flow["counters"]["segments"]
    causes = ", ".join(f"{count} by {CAUSES[key]}" for key, count in again["by_cause"].items() if count)
    lines = [
        f"limited by {verdict['limited_by']}: {verdict['because']}",
        *_time(verdict),
        *([f"host that the client asked for: {clean(one['name'])}"] if one["name"] else []),
        _seen(one, flow),
        *_path(flow),
        f"retransmissions: {again['total']} of {counted(segments, 'segment')}"
        + (f" ({causes}); {again['spurious']['total']} spurious" if again["total"] else ""),
        f"loss episodes: {episodes['events']}"
        + (
            f" ({episodes['single']} with one fast retransmit, {episodes['double']} with more, "
            f"{episodes['timeout']} with a timeout)"
            if episodes["events"]
            else ""
        ),
        f"{_dupacks(flow['counters'])}; {counted(late['late_segments'], 'segment')} overtaken",
        f"bytes in flight: mean {number_text(flight['mean_bytes'])}, "
        f"most {number_text(flight['max_bytes'])}; "
        f"receive window full {number_text(percent(flight['window_limited_share']), 1)} % of the time, "
        f"{counted(flight['zero_windows'], 'zero window')}, "
        f"{counted(flow['counters']['window_probes'], 'probe')}",
        f"ACK compression: {number_text(percent(acks['compression']), 1)} % of {acks['pairs']} pairs",
    ]
    if one["client_keepalives"] or one["server_keepalives"]:
        lines.append(
            f"keep-alives: {one['client_keepalives']} by the client, {one['server_keepalives']} by the server"
        )
    if queue := flow["rtt"]["queueing_ms"]:
        lines.append(f"delay in buffers: median {queue['median']:.0f} ms, 95 % below {queue['p95']:.0f} ms")
    titles = {model.name: model.title for model in MODELS}
    said = [model for model in flow["models"] if model["kbit_per_s"] is not None]
    for model in said:
        error = number_text(percent(model["relative_error"]), 0)
        lines.append(f"{titles[model['name']]}: {model['kbit_per_s']:.1f} kbit/s ({error} %)")
    reasons = dict.fromkeys(model["reason"] for model in flow["models"] if model["reason"])
    if not said and NEVER_LOST not in reasons:
        lines += [f"no model applies: {reason}" for reason in reasons]
    return lines


def _time(verdict: dict[str, Any]) -> list[str]:
    """Describe what the time of a flow went to, the largest share first."""
    if not (shares := verdict["shares"]):
        return []
    parts = sorted(LIMITS, key=lambda key: -shares[key])
    said = [f"{LIMITS[key]} {100 * shares[key]:.1f} %" for key in parts if shares[key] >= LEAST]
    return [f"time: {', '.join(said)}"]


def _dupacks(counters: dict[str, Any]) -> str:
    if counters["dupacks"] is None:
        return "duplicate ACKs: not known without the data"
    return counted(counters["dupacks"], "duplicate ACK")


def _seen(one: dict[str, Any], flow: dict[str, Any]) -> str:
    teids = [f"{tunnel['teid']:#010x}" for tunnel in one["tunnels"] if tunnel["sender"] == flow["sender"]]
    inside = f"; GTP-U tunnel {', '.join(teids)}" if teids else ""
    return _place(one, flow) + inside


def _place(one: dict[str, Any], flow: dict[str, Any]) -> str:
    place = PLACES[flow["viewpoint"]]
    if far := flow["at_receiver"]:
        return (
            f"seen on {interface_name(flow)} ({place}) and on {interface_name(far)} (nearer to the receiver)"
        )
    return (
        f"seen on {interface_name(flow)}: {place}"
        if len(one["views"]) > 1 or flow["interface"] or flow["in_tunnel"]
        else f"seen: {place}"
    )


def _path(flow: dict[str, Any]) -> list[str]:
    """Describe losses and delays between two interfaces."""
    path, far = flow["path"], flow["at_receiver"]
    if path is None:
        return []
    lines = []
    if far and path["data"]:
        again = counted(far["duplicates"], "duplicate")
        lines.append(f"received: {counted(far['segments'], 'segment')}, {again}")
    ways = (
        ("data", "segment", f"{interface_name(flow)} to {interface_name(far)}"),
        ("acks", "ACK", f"{interface_name(far)} to {interface_name(flow)}"),
    )
    for key, noun, way in ways:
        if passed := path[key]:
            lines.append(f"{way}: {crossed(passed, noun)}")
    return lines
