"""Reads a recording of any known format, compressed by gzip or not; the format is found by the content."""

from __future__ import annotations

import gzip
import io
import zlib
from dataclasses import replace
from pathlib import Path

from airpath.errors import ScenarioError
from airpath.files.text import open_to_read
from airpath.recordings.formats import capture, opportunities, phones, rates
from airpath.recordings.formats.table import LineError, gaps_of, header_of, refusal
from airpath.recordings.recording import Recording

MOST_BYTES = 512_000_000
"""No recording is larger, uncompressed."""
FIRST_LINES = 20
"""The format is found by so many lines."""
GZIP = b"\x1f\x8b"
KNOWN = (
    "milliseconds in lines (mahimahi, CellReplay), CSV with time_s and rate_kbps, UCC's and 5Gophers' CSV, "
    "Norway's logs, and captures"
)


def read_recording(path: Path, *, column: str | None = None) -> Recording:
    """Read a recording.

    Parameters
    ----------
    path : Path
        The file.
    column : str, optional
        Operator of 5Gophers' files, or UCC's column of rates, such as ``"UL_bitrate"``.

    Raises
    ------
    ScenarioError
        If it cannot be read, is of no known format, or a line is not what its format requires.
    """
    try:
        content = _content(path)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        problem = "it ends early" if isinstance(error, EOFError) else str(error)
        raise ScenarioError(str(path), f"is damaged: {problem}", "fetch it again") from error
    except OSError as error:
        problem = error.strerror or str(error)
        raise ScenarioError(str(path), f"cannot be read: {problem}", "check the path") from error
    if len(content) > MOST_BYTES:
        raise ScenarioError(str(path), f"is larger than {MOST_BYTES / 1e6:g} MB", "give a part of it")
    name = path.name.removesuffix(".gz")
    if capture.find(content):
        return capture.read(name, path)
    try:
        text = content.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError as error:
        hint = f"give {KNOWN}; as UTF-8, compressed by gzip or not"
        raise ScenarioError(str(path), "is no text and no capture", hint) from error
    del content
    try:
        found = _parsed(name, text, column)
        return replace(found, notes=(*found.notes, *gaps_of(found.series))) if found.series else found
    except LineError as error:
        raise refusal(str(path), error) from error


NATIVE_COLUMNS = {"time_s", "rate_kbps", "delay_ms", "loss"}
"""Columns of `channel.series`."""
HEAD_BYTES = 65_536


def is_foreign(path: Path) -> bool:
    """Whether a file is a recording that scenarios cannot name as it is: `read_recording` reads it."""
    try:
        with open_to_read(path) as file:
            head = file.read(HEAD_BYTES) or b""
    except OSError:
        return False
    if head.startswith(GZIP) or capture.find(head):
        return True
    text = head.decode("utf-8", errors="replace")
    # The last line may be cut.
    lines = [line for line in text.splitlines() if line.strip()][:FIRST_LINES]
    lines = lines[:-1] if len(head) == HEAD_BYTES and len(lines) < FIRST_LINES else lines
    if not lines or opportunities.find_mahimahi(lines):
        return False
    if rates.find_csv(lines):
        return not set(header_of(lines)) <= NATIVE_COLUMNS
    finders = (phones.find_ucc, phones.find_gophers, rates.find_two, rates.find_six, opportunities.find_light)
    return any(find(lines) for find in finders)


def _content(path: Path) -> bytes:
    with open_to_read(path) as file:
        content = file.read(MOST_BYTES + 1) or b""
    if content.startswith(GZIP):
        # Up to the limit: a small file may hold gigabytes.
        with gzip.open(io.BytesIO(content)) as plain:
            return plain.read(MOST_BYTES + 1)
    return content


def _parsed(name: str, text: str, column: str | None) -> Recording:
    lines = [line for line in text[:1_000_000].splitlines() if line.strip()][:FIRST_LINES]
    if not lines:
        raise LineError(1, "the file is empty", f"give {KNOWN}")
    if phones.find_ucc(lines):
        return phones.read_ucc(name, text, "DL_bitrate" if column is None else column)
    if phones.find_gophers(lines):
        return phones.read_gophers(name, text, column)
    if column is not None:
        raise ScenarioError("--column", f"'{name}' has no columns to choose from", "leave it out")
    if rates.find_csv(lines):
        return rates.read_csv(name, text)
    for find, read in (
        (opportunities.find_mahimahi, opportunities.read_mahimahi),
        (rates.find_two, rates.read_two),
        (rates.find_six, rates.read_six),
        (opportunities.find_light, opportunities.read_light),
    ):
        if find(lines):
            return read(name, text)
    # What most of its lines are says what is wrong with the rest.
    if find_most(lines):
        return opportunities.read_mahimahi(name, text)
    raise LineError(1, f"{lines[0][:40]!r} is of no known format", f"give {KNOWN}")


def find_most(lines: list[str]) -> bool:
    """Whether most lines are whole milliseconds: then the others are errors."""
    return 2 * sum(line.strip().isdigit() for line in lines) > len(lines)
