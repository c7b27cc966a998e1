"""No recording of others is part of airpath: such recordings have licences of their own, some of them GPL."""

from __future__ import annotations

import gzip
import subprocess
from pathlib import Path

import pytest
from programs import needs

ROOT = Path(__file__).parents[2]
SHIPPED = ("python", "crates")
"""Folders of the wheel, the source distribution and the crates."""
LONG = 200
"""A list of so many ascending numbers is a recording."""


def shipped_files() -> list[Path]:
    """Files under version control that are shipped."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", *SHIPPED], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if listed.returncode != 0:
        pytest.skip("not a repository")
    return [file for name in listed.stdout.split("\0") if name and (file := ROOT / name).is_file()]


def is_recording(octets: bytes) -> bool:
    """Whether a file is a list of times, or a table of rates over time, compressed or not."""
    if octets[:2] == b"\x1f\x8b":
        octets = gzip.decompress(octets)
    lines = octets.split(b"\n", LONG + 3)[1 : LONG + 1]
    if len(lines) < LONG:
        return False
    try:
        first = [float(line.replace(b",", b" ").split()[0]) for line in lines]
    except (ValueError, IndexError):
        return False
    return first == sorted(first) and first[-1] > first[0]


@needs("git")
def test_only_traces_that_airpath_makes_are_shipped():
    found = [file for file in shipped_files() if is_recording(file.read_bytes())]
    # `make traces` makes each from the scenario beside it.
    assert found and all(file.suffix == ".trace" and file.with_suffix(".toml").is_file() for file in found), (
        found
    )


def test_recordings_are_recognised():
    times = "".join(f"{7 * n}\n" for n in range(1000)).encode()
    assert is_recording(times) and is_recording(gzip.compress(times))
    rates = "time_s,rate_kbps\n" + "".join(f"{n},{n % 7}\n" for n in range(1000))
    assert is_recording(rates.encode())
    assert not is_recording(b"1\n2\n3\n") and not is_recording(b"text\n" * 1000)
