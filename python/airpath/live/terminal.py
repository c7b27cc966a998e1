"""The terminal: its owner, a pseudo-terminal, and its signals.

COMMAND has a process group of its own, as a shell's jobs have. While it runs, that group owns the terminal:
COMMAND reads what is typed, and Ctrl-C and Ctrl-Z reach it directly.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import termios
from collections.abc import Iterator
from types import FrameType
from typing import Self

# Signals that are passed on to COMMAND.
PASSED_ON = (
    *(signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT),
    *(signal.SIGUSR1, signal.SIGUSR2, signal.SIGTSTP),
)
# Signals that this process handles itself.
HEEDED = (signal.SIGCHLD, signal.SIGCONT, signal.SIGWINCH)


class SignalPipe:
    """Turns signals into numbers on a pipe, to wait for them together with sockets.

    Only in the main thread. A signal that is ignored from the start, as by nohup, stays ignored.
    """

    def __enter__(self) -> Self:
        self._read, self._write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self._wakeup = signal.set_wakeup_fd(self._write, warn_on_full_buffer=False)
        self._previous = {
            number: signal.signal(number, _note)
            for number in (*PASSED_ON, *HEEDED)
            if number in HEEDED or signal.getsignal(number) != signal.SIG_IGN
        }
        return self

    def __exit__(self, *_exception: object) -> None:
        for number, handler in self._previous.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(self._wakeup)
        os.close(self._read)
        os.close(self._write)

    def fileno(self) -> int:
        """Descriptor to wait for."""
        return self._read

    def read(self) -> list[int]:
        """The signals since the last call, in order."""
        with contextlib.suppress(BlockingIOError):
            return list(os.read(self._read, 4096))
        return []


def _note(_number: int, _frame: FrameType | None) -> None:
    """Do nothing: with a handler set, Python writes the number to the pipe."""


class Terminal:
    """The terminal on standard input, if there is one, and whether it is lent to COMMAND's process group."""

    def __init__(self, fd: int = 0) -> None:
        self._fd = fd
        self.there = os.isatty(fd)
        self.lent = False

    @property
    def ours(self) -> bool:
        """Whether our process group has it."""
        try:
            return self.there and os.tcgetpgrp(self._fd) == os.getpgrp()
        except OSError:  # Not the terminal of our session, or it has hung up.
            return False

    def take_back(self) -> None:
        """End the loan."""
        if not self.lent:
            return
        self.lent = False
        with _blocked(signal.SIGTTOU), contextlib.suppress(OSError):
            os.tcsetpgrp(self._fd, os.getpgrp())


def stop_with_group() -> None:
    """Stop as on Ctrl-Z; return when continued.

    SIGTSTP and not SIGSTOP: the kernel ignores it where no shell could continue this process.
    """
    with _handled(signal.SIGTSTP, signal.SIG_DFL):
        os.killpg(0, signal.SIGTSTP)


def terminal_output_allowed() -> contextlib.AbstractContextManager[None]:
    """Allow writes to the terminal while COMMAND owns it, even with `stty tostop`."""
    return _handled(signal.SIGTTOU, signal.SIG_IGN)


@contextlib.contextmanager
def _handled(number: signal.Signals, handler: signal.Handlers) -> Iterator[None]:
    previous = signal.signal(number, handler)
    try:
        yield
    finally:
        signal.signal(number, previous)


@contextlib.contextmanager
def _blocked(number: signal.Signals) -> Iterator[None]:
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [number])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class OutputTerminal:
    """A pseudo-terminal for COMMAND's output, which is shown above the status lines.

    Bytes pass unchanged: the real terminal processes them. The descriptor `inner` becomes COMMAND's standard
    output or error.
    """

    def __init__(self) -> None:
        self._outer, self.inner = os.openpty()
        os.set_blocking(self._outer, False)
        modes = termios.tcgetattr(self.inner)
        modes[1] &= ~termios.OPOST
        termios.tcsetattr(self.inner, termios.TCSANOW, modes)

    def fileno(self) -> int:
        """Our end, for selectors."""
        return self._outer

    def read(self) -> bytes:
        """Read what has been written; empty if there is nothing or the other end is closed."""
        with contextlib.suppress(OSError):
            return os.read(self._outer, 1 << 16)
        return b""

    def take_size(self, fd: int) -> None:
        """Take over the size of another terminal."""
        with contextlib.suppress(OSError):
            size = fcntl.ioctl(fd, termios.TIOCGWINSZ, bytes(8))
            if size != fcntl.ioctl(self.inner, termios.TIOCGWINSZ, bytes(8)):
                fcntl.ioctl(self.inner, termios.TIOCSWINSZ, size)

    def close(self) -> None:
        """Close both ends."""
        os.close(self.inner)
        os.close(self._outer)
