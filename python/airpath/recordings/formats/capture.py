"""A capture at the receiver: each 1500 bytes that arrive at the address with most bytes are an opportunity.

Only a link that never ran empty shows what it can carry: a sender's pauses otherwise look like silences of
the link. Merged segments (GRO) count by their bytes.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from airpath import _core
from airpath.errors import ScenarioError
from airpath.recordings.formats.table import LineError, counts_of, refusal
from airpath.recordings.recording import Recording

BEGINNINGS = (
    *(b"\xd4\xc3\xb2\xa1", b"\xa1\xb2\xc3\xd4", b"\x4d\x3c\xb2\xa1", b"\xa1\xb2\x3c\x4d"),
    *(b"\x0a\x0d\x0d\x0a", b"\x28\xb5\x2f\xfd"),
)
"""First bytes of pcap (four kinds), pcapng and Zstandard."""
PACKET_BYTES = 1500


def find(content: bytes) -> bool:
    """Whether a file begins like a capture."""
    return content.startswith(BEGINNINGS)


def read(name: str, path: Path) -> Recording:
    """Read the arrivals of the direction with most bytes; a `ScenarioError` if there are too few."""
    try:
        found = _core.arrivals(path)
    except ValueError as error:
        raise ScenarioError(str(path), str(error), "give a pcap or pcapng file") from error
    if found is None or len(found[1]) < 2:
        raise ScenarioError(str(path), "has no IP packets", "give a capture of a transfer")
    address, times, sizes = found
    order = np.argsort(times, kind="stable")
    at_ms = (times[order] - times[order][0]) // 1_000_000
    total = np.cumsum(sizes[order].astype(np.int64)) // PACKET_BYTES
    opportunities = np.repeat(at_ms.astype(np.int64), np.diff(total, prepend=0))
    if len(opportunities) < 2 or opportunities[-1] == 0:
        raise ScenarioError(str(path), "has fewer than 3000 bytes in one direction", "give a longer transfer")
    try:
        counts = counts_of(opportunities)
    except LineError as error:
        raise refusal(str(path), error) from error
    note = f"bytes towards {address}; this is the link's capacity only while the sender kept it busy"
    return Recording(name, "capture at the receiver", counts, is_goodput=True, notes=(note,))
