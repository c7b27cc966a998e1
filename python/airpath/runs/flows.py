"""The flows of a run: which are worth showing, and what they are called."""

from __future__ import annotations

from typing import Any

from airpath.runs.metrics import carried_bytes, with_specs

MOST_LINES = 8
"""Most flows in a picture: more cannot be distinguished."""
LEAST_SHARE = 0.1
"""Flows of a live run are left out below this share of the busiest flow's bytes: control connections."""


def by_path(summary: dict[str, Any]) -> dict[str, Any]:
    """Give the summary with a flow for each path, in place of each connection over several paths.

    Events name a path by its interface and flow number, like any flow. A path has the counters of its
    subflow; `goodput_bps` is its share of the connection's.
    """
    if not any("multipath" in flow for flow in summary["flows"]):
        return summary
    return {**summary, "flows": [path for flow in summary["flows"] for path in paths_of(flow)]}


def paths_of(flow: dict[str, Any]) -> list[dict[str, Any]]:
    """Give the paths of a connection, each as a flow; a flow with one path is its own."""
    if "multipath" not in flow:
        return [flow]
    whole = {key: value for key, value in flow.items() if key != "multipath"}
    return [
        {
            **whole,
            **path,
            "goodput_bps": flow["goodput_bps"] * path["share"],
            "bytes_acked": path["bytes"],
            "bytes_received": path["bytes"],
            "queueing_delay_ms": None,
        }
        for path in flow["multipath"]["subflows"]
    ]


def choose_flows(summary: dict[str, Any], most: int = MOST_LINES) -> list[int]:
    """Choose the flows that carried most; return their indices in `summary`, ascending."""
    carried = [carried_bytes(flow) for flow in summary["flows"]]
    least = LEAST_SHARE * max(carried, default=0) if "live" in summary else 0
    ranked = sorted(range(len(carried)), key=lambda place: -carried[place])[:most]
    return sorted(place for place in ranked if carried[place] >= least)


def congestion_controls(summary: dict[str, Any], scenario: dict[str, Any]) -> list[str]:
    """Name the congestion control of each flow, or its application where it has none."""

    def name(flow: dict[str, Any], spec: dict[str, Any] | None) -> str:
        if flow["app"] is None:  # A real flow: the kernel chose it, not the scenario.
            return flow.get("congestion_control") or ""
        if "datagrams" in flow:
            return str(flow["app"])
        return ", ".join((spec or {}).get("tcp", scenario["tcp"])["cc"])

    return [name(flow, spec) for flow, spec in with_specs(summary["flows"], scenario.get("flow", ()))]


def flow_owners(summary: dict[str, Any]) -> list[str]:
    """Name the UE or interface of each flow, with the flow's number where it has several."""
    ues = [flow["ue"] for flow in summary["flows"]]
    return [
        str(flow.get("interface", f"UE {flow['ue']}"))
        + (f" flow {flow['flow']}" if ues.count(flow["ue"]) > 1 else "")
        for flow in summary["flows"]
    ]


def path_controls(summary: dict[str, Any], scenario: dict[str, Any]) -> list[str]:
    """Name the congestion control of each flow of `by_path`, as `congestion_controls` does."""
    controls = zip(summary["flows"], congestion_controls(summary, scenario), strict=True)
    return [cc for flow, cc in controls for _ in paths_of(flow)]


def path_names(summary: dict[str, Any], scenario: dict[str, Any]) -> list[str]:
    """Name each flow of `by_path`, as `flow_names` does."""
    named = zip(flow_owners(by_path(summary)), path_controls(summary, scenario), strict=True)
    return [f"{whose}: {cc}" if cc else whose for whose, cc in named]


def flow_names(summary: dict[str, Any], scenario: dict[str, Any]) -> list[str]:
    """Name each flow by its UE and its congestion control: ``"UE 1: cubic"``, ``"phone: cubic"``."""
    named = zip(flow_owners(summary), congestion_controls(summary, scenario), strict=True)
    return [f"{whose}: {cc}" if cc else whose for whose, cc in named]
