"""Start of the program: `airpath`, or `python -m airpath`."""

import sys
from typing import NoReturn

from airpath.cli.status import INTERRUPTED


def main() -> NoReturn:
    """Run the command line; Ctrl-C ends it without a word, also while modules are still being imported."""
    try:
        from airpath.cli.main import main

        main()
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)


if __name__ == "__main__":
    main()
