"""Exports a bearer's deliveries as a trace of mahimahi: each line is a millisecond in which 1500 bytes left.

mahimahi records such traces on a busy link. The same holds here: if the flows offer more than the bearer
carries, the trace describes the link, otherwise the flows. Times are rounded up to whole milliseconds.
Source: mahimahi's mm-link(1).
"""

from __future__ import annotations

from typing import IO

from airpath.errors import ExportError
from airpath.runs.export.source import Run

OPPORTUNITY_BYTES = 1500
NS_PER_MS = 1_000_000


def write_mm_trace(run: Run, out: IO[bytes], *, ue: int, direction: str) -> None:
    """Write when a bearer had delivered another 1500 bytes of IP; parameters as of `write_mm_link`.

    Raises
    ------
    ExportError
        If the run had no such bearer, or it delivered nothing after the first millisecond.
    """
    run.require_bearer(("bearer_delivered",), ue)
    delivered, last_ms = 0, 0
    for time, _, of_ue, towards, size in run.rows(("bearer_delivered",), ("ue", "direction", "len_bytes")):
        if (of_ue, towards) == (ue, direction):
            before, delivered = delivered, delivered + size
            last_ms = -(-time // NS_PER_MS)
            lines = delivered // OPPORTUNITY_BYTES - before // OPPORTUNITY_BYTES
            out.write(b"%d\n" % last_ms * lines)
    if delivered < OPPORTUNITY_BYTES or last_ms == 0:
        what = f"UE {ue} had no {OPPORTUNITY_BYTES} bytes delivered on its {direction}"
        raise ExportError(str(run.folder), what, "choose the other --direction, or another --ue")
