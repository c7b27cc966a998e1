"""Programs that not every machine has, and the parts skipped without them: the last line of `make test`.

Tests, benchmarks and what draws pictures ask `why`, which gives a reason in words, and tell `note` what they
leave out. Where `AIRPATH_LEFT_OUT` names a file, as in the Makefile, each note is a line there: what, a tab
and the reason.

    python tools/left_out.py FILE         # one line about all notes of a file, with the packages to install
    python tools/left_out.py --packages   # Debian's packages of all these programs that are missing here

Needs the standard library alone, as it runs before anything is built.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections import Counter
from pathlib import Path

PACKAGES = {
    "cc": "gcc libc6-dev",  # tests of full disks and failing fsync; Rust's linker
    "bash": "bash",  # live tests of a shell; make
    "chromium": "chromium",  # pages and the studio in a browser, and their pictures
    "curl": "curl",  # live tests of HTTP
    "dumpcap": "wireshark-common",  # captures of the kernel's TCP
    "editcap": "wireshark-common",  # captures that were cut
    "git": "git",  # a checkout; what of it a wheel has
    "ip": "iproute2",  # networks in addition to the link
    "iperf3": "iperf3",  # live tests and benchmarks of rates
    "mount": "mount",  # live tests without a TUN device
    "node": "nodejs",  # types of the studio's front: make lint
    "npm": "npm",
    "ns": "ns2",  # comparisons with ns-2
    "nsenter": "util-linux",  # live tests of powers
    "openssl": "openssl",  # a cluster with TLS
    "ping": "iputils-ping",  # live tests and benchmarks of RTTs
    "setpriv": "util-linux",
    "setsid": "util-linux",
    "tc": "iproute2",
    "tshark": "tshark",  # captures, as another program reads them
    "unshare": "util-linux",
    "valgrind": "valgrind",  # instructions of a packet
}
"""Debian's package of each program that some tests or tools need."""
NOTES = "AIRPATH_LEFT_OUT"
NOT_INSTALLED = "not installed: "


def missing(*programs: str) -> list[str]:
    """Which of these programs are not here."""
    assert set(programs) <= set(PACKAGES), f"tools/left_out.py knows the packages of others than {programs}"
    return [program for program in programs if shutil.which(program) is None]


def why(*programs: str) -> str:
    """Say which of these programs are not here; empty if all are."""
    gone = missing(*programs)
    return NOT_INSTALLED + ", ".join(gone) if gone else ""


def note(what: str, reason: str) -> None:
    """Remember that something is left out, such as a test, for a reason as `why` gives it or another."""
    if file := os.environ.get(NOTES):
        line = "\t".join(" ".join(text.split()) for text in (what, reason))
        with Path(file).open("a", encoding="utf-8") as notes:
            notes.write(f"{line}\n")


def closing(notes: str) -> str:
    """One line about everything skipped, and how to install the missing programs; empty if nothing was."""
    counts = Counter(tuple(line.split("\t", 1)) for line in notes.splitlines())
    parts, packages = [], set()
    for (what, reason), times in counts.most_common():
        named = re.fullmatch(f"{NOT_INSTALLED}(.*)", reason)
        if named:
            programs = named[1].split(", ")
            packages |= {package for program in programs for package in PACKAGES[program].split()}
            reason = ", ".join(f"no {program}" for program in programs)
        parts.append(f"{many(what, times)} ({reason})")
    if not parts:
        return ""
    hint = f". To have them, on Debian: apt-get install {' '.join(sorted(packages))}" if packages else ""
    return f"left out: {', '.join(parts)}{hint}"


def many(what: str, times: int) -> str:
    """Count tests; other things are listed by name."""
    return f"{times} test{'s' if times > 1 else ''}" if what == "test" else what


def main() -> None:
    """Print the result requested on the command line."""
    (argument,) = sys.argv[1:]
    if argument == "--packages":
        gone = missing(*PACKAGES)
        print(*sorted({package for program in gone for package in PACKAGES[program].split()}))
        return
    file = Path(argument)
    if line := closing(file.read_text(encoding="utf-8") if file.exists() else ""):
        print(line)


if __name__ == "__main__":
    main()
