"""Exports a bearer for mahimahi: as a log of its `mm-link`, or as a trace of opportunities to send.

In a log, after header lines that begin with `#`, T is a time in whole milliseconds since the run began:

```text
T # BYTES           an opportunity to send
T + BYTES           a packet arrived, whether or not it found room
T - BYTES DELAY     a packet has left, DELAY ms after its arrival
T d PACKETS BYTES   packets were dropped on arrival or given up
```

A log describes one bearer, as mahimahi's describes one direction of a link. Opportunities are the channel's:
the trace of `radio.variable`, or for a bearer of constant rate the trace of that rate. Where the rate varies
or UEs share the cell there is neither: an opportunity is each 1500 bytes that left, so that a busy bearer
shows the link. The run's trace does not tell the direction of a dropped packet: one as long as the flow's
data packets counts as data.
Source: mm-link(1), and the behaviour of the program.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from typing import IO

from airpath import _core
from airpath.errors import ExportError
from airpath.runs.export.source import LET_IN, Run
from airpath.runs.flows import by_path

KINDS = ("bearer_enqueued", "bearer_delivered", "dropped")
COLUMNS = ("ue", "flow", "direction", "len_bytes", "delay_ns", "element", "reason")

NS_PER_MS = 1_000_000
PACKET_BYTES = 1500
# Bytes of an opportunity, by `channel.trace_file.accounting`.
OPPORTUNITY_BYTES = {"ip_1500": PACKET_BYTES, "tun_1504": 1504}
# Longest packet without payload: IPv6, TCP, timestamps.
PURE_ACK_BYTES = 40 + 20 + 12

# Time in nanoseconds, rank among lines of the same time, the line.
Line = tuple[int, int, str]


def write_mm_link(run: Run, out: IO[bytes], *, ue: int, direction: str) -> None:
    """Write a bearer's packets as a log of `mm-link`; `direction` is ``"downlink"`` or ``"uplink"``.

    Raises
    ------
    ExportError
        If the run had no such bearer, its delay varies, or its trace lacks a kind of event.
    """
    run.require_bearer(KINDS, ue)
    behind_ns = run.delay_ns(direction)
    header = (f"# mahimahi mm-link ({direction}) [airpath {_core.version()}, UE {ue}]", "# base timestamp: 0")
    out.writelines(f"{line}\n".encode() for line in header)
    lines = heapq.merge(_opportunities(run, ue, direction), _events(run, ue, direction, behind_ns))
    out.writelines(line.encode() for _, _, line in lines)


def write_mm_trace(run: Run, out: IO[bytes], *, ue: int, direction: str) -> None:
    """Write a bearer's deliveries for mahimahi: a line for each millisecond in which 1500 bytes left.

    mahimahi records such traces on a busy link. The same holds here: if the flows offer more than the bearer
    carries, the trace describes the link, otherwise the flows. Times are rounded up to whole milliseconds.

    Raises
    ------
    ExportError
        If the run had no such bearer, or it delivered nothing after the first millisecond.
    """
    run.require_bearer(("bearer_delivered",), ue)
    last_ms = 0
    for time in _deliveries(run, ue, direction):
        last_ms = -(-time // NS_PER_MS)
        out.write(b"%d\n" % last_ms)
    if last_ms == 0:
        what = f"UE {ue} had no {PACKET_BYTES} bytes delivered on its {direction}"
        raise ExportError(str(run.folder), what, "choose the other --direction, or another --ue")


def _deliveries(run: Run, ue: int, direction: str) -> Iterator[int]:
    """Times in nanoseconds when another 1500 bytes had left a bearer."""
    delivered = 0
    for time, _, of_ue, towards, size in run.rows(("bearer_delivered",), ("ue", "direction", "len_bytes")):
        if (of_ue, towards) == (ue, direction):
            before, delivered = delivered, delivered + size
            yield from [time] * (delivered // PACKET_BYTES - before // PACKET_BYTES)


def _opportunities(run: Run, ue: int, direction: str) -> Iterator[Line]:
    """All opportunities of the channel until the end of the run."""
    bearer = run.cell[direction]
    rate = run.rate(direction)
    channel = bearer.get("channel", {}).get("trace_file") or (rate and {"trace": _core.constant_trace(rate)})
    if not channel:
        for time in _deliveries(run, ue, direction):
            yield time, 1, f"{time // NS_PER_MS} # {PACKET_BYTES}\n"
        return
    size = OPPORTUNITY_BYTES[channel.get("accounting", "ip_1500")]
    times = [int(line) for line in channel["trace"].split()]
    end_ns = run.summary["simulated_s"] * 1000 * NS_PER_MS
    offset_ns = _core.recording_offset(channel.get("offset", "0 s"), times[-1], run.summary["seed"], ue)
    base = 0
    while base * NS_PER_MS - offset_ns < end_ns:
        for time in times:
            at_ns = (base + time) * NS_PER_MS - offset_ns
            if at_ns > end_ns:
                return
            if at_ns >= 0:
                yield at_ns, 1, f"{at_ns // NS_PER_MS} # {size}\n"
        if channel.get("once", False):
            return
        base += times[-1]


def _events(run: Run, ue: int, direction: str, behind_ns: int) -> Iterator[Line]:
    """Arrivals, departures and drops at the bearer, in order."""
    cell = run.cell_element
    # Direction of the data, by flow.
    data: dict[tuple[int, int], str] = {
        (flow["ue"], flow["flow"]): flow["direction"] for flow in by_path(run.summary)["flows"]
    }
    for time, event, of_ue, flow, towards, size, delay_ns, element, reason in run.rows(KINDS, COLUMNS):
        if of_ue != ue:
            continue
        ms = time // NS_PER_MS
        if event == "dropped":
            if element == cell and _dropped_towards(data.get((of_ue, flow)), size) == direction:
                # The link layer gave it up after its arrival.
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
