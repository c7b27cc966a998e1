"""The analysis of a capture as Python data."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from airpath import _core
from airpath.errors import ScenarioError

MOST_CONNECTIONS = 100
"""So many connections, those with most data, are described in full."""


def analyze(capture: str | os.PathLike[str], most: int = MOST_CONNECTIONS) -> dict[str, Any]:
    """Say what the TCP connections in a capture did.

    Parameters
    ----------
    capture : path
        A pcap or pcapng file.
    most : int
        How many connections to describe in full; the others are summed up.

    Returns
    -------
    dict
        As `airpath analyze --json` writes it, without the models' predictions; see docs/analyze.md.

    Raises
    ------
    ScenarioError
        If the file is no capture.
    OSError
        If it cannot be read.
    """
    path = Path(capture)
    # An error of the system has the file's name only if Python opens it.
    with path.open("rb"):
        pass
    try:
        report: dict[str, Any] = json.loads(_core.analyze(path, most))
    except ValueError as error:
        raise ScenarioError(str(path), str(error), "name a file that tcpdump or Wireshark wrote") from error
    return report
