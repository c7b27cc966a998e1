"""What is said at the end of a live run: the flows, the bearers, and whether the timing held."""

from __future__ import annotations

import itertools
import shlex
from typing import Any

from airpath.metrics import carried_bytes
from airpath.summary import bearer_line
from airpath.terminal import Table, console_for, counted, number_text, say

# Flows in the table: those that carried most.
MOST_FLOWS = 10
# Columns of a terminal that holds addresses too.
WIDE = 100
ENDS, DIRECTIONS = ("server", "ue"), ("downlink", "uplink")


def print_report(results: dict[str, Any], name: str, command: list[str]) -> None:
    """Print what came of a live run, on standard error.

    Parameters
    ----------
    results : dict
        The driver's results.
    name : str
        What was run.
    command : list of str
        COMMAND.
    """
    console, live = console_for(stderr=True), results["live"]
    flows = sorted(results["flows"], key=carried_bytes, reverse=True)
    say(console, f"{name}: {_ended(live, command)} after {number_text(results['simulated_s'], 3)} s")
    _flow_table(flows[:MOST_FLOWS], wide=console.width >= WIDE).print(console)
    if len(flows) > MOST_FLOWS:
        less = counted(len(flows) - MOST_FLOWS, "flow")
        say(console, f"and {less} that carried less: with --out, see results.json")
    for ue, direction in itertools.product(sorted({flow["ue"] for flow in flows} | {0}), DIRECTIONS):
        say(console, bearer_line(results, ue, direction))
    for line in (*_endpoint_lines(live), _lateness_line(live), *_losses(live), verdict(live)):
        say(console, line)


def verdict(live: dict[str, Any]) -> str:
    """Say in a sentence whether the results can be used."""
    if live["valid"]:
        return "valid: every packet was sent close enough to its due time"
    return f"NOT VALID, do not use these results: {'; '.join(live['invalid_because'])}"


def _ended(live: dict[str, Any], command: list[str]) -> str:
    words = {
        "duration": "was ended by --duration",
        "signal": "was ended by a signal",
        "trace": "was ended with the trace",
    }
    how = words.get(live["ended_by"], f"ended with status {live['exit_status']}")
    return f"{shlex.join(command)} {how}"


def _flow_table(flows: list[dict[str, Any]], *, wide: bool) -> Table:
    """One line for each flow; with its addresses if there is room for them."""
    names = ("flow", *(("server", "UE") if wide else ("server\nport",)), "TCP")
    numbers = ("carried\nkB", "goodput\nkbit/s", "RTT ms\nmean", "RTT ms\nmin", "RTT ms\nmax", "sent\nagain")
    table = Table(*names, *numbers, words=range(len(names)))
    for flow in flows:
        rtt, goodput = flow["rtt_ms"] or {}, flow["goodput_bps"]
        server, ue = (flow.get(key) or "-" for key in ("server_address", "ue_address"))
        table.add(
            f"{flow['ue']}.{flow['flow']} {flow['protocol']} {flow['direction'].removesuffix('link')}",
            *((server, ue) if wide else (server.rpartition(":")[2],)),
            flow["congestion_control"] or "-",
            number_text(carried_bytes(flow) / 1e3, 1),
            number_text(None if goodput is None else goodput / 1e3, 1),
            *(number_text(rtt.get(which)) for which in ("mean", "min", "max")),
            number_text((flow["retransmissions"] or {}).get("total")),
        )
    return table


def _endpoint_lines(live: dict[str, Any]) -> list[str]:
    """What our TCP at one end has done, if there is one."""
    ours = live.get("endpoint")
    if not ours:
        return []
    names = ("accepted", "opened", "closed", "refused", "reset", "timed_out", "aborted")
    counts = ", ".join(f"{ours[name]} {name.replace('_', ' ')}" for name in names if ours[name])
    lines = [
        f"airpath's TCP at the {ours['end']}'s end: {counts or 'no connection'}; {ours['open']} left open"
    ]
    sender = ours["sender"]
    if sender["segments_sent"]:
        spurious = sender["spurious_timeouts"] + sender["spurious_fast_retransmits"]
        lines.append(
            f"its senders: {counted(sender['segments_sent'], 'segment')}, "
            f"{sender['retransmissions']} of them again, {counted(sender['timeouts'], 'timeout')}, "
            f"{spurious} recoveries found spurious"
        )
    if ours["syns_dropped"] or ours["bad_checksums"]:
        lines.append(f"there: {ours['syns_dropped']} SYNs dropped, {ours['bad_checksums']} wrong checksums")
    return lines


def _lateness_line(live: dict[str, Any]) -> str:
    late = live["lateness_us"]
    p50, p99, most, bound = (number_text(late[which]) for which in ("p50", "p99", "max", "bound"))
    return (
        f"lateness: p50 {p50} us, p99 {p99} us (at most {bound} us is valid), "
        f"max {most} us; {live['scheduler']}"
    )


def _losses(live: dict[str, Any]) -> list[str]:
    """What was lost beside the link: packets that the kernel dropped, records that were not written."""
    lost = {end: live["ends"][end]["tun_dropped"] or 0 for end in ENDS}
    lines = [f"dropped by the TUN devices: server {lost['server']}, UE {lost['ue']} packets"]
    if live["lost_records"]:
        lines.append(f"missing in the files: {live['lost_records']} events and packets (slow disk)")
    return lines
