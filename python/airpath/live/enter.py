"""Runs a program at one end of a live link, in the place of this process.

A program of the standard library alone, run as `python -I -S enter.py DOOR PROGRAM ARGUMENTS...`, where DOOR
is the socket of an `usher`. The program has this process's standard input, output and error, its environment
and its folder. Signals are passed on to it, and its exit status becomes this process's.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import signal
import socket
import sys
from types import FrameType

# As of a shell.
CANNOT_BE_RUN, NOT_FOUND = 126, 127
PASSED_ON = (
    *(signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT),
    *(signal.SIGUSR1, signal.SIGUSR2, signal.SIGTSTP, signal.SIGCONT),
)


def main() -> int:
    """Run it; return its exit status."""
    door, *words = sys.argv[1:]
    # What comes before the program is there is kept for it.
    signal.pthread_sigmask(signal.SIG_BLOCK, PASSED_ON)
    connection = socket.socket(socket.AF_UNIX)
    try:
        connection.connect(door)
    except OSError:
        print(f"airpath: {words[0]}: the link has ended", file=sys.stderr)
        return CANNOT_BE_RUN
    socket.send_fds(connection, [b" "], [0, 1, 2])
    request = {"program": words, "cwd": os.getcwd(), "environment": dict(os.environ)}
    connection.sendall(json.dumps(request).encode() + b"\n")
    answers = connection.makefile("rb")
    started = json.loads(answers.readline() or b'{"status": -9}')
    if "error" in started:
        number, text = started["error"]
        print(f"airpath: {words[0]}: {text}", file=sys.stderr)
        return NOT_FOUND if number == 2 else CANNOT_BE_RUN

    def pass_on(number: int, _frame: FrameType | None) -> None:
        with contextlib.suppress(OSError):
            connection.sendall(json.dumps({"signal": number}).encode() + b"\n")

    for number in PASSED_ON:
        signal.signal(number, pass_on)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, PASSED_ON)
    # The ends of pipes are the program's alone.
    nowhere = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(nowhere, fd)
    # Without a status the link has ended, and the program was killed with it.
    status: int = json.loads(answers.readline() or b'{"status": -9}')["status"]
    if status < 0:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if -status != signal.SIGKILL:
            signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    return status


if __name__ == "__main__":
    sys.exit(main())
