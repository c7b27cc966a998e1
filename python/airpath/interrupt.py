"""Ctrl-C as an exception that waits for the end of an import.

In the middle of an import, a library may turn KeyboardInterrupt into another exception, or lose it.
"""

from __future__ import annotations

import _thread
import signal
import threading
import time
from types import FrameType

WAIT_S = 0.01
"""Time until a signal that came during an import is raised again."""


def interrupt(number: int, frame: FrameType | None) -> None:
    """Handle a signal: raise KeyboardInterrupt, but only when no import is under way.

    During an import the signal is raised again after `WAIT_S`; its handler may be another one by then.
    """
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            _thread.start_new_thread(_raise_again, (number,))
            return
        frame = frame.f_back
    raise KeyboardInterrupt


def _raise_again(number: int) -> None:
    time.sleep(WAIT_S)
    if hasattr(signal, "pthread_kill"):
        signal.pthread_kill(threading.main_thread().ident or 0, number)  # It wakes the thread where it waits.
    else:
        _thread.interrupt_main(signal.Signals(number))
