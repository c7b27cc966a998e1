"""External programs that tests run. Where one is missing a test is skipped, and `make test` says so."""

from __future__ import annotations

import subprocess
from pathlib import Path

import left_out
import pytest

PATIENCE_S = 60
"""No test waits longer than this for a program, in seconds."""


def needs(*programs: str) -> pytest.MarkDecorator:
    """Skip a test where one of these programs is missing."""
    reason = left_out.why(*programs)
    return pytest.mark.skipif(bool(reason), reason=reason)


def require(*programs: str) -> None:
    """Skip the test that calls this where one of these programs is missing."""
    if reason := left_out.why(*programs):
        pytest.skip(reason)


def tshark(file: Path, display_filter: str, *arguments: object) -> str:
    """Give what tshark prints of the packets that pass a filter; without tshark the test is skipped."""
    require("tshark")
    command = ["tshark", "-n", "-r", file, "-Y", display_filter, *arguments]
    done = subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, check=True, timeout=PATIENCE_S
    )
    return done.stdout


def tshark_count(file: Path, display_filter: str) -> int:
    """Count the packets that pass a filter."""
    return len(tshark(file, display_filter, "-T", "fields", "-e", "frame.number").split())
