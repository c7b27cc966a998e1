"""Start of the program: `airpath`, or `python -m airpath`."""

import sys
from typing import NoReturn

INTERRUPTED = 130


def main() -> NoReturn:
    """Run the command line; Ctrl-C ends it without a word, also while modules are still being imported."""
    try:
        from airpath.cli import main

        main()
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)


if __name__ == "__main__":
    main()
