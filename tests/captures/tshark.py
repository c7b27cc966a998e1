"""Captures of runs, and what tshark shows of them."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

from programs import needs, require

import airpath

needs_tshark = needs("tshark")

ERROR = 0x00800000
"""As Wireshark numbers severities."""
_COMPLAINTS = ("_ws.malformed", "_ws.expert.severity", "_ws.expert.message")


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
    return _fields(file, display_filter, names, options, ";", ";")


def _fields(
    file: Path, display_filter: str, names: tuple[str, ...], options: tuple[str, ...], separator: str, by: str
) -> list[list[str]]:
    require("tshark")
    command = ["tshark", "-n", *options, "-r", str(file), "-Y", display_filter]
    command += ["-T", "fields", "-E", f"separator={separator}"]
    for name in names:
        command += ["-e", name]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return [line.split(by) for line in done.stdout.splitlines()]


class Frames:
    """The frames at an interface of a capture. tshark reads them once, which takes longer than their run.

    `protocols` and `names` are all that is asked for later, `options` are those of tshark.
    """

    def __init__(
        self, file: Path, interface: str, protocols: tuple[str, ...], names: tuple[str, ...], *options: str
    ) -> None:
        asked = tuple(dict.fromkeys(("frame.number", *protocols, *names, *_COMPLAINTS)))
        at = f'frame.interface_name == "{interface}"'
        # The names of protocols and complaints are text, which may have a semicolon.
        self.rows = [
            dict(zip(asked, line, strict=True)) for line in _fields(file, at, asked, options, "/t", "\t")
        ]
        assert self.rows

    def having(self, *protocols: str) -> list[dict[str, str]]:
        """Frames in which tshark finds one of these protocols at least."""
        return [row for row in self.rows if any(row[protocol] for protocol in protocols)]

    def fields(self, protocol: str, names: tuple[str, ...]) -> list[list[str]]:
        """Fields of the frames with a protocol; all occurrences of a field."""
        return [[row[name] for name in names] for row in self.having(protocol)]

    def wrong(self) -> list[tuple[str, str]]:
        """Frames that are malformed or have an error, and what tshark says about them."""
        return [
            (row["frame.number"], row["_ws.expert.message"])
            for row in self.rows
            if row["_ws.malformed"]
            or any(int(found, 0) >= ERROR for found in row["_ws.expert.severity"].split(",") if found)
        ]
