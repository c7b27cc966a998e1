"""A live run in a process of its own, since a session owns its process's signals.

What is wrong is the last line on that process's standard error: JSON, the parts of a `LiveError`.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airpath.errors import LiveError
from airpath.live.driver import driver_command
from airpath.runs.recorder import RESULTS
from airpath.runs.renamed import current

if TYPE_CHECKING:
    from airpath.live.control import Control
    from airpath.live.session import Listener

FAILED = 3


def run(configuration: dict[str, Any], listener: Listener, control: Control | None = None) -> dict[str, Any]:
    """In that process: make the run, and return its results; end with status `FAILED` if there are none."""
    # Not before here: what it uses is there on Unix only.
    from airpath.live.session import Session

    try:
        return Session(configuration, listener, driver=driver_command(), control=control).run()
    except LiveError as error:
        print(json.dumps(error.args), file=sys.stderr)
        sys.exit(FAILED)


def outcome(folder: Path, status: int, said: str) -> dict[str, Any]:
    """Outside of it: read the results, from its exit status and what it said.

    Raises
    ------
    LiveError
        If there are none.
    """
    lines = said.strip().splitlines() or ["it said nothing"]
    if status == FAILED:
        raise LiveError(*json.loads(lines[-1]))
    if status != 0:
        raise LiveError("live", f"a live run ended with status {status}: {lines[-1]}", "see 'airpath doctor'")
    return current(json.loads((folder / RESULTS).read_text(encoding="utf-8")))
