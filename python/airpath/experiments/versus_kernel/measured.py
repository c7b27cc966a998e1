"""The compared metrics of a transfer, from the capture at its sender: the same code for simulation and live.

The capture of a simulated run is taken where the host hands packets to the path, that of a live run where
the driver takes them from the TUN device; times are the path's. Round trips are those of `airpath
analyze`: with timestamps, from the first segment that carried the value that an ACK echoes to this ACK,
for each ACK that moves the left edge; without, from the first segment that the ACK acknowledges, unless
it was retransmitted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from airpath.captures import analyze
from airpath.errors import ScenarioError
from airpath.experiments.versus_kernel.carried import Transfer


@dataclass(frozen=True)
class Metric:
    """One of the `Figures`, for people: title with its unit, scale to that unit, and digits behind the point.

    `tolerance` is the difference, as a share of the live value, within which simulated and live agree; None
    of counts of rare events, for which only the interval of the difference is judged. With a `path` it is
    the share of the bytes that this path carried.
    """

    name: str
    title: str
    scale: float
    digits: int
    tolerance: float | None
    path: str | None = None


METRICS = (
    Metric("goodput_bps", "goodput kbit/s", 1e-3, 1, 0.05),
    Metric("rtt_median_ms", "RTT median ms", 1.0, 0, 0.05),
    Metric("rtt_p95_ms", "RTT p95 ms", 1.0, 0, 0.10),
    Metric("retransmissions", "retransmissions", 1.0, 1, None),
    Metric("timeouts", "timeouts", 1.0, 1, None),
)
COMPLETION = Metric("transfer_s", "completion s", 1.0, 2, 0.05)


def metrics_of(paths: Sequence[str]) -> tuple[Metric, ...]:
    """Metrics of a transfer: of one path, or by Multipath TCP over the paths with these names."""
    if not paths:
        return METRICS
    goodput, _, _, *counts = METRICS
    shares = (Metric(f"share_{name}", f"over {name} %", 100.0, 1, 0.10, path=name) for name in paths)
    return (goodput, COMPLETION, *shares, *counts)


@dataclass(frozen=True)
class Figures:
    """One transfer of one run; None for values that could not be determined.

    Goodput is of bytes acknowledged, from the first data to the last ACK that moved the left edge;
    `transfer_s` is the same time, if all of the data arrived. `bytes_acked` is of the whole run. `timeouts`
    are counted by the sender itself. `segments` have data; `spurious_retransmissions` were certainly
    spurious. Causes are inferred as in `airpath analyze`, which sees packets and no timers.
    `initial_rtt_ms` is the handshake's. Over several paths goodput and `transfer_s` are from the SYN to the
    last byte at the receiver, and `shares` are those of the bytes, 0 to 1, by the name of the path.
    """

    goodput_bps: float
    bytes_acked: int
    rtt_mean_ms: float | None
    rtt_median_ms: float | None
    rtt_p95_ms: float | None
    retransmissions: int
    timeouts: int | None
    transfer_s: float | None
    segments: int
    spurious_retransmissions: int | None
    retransmissions_by_cause: dict[str, int]
    initial_rtt_ms: float | None
    shares: dict[str, float] = field(default_factory=dict)

    def value(self, metric: Metric) -> float | None:
        """The value of one of its metrics."""
        if metric.path is not None:
            return self.shares[metric.path]
        found: float | None = getattr(self, metric.name)
        return found


def figures(capture: Path, transfers: list[Transfer], timeouts: Sequence[int | None]) -> list[Figures]:
    """Read the metrics of each transfer from a capture; the timeouts are its sender's own count.

    Connections are distinguished by their ports, numbered in the order of the flows, the
    simulator at the UE, live transfers at the server.

    Raises
    ------
    ScenarioError
        If a connection is missing or carried nothing.
    """
    found = sorted(analyze(capture)["connections"], key=_ports)
    if len(found) != len(transfers):
        found = [{"flows": []}] * len(transfers)
    numbered = enumerate(zip(transfers, found, timeouts, strict=True))
    return [_figures(number, *one) for number, one in numbered]


def _figures(number: int, transfer: Transfer, connection: dict[str, Any], timeouts: int | None) -> Figures:
    is_uplink = transfer.direction == "uplink"
    for flow in connection["flows"]:
        is_sender = _port(connection[flow["sender"]]) == _ports(connection)[is_uplink]
        is_here = flow["interface"] == ("ue" if is_uplink else "server")
        if is_sender and is_here and flow["bytes_acked"] and flow["goodput_bps"]:
            break
    else:
        what = f"flow {number}, {transfer.direction}, carried nothing in a run"
        raise ScenarioError("duration", what, "let runs last longer")
    rtt, again = flow["rtt"]["forward_ms"], flow["retransmissions"]
    is_complete = transfer.size_bytes is not None and flow["bytes_acked"] >= transfer.size_bytes
    return Figures(
        goodput_bps=flow["goodput_bps"],
        bytes_acked=flow["bytes_acked"],
        rtt_mean_ms=rtt and rtt["mean"],
        rtt_median_ms=rtt and rtt["median"],
        rtt_p95_ms=rtt and rtt["p95"],
        retransmissions=again["total"],
        timeouts=timeouts,
        transfer_s=flow["duration_s"] if is_complete else None,
        segments=flow["counters"]["segments"],
        spurious_retransmissions=again["spurious"]["total"],
        retransmissions_by_cause=again["by_cause"],
        initial_rtt_ms=connection["handshake_rtt_ms"],
    )


def _ports(connection: dict[str, Any]) -> list[int]:
    """Ports of the server and of the UE: simulated and live, the server's is the lower one."""
    return sorted(_port(connection[end]) for end in ("client", "server"))


def _port(address: str) -> int:
    return int(address.rpartition(":")[2])
