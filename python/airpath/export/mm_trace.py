"""What a bearer delivered as a trace of mahimahi: in each line a millisecond in which 1500 bytes left.

mahimahi records such traces by keeping a link busy and noting when packets of 1500 bytes arrive. A run does
the same: where its flows offer more than the bearer carries, the trace is that of the link; where they offer
less, it is that of the flows. Times are rounded up to whole milliseconds. Source: mahimahi's mm-link(1).
"""

from __future__ import annotations

from typing import IO

from airpath.errors import ExportError
from airpath.export.source import Run

OPPORTUNITY_BYTES = 1500
NS_PER_MS = 1_000_000


def write_mm_trace(run: Run, out: IO[bytes], *, ue: int, direction: str) -> None:
    """Write when one bearer had delivered another 1500 bytes of IP.

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
        If the run had no such bearer, or nothing was delivered there after the first millisecond.
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
