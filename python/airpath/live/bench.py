"""The process of a live run for a `RadioLink`: `python -m airpath.live.bench FOLDER`.

Standard input begins with the driver's configuration, and beside it the scenario's name as "name" and as
"doors" the folder of the ushers' sockets, which is removed in the end. The ushers have the standard input and
output. The folder is that of a run then, without picture and page. Errors are as of `airpath.live.apart`.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import sys
from pathlib import Path

from airpath import _core
from airpath.live import apart
from airpath.live.watcher import Watcher
from airpath.runs.recorder import Recorder
from airpath.scenario import Scenario


def main() -> None:
    """Run it."""
    configuration = json.loads(sys.stdin.readline())
    name, doors = configuration.pop("name"), configuration.pop("doors")
    scenario = Scenario(name, configuration["scenario"])
    kinds = {kind: columns for kind, columns in _core.probes().items() if kind in configuration["probes"]}
    folder = Path(sys.argv[1])
    watcher = Watcher(name, record=lambda: Recorder(folder, scenario, configuration["seed"], kinds))
    try:
        with contextlib.closing(watcher):
            results = apart.run(configuration, watcher)
        watcher.finish(configuration, results, drawn=False)
    finally:
        shutil.rmtree(doors, ignore_errors=True)


if __name__ == "__main__":
    main()
