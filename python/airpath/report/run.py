"""The report on a run: its flows, what the elements on the path did, and the bearers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from airpath import _core
from airpath.report.document import Note, Part, Table
from airpath.report.elements import MOST_ROWS, element_parts, flow_name, interface_name, percent
from airpath.runs.flows import paths_of
from airpath.runs.metrics import bearers, block_error_share, split_bearer, utilisation
from airpath.scenario import Scenario
from airpath.terminal import counted, number_text

# Causes of retransmissions, and what their columns are called.
CAUSES = {
    "fast_retransmit": "fast",
    "partial_ack": "partial",
    "sack": "SACK",
    "timeout": "timeout",
    "go_back_n": "go-back-N",
    "tail_loss_probe": "probe",
}


def remarks_on(scenario: Scenario) -> list[str]:
    """Remark on what may be meant in a scenario but is seldom wanted, such as a buffer without a limit."""
    return [f"{key}: {message}; {hint}" for key, message, hint in _core.remarks(scenario.text)]


def run_report(results: dict[str, Any], title: str, remarks: Iterable[str] = ()) -> Iterator[Part]:
    """Report on the run that `title` names: the content of its `results.json`, and remarks on its text."""
    flows = results["flows"][:MOST_ROWS]
    ended = "ended" if results["complete"] else "stopped"
    yield Note(f"{title}: {ended} after {results['simulated_s']:.3f} s of simulated time")
    yield from (Note(remark, "remark") for remark in remarks)
    yield Table.of(
        flows,
        ("UE.flow", flow_name),
        ("goodput\nkbit/s", lambda flow: flow["goodput_bps"] / 1e3, 1),
        ("bearer\nused %", lambda flow: percent(utilisation(results, flow)), 1),
        ("transfer\ns", "transfer_s", 3),
        *((f"RTT ms\n{which}", f"rtt_ms.{which}") for which in ("mean", "min", "max")),
    )
    yield from delay_parts(results, flows)
    yield _sender_table([flow for flow in flows if "datagrams" not in flow and "quic" not in flow])
    yield _path_table(flows)
    yield Table.of(
        [flow for flow in flows if "quic" in flow],
        ("UE.flow", flow_name),
        ("packets\nsent", "quic.server.packets_sent"),
        ("packets\nlost", "quic.server.packets_lost"),
        ("losses\nspurious", "quic.server.spurious_losses"),
        ("probe\ntimeouts", "quic.server.probe_timeouts"),
        ("window\nreductions", "quic.server.window_reductions"),
        ("ACK packets\nsent", "quic.client.ack_packets_sent"),
    )
    yield Table.of(
        [flow for flow in flows if "datagrams" in flow],
        ("UE.flow", flow_name),
        *((f"packets\n{which}", f"datagrams.{which}") for which in ("sent", "received", "lost", "answers")),
        ("packets\nout of order", "datagrams.out_of_order"),
        ("packets\nduplicated", "datagrams.duplicates"),
        *((f"delay ms\n{which}", f"datagrams.delay_ms.{which}", 1) for which in ("mean", "min", "max")),
        ("jitter\nms", "datagrams.jitter_ms", 1),
    )
    yield Table.of(
        [flow for flow in flows if "web" in flow],
        ("UE.flow", flow_name),
        ("first\nbyte s", "web.first_byte_s", 3),
        ("page\nload s", "web.page_load_s", 3),
        ("connections", "web.connections"),
        ("requests\nsent", "web.requests"),
        ("requests\nretried", "web.request_retransmissions"),
        ("objects\nloaded", "web.objects"),
    )
    yield Table.of(
        [flow for flow in flows if "waterfall" in flow.get("web", {})],
        ("UE.flow", flow_name),
        ("connected\ns", "web.connect_s", 3),
        ("TLS complete\ns", "web.tls_s", 3),
        ("blocking objects\nloaded s", "web.blocking_s", 3),
    )
    yield from media_parts(flows)
    for element in results["elements"]:
        yield from element_parts(element, results)
    of_paths = [path for flow in flows for path in paths_of(flow)]
    for ue, direction in dict.fromkeys((flow["ue"], flow["direction"]) for flow in of_paths):
        yield from map(Note, bearer_lines(results, ue, direction))
    if more := len(results["flows"]) - len(flows):
        yield Note(f"and {counted(more, 'more flow')}: see results.json, or --json")


def media_parts(flows: list[dict[str, Any]]) -> Iterator[Part]:
    """Transfers of flows that make several, calls, and players; nothing of other flows."""
    yield Table.of(
        [flow for flow in flows if "transfers" in flow],
        ("UE.flow", flow_name),
        *((f"transfers\n{which}", f"transfers.{which}") for which in ("started", "completed", "abandoned")),
        *(
            (f"completion ms\n{which}", f"transfers.completion_ms.{which}", 1)
            for which in ("mean", "p50", "p95")
        ),
    )
    sides = [
        {"name": flow_name({**flow, "direction": direction}), **side}
        for flow in flows
        for direction, side in flow.get("call", {}).items()
        if side is not None
    ]
    yield Table.of(
        sides,
        ("UE.flow", lambda side: side["name"]),
        ("target\nkbit/s", lambda side: number_text(_kbps(side["sender"]["target_bps"]), 0)),
        ("received\nkbit/s", lambda side: number_text(_kbps(side["receiver"]["received_bps"]), 0)),
        ("frames\ndecoded", "receiver.frames"),
        *((f"frame delay ms\n{which}", f"receiver.frame_delay_ms.{which}", 1) for which in ("p50", "p95")),
        ("freezes", "receiver.freezes"),
        ("frozen\ns", "receiver.freeze_s", 2),
        ("packets\nrexmit", "sender.retransmissions"),
    )
    yield Table.of(
        [flow for flow in flows if "video" in flow],
        ("UE.flow", flow_name),
        ("startup\ns", "video.startup_s", 2),
        ("segments", "video.segments"),
        ("mean rate\nkbit/s", lambda flow: number_text(_kbps(flow["video"]["mean_rate_bps"]), 0)),
        ("switches", "video.switches"),
        ("stalls", "video.stalls"),
        ("stalled\ns", "video.stall_s", 2),
    )


def _kbps(bps: float | None) -> float | None:
    return None if bps is None else bps / 1e3


DELAYS = {"rtt_ms": "RTT", "one_way_delay_ms": "one-way", "queueing_delay_ms": "queueing"}
"""Delays of a flow, and what their columns are called."""


def delay_parts(results: dict[str, Any], flows: list[dict[str, Any]]) -> Iterator[Part]:
    """Percentiles of the flows' delays, and how evenly flows share; nothing of results that have neither."""
    if any(flow.get("queueing_delay_ms") for flow in flows):
        yield Table.of(
            flows,
            ("UE.flow", flow_name),
            *(
                (
                    f"{said} ms\n{which}",
                    lambda flow, of=of, which=which: number_text(flow.get(of, {}).get(which), 1),
                )
                for of, said in DELAYS.items()
                for which in ("p50", "p95", "p99")
            ),
        )
    for direction, index in results.get("jain_index", {}).items():
        sharing = sum(flow["direction"] == direction for flow in results["flows"])
        if sharing > 1 and index is not None:
            yield Note(f"Jain's index of the {sharing} {direction} flows' goodputs: {index:.4f}")


def _sender_table(flows: list[dict[str, Any]]) -> Table:
    """Segments sent, and retransmissions by the causes that occurred."""
    causes = [cause for cause in CAUSES if any(flow["retransmissions"].get(cause) for flow in flows)]
    return Table.of(
        flows,
        ("UE.flow", flow_name),
        ("segments\nsent", "segments_sent"),
        ("rexmit\ntotal", "retransmissions.total"),
        *(
            (f"rexmit\n{CAUSES[cause]}", lambda flow, cause=cause: flow["retransmissions"].get(cause, 0))
            for cause in causes
        ),
        ("timeouts", "timeouts"),
    )


def _path_table(flows: list[dict[str, Any]]) -> Table:
    """The paths of connections over several; nothing of other flows."""
    return Table.of(
        [path for flow in flows if "multipath" in flow for path in paths_of(flow)],
        ("path", flow_name),
        ("goodput\nkbit/s", lambda path: path["goodput_bps"] / 1e3, 1),
        ("share\n%", lambda path: percent(path["share"]), 1),
        ("joined\ns", "joined_s", 3),
        ("RTT ms\nmean", "rtt_ms.mean"),
        ("rexmit\ntotal", "retransmissions.total"),
        ("timeouts", "timeouts"),
        ("reinjected\nMB", lambda path: path["reinjected_bytes"] / 1e6, 2),
    )


def bearer_lines(results: dict[str, Any], ue: int, direction: str) -> Iterator[str]:
    """Describe a UE's bearers in a direction, in a line for each cell."""
    name = interface_name(results, ue)
    name = f"UE {ue}" if name == ue else name
    split = split_bearer(results, ue)
    interfaces = [leg["ue"] for leg in split[direction]["legs"]] if split else [ue]
    found = [one for interface in interfaces for one in bearers(results, interface, direction)]
    for cell, counters in found:
        where = f" in {cell}" if cell else ""
        withdrawn = counters.get("sdus_withdrawn", 0)
        left = f"{withdrawn} withdrawn at a hand-over, " if withdrawn else ""
        yield (
            f"{name} {direction} bearer{where}: {counted(counters['sdus_delivered'], 'SDU')} delivered, "
            f"{counters['sdus_dropped']} dropped by the queue, {counters['sdus_discarded']} given up, "
            f"{left}at most {counters['peak_queued_sdus']} in the buffer; {_sent(counters)}"
        )
    if not found:
        yield f"{name} has no {direction} bearer"


def _sent(counters: dict[str, Any]) -> str:
    """Describe what carried the packets: blocks, opportunities, slots, or packets as a whole."""
    if "opportunities" in counters:
        used = 100 * counters["utilisation"]
        return f"{counters['opportunities']} opportunities, {used:.1f} % used"
    if "slots_served" in counters:
        return (
            f"{counted(counters['slots_served'], 'slot')}, no rate in {100 * counters['drc']['none']:.1f} %"
        )
    if "pdus_sent" not in counters:
        rate, delay = counters["service_rate_packets_per_s"], counters["mean_delay_ms"]
        return f"{number_text(rate, 1)} packets/s while busy, {number_text(delay, 1)} ms in transit"
    if counters["pdus_sent"] == 0:
        return "no blocks"
    return f"{counted(counters['pdus_sent'], 'PDU')} sent, {100 * block_error_share(counters):.1f} % lost"
