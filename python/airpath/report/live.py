"""The report on a live run: the flows, the bearers, and whether the timing held."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

from airpath.report.document import Note, Part, Table
from airpath.report.run import bearer_lines
from airpath.runs.metrics import carried_bytes
from airpath.terminal import counted, number_text

# Flows in the table: those that carried most.
MOST_FLOWS = 10
# Columns of a terminal that holds addresses too.
WIDE = 100
ENDS, DIRECTIONS = ("server", "ue"), ("downlink", "uplink")


def live_report(results: dict[str, Any], name: str, command: list[str], width: int) -> Iterator[Part]:
    """Report on a live run of COMMAND: the driver's results.

    The table has the flows' addresses where the terminal's `width`, in columns, leaves room. Simulated flows
    of other UEs come behind the real ones.
    """
    live = results["live"]
    flows = sorted(results["flows"], key=lambda flow: (_is_simulated(flow), -carried_bytes(flow)))
    yield Note(f"{name}: {_ended(live, command)} after {number_text(results['simulated_s'], 3)} s")
    yield _flow_table(flows[:MOST_FLOWS], wide=width >= WIDE)
    if len(flows) > MOST_FLOWS:
        less = counted(len(flows) - MOST_FLOWS, "flow")
        yield Note(f"and {less} more: with --out, see results.json")
    simulated = [(flow["ue"], flow["direction"]) for flow in flows[:MOST_FLOWS] if _is_simulated(flow)]
    real = {flow["ue"] for flow in flows if not _is_simulated(flow)} or {0}
    for ue, direction in dict.fromkeys([*product(sorted(real), DIRECTIONS), *sorted(simulated)]):
        yield from map(Note, bearer_lines(results, ue, direction))
    yield from map(Note, (*_endpoint_lines(live), _lateness_line(live), *_losses(live), verdict(live)))


def verdict(live: dict[str, Any]) -> str:
    """Say whether the results can be used."""
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
    return f"{shlex.join(command) or 'the link'} {how}"


def _flow_table(flows: list[dict[str, Any]], *, wide: bool) -> Table:
    """One line for each flow; with its addresses if there is room for them."""

    def address(end: str) -> Callable[[dict[str, Any]], str]:
        return lambda flow: flow.get(f"{end}_address") or "-"

    ends = [("server", address("server")), ("UE", address("ue"))]
    port = [("server\nport", lambda flow: address("server")(flow).rpartition(":")[2])]
    names = [
        ("flow", _flow_name),
        *(ends if wide else port),
        ("TCP", lambda flow: flow.get("congestion_control") or "-"),
    ]
    return Table.of(
        flows,
        *names,
        ("carried\nkB", lambda flow: carried_bytes(flow) / 1e3, 1),
        (
            "goodput\nkbit/s",
            lambda flow: None if flow["goodput_bps"] is None else flow["goodput_bps"] / 1e3,
            1,
        ),
        *((f"RTT ms\n{which}", f"rtt_ms.{which}") for which in ("mean", "min", "max")),
        ("sent\nagain", "retransmissions.total"),
        words=range(len(names)),
    )


def _flow_name(flow: dict[str, Any]) -> str:
    what = f"simulated {flow['app']}" if _is_simulated(flow) else flow["protocol"]
    ue = flow.get("interface", flow["ue"])
    return f"{ue}.{flow['flow']} {what} {flow['direction'].removesuffix('link')}"


def _is_simulated(flow: dict[str, Any]) -> bool:
    """Whether this is a flow of the scenario; nobody knows the application of a real one."""
    return flow["app"] is not None


def _endpoint_lines(live: dict[str, Any]) -> list[str]:
    """Counters of our TCP, if it is at an end or both."""
    told = live.get("endpoint") or []
    ends = told if isinstance(told, list) else [told]
    return [line for ours in ends for line in _lines_of_end(ours)]


def _lines_of_end(ours: dict[str, Any]) -> list[str]:
    """Counters of our TCP at one end."""
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
    """Losses outside the link: packets that the kernel dropped, records that were not written."""
    lost = {end: live["ends"][end]["tun_dropped"] or 0 for end in ENDS}
    lines = [f"dropped by the TUN devices: server {lost['server']}, UE {lost['ue']} packets"]
    refused = {end: live["ends"][end]["refused_by_kernel"] for end in ENDS}
    if any(refused.values()):
        why = "larger than the MTU, or no IP"
        lines.append(f"refused by the kernel ({why}): server {refused['server']}, UE {refused['ue']} packets")
    if live["lost_records"]:
        lines.append(f"missing in the files: {live['lost_records']} events and packets (slow disk)")
    return lines
