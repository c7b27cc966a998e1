"""Fixtures of live runs. Where `airpath live` does not work, everything is skipped with the reason."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from live.harness import (
    AIRPATH,
    GONE_WITHIN_S,
    MARKER,
    PATIENCE_S,
    UNDRAWN,
    Outcome,
    describe,
    finish,
    marked,
    wait_until,
)


@pytest.fixture(scope="session", autouse=True)
def live_works() -> None:
    """Skip everything where it cannot work, and say why."""
    if sys.platform != "linux":
        pytest.skip("airpath live needs Linux")
    done = subprocess.run([AIRPATH, "doctor", "--json"], capture_output=True, text=True, timeout=PATIENCE_S)
    if done.returncode == 0:
        return
    checks = json.loads(done.stdout) if done.stdout else []
    missing = [check for check in checks if check["needed"] and check["ok"] is False]
    reason = "; ".join(f"{check['check']}: {check['found']}" for check in missing) or done.stderr
    pytest.skip(f"airpath live does not work here: {reason}")


@contextlib.contextmanager
def nothing_remains() -> Iterator[str]:
    """Give a new marker; in the end, no process has it any more."""
    marker = f"airpath-test-{uuid.uuid4()}"
    try:
        yield marker
        wait_until(lambda: not marked(marker), "no process remains", GONE_WITHIN_S)
    finally:
        for pid in marked(marker):
            print("remained:", describe(pid))
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


@pytest.fixture
def marker() -> Iterator[str]:
    """Mark what the test starts; in the end, none of it is there any more."""
    with nothing_remains() as new:
        yield new


@pytest.fixture(scope="module")
def module_marker() -> Iterator[str]:
    """Mark what a fixture of a module starts."""
    with nothing_remains() as new:
        yield new


Start = Callable[..., subprocess.Popen[str]]


def starter(marker: str) -> Start:
    """Make a function that starts airpath; with its picture only if that is wanted."""

    def call(
        *arguments: object,
        command: Sequence[object] | None = None,
        server: str | None = None,
        launcher: Sequence[str] = (),
        drawn: bool = False,
        **options: object,
    ) -> subprocess.Popen[str]:
        words = [*launcher, *([AIRPATH] if drawn else UNDRAWN), "live", *arguments]
        words += [] if server is None else ["--server", server]
        words += [] if command is None else ["--", *command]
        settings = {
            "stdin": subprocess.DEVNULL,
            "stdout": subprocess.PIPE,
            "stderr": subprocess.PIPE,
            "text": True,
            "env": {**os.environ, MARKER: marker},
            **options,
        }
        return subprocess.Popen([str(word) for word in words], **settings)

    return call


@pytest.fixture
def start(marker: str) -> Start:
    """Start airpath with these arguments; COMMAND and server's command by name."""
    return starter(marker)


@pytest.fixture
def live(start: Start, tmp_path: Path) -> Callable[..., Outcome]:
    """Run airpath to its end. Files are left only if asked for with out=True."""

    def call(*arguments: object, out: bool = False, **options: object) -> Outcome:
        folder = tmp_path / "out"
        process = start(*arguments, *(("--out", folder) if out else ()), **options)
        stdout, stderr = finish(process)
        return Outcome(process.returncode, stdout, stderr, folder)

    return call
