"""Makes a process lack what Python on Windows lacks, as far as airpath could use it: a shim for tests.

It comes first in PYTHONPATH. Libraries are loaded before, since they look at the platform too. It cannot show
that Windows renames and removes no open file, nor its paths and consoles.
"""

import asyncio  # noqa: F401
import ctypes  # noqa: F401
import fcntl
import importlib
import os
import platform
import shutil  # noqa: F401
import signal
import subprocess
import sys
import sysconfig
import tempfile  # noqa: F401
from multiprocessing import connection
from types import ModuleType
from typing import Any

for library in (
    "click",
    "matplotlib.font_manager",
    "numpy",
    "pyarrow.parquet",
    "rich.console",
    "typer",
    "websockets.asyncio.server",
):
    importlib.import_module(library)


def locking(descriptor: int, mode: int, octets: int) -> None:
    assert octets == 1 and os.lseek(descriptor, 0, os.SEEK_CUR) > 1000, "the text could not be read"
    try:
        fcntl.flock(descriptor, mode)
    except BlockingIOError as error:
        raise PermissionError(error.errno, "Permission denied") from None


class Startup:
    lpAttributeList: dict[str, list[int]]


_popen = subprocess.Popen


def popen(command: Any, *, startupinfo: Startup | None = None, **more: Any) -> subprocess.Popen[bytes]:
    if startupinfo:
        more["pass_fds"] = startupinfo.lpAttributeList["handle_list"]
    return _popen(command, **more)


msvcrt: Any = ModuleType("msvcrt")
msvcrt.locking, msvcrt.LK_NBLCK = locking, fcntl.LOCK_EX | fcntl.LOCK_NB
sys.modules["msvcrt"] = msvcrt
for module in ("fcntl", "grp", "pwd", "resource", "termios", "tty"):
    sys.modules[module] = None  # type: ignore[assignment]
for name in (
    *("O_CLOEXEC", "O_DIRECTORY", "O_NOFOLLOW", "O_NONBLOCK", "O_PATH", "fchmod", "geteuid", "getuid"),
    *("pidfd_open", "pipe2", "pread", "pwrite", "sched_getaffinity", "set_blocking"),
):
    delattr(os, name)
for name in ("SIGCHLD", "SIGCONT", "SIGHUP", "SIGWINCH", "SIG_BLOCK", "SIG_SETMASK", "pthread_sigmask"):
    delattr(signal, name)
os.O_BINARY = os.O_NOINHERIT = 0  # type: ignore[attr-defined]
os.set_handle_inheritable = os.set_inheritable  # type: ignore[attr-defined]
connection.PipeConnection = connection.Connection  # type: ignore[attr-defined]
subprocess.Popen, subprocess.STARTUPINFO = popen, Startup  # type: ignore[attr-defined, misc, assignment]
# They ask what only such a system has, and remember the answer.
sysconfig.get_config_vars(), platform.platform()
sys.platform = "win32"

from airpath import _core  # noqa: E402

del _core.live_driver  # type: ignore[attr-defined]
