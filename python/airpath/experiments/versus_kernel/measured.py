"""What is compared of a transfer, read off the capture at its sender: one code for both worlds.

The capture of a simulated run is taken where the host hands packets to the path, that of a live run where
the driver takes them from the TUN device; times are the path's. Round trips are those of `airpath
analyze`: with timestamps, from the first segment that carried the value that an ACK echoes to this ACK,
for each ACK that moves the left edge; without, from the first segment that the ACK acknowledges, unless
it was sent again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from airpath.captures import analyze
from airpath.errors import ScenarioError
from airpath.experiments.versus_kernel.carried import Transfer

_Found = tuple[Transfer, dict[str, Any], dict[str, Any]]
"""A transfer, its connection and its data as `airpath analyze` reports them."""


@dataclass(frozen=True)
class Metric:
    """One of the figures, for people.

    Attributes
    ----------
    name : str
        Field of `Figures`.
    title : str
        With its unit.
    scale : float
        From the field's unit to that of the title.
    digits : int
        Behind the point.
    tolerance : float or None
        Difference, as a share of the live value, within which simulated and live agree; None of counts of
        rare events, for which only the interval of the difference is judged.
    """

    name: str
    title: str
    scale: float
    digits: int
    tolerance: float | None


METRICS = (
    Metric("goodput_bps", "goodput kbit/s", 1e-3, 1, 0.05),
    Metric("rtt_median_ms", "RTT median ms", 1.0, 0, 0.05),
    Metric("rtt_p95_ms", "RTT p95 ms", 1.0, 0, 0.10),
    Metric("retransmissions", "retransmissions", 1.0, 1, None),
    Metric("timeouts", "timeouts", 1.0, 1, None),
)


@dataclass(frozen=True)
class Figures:
    """One transfer of one run.

    Attributes
    ----------
    goodput_bps : float
        Bytes acknowledged, from the first data to the last ACK that moved the left edge.
    bytes_acked : int
        In the whole run.
    rtt_mean_ms, rtt_median_ms, rtt_p95_ms : float or None
        Of the round trips; None where not one could be told.
    retransmissions : int
        Segments sent again, for whatever reason.
    timeouts : int or None
        How often the retransmission timer expired: the sender's own count; None if it is not known.
    transfer_s : float or None
        The same time, if all of the data arrived.
    segments, spurious_retransmissions : int
        Segments with data, and of those sent again what was certainly needless.
    retransmissions_by_cause : dict
        As `airpath analyze` tells them apart, which sees packets and no timers.
    initial_rtt_ms : float or None
        Of the handshake.
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
    spurious_retransmissions: int
    retransmissions_by_cause: dict[str, int]
    initial_rtt_ms: float | None

    def json(self) -> dict[str, Any]:
        """For files."""
        return asdict(self)


def figures(capture: Path, transfers: list[Transfer], timeouts: Sequence[int | None]) -> list[Figures]:
    """Read the figures of each transfer off a capture, but for the timeouts, which its sender has counted.

    Connections are told apart by their ports: both worlds number these in the order of the flows, the
    simulator at the UE, live transfers at the server.

    Raises
    ------
    ScenarioError
        If a connection is missing or carried nothing.
    """
    report = analyze(capture)
    return [
        _figures(_of_transfer(report, transfers, number), timeouts[number])
        for number in range(len(transfers))
    ]


def _of_transfer(report: dict[str, Any], transfers: list[Transfer], number: int) -> _Found:
    """The connection of a transfer, at the sender, and its data."""
    transfer = transfers[number]
    here = "server" if transfer.direction == "downlink" else "ue"
    found = sorted(report["connections"], key=_ports)
    if len(found) == len(transfers):
        connection = found[number]
        sender_port = _ports(connection)[transfer.direction == "uplink"]
        for flow in connection["flows"]:
            if (
                _port(connection[flow["sender"]]) == sender_port
                and flow["interface"] == here
                and flow["bytes_acked"]
                and flow["goodput_bps"]
            ):
                return transfer, connection, flow
    what = f"flow {number}, {transfer.direction}, carried nothing in a run"
    raise ScenarioError("duration", what, "let runs last longer")


def _ports(connection: dict[str, Any]) -> list[int]:
    """Ports of the server and of the UE: in both worlds the server's is the lower one."""
    return sorted(_port(connection[end]) for end in ("client", "server"))


def _port(address: str) -> int:
    return int(address.rpartition(":")[2])


def _figures(found: _Found, timeouts: int | None) -> Figures:
    transfer, connection, flow = found
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
