"""Starts `airpath` in a fork of this process, which has imported it: half of a short run is its imports.

The fork draws no pictures, as `undrawn.py`. It has the standard streams, folder and environment that it is
given, and handles signals as a new process does. What differs: the kernel shows arguments and environment of
this process as its own, so that `marked` has to be told of it.
"""

from __future__ import annotations

import contextlib
import faulthandler
import os
import subprocess
import sys
import traceback
import warnings
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import import_module
from typing import Any, NoReturn

from airpath.cli import main as cli
from airpath.drawing.picture import Picture

WHEN_IT_ENDS = ("airpath.live.watcher", "airpath.live.session", "airpath.studio.page", "pyarrow.parquet")
"""Modules that a run imports in addition to its command's."""

OPTIONS = {"stdin", "stdout", "stderr", "text", "env", "cwd"}
"""Options of `subprocess.Popen` that a fork can have."""


@cache
def preload() -> None:
    """Import what a run imports."""
    cli.load_command("live")
    for name in WHEN_IT_ENDS:
        import_module(name)


def start_forked(arguments: Sequence[str], env: Mapping[str, str], **options: Any) -> subprocess.Popen[str]:
    """Start `airpath` with these arguments."""
    preload()
    with warnings.catch_warnings():
        # Newer versions of Python warn of forks where there are threads: those here only wait for work.
        warnings.simplefilter("ignore", DeprecationWarning)
        # Popen calls it in the child, once it has its streams and its folder; it never comes back.
        return subprocess.Popen(
            ["airpath", *arguments],
            preexec_fn=lambda: _become(["airpath", *arguments], dict(env)),
            **options,
        )


def _become(words: list[str], environment: Mapping[str, str]) -> NoReturn:
    """Run the command, as if the interpreter had just been started for it."""
    code = 1
    try:
        faulthandler.disable()
        # Also the pipe through which Popen waits for the start.
        os.closerange(3, os.sysconf("SC_OPEN_MAX"))
        sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
        sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
        sys.stderr = open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
        os.environ.clear()
        os.environ.update(environment)
        warnings.resetwarnings()
        for category in (DeprecationWarning, PendingDeprecationWarning, ImportWarning, ResourceWarning):
            warnings.simplefilter("ignore", category)
        Picture.as_bytes = lambda *_, **__: b""  # type: ignore[method-assign]
        sys.argv = words
        from airpath.__main__ import main

        main()
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else 0 if ended.code is None else 1
    except BaseException:
        traceback.print_exc()
    finally:
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError):
                stream.flush()
        os._exit(code)
