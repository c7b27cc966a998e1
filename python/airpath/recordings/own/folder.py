"""The files of `airpath record`: opportunities of both directions, trains, losses, clocks."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from airpath.recordings.own.client import Recorded
from airpath.recordings.own.packets import IP_BYTES
from airpath.recordings.recording import Recording

WARM_S = 2.0
"""The beginning of a phase is left out: the sender does not fill the link yet."""
RECORDED_BY = "airpath record"
RTT_MS = (0.001, 60_000.0)
"""Lowest and highest RTT of an idle path."""
NEAR = 1.2
"""Answers are used for the clocks if their RTT is at most so many times the lowest one."""


@dataclass(frozen=True)
class Clocks:
    """The server's clock beside the client's, from the questions of all phases.

    Parameters
    ----------
    offset_ns : float
        Server minus client at the client's time 0.
    drift : float
        Nanoseconds per nanosecond.
    least_rtt_ms : float or None
    """

    offset_ns: float
    drift: float
    least_rtt_ms: float | None

    def to_client(self, server_ns: NDArray[np.float64]) -> NDArray[np.float64]:
        """Convert times of the server's clock."""
        converted: NDArray[np.float64] = (server_ns - self.offset_ns) / (1 + self.drift)
        return converted


def clocks_of(recorded: Sequence[Recorded]) -> Clocks:
    """Compare the clocks by the questions with the lowest RTTs: halfway, the other clock was read.

    A longer RTT may contain a wait in one direction, in the queue that a phase fills: half of the wait would
    seem to be a difference of the clocks.
    """
    rows = np.array([row for one in recorded for row in one.client.clocks], dtype=np.float64).reshape(-1, 3)
    if len(rows) == 0:
        return Clocks(0.0, 0.0, None)
    rtt = rows[:, 2] - rows[:, 0]
    middle = (rows[:, 0] + rows[:, 2]) / 2
    offset = rows[:, 1] - middle
    near = int(np.count_nonzero(rtt <= NEAR * rtt.min()))
    best = np.argsort(rtt)[: max(1, min(len(rtt) // 4, near))]
    span_ns = float(np.ptp(middle[best]))
    drift = 0.0
    if len(best) >= 8 and span_ns > 30e9:
        # Clocks of hosts drift by less than 200 millionths; a steeper line is queueing.
        drift = float(
            np.clip(np.polyfit(middle[best] - middle[best].mean(), offset[best], 1)[0], -2e-4, 2e-4)
        )
    level = float(np.median(offset[best] - drift * middle[best]))
    return Clocks(level, drift, float(rtt.min()) / 1e6)


@dataclass(frozen=True)
class Direction:
    """One direction of a recorded link.

    Parameters
    ----------
    recording : Recording
    sent, received : int
        Packets of data.
    is_cut : bool
        Whether the volume came to its limit.
    """

    recording: Recording
    sent: int
    received: int
    is_cut: bool


def directions_of(recorded: Sequence[Recorded], clocks: Clocks) -> dict[str, Direction]:
    """Make recordings of the directions that were kept busy."""
    found = {}
    for one in recorded:
        for name, sender, receiver in (
            ("downlink", one.server, one.client),
            ("uplink", one.client, one.server),
        ):
            if sender.sent == 0:
                continue
            seen = np.array([row[2] for row in receiver.data], dtype=np.float64)
            if name == "uplink":
                seen = clocks.to_client(seen)
            at_ms = (seen - one.start_ns) / 1e6 - 1000 * WARM_S
            length = round(1000 * (one.phase.seconds - WARM_S))
            if sender.is_cut:
                # The sender stopped before the end: what follows is no silence of the link.
                length = max(0, min(length, int(at_ms.max(initial=0.0))))
            inside = at_ms[(at_ms >= 0) & (at_ms < length)].astype(np.int64)
            counts = np.bincount(inside, minlength=length).astype(np.int32)
            recording = Recording(name, "recorded by airpath record", counts)
            found[name] = Direction(recording, sender.sent, len(receiver.data), sender.is_cut)
    return found


def light_csv(recorded: Sequence[Recorded], clocks: Clocks) -> str:
    """Write the trains: one-way delays of packets into a direction that was idle, by the compared clocks."""
    lines = ["direction,train,packet,sent_s,delay_ms"]
    for one in recorded:
        for name, log in (("downlink", one.client), ("uplink", one.server)):
            for train, packet, sent_ns, seen_ns in log.trains:
                times = np.array([sent_ns, seen_ns], dtype=np.float64)
                server = 0 if name == "downlink" else 1
                times[server] = clocks.to_client(times[server : server + 1])[0]
                sent_s, delay_ms = (times[0] - one.start_ns) / 1e9, (times[1] - times[0]) / 1e6
                lines.append(f"{name},{train},{packet},{sent_s:.6f},{delay_ms:.3f}")
    return "\n".join(lines) + "\n"


def idle_rtt_ms(recording: Path) -> float | None:
    """Return the lowest RTT in ms that was measured with a recording of `airpath record`; None for others."""
    try:
        meta = json.loads((recording.parent / "meta.json").read_text("utf-8"))
    except (OSError, ValueError):
        return None
    if not isinstance(meta, dict) or meta.get("recorded_by") != RECORDED_BY:
        return None
    rtt = meta.get("least_rtt_ms")
    low, high = RTT_MS
    return float(rtt) if isinstance(rtt, (int, float)) and low <= rtt <= high else None


def meta_of(directions: Mapping[str, Direction], clocks: Clocks, words: Mapping[str, Any]) -> dict[str, Any]:
    """Say what is known of a recording."""
    return {
        "recorded_by": RECORDED_BY,
        **words,
        "ip_bytes": IP_BYTES,
        "least_rtt_ms": clocks.least_rtt_ms,
        "clock_drift_ppm": round(1e6 * clocks.drift, 2),
        "directions": {
            name: {
                "sent": one.sent,
                "received": one.received,
                "lost": one.sent - one.received,
                "seconds": one.recording.duration_s,
                "mean_mbps": round(one.recording.mean_bps / 1e6, 4),
                "volume_limit_reached": one.is_cut,
            }
            for name, one in directions.items()
        },
    }
