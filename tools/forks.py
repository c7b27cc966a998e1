"""Calls of airpath in forks of this process, once it has imported what takes a second."""

from __future__ import annotations

import contextlib
import io
import os
import signal
import sys
import traceback
from collections.abc import Callable
from importlib import import_module

from airpath.cli import main as cli

SLOW = (
    "airpath_studies.report.page",
    "airpath.runs.picture",
    "airpath.studio.page",
)
"""Modules that commands import in addition to their own."""


def preload() -> None:
    """Import what commands import, and what the command line imports with its first argument."""
    for module in SLOW:
        import_module(module)
    for name in cli.COMMANDS:
        cli.load_command(name)
    with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
        cli.main(["config", "umts-384"])


def fork(run: Callable[[], object], limit_s: int, errors: int, output: int | None = None) -> int:
    """Run something in a fork, with nothing to read; give the fork's id.

    It writes to the open files `errors` and, unless that goes nowhere, `output`. After `limit_s` seconds
    SIGALRM ends it.
    """
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        signal.alarm(limit_s)
        nowhere = os.open(os.devnull, os.O_RDWR)
        for descriptor, file in enumerate((nowhere, nowhere if output is None else output, errors)):
            os.dup2(file, descriptor)
        sys.stdout, sys.stderr = (os.fdopen(file, "w", encoding="utf-8", closefd=False) for file in (1, 2))
        run()
        code = 0
    except SystemExit as ended:
        code = int(ended.code or 0)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
