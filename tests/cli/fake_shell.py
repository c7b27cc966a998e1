"""A shell with one job: `fake_shell.py COMMAND...`, its terminal on standard input.

Runs COMMAND as a shell runs a job in the foreground. When it stops, takes the terminal, and continues it in
the foreground again. Reports the result on standard output.
"""

from __future__ import annotations

import fcntl
import os
import signal
import sys
import termios


def give_terminal(group: int) -> None:
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTTOU])
    os.tcsetpgrp(0, group)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGTTOU])


def main() -> None:
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    job = os.fork()
    if not job:
        os.setpgid(0, 0)
        give_terminal(os.getpid())
        os.dup2(0, 1)
        os.execv(sys.argv[1], sys.argv[1:])
    _, how = os.waitpid(job, os.WUNTRACED)
    has_terminal = "has" if os.tcgetpgrp(0) == job else "has not"
    print("stopped" if os.WIFSTOPPED(how) else "ended", "and", has_terminal, "the terminal", flush=True)
    give_terminal(os.getpgrp())
    give_terminal(job)
    os.killpg(job, signal.SIGCONT)
    _, how = os.waitpid(job, 0)
    has_terminal = "has" if os.tcgetpgrp(0) == job else "has not"
    print("status", os.waitstatus_to_exitcode(how), "and", has_terminal, "the terminal", flush=True)


if __name__ == "__main__":
    main()
