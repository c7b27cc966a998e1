"""The process of a live run for a `RadioLink`: `python -m airpath.live.bench FOLDER`.

Standard input begins with the driver's configuration, and in it the scenario's name as "name". COMMAND and
the server are ushers: they have the standard input and output, and their sockets in a folder that is there as
long as the run. In the end FOLDER is that of a run, without picture and page. Errors are as of `apart`.
"""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import sys
import tempfile
from pathlib import Path

from airpath import _core
from airpath.live import apart
from airpath.live.control import DOOR, LONGEST_PATH, Control
from airpath.live.watcher import Watcher
from airpath.runs.recorder import Recorder, prepare
from airpath.scenario import Scenario

USHER = Path(__file__).resolve().with_name("usher.py")


def main() -> None:
    """Run it."""
    configuration = json.loads(sys.stdin.readline())
    name = configuration.pop("name")
    scenario = Scenario(name, configuration["scenario"])
    kinds = {kind: columns for kind, columns in _core.probes().items() if kind in configuration["probes"]}
    with prepare(Path(sys.argv[1]), force=True) as folder, folder_of_doors() as doors:
        watcher = Watcher(name, record=lambda: Recorder(folder, scenario, configuration["seed"], kinds))
        as_ue, as_server = (
            [sys.executable, "-I", "-S", str(USHER), f"{doors}/{end}", end] for end in ("ue", "server")
        )
        configuration |= {"command": as_ue, "server": f"exec {shlex.join(as_server)}"}
        with contextlib.ExitStack() as stack:
            stack.enter_context(contextlib.closing(watcher))
            control = Control(Path(doors) / DOOR) if configuration["control"] else None
            if control:
                stack.callback(control.close)
            results = apart.run(configuration, watcher, control)
        watcher.finish(configuration, results, drawn=False)


def folder_of_doors() -> tempfile.TemporaryDirectory[str]:
    """Make a folder in which paths of sockets are short enough."""
    usual = tempfile.gettempdir()
    longest = len(os.fsencode(usual)) + len("/airpath-12345678/server")
    folder = usual if longest <= LONGEST_PATH else "/tmp"
    return tempfile.TemporaryDirectory(prefix="airpath-", dir=folder, ignore_cleanup_errors=True)


if __name__ == "__main__":
    main()
