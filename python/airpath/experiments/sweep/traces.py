"""Recordings as an axis of a sweep: each file of a folder is a link, entered at a random offset."""

from __future__ import annotations

from pathlib import Path

from airpath.errors import ScenarioError, SweepError
from airpath.recordings.reader import read_recording
from airpath.recordings.recording import Recording
from airpath.scenario import inline

RECORDING = "recording"
"""Parameter of a point that names its recording."""
Links = dict[str, list[tuple[str, str]]]
"""By the name of a recording, the changes that put it into a scenario with `radio.variable`."""

PAIRS = (("down", "up"), ("downlink", "uplink"))


def links_of(folder: Path) -> Links:
    """Read all recordings in a folder, each with its uplink if there is one.

    The name of a file in which ``down`` is a word is that of a downlink; a file whose name has ``up`` there
    is its uplink, and no link of its own.

    Raises
    ------
    SweepError
        If there is no such folder, or a file in it is no recording.
    """
    if not folder.is_dir():
        raise SweepError("recordings", f"'{folder}' is no folder", "name a folder of recordings")
    files = sorted(one for one in folder.rglob("*") if one.is_file() and not _is_beside(one))
    uplinks = {file: other for file in files if (other := _uplink_of(file)) in files}
    links: Links = {}
    for file in files:
        if file in uplinks.values():
            continue
        name = str(file.relative_to(folder))
        links[name] = [_change("downlink", _read(file, name))]
        if (uplink := uplinks.get(file)) is not None:
            links[name].append(_change("uplink", _read(uplink, str(uplink.relative_to(folder)))))
    if not links:
        raise SweepError("recordings", f"'{folder}' has no recordings", "see airpath import --help")
    return links


def _is_beside(file: Path) -> bool:
    """Whether a file only describes recordings: those of `airpath record`, and texts."""
    return file.name.startswith(".") or file.suffix in (".md", ".txt", ".json") or file.name == "light.csv"


def _uplink_of(file: Path) -> Path | None:
    parts = file.name.split(".")
    for down, up in PAIRS:
        if down in parts:
            return file.with_name(".".join(up if part == down else part for part in parts))
    return None


def _read(file: Path, name: str) -> Recording:
    try:
        return read_recording(file)
    except ScenarioError as error:
        _, message, hint = error.args
        raise SweepError("recordings", f"{name}: {message}", hint) from error


def _change(direction: str, recording: Recording) -> tuple[str, str]:
    kind, parameters = recording.channel()
    return f"radio.variable.{direction}.channel", inline({kind: {**parameters, "offset": "random"}})
