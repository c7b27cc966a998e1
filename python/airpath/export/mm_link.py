"""What a bearer did as the log of mahimahi's `mm-link`, for the tools that read such logs.

After header lines that begin with `#`, times in whole milliseconds since the run began:

```text
T # BYTES           an opportunity to send
T + BYTES           a packet arrived, whether or not it found room
T - BYTES DELAY     a packet has left, DELAY ms after its arrival
T d PACKETS BYTES   packets were dropped on arrival or given up
```

A log is of one bearer, as mahimahi's is of one direction of a link. Opportunities are those that the
channel offered: of `radio.variable` its trace; a cell with a rate has none, and the log shows a trace of
that rate. A trace does not say in which direction a dropped packet went: one that is as long as those
that carry the flow's data is taken for data. Source: mm-link(1) and how the program behaves.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from typing import IO

from airpath import _core
from airpath.errors import ExportError
from airpath.export.source import LET_IN, Run

KINDS = ("bearer_enqueued", "bearer_delivered", "dropped")
COLUMNS = ("ue", "flow", "direction", "len_bytes", "delay_ns", "element", "reason")

NS_PER_MS = 1_000_000
# What a line of a trace lets pass, by `channel.trace_file.accounting`.
OPPORTUNITY_BYTES = {"ip_1500": 1500, "tun_1504": 1504}
# Longest packet that carries nothing: IPv6, TCP, timestamps.
PURE_ACK_BYTES = 40 + 20 + 12

# Time in nanoseconds, rank among lines of the same time, the line.
Line = tuple[int, int, str]


def write_mm_link(run: Run, out: IO[bytes], *, ue: int, direction: str) -> None:
    """Write what one bearer did as a log of `mm-link`.

    Parameters
    ----------
    run : Run
        Where from.
    out : binary file
        Where to.
    ue : int
        Number of the UE.
    direction : str
        ``"downlink"`` or ``"uplink"``.

    Raises
    ------
    ExportError
        If the run had no such bearer, its delay varies, or its trace does not tell.
    """
    run.require(KINDS)
    if not 0 <= ue < run.cell["ues"]:
        raise ExportError("--ue", f"the run had no UE {ue}", f"write 0 to {run.cell['ues'] - 1}")
    behind_ns = run.delay_ns(direction)
    header = (f"# mahimahi mm-link ({direction}) [airpath {_core.version()}, UE {ue}]", "# base timestamp: 0")
    out.writelines(f"{line}\n".encode() for line in header)
    lines = heapq.merge(_opportunities(run, direction), _events(run, ue, direction, behind_ns))
    out.writelines(line.encode() for _, _, line in lines)


def _opportunities(run: Run, direction: str) -> Iterator[Line]:
    """The channel's opportunities until the end of the run, used or not."""
    bearer = run.cell[direction]
    channel = bearer["channel"].get("trace_file") or {"trace": _core.constant_trace(bearer["rate"])}
    size = OPPORTUNITY_BYTES[channel.get("accounting", "ip_1500")]
    times = [int(line) for line in channel["trace"].split()]
    end_ms = run.summary["simulated_s"] * 1000
    base = 0
    while base < end_ms:
        for time in times:
            if base + time > end_ms:
                return
            yield (base + time) * NS_PER_MS, 1, f"{base + time} # {size}\n"
        if channel.get("once", False):
            return
        base += times[-1]


def _events(run: Run, ue: int, direction: str, behind_ns: int) -> Iterator[Line]:
    """Arrivals, departures and drops at the bearer, as they happened."""
    cell = run.cell_element
    # By flow: direction of the data.
    data: dict[tuple[int, int], str] = {
        (flow["ue"], flow["flow"]): flow["direction"] for flow in run.summary["flows"]
    }
    for time, event, of_ue, flow, towards, size, delay_ns, element, reason in run.rows(KINDS, COLUMNS):
        if of_ue != ue:
            continue
        ms = time // NS_PER_MS
        if event == "dropped":
            if element == cell and _dropped_towards(data.get((of_ue, flow)), size) == direction:
                # What the link layer gave up had been let in.
                arrival = "" if reason in LET_IN else f"{ms} + {size}\n"
                yield time, 0, f"{arrival}{ms} d 1 {size}\n"
        elif towards == direction:
            if event == "bearer_enqueued":
                yield time, 0, f"{ms} + {size}\n"
            else:
                arrived = time - (delay_ns - behind_ns)
                yield time, 2, f"{ms} - {size} {ms - arrived // NS_PER_MS}\n"


def _dropped_towards(data: str | None, size: int) -> str:
    towards_ue = (size > PURE_ACK_BYTES) == (data != "uplink")
    return "downlink" if towards_ue else "uplink"
