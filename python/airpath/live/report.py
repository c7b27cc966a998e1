"""What is said at the end of a live run: the flows, the bearers, and whether the timing held."""

from __future__ import annotations

import itertools
import shlex
from typing import TYPE_CHECKING, Any

from airpath.metrics import carried_bytes
from airpath.summary import bearer_line, console_for, number_text, plain_table

if TYPE_CHECKING:
    from rich.table import Table

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
    console.print(
        f"{name}: {_ended(live, command)} after {number_text(results['simulated_s'], 3)} s",
        highlight=False,
        markup=False,
    )
    if flows:
        console.print(_flow_table(flows[:MOST_FLOWS], wide=console.width >= WIDE))
    if len(flows) > MOST_FLOWS:
        console.print(f"and {len(flows) - MOST_FLOWS} flows that carried less: with --out, see results.json")
    for ue, direction in itertools.product(sorted({flow["ue"] for flow in flows} | {0}), DIRECTIONS):
        console.print(bearer_line(results, ue, direction), highlight=False)
    for line in (*_endpoint_lines(live), _lateness_line(live), *_losses(live), verdict(live)):
        console.print(line, highlight=False, markup=False)


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
    from rich.markup import escape

    table = plain_table()
    for heading in ("\nflow", *(("\nserver", "\nUE") if wide else ("server\nport",)), "\nTCP"):
        table.add_column(heading, overflow="fold")
    for heading in ("carried\nkB", "goodput\nkbit/s", "RTT ms\nmean", "\nmin", "\nmax", "retrans-\nmitted"):
        table.add_column(heading, justify="right")
    for flow in flows:
        rtt, goodput = flow["rtt_ms"] or {}, flow["goodput_bps"]
        # The brackets of an IPv6 address are no markup.
        server, ue = (escape(flow.get(key) or "-") for key in ("server_address", "ue_address"))
        table.add_row(
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
            f"its senders: {sender['segments_sent']} segments, {sender['retransmissions']} of them again, "
            f"{sender['timeouts']} timeouts, {spurious} recoveries found spurious"
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
