"""Builds the site."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from website.build import build
from website.pages import ROOT


def main() -> int:
    parser = argparse.ArgumentParser(prog="website", description="Build the site.")
    parser.add_argument("--out", type=Path, default=ROOT / "build/site", help="folder to build in")
    parser.add_argument("--record", action="store_true", help="keep output for machines without its needs")
    options = parser.parse_args()
    wrong = build(options.out.resolve(), options.record)
    for line in wrong:
        print(line, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
