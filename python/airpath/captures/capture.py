"""The analysis of a capture as Python data."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from airpath import _core
from airpath.errors import ScenarioError

MOST_CONNECTIONS = 100
"""Connections described in full: those with most data."""
CAUSES = {
    "fast_retransmit": "fast retransmit",
    "partial_ack": "partial ACK",
    "sack": "SACK",
    "timeout": "timeout",
    "go_back_n": "go-back-N",
    "tail_probe": "tail loss probe",
    "other": "unknown cause",
}
"""Causes of retransmissions, and what they are called."""


def analyze(capture: str | os.PathLike[str], most: int = MOST_CONNECTIONS) -> dict[str, Any]:
    """Analyze the TCP connections in a capture.

    Parameters
    ----------
    capture : path
        A pcap or pcapng file.
    most : int
        Connections to describe in full; the others are summed up.

    Returns
    -------
    dict
        As `airpath analyze --json` writes it, without the models' predictions; see docs/analyze.md.

    Raises
    ------
    ScenarioError
        If the file is not a capture.
    OSError
        If it cannot be read.
    """
    path = Path(capture)
    # Opened here: Python's errors name the file.
    with path.open("rb"):
        pass
    try:
        report: dict[str, Any] = json.loads(_core.analyze(path, most))
    except ValueError as error:
        raise ScenarioError(str(path), str(error), "name a file that tcpdump or Wireshark wrote") from error
    return report
