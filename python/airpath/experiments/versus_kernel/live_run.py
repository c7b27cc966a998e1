"""The process of one live run: `python -m airpath.experiments.versus_kernel.live_run FOLDER`.

The driver's configuration comes on standard input. A process for each run, since a session owns its process's
signals. It leaves `capture.pcapng` and `results.json` in the folder. Errors are as of `airpath.live.apart`.
When standard input ends, the run is told to end: whoever started this has gone.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from pathlib import Path
from typing import IO

from airpath.files.atomic import replacing, write_whole
from airpath.live import apart
from airpath.live.session import Listener
from airpath.runs.recorder import CAPTURE, RESULTS
from airpath.runs.trace import Events

STDIN = 0


class CaptureFile(Listener):
    """Listens to a session and keeps nothing but the packets."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def handle_record(self, events: Events, capture: bytes) -> None:
        """See `Listener`."""
        self._file.write(capture)


def main() -> None:
    """Run it."""
    folder = Path(sys.argv[1])
    configuration = json.loads(sys.stdin.readline())
    threading.Thread(target=_end_with_input, daemon=True).start()
    with replacing(folder / CAPTURE) as file:
        results = apart.run(configuration, CaptureFile(file))
    write_whole(folder / RESULTS, json.dumps(results, indent=2) + "\n")


def _end_with_input() -> None:
    # Not by `sys.stdin`, whose lock the end of the interpreter would want.
    while os.read(STDIN, 4096):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    main()
