#!/usr/bin/env python3
"""Instructions per packet, compared with the last release.

    python benches/instructions.py [--write]

Counted by valgrind's callgrind. They do not depend on what else the machine does, as times do, but on the
compiler and the profile: `instructions.json` has the compiler's version and figures for a release and for the
quicker build of continuous integration, which optimises crate by crate. `--write` rewrites that file.
`make bench` prints the comparison, and `make test-all` fails where a figure is more than 2 % off.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
RECORD = HERE / "instructions.json"
TOLERANCE = 0.02
# Simulated seconds of a short and of a longer run: the difference has no start-up and no slow start in it.
WORKLOADS = {
    "W1": (100, 400),
    "W2": (60, 180),
    "W3": (10, 16),
    "HDR8": (40, 120),
    "HSDPA8": (20, 60),
    "LTE10": (10, 30),
    "NR10": (2, 6),
    "NR1G": (1, 2),
}


# By the environment's setting of link-time optimisation.
RELEASE = "CARGO_PROFILE_RELEASE_"
QUICK = {"LTO": "false", "CODEGEN_UNITS": "16", "DEBUG": "0"}
PROFILES = {"release": {}, "quick": {f"{RELEASE}{name}": value for name, value in QUICK.items()}}


def profile() -> str:
    """Which of `PROFILES` the environment chooses."""
    return "quick" if os.environ.get(f"{RELEASE}LTO") == QUICK["LTO"] else "release"


def build(chosen: str) -> Path:
    """Build airpath's runner of workloads in a profile, and return it.

    The extension module is built with it: so the core is the one that `make build` has compiled.
    """
    environment = {name: value for name, value in os.environ.items() if not name.startswith(RELEASE)}
    environment |= {"PYO3_PYTHON": sys.executable, **PROFILES[chosen]}
    command = ["cargo", "build", "--release", "--quiet", "-p", "airpath-bench", "-p", "airpath-py"]
    subprocess.run(command, cwd=HERE.parent, env=environment, check=True)
    return Path(os.environ.get("CARGO_TARGET_DIR", HERE.parent / "target"), "release", "airpath-bench")


def compiler() -> str:
    """Return the version of the Rust compiler."""
    return subprocess.run(["rustc", "--version"], capture_output=True, text=True, check=True).stdout.strip()


def per_packet(program: Path, workload: str) -> int:
    """Count the instructions for each further packet of a workload."""
    short, long = (_counted(program, workload, seconds) for seconds in WORKLOADS[workload])
    return round((long[0] - short[0]) / (long[1] - short[1]))


def _counted(program: Path, workload: str, seconds: int) -> tuple[int, int]:
    """Instructions and delivered packets of a run."""
    command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"]
    command += [str(program), workload, "--time", str(seconds)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    counted = re.search(r"Collected : (\d+)", done.stderr)
    assert counted is not None, done.stderr
    return int(counted[1]), int(json.loads(done.stdout)["packets"])


def count(chosen: str) -> dict[str, int]:
    """Count all workloads in a profile."""
    program = build(chosen)
    return {workload: per_packet(program, workload) for workload in WORKLOADS}


def before(chosen: str) -> dict[str, int]:
    """The figures of the last release in a profile."""
    figures: dict[str, int] = json.loads(RECORD.read_text(encoding="utf-8"))["instructions_per_packet"][
        chosen
    ]
    return figures


def print_beside_record(counted: dict[str, int]) -> None:
    """Print the figures of the environment's profile and of the last release."""
    record = json.loads(RECORD.read_text(encoding="utf-8"))
    print(f"\nInstructions per packet, and of the last release ({record['rustc']}; here {compiler()})")
    for workload, now in counted.items():
        then = before(profile())[workload]
        print(f"{workload:10}{now:8,}{then:8,}  {now / then - 1:+.1%}")


def main() -> None:
    """Count, and print or write the figures."""
    parser = argparse.ArgumentParser(description="Count the instructions of a packet.")
    parser.add_argument("--write", action="store_true", help=f"write them into {RECORD.name}")
    if parser.parse_args().write:
        # The release last: it is what stays built.
        figures = {chosen: count(chosen) for chosen in reversed(PROFILES)}
        record = {"rustc": compiler(), "instructions_per_packet": figures}
        RECORD.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
    else:
        print_beside_record(count(profile()))


if __name__ == "__main__":
    main()
