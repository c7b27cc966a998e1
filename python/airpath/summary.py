"""Tables for the terminal: the summary of a run, and the catalogue of what is registered."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airpath import _core
from airpath.bundled_traces import sample_traces
from airpath.metrics import bearer, block_error_share, utilisation
from airpath.scenario import bundled
from airpath.sweep.bundled import bundled as bundled_sweeps
from airpath.trace import UNITS

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

# More flows than this are left to results.json.
MOST_FLOWS = 20
# Width of the tables where there is no terminal to ask.
PLAIN_WIDTH = 120


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
    console.print(f"{title}: {ended} after {summary['simulated_s']:.3f} s of simulated time", highlight=False)
    flows = summary["flows"][:MOST_FLOWS]
    console.print(_performance_table(summary, flows))
    if streams := [flow for flow in flows if "datagrams" not in flow]:
        console.print(_sender_table(streams))
    if datagrams := [flow for flow in flows if "datagrams" in flow]:
        console.print(_datagram_table(datagrams))
    if pages := [flow for flow in flows if "web" in flow]:
        console.print(_page_table(pages))
    for element in summary["elements"]:
        if element["element"] == "umts":
            console.print(_core_network_table(element))
            console.print(core_network_line(element), highlight=False)
        if element["element"] == "middlebox.split":
            console.print(_split_table(element["connections"][:MOST_FLOWS]))
        if element["element"] == "middlebox.ack_regulator":
            console.print(_regulator_table(element["flows"][:MOST_FLOWS], summary["simulated_s"]))
        if element["element"] == "middlebox.ack_rate_control":
            console.print(_ack_rate_table(element["ues"][:MOST_FLOWS], summary["simulated_s"]))
        if element["element"] == "middlebox.rnc_feedback":
            console.print(_feedback_table(element, flows))
        if element["element"] == "middlebox.snoop":
            console.print(_snoop_table(element))
        if element["element"] == "middlebox.freeze":
            console.print(freeze_line(element), highlight=False)
        if element.get("outages"):
            console.print(_outage_table(element["outages"][:MOST_FLOWS]))
        if element["element"] == "radio.evdo":
            console.print(_evdo_table(element["ues"][:MOST_FLOWS]))
            console.print(evdo_line(element), highlight=False)
    for ue, direction in dict.fromkeys((flow["ue"], flow["direction"]) for flow in flows):
        console.print(bearer_line(summary, ue, direction), highlight=False)
    if len(summary["flows"]) > len(flows):
        console.print(f"and {len(summary['flows']) - len(flows)} more flows: see results.json, or --json")


def _performance_table(summary: dict[str, Any], flows: list[dict[str, Any]]) -> Table:
    headings = ("goodput\nkbit/s", "bearer\nused %", "transfer\ns", "RTT ms\nmean", "\nmin", "\nmax")
    table = _flow_table(*headings)
    for flow in flows:
        used, rtt = utilisation(summary, flow), flow["rtt_ms"]
        table.add_row(
            _label(flow),
            f"{flow['goodput_bps'] / 1e3:.1f}",
            number_text(None if used is None else 100 * used, 1),
            number_text(flow["transfer_s"], 3),
            *(number_text(rtt[which], 0) for which in ("mean", "min", "max")),
        )
    return table


def _sender_table(flows: list[dict[str, Any]]) -> Table:
    headings = ["segments\nsent", "retrans-\nmitted", "of which\nfast", "partial\nACK", "\nSACK"]
    headings += ["\ntimeout", "\ngo-back-N"]
    causes = ["total", "fast_retransmit", "partial_ack", "sack", "timeout", "go_back_n"]
    if any("tail_loss_probe" in flow["retransmissions"] for flow in flows):
        headings.append("\nprobe")
        causes.append("tail_loss_probe")
    table = _flow_table(*headings, "timer\nexpired")
    for flow in flows:
        repeated = flow["retransmissions"]
        counts = (flow["segments_sent"], *(repeated.get(cause, 0) for cause in causes), flow["timeouts"])
        table.add_row(_label(flow), *(str(count) for count in counts))
    return table


def _datagram_table(flows: list[dict[str, Any]]) -> Table:
    headings = ("packets\nsent", "\nreceived", "\nlost", "\nanswers", "delay ms\nmean", "\nmin", "\nmax")
    table = _flow_table(*headings, "\njitter")
    for flow in flows:
        counts = flow["datagrams"]
        delay = counts["delay_ms"]
        table.add_row(
            _label(flow),
            *(number_text(counts[which]) for which in ("sent", "received", "lost", "answers")),
            *(number_text(delay[which], 1) for which in ("mean", "min", "max")),
            number_text(counts["jitter_ms"], 1),
        )
    return table


def _page_table(flows: list[dict[str, Any]]) -> Table:
    headings = ("first\nbyte s", "page\nload s", "connec-\ntions", "requests\nsent", "retrans-\nmitted")
    table = _flow_table(*headings, "objects\nloaded")
    for flow in flows:
        page = flow["web"]
        counts = ("connections", "requests", "request_retransmissions", "objects")
        table.add_row(
            _label(flow),
            *(number_text(page[which], 3) for which in ("first_byte_s", "page_load_s")),
            *(str(page[which]) for which in counts),
        )
    return table


def _core_network_table(core: dict[str, Any]) -> Table:
    """Since when each UE could send, and what went through its tunnels at the Iu."""
    table = plain_table()
    headings = ("\ntraffic class", "active\ns", "G-PDUs\ndown", "\nup", "on the Iu: kB\ndown", "\nup")
    table.add_column("\nUE", justify="right")
    for heading in (*headings, "of which\nheaders %", "changes\nof RNC"):
        table.add_column(heading, justify="left" if "class" in heading else "right")
    for ue in core["ues"][:MOST_FLOWS]:
        ways = [ue["iu"][direction] for direction in ("downlink", "uplink")]
        octets, headers = (sum(way[which] for way in ways) for which in ("octets", "overhead_octets"))
        table.add_row(
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
        f"core network: {full['gn']} packets dropped at the Gn, {full['iu']} at the Iu, "
        f"{core['dropped_no_pdp_context']} without a PDP context"
    )


def _split_table(connections: list[dict[str, Any]]) -> Table:
    """What the box sent, held, and acknowledged before the receiver had it."""
    headings = ("split: seg-\nments sent", "retrans-\nmitted", "of which\nfast", "timer\nexpired")
    table = _flow_table(*headings, "most held\nbytes", "acked ahead\nat most", "\nat end")
    for connection in connections:
        counts = ("segments_sent", "retransmissions", "fast_retransmits", "timeouts")
        ahead = connection["acked_ahead_bytes"]
        table.add_row(
            _label(connection),
            *(str(connection[which]) for which in counts),
            *(str(count) for count in (connection["buffer_bytes"]["peak"], ahead["peak"], ahead["at_end"])),
        )
    return table


def _regulator_table(flows: list[dict[str, Any]], simulated_s: float) -> Table:
    """How many ACKs the box held, and how often it let a packet be lost or marked."""
    headings = (
        "regulator:\nACKs",
        "of which\nheld",
        "most held\nat once",
        "released\nwhen idle",
        "\nwhen full",
    )
    table = _flow_table(*headings, "conserva-\ntive %", "marked\npackets")
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
        cells = (*(str(count) for count in counts), number_text(share, 1), str(flow["packets_marked"]))
        table.add_row(f"{flow['ue']}.{flow['flow']}", *cells)
    return table


def _ack_rate_table(ues: list[dict[str, Any]], simulated_s: float) -> Table:
    """How many ACKs of each UE's bearer the box held, how long, and what drops in the buffer changed."""
    table = plain_table()
    headings = ("ACK rate\nUE", "\nACKs", "of which\nheld", "most held\nat once", "mean hold\nms")
    for heading in (*headings, "drops\nfollowed", "after a\ndrop %", "released\nwhen idle", "\nwhen full"):
        table.add_column(heading, justify="right")
    for ue in ues:
        forced = ue["forced_releases"]
        counts = (ue["ue"], ue["acks"], ue["acks_held"], ue["peak_held_acks"])
        share = 100 * ue["t_id_after_drop_s"] / simulated_s if simulated_s else None
        table.add_row(
            *(str(count) for count in counts),
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
        (
            ("feedback: seg-\nments cached", box["segments_cached"]),
            ("most at\nonce", box["peak_cached_segments"]),
            ("\nevicted", box["evictions"]),
            ("forgotten:\ndropped", box["forgotten_drops"]),
            ("ACKs\nflagged", box["acks_flagged"]),
            ("sent again,\nwindow kept", repaired),
        )
    )


def _snoop_table(box: dict[str, Any]) -> Table:
    """What the box sent again and why, and what it kept from the senders."""
    again = box["local_retransmissions"]
    return _box_table(
        (
            ("snoop: pack-\nets cached", box["segments_cached"]),
            ("most at\nonce", box["peak_cached_packets"]),
            ("sent again:\ndup. ACK", again["dupack"]),
            ("\ntimer", again["timer"]),
            ("known\nneedless", again["needless"]),
            ("dup. ACKs\nkept", box["dupacks_suppressed"]),
            ("\npassed", box["dupacks_passed"]),
            ("by the\nsender", box["sender_retransmissions"]),
            ("NACKs\nto UEs", box["nacks"]),
        )
    )


def _box_table(columns: tuple[tuple[str, int], ...]) -> Table:
    """One line of counts for a whole box."""
    table = plain_table()
    for heading, _ in columns:
        table.add_column(heading, justify="right")
    table.add_row(*(str(count) for _, count in columns))
    return table


def _evdo_table(ues: list[dict[str, Any]]) -> Table:
    """What the forward link gave each UE, and what the UE asked for."""
    table = plain_table()
    for heading in ("\nUE", "throughput\nkbit/s", "slots\nserved", "asked for\nkbit/s", "no rate\n%"):
        table.add_column(heading, justify="right")
    for number, ue in enumerate(ues):
        counters = ue["downlink"]
        drc = counters["drc"]
        asked = sum(share * float(rate.split()[0]) for rate, share in drc.items() if rate != "none")
        table.add_row(
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
    table = plain_table()
    for heading in ("outage\nof UE", "from\ns", "for\ns", "\nbearers"):
        table.add_column(heading, justify="right")
    for outage in outages:
        times = (number_text(outage[which], 3) for which in ("at_s", "outage_s"))
        table.add_row(str(outage["ue"]), *times, outage["bearers"])
    return table


def freeze_line(box: dict[str, Any]) -> str:
    """Say in a line whom a box has frozen, and with what."""
    where = "network" if box["at"] == "network" else "UE"
    return (
        f"freeze at the {where}: senders frozen {box['freezes']} times; "
        f"{box['zero_window_acks_made']} ACKs made to close windows, {box['windows_closed']} rewritten, "
        f"{box['opening_acks_made']} made to open them; {box['probes_answered']} probes answered"
    )


def _flow_table(*headings: str) -> Table:
    table = plain_table()
    table.add_column("\nUE.flow")
    for heading in headings:
        table.add_column(heading, justify="right")
    return table


def _label(flow: dict[str, Any]) -> str:
    return f"{flow['ue']}.{flow['flow']} {flow['direction']}"


def bearer_line(summary: dict[str, Any], ue: int, direction: str) -> str:
    """Say in a line what became of a bearer's packets."""
    counters = bearer(summary, ue, direction)
    if counters is None:
        return f"UE {ue} has no {direction} bearer"
    return (
        f"UE {ue} {direction} bearer: {counters['sdus_delivered']} SDUs delivered, "
        f"{counters['sdus_dropped']} dropped by the queue, {counters['sdus_discarded']} given up, "
        f"at most {counters['peak_queued_sdus']} in the buffer; {_sent(counters)}"
    )


def _sent(counters: dict[str, Any]) -> str:
    """Say over what the packets went: blocks, opportunities or slots; or they went whole."""
    if "opportunities" in counters:
        used = 100 * counters["utilisation"]
        return f"{counters['opportunities']} opportunities, {used:.1f} % used"
    if "slots_served" in counters:
        return f"{counters['slots_served']} slots, no rate in {100 * counters['drc']['none']:.1f} %"
    if "pdus_sent" not in counters:
        rate, delay = counters["service_rate_packets_per_s"], counters["mean_delay_ms"]
        return f"{number_text(rate, 1)} packets/s while busy, {number_text(delay, 1)} ms on the way"
    if counters["pdus_sent"] == 0:
        return "no blocks"
    return f"{counters['pdus_sent']} PDUs sent, {100 * block_error_share(counters):.1f} % lost"


def number_text(value: float | None, digits: int = 0) -> str:
    """A number with so many digits behind the point; "-" where there is none."""
    return "-" if value is None else f"{value:.{digits}f}"


def catalogue() -> dict[str, Any]:
    """Everything that can be named: scenarios, sweeps, components, probes with columns and units."""
    return {
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


def print_catalogue(content: dict[str, Any]) -> None:
    """Print what `catalogue` found, or a part of it."""
    console = console_for()
    if "scenarios" in content:
        _print_named(console, "Scenarios", "airpath run NAME", content["scenarios"])
    if "sweeps" in content:
        _print_named(console, "Sweeps", "airpath sweep NAME", content["sweeps"])
    if traces := content.get("traces"):
        _print_named(
            console,
            "Traces",
            "airpath live --downlink-trace NAME",
            {name: trace["shows"] for name, trace in traces.items()},
        )
        folder = Path(next(iter(traces.values()))["file"]).parent
        console.print(f"in the folder {folder}", markup=False, highlight=False, soft_wrap=True)
    if "components" in content:
        _print_components(console, content["components"])
    if "probes" in content:
        shown = {
            kind: ", ".join(f"{column} ({unit})" if unit else column for column, unit in columns.items())
            for kind, columns in content["probes"].items()
        }
        _print_named(console, "Probes", "columns of trace.parquet", shown)


def _print_named(console: Console, title: str, use: str, named: dict[str, str]) -> None:
    from rich.markup import escape

    console.print(f"[bold]{title}[/] ({use})")
    table = plain_table(show_header=False)
    for name, shows in named.items():
        table.add_row(name, escape(shows.removeprefix(f"{name}: ")))
    console.print(table)


def _print_components(console: Console, components: list[dict[str, Any]]) -> None:
    from rich.markup import escape

    console.print("[bold]Components[/] (in a scenario or with --set)")
    for component in components:
        name = ".".join(part for part in (component["folder"], component["name"]) if part)
        console.print(f"[bold]{name}[/]  {escape(component['description'])}")
        table = plain_table(show_header=False)
        for parameter in component["parameters"]:
            shown = _default(parameter["default"])
            cells = (parameter["name"], parameter["type"], shown, parameter["description"])
            table.add_row(*(escape(str(cell)) for cell in cells))
        if table.row_count:
            console.print(table)


def _default(value: Any) -> str:
    """Show a default as a scenario would write it; "-" where there is none."""
    if value is None:
        return "-"
    if isinstance(value, dict):
        shown = (f"{key} = {_default(part)}" for key, part in value.items() if part is not None)
        return "{ " + ", ".join(shown) + " }" if value else "{}"
    return value if isinstance(value, str) and value.isprintable() else json.dumps(value)


def console_for(*, stderr: bool = False) -> Console:
    """A console for tables; of a fixed width where there is no terminal to ask."""
    from rich.console import Console

    console = Console(stderr=stderr)
    return console if console.is_terminal else Console(stderr=stderr, width=PLAIN_WIDTH)


def plain_table(show_header: bool = True) -> Table:
    """A table without lines."""
    from rich.table import Table

    return Table(box=None, show_header=show_header, pad_edge=False, padding=(0, 2, 0, 0))
