"""Captures of runs, and what tshark shows of them."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

from programs import needs, require

import airpath

needs_tshark = needs("tshark")


def captured(folder: Path, name: str, changes: dict[str, Any], **options: Any) -> tuple[airpath.Result, Path]:
    """Run a bundled scenario with changes; give the run's result and its capture file."""
    scenario = airpath.load(name)
    for path, value in changes.items():
        scenario = scenario.with_(path, value)
    result = airpath.run(scenario, seed=1, **options)
    file = folder / "capture.pcapng"
    file.write_bytes(result.capture)
    return result, file


def fields(file: Path, display_filter: str, names: tuple[str, ...], *options: str) -> list[list[str]]:
    """Fields of the frames that pass; all occurrences of a field."""
    require("tshark")
    command = ["tshark", "-n", *options, "-r", str(file), "-Y", display_filter]
    command += ["-T", "fields", "-E", "separator=;"]
    for name in names:
        command += ["-e", name]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return [line.split(";") for line in done.stdout.splitlines()]
