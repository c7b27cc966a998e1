"""Start of the program: `airpath`, or `python -m airpath`.

It imports next to nothing before it has seen to Ctrl-C: until then Python prints a traceback. SIGTERM and
SIGHUP end it alike, so that files that are being written are removed.
"""

import _signal  # type: ignore[import-not-found]
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

INTERRUPTED, BAD_INPUT = 130, 2
"""As in `airpath.cli.status`, which is not imported here: Ctrl-C may come before it is."""


def main() -> "NoReturn":
    """Run the command line; Ctrl-C ends it without a word, also while modules are still being imported."""
    # Only Python's own handlers are replaced: if the signal is ignored, as for a shell's background job or by
    # nohup, keep it. Windows has no SIGHUP.
    numbers = [_signal.SIGINT, _signal.SIGTERM, *([_signal.SIGHUP] if hasattr(_signal, "SIGHUP") else [])]
    own = (_signal.default_int_handler, _signal.SIG_DFL)
    ours = [number for number in numbers if _signal.getsignal(number) in own]
    for number in ours:
        # Not as an exception: in the middle of an import it may end as another one.
        _signal.signal(number, lambda *_: os._exit(INTERRUPTED))
    try:
        _open_closed_streams()
        try:
            from airpath.cli.main import main
            from airpath.interrupt import interrupt
        except (ImportError, OSError, MemoryError, SystemError) as error:
            # Without memory or descriptors for the rest of the program. An import that fails for want of
            # memory may end as a SystemError ("error return without exception set").
            os.write(
                2, f"error: airpath: {error}; see ulimit -n and ulimit -v, or install it again\n".encode()
            )
            sys.exit(BAD_INPUT)
        for number in ours:
            _signal.signal(number, interrupt)
        main()
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)


def _open_closed_streams() -> None:
    """Open the null device for standard streams that the caller closed, as daemons and cron may do.

    Otherwise the first files that are opened would get their numbers and receive what is printed.
    """
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # It gets the lowest free number, which is this one.
            os.set_inheritable(number, True)
            setattr(sys, name, open(number, mode, closefd=False))  # noqa: SIM115


if __name__ == "__main__":
    main()
