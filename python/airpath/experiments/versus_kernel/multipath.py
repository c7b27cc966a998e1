"""Multipath TCP, simulated and the kernel's: whether a kernel has it, and the figures of a transfer over it.

No capture of one end shows a connection over several paths whole. So the kernel's figures are what the
transfers' programs note at either end and what the driver counts of each subflow, and the simulated ones are
the run's own.
"""

from __future__ import annotations

import json
import shutil
import socket
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from airpath.errors import LiveError, ScenarioError
from airpath.experiments.versus_kernel.carried import Transfer
from airpath.experiments.versus_kernel.measured import Figures
from airpath.live.transfer import FIRST_PORT, IPPROTO_MPTCP, note_of

ROLES = ("serve", "fetch")
"""The programs at the server and at the UE."""


def check_kernel() -> None:
    """Raise a `LiveError` unless the kernel has Multipath TCP, and `ip` to set its endpoints is there."""
    try:
        socket.socket(socket.AF_INET, socket.SOCK_STREAM, IPPROTO_MPTCP).close()
    except OSError as error:
        hint = "needed is Linux 5.6 or later, built with CONFIG_MPTCP, and sysctl net.mptcp.enabled=1"
        raise LiveError("live", f"the kernel has no Multipath TCP: {error.strerror}", hint) from error
    if shutil.which("ip") is None:
        what = "'ip', which tells the kernel about the paths of Multipath TCP, is not installed"
        raise LiveError("live", what, "install iproute2")


def simulated_figures(flows: Sequence[dict[str, Any]], transfers: Sequence[Transfer]) -> list[Figures]:
    """Figures of each transfer over several paths from a simulated run's flows.

    Raises
    ------
    ScenarioError
        If a file did not arrive whole.
    """
    numbered = enumerate(zip(flows, transfers, strict=True))
    return [
        _figures(
            number,
            transfer,
            flow["received_s"],
            [subflow["bytes"] for subflow in flow["multipath"]["subflows"]],
            [flow],
            flow["timeouts"],
        )
        for number, (flow, transfer) in numbered
    ]


def forget_notes(folder: Path, transfers: int) -> None:
    """Remove what the programs of an earlier run noted in this folder."""
    for number in range(transfers):
        for role in ROLES:
            note_of(folder, role, number).unlink(missing_ok=True)


def live_figures(
    results: dict[str, Any], notes: Path, transfers: Sequence[Transfer], timeouts: Sequence[int | None]
) -> list[Figures]:
    """The same from a live run's results and from what its programs noted in the folder `notes`.

    The timeouts are the sender's own count for each transfer.

    Raises
    ------
    ScenarioError
        If a file did not arrive whole.
    """
    found = []
    for number, transfer in enumerate(transfers):
        server, opened = (_note(notes, role, number) for role in ROLES)
        got = opened if transfer.direction == "downlink" else server
        is_whole = got.get("bytes") == transfer.size_bytes and "opened_s" in opened
        seconds = got["last_s"] - opened["opened_s"] if is_whole else None
        port = str(FIRST_PORT + number)
        flows = [
            flow
            for flow in results["flows"]
            if flow["protocol"] == "tcp" and flow["server_address"].rpartition(":")[2] == port
        ]
        carried = [
            sum(flow["bytes_received"] for flow in flows if flow["ue"] == path)
            for path in range(len(transfer.paths))
        ]
        found.append(_figures(number, transfer, seconds, carried, flows, timeouts[number]))
    return found


def _note(folder: Path, role: str, number: int) -> dict[str, Any]:
    """What an end noted of a transfer; empty if it did not come so far."""
    file = note_of(folder, role, number)
    said: dict[str, Any] = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    return said


def _figures(
    number: int,
    transfer: Transfer,
    seconds: float | None,
    carried: Sequence[int],
    flows: Sequence[dict[str, Any]],
    timeouts: int | None,
) -> Figures:
    """Figures of a transfer: its time, the bytes over each path, and the flows that have its counters."""
    if seconds is None or transfer.size_bytes is None:
        what = f"flow {number}, {transfer.direction}, did not arrive whole in a run"
        raise ScenarioError("duration", what, "let runs last longer, or make the file smaller")
    return Figures(
        goodput_bps=transfer.size_bytes * 8 / seconds,
        bytes_acked=transfer.size_bytes,
        rtt_mean_ms=None,
        rtt_median_ms=None,
        rtt_p95_ms=None,
        retransmissions=sum(flow["retransmissions"]["total"] for flow in flows),
        timeouts=timeouts,
        transfer_s=seconds,
        segments=sum(flow["segments_sent"] for flow in flows),
        spurious_retransmissions=None,
        retransmissions_by_cause={},
        initial_rtt_ms=None,
        shares=dict(zip(transfer.paths, (bytes_ / sum(carried) for bytes_ in carried), strict=True)),
    )
