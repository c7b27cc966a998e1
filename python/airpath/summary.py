"""What the terminal shows of a run, and of everything that is registered."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airpath import _core
from airpath.bundled_traces import sample_traces
from airpath.errors import ScenarioError
from airpath.metrics import bearer, block_error_share, utilisation
from airpath.scenario import bundled
from airpath.sweep.bundled import bundled as bundled_sweeps
from airpath.terminal import Table, console_for, counted, number_text, say
from airpath.trace import UNITS

if TYPE_CHECKING:
    from rich.console import Console

# More flows than this are left to results.json.
MOST_FLOWS = 20
# Causes of retransmissions, and what their columns are called.
CAUSES = {
    "fast_retransmit": "fast",
    "partial_ack": "partial",
    "sack": "SACK",
    "timeout": "timeout",
    "go_back_n": "go-back-N",
    "tail_loss_probe": "probe",
}


def print_summary(summary: dict[str, Any], title: str) -> None:
    """Print what became of every flow and of its bearer.

    Parameters
    ----------
    summary : dict
        Content of `results.json`.
    title : str
        What was run.
    """
    console = console_for()
    ended = "ended" if summary["complete"] else "stopped"
    say(console, f"{title}: {ended} after {summary['simulated_s']:.3f} s of simulated time")
    flows = summary["flows"][:MOST_FLOWS]
    for part in _parts(summary, flows):
        if isinstance(part, Table):
            part.print(console)
        else:
            say(console, part)
    if len(summary["flows"]) > len(flows):
        say(
            console,
            f"and {counted(len(summary['flows']) - len(flows), 'more flow')}: see results.json, or --json",
        )


def _parts(summary: dict[str, Any], flows: list[dict[str, Any]]) -> Iterator[Table | str]:
    """Tables and lines: the flows, then the elements on the path, then the bearers."""
    yield _performance_table(summary, flows)
    yield _sender_table([flow for flow in flows if "datagrams" not in flow])
    yield _datagram_table([flow for flow in flows if "datagrams" in flow])
    yield _page_table([flow for flow in flows if "web" in flow])
    for element in summary["elements"]:
        match element["element"]:
            case "umts":
                yield _core_network_table(element)
                yield core_network_line(element)
            case "middlebox.split":
                yield _split_table(element["connections"][:MOST_FLOWS])
            case "middlebox.ack_regulator":
                yield _regulator_table(element["flows"][:MOST_FLOWS], summary["simulated_s"])
            case "middlebox.ack_rate_control":
                yield _ack_rate_table(element["ues"][:MOST_FLOWS], summary["simulated_s"])
            case "middlebox.rnc_feedback":
                yield _feedback_table(element, flows)
            case "middlebox.snoop":
                yield _snoop_table(element)
            case "middlebox.freeze":
                yield freeze_line(element)
            case "radio.evdo":
                yield _evdo_table(element["ues"][:MOST_FLOWS])
                yield evdo_line(element)
        yield _outage_table(element.get("outages", [])[:MOST_FLOWS])
    for ue, direction in dict.fromkeys((flow["ue"], flow["direction"]) for flow in flows):
        yield bearer_line(summary, ue, direction)


def _performance_table(summary: dict[str, Any], flows: list[dict[str, Any]]) -> Table:
    headings = (
        "goodput\nkbit/s",
        "bearer\nused %",
        "transfer\ns",
        "RTT ms\nmean",
        "RTT ms\nmin",
        "RTT ms\nmax",
    )
    table = Table("UE.flow", *headings)
    for flow in flows:
        used, rtt = utilisation(summary, flow), flow["rtt_ms"]
        table.add(
            _label(flow),
            f"{flow['goodput_bps'] / 1e3:.1f}",
            number_text(None if used is None else 100 * used, 1),
            number_text(flow["transfer_s"], 3),
            *(number_text(rtt[which], 0) for which in ("mean", "min", "max")),
        )
    return table


def _sender_table(flows: list[dict[str, Any]]) -> Table:
    """Segments sent, and those sent again by cause: the causes that there were."""
    causes = [cause for cause in CAUSES if any(flow["retransmissions"].get(cause) for flow in flows)]
    headings = (f"sent again\n{name}" for name in ("total", *(CAUSES[cause] for cause in causes)))
    table = Table("UE.flow", "segments\nsent", *headings, "timer\nexpired")
    for flow in flows:
        repeated = flow["retransmissions"]
        counts = (repeated["total"], *(repeated.get(cause, 0) for cause in causes), flow["timeouts"])
        table.add(_label(flow), *map(str, (flow["segments_sent"], *counts)))
    return table


def _datagram_table(flows: list[dict[str, Any]]) -> Table:
    numbers, timed = ("sent", "received", "lost", "answers"), ("mean", "min", "max")
    headings = (*(f"packets\n{which}" for which in numbers), *(f"delay ms\n{which}" for which in timed))
    table = Table("UE.flow", *headings, "jitter\nms")
    for flow in flows:
        counts = flow["datagrams"]
        table.add(
            _label(flow),
            *(number_text(counts[which]) for which in numbers),
            *(number_text(counts["delay_ms"][which], 1) for which in timed),
            number_text(counts["jitter_ms"], 1),
        )
    return table


def _page_table(flows: list[dict[str, Any]]) -> Table:
    headings = ("first\nbyte s", "page\nload s", "connections", "requests\nsent", "requests\nsent again")
    table = Table("UE.flow", *headings, "objects\nloaded")
    for flow in flows:
        page = flow["web"]
        counts = ("connections", "requests", "request_retransmissions", "objects")
        table.add(
            _label(flow),
            *(number_text(page[which], 3) for which in ("first_byte_s", "page_load_s")),
            *(str(page[which]) for which in counts),
        )
    return table


def _core_network_table(core: dict[str, Any]) -> Table:
    """Since when each UE could send, and what went through its tunnels at the Iu."""
    headings = ("UE", "traffic class", "active\ns", "G-PDUs\ndown", "G-PDUs\nup", "Iu kB\ndown", "Iu kB\nup")
    table = Table(*headings, "Iu kB\nheaders %", "changes\nof RNC", words=(1,))
    for ue in core["ues"][:MOST_FLOWS]:
        ways = [ue["iu"][direction] for direction in ("downlink", "uplink")]
        octets, headers = (sum(way[which] for way in ways) for which in ("octets", "overhead_octets"))
        table.add(
            str(ue["ue"]),
            ue["class"],
            number_text(ue["active_s"], 3),
            *(str(way["g_pdus"]) for way in ways),
            *(f"{way['octets'] / 1e3:.1f}" for way in ways),
            number_text(100 * headers / octets if octets else None, 1),
            str(len(ue["relocations"])),
        )
    return table


def core_network_line(core: dict[str, Any]) -> str:
    """Say in a line what the core network dropped."""
    full = core["dropped_queue_full"]
    return (
        f"core network: {counted(full['gn'], 'packet')} dropped at the Gn, {full['iu']} at the Iu, "
        f"{core['dropped_no_pdp_context']} without a PDP context"
    )


def _split_table(connections: list[dict[str, Any]]) -> Table:
    """What the box sent, held, and acknowledged before the receiver had it."""
    headings = (
        "segments\nsent",
        "sent again\ntotal",
        "sent again\nfast",
        "timer\nexpired",
        "buffer\npeak B",
    )
    table = Table("split\nUE.flow", *headings, "ACKed ahead\nat most", "ACKed ahead\nat end")
    for connection in connections:
        counts = ("segments_sent", "retransmissions", "fast_retransmits", "timeouts")
        ahead = connection["acked_ahead_bytes"]
        table.add(
            _label(connection),
            *(str(connection[which]) for which in counts),
            *(str(count) for count in (connection["buffer_bytes"]["peak"], ahead["peak"], ahead["at_end"])),
        )
    return table


def _regulator_table(flows: list[dict[str, Any]], simulated_s: float) -> Table:
    """How many ACKs the box held, and how often it let a packet be lost or marked."""
    headings = ("ACKs\ntotal", "ACKs\nheld", "most held\nat once", "released\nidle", "released\nfull")
    table = Table("regulator\nUE.flow", *headings, "cautious\n%", "packets\nmarked")
    for flow in flows:
        forced = flow["forced_releases"]
        counts = (
            flow["acks"],
            flow["acks_held"],
            flow["peak_held_acks"],
            forced["idle"],
            forced["hold_limit"],
        )
        share = 100 * flow["conservative_s"] / simulated_s if simulated_s else None
        cells = (*map(str, counts), number_text(share, 1), str(flow["packets_marked"]))
        table.add(f"{flow['ue']}.{flow['flow']}", *cells)
    return table


def _ack_rate_table(ues: list[dict[str, Any]], simulated_s: float) -> Table:
    """How many ACKs of each UE's bearer the box held, how long, and what drops in the buffer changed."""
    headings = ("ACKs\ntotal", "ACKs\nheld", "most held\nat once", "hold ms\nmean", "drops\nfollowed")
    table = Table("ACK rate\nUE", *headings, "after a\ndrop %", "released\nidle", "released\nfull", words=())
    for ue in ues:
        forced = ue["forced_releases"]
        counts = (ue["ue"], ue["acks"], ue["acks_held"], ue["peak_held_acks"])
        share = 100 * ue["t_id_after_drop_s"] / simulated_s if simulated_s else None
        table.add(
            *map(str, counts),
            number_text(ue["mean_hold_ms"], 1),
            str(ue["drops_followed"]),
            number_text(share, 1),
            str(forced["idle"]),
            str(forced["hold_limit"]),
        )
    return table


def _feedback_table(box: dict[str, Any], flows: list[dict[str, Any]]) -> Table:
    """What the box knew of, what it flagged, and what the senders made of it."""
    repaired = sum(flow["rnf"]["wireless_fast_retransmits"] for flow in flows if flow.get("rnf"))
    return _box_table(
        ("feedback: segments\ncached", box["segments_cached"]),
        ("feedback: segments\nat once", box["peak_cached_segments"]),
        ("feedback: segments\nevicted", box["evictions"]),
        ("feedback: segments\ndropped", box["forgotten_drops"]),
        ("ACKs\nflagged", box["acks_flagged"]),
        ("sent again,\nwindow kept", repaired),
    )


def _snoop_table(box: dict[str, Any]) -> Table:
    """What the box sent again and why, and what it kept from the senders."""
    again = box["local_retransmissions"]
    return _box_table(
        ("snoop\ncached", box["segments_cached"]),
        ("snoop\nat once", box["peak_cached_packets"]),
        ("sent again\ndup. ACK", again["dupack"]),
        ("sent again\ntimer", again["timer"]),
        ("sent again\nneedless", again["needless"]),
        ("dup. ACKs\nkept", box["dupacks_suppressed"]),
        ("dup. ACKs\npassed", box["dupacks_passed"]),
        ("sender\nagain", box["sender_retransmissions"]),
        ("NACKs\nto UEs", box["nacks"]),
    )


def _box_table(*columns: tuple[str, int]) -> Table:
    """One line of counts for a whole box."""
    table = Table(*(heading for heading, _ in columns), words=(), keys=0)
    table.add(*(str(count) for _, count in columns))
    return table


def _evdo_table(ues: list[dict[str, Any]]) -> Table:
    """What the forward link gave each UE, and what the UE asked for."""
    table = Table("UE", "throughput\nkbit/s", "slots\nserved", "asked for\nkbit/s", "no rate\n%", words=())
    for number, ue in enumerate(ues):
        counters = ue["downlink"]
        drc = counters["drc"]
        asked = sum(share * float(rate.split()[0]) for rate, share in drc.items() if rate != "none")
        table.add(
            str(number),
            f"{counters['throughput_bps'] / 1e3:.1f}",
            str(counters["slots_served"]),
            f"{asked:.1f}",
            f"{100 * drc.get('none', 0.0):.1f}",
        )
    return table


def evdo_line(cell: dict[str, Any]) -> str:
    """Say in a line how busy a 1xEV-DO forward link was, and how fair."""
    busy, fairness = 100 * cell["slots_busy_share"], number_text(cell["jain_index"], 4)
    return f"forward link: {busy:.1f} % of the slots busy; Jain's index {fairness}"


def _outage_table(outages: list[dict[str, Any]]) -> Table:
    """When each UE was out of reach."""
    table = Table("outage\nof UE", "from\ns", "for\ns", "bearers", words=(3,))
    for outage in outages:
        times = (number_text(outage[which], 3) for which in ("at_s", "outage_s"))
        table.add(str(outage["ue"]), *times, outage["bearers"])
    return table


def freeze_line(box: dict[str, Any]) -> str:
    """Say in a line how often a box froze senders, and with which ACKs."""
    where = "network" if box["at"] == "network" else "UE"
    return (
        f"freeze at the {where}: senders frozen {counted(box['freezes'], 'time')}; "
        f"{counted(box['zero_window_acks_made'], 'ACK')} made to close windows, "
        f"{box['windows_closed']} rewritten, {box['opening_acks_made']} made to open them; "
        f"{counted(box['probes_answered'], 'probe')} answered"
    )


def _label(flow: dict[str, Any]) -> str:
    return f"{flow['ue']}.{flow['flow']} {flow['direction']}"


def bearer_line(summary: dict[str, Any], ue: int, direction: str) -> str:
    """Say in a line what became of a bearer's packets."""
    counters = bearer(summary, ue, direction)
    if counters is None:
        return f"UE {ue} has no {direction} bearer"
    return (
        f"UE {ue} {direction} bearer: {counted(counters['sdus_delivered'], 'SDU')} delivered, "
        f"{counters['sdus_dropped']} dropped by the queue, {counters['sdus_discarded']} given up, "
        f"at most {counters['peak_queued_sdus']} in the buffer; {_sent(counters)}"
    )


def _sent(counters: dict[str, Any]) -> str:
    """Say over what the packets went: blocks, opportunities or slots; or they went whole."""
    if "opportunities" in counters:
        used = 100 * counters["utilisation"]
        return f"{counters['opportunities']} opportunities, {used:.1f} % used"
    if "slots_served" in counters:
        return (
            f"{counted(counters['slots_served'], 'slot')}, no rate in {100 * counters['drc']['none']:.1f} %"
        )
    if "pdus_sent" not in counters:
        rate, delay = counters["service_rate_packets_per_s"], counters["mean_delay_ms"]
        return f"{number_text(rate, 1)} packets/s while busy, {number_text(delay, 1)} ms on the way"
    if counters["pdus_sent"] == 0:
        return "no blocks"
    return f"{counted(counters['pdus_sent'], 'PDU')} sent, {100 * block_error_share(counters):.1f} % lost"


def catalogue(kind: str | None = None, prefix: str | None = None) -> dict[str, Any]:
    """Find what can be named: scenarios, sweeps, components, probes with columns and units.

    Parameters
    ----------
    kind : str, optional
        Only these.
    prefix : str, optional
        Of them only those whose names begin like this.

    Raises
    ------
    ScenarioError
        If no name begins like this.
    """
    content: dict[str, Any] = {
        "scenarios": bundled(),
        "sweeps": bundled_sweeps(),
        "traces": {
            name: {"shows": trace.shows, "file": str(trace.file)} for name, trace in sample_traces().items()
        },
        "components": json.loads(_core.registry()),
        "probes": {
            kind: {column: UNITS[column] for column in columns} for kind, columns in _core.probes().items()
        },
    }
    if kind is None:
        return content
    named = content[kind]
    if prefix is None:
        return {kind: named}
    if kind == "components":
        names = [component_name(component) for component in named]
        chosen: Any = [component for component in named if component_name(component).startswith(prefix)]
    else:
        names = list(named)
        chosen = {name: named[name] for name in names if name.startswith(prefix)}
    if not chosen:
        starts = ", ".join(dict.fromkeys(name.rpartition(".")[0] or name for name in names))
        raise ScenarioError("PREFIX", f"no name of {kind} begins with '{prefix}'", f"choose from {starts}")
    return {kind: chosen}


def print_catalogue(content: dict[str, Any]) -> None:
    """Print what `catalogue` found, or a part of it."""
    console = console_for()
    if "scenarios" in content:
        _print_named(console, "Scenarios (airpath run NAME)", content["scenarios"])
    if "sweeps" in content:
        _print_named(console, "Sweeps (airpath sweep NAME)", content["sweeps"])
    if traces := content.get("traces"):
        shown = {name: trace["shows"] for name, trace in traces.items()}
        _print_named(console, "Traces (airpath live --downlink-trace NAME)", shown)
        say(console, f"in the folder {Path(next(iter(traces.values()))['file']).parent}")
    if "components" in content:
        _print_components(console, content["components"])
    if "probes" in content:
        shown = {
            kind: ", ".join(f"{column} ({unit})" if unit else column for column, unit in columns.items())
            for kind, columns in content["probes"].items()
        }
        _print_named(console, "Probes (columns of trace.parquet)", shown)


def _print_named(console: Console, title: str, named: dict[str, str]) -> None:
    say(console, title, style="bold")
    table = Table("", "", words=(0, 1))
    for name, shows in named.items():
        table.add(name, shows.removeprefix(f"{name}: "))
    table.print(console)


def _print_components(console: Console, components: list[dict[str, Any]]) -> None:
    say(console, "Components (in a scenario or with --set)", style="bold")
    for component in components:
        say(console, (component_name(component), "bold"), f"  {_paragraph(component['description'])}")
        table = Table("", "", "", "", words=(0, 1, 2, 3))
        for parameter in component["parameters"]:
            default = _default(parameter["default"])
            table.add(parameter["name"], parameter["type"], default, _paragraph(parameter["description"]))
        table.print(console)


def _paragraph(text: str) -> str:
    """Write a description whose lines were broken for its source."""
    return " ".join(text.split())


def component_name(component: dict[str, Any]) -> str:
    """Name of a component, such as ``tcp.cc.reno``."""
    return ".".join(part for part in (component["folder"], component["name"]) if part)


def _default(value: Any) -> str:
    """Show a default as a scenario would write it; "-" where there is none."""
    if value is None:
        return "-"
    if isinstance(value, dict):
        shown = (f"{key} = {_default(part)}" for key, part in value.items() if part is not None)
        return "{ " + ", ".join(shown) + " }" if value else "{}"
    return value if isinstance(value, str) and value.isprintable() else json.dumps(value)
