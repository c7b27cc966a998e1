"""`airpath analyze`: what TCP did in a capture."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from airpath.analytic.models import MODELS
from airpath.analyze.capture import MOST_CONNECTIONS, analyze
from airpath.analyze.models import NEVER_LOST, predictions
from airpath.arguments import ForceOption, JsonOption, parse_folder
from airpath.errors import ScenarioError
from airpath.output import folder_for, write_file
from airpath.terminal import Table, console_for, counted, number_text, say

# More flows than this are left to --json.
MOST_ROWS = 20
# More are described one by one only if asked for.
MOST_IN_WORDS = 4


def analyze_command(
    capture: Annotated[Path, typer.Argument(metavar="CAPTURE", help="A pcap or pcapng file.")],
    json_: JsonOption = False,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="DIR",
            parser=parse_folder,
            help="Write a page with plots, index.html, and the JSON, analysis.json, here.",
        ),
    ] = None,
    force: ForceOption = False,
    connection: Annotated[
        int | None, typer.Option(metavar="N", help="Only the connection with this number in the table.")
    ] = None,
) -> None:
    """Explain a capture: round trips, losses and their causes, and what limited each TCP connection."""
    files = (out / "index.html", out / "analysis.json") if out else ()
    folder_for("out", *files, force=force)
    report = analyze(capture, MOST_CONNECTIONS)
    for one in report["connections"]:
        for flow in one["flows"]:
            flow["models"] = predictions(flow)
    if connection is not None:
        chosen = [one for one in report["connections"] if one["number"] == connection]
        if not chosen:
            known = ", ".join(str(one["number"]) for one in report["connections"][:MOST_ROWS])
            remedy = f"choose from {known}" if known else "leave it out: the capture has no TCP connection"
            raise ScenarioError("--connection", f"there is no {connection}", remedy)
        report["connections"] = chosen
    text = json.dumps(report, indent=2)
    if json_:
        typer.echo(text)
    else:
        _print(report, capture.name)
    if files:
        from airpath.analyze.page import render

        page, data = files
        write_file("out", page, render(report, capture.name), force)
        write_file("out", data, text + "\n", force)
        say(console_for(stderr=json_), f"page: {page}")


def rows(report: dict[str, Any]) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Connections with each of their directions of data."""
    return [(one, flow) for one in report["connections"] for flow in one["flows"]]


def label(one: dict[str, Any], flow: dict[str, Any]) -> str:
    """Who sends to whom, and where it was seen."""
    ends = one["client"], one["server"]
    sender, receiver = ends if flow["sender"] == "client" else ends[::-1]
    where = f" on {one['interface']}" if one["interface"] else ""
    return f"{sender} > {receiver}{where}"


def complaints(report: dict[str, Any]) -> list[str]:
    """What of the capture could not be read or used, in words."""
    file, packets = report["file"], report["packets"]
    said = []
    if file["unreadable_bytes"]:
        said.append(f"{file['unreadable_bytes']} bytes unreadable, the first at {file['unreadable_from']}")
    if file["ends_within_record"]:
        said.append("the file ends within a packet")
    words = {
        "not_ip": "frames without IP",
        "not_tcp": "packets without TCP",
        "unknown_link": "frames of an unknown kind of link",
        "fragments": "fragments",
        "bad_lengths": "packets with contradicting lengths",
        "truncated_headers": "packets cut off within their headers",
        "options_unread": "segments with unreadable options",
        "time_went_back": "packets with times before those in front of them",
        "connections_cut": "connections cut in two, as there were too many at a time",
    }
    said += [f"{packets[key]} {text}" for key, text in words.items() if packets[key]]
    if file["records_without_time"]:
        said.append(f"{file['records_without_time']} packets without time or interface")
    if others := report["others"]["connections"]:
        said.append(f"{others} smaller connections not shown")
    return said


def _print(report: dict[str, Any], name: str) -> None:
    console = console_for()
    file = report["file"]
    say(
        console,
        f"{name}: {counted(file['records'], 'packet')} in {report['duration_s']:.3f} s, "
        f"{counted(report['connections_seen'], 'TCP connection')}",
    )
    for line in complaints(report):
        say(console, f"  {line}")
    flows = rows(report)
    if not flows:
        return
    headings = ("goodput\nkbit/s", "RTT ms\nmin", "RTT ms\nmedian", "segments\nsent")
    again = ("sent again\ntotal", "sent again\nneedless", "sent again\ntimeout")
    table = Table("#", "from > to", *headings, *again, "limited by", words=(0, 1, 9))
    for one, flow in flows[:MOST_ROWS]:
        rtt = flow["rtt"]
        table.add(
            str(one["number"]),
            label(one, flow),
            number_text(flow["goodput_bps"] and flow["goodput_bps"] / 1000, 1),
            number_text(rtt["min_ms"]),
            number_text(rtt["forward_ms"] and rtt["forward_ms"]["median"]),
            str(flow["counters"]["segments"]),
            str(flow["retransmissions"]["total"]),
            str(flow["retransmissions"]["spurious"]["total"]),
            str(flow["retransmissions"]["by_cause"]["timeout"]),
            flow["verdict"]["limited_by"],
        )
    table.print(console)
    if len(flows) > MOST_ROWS:
        say(console, f"and {len(flows) - MOST_ROWS} more: see --json")
    if len(report["connections"]) <= MOST_IN_WORDS:
        for one, flow in flows:
            console.print()
            say(console, label(one, flow))
            for line in in_words(flow):
                say(console, f"  {line}")
        for one in report["connections"]:
            for line in one["not_known"]:
                say(console, f"#{one['number']}, not known: {line}")


def in_words(flow: dict[str, Any]) -> list[str]:
    """A flow in a few lines."""
    verdict, episodes, acks = flow["verdict"], flow["loss_episodes"], flow["acks"]
    again, late, flight = flow["retransmissions"], flow["reordering"], flow["flight"]
    causes = ", ".join(
        f"{count} {key.replace('_', ' ')}" for key, count in again["by_cause"].items() if count
    )
    lines = [
        f"limited by {verdict['limited_by']}: {verdict['because']}",
        f"seen from: {flow['viewpoint']}",
        f"sent again: {again['total']} ({causes or 'none'}); {again['spurious']['total']} spurious",
        f"loss episodes: {episodes['events']}, p1 {number_text(episodes['p1'], 3)}, "
        f"p2 {number_text(episodes['p2'], 3)}, p3 {number_text(episodes['p3'], 3)}; "
        f"{flow['counters']['dupacks']} duplicate ACKs; {late['late_segments']} segments late",
        f"bytes in flight: mean {number_text(flight['mean_bytes'])}, most {flight['max_bytes']}; "
        f"receive window full {number_text(_percent(flight['window_limited_share']), 1)} % of the time, "
        f"{flight['zero_windows']} zero windows",
        f"ACK compression: {number_text(_percent(acks['compression']), 1)} % of {acks['pairs']} pairs",
    ]
    if queue := flow["rtt"]["queueing_ms"]:
        lines.append(f"delay in buffers: median {queue['median']:.0f} ms, 95 % below {queue['p95']:.0f} ms")
    titles = {model.name: model.title for model in MODELS}
    said = [one for one in flow["models"] if one["kbit_per_s"] is not None]
    for one in said:
        error = number_text(_percent(one["relative_error"]), 0)
        lines.append(f"{titles[one['name']]}: {one['kbit_per_s']:.1f} kbit/s ({error} %)")
    reasons = dict.fromkeys(one["reason"] for one in flow["models"] if one["reason"])
    if not said and NEVER_LOST not in reasons:
        lines += [f"no model applies: {reason}" for reason in reasons]
    return lines


def _percent(share: float | None) -> float | None:
    return None if share is None else 100 * share
