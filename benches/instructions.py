#!/usr/bin/env python3
"""Instructions that a packet costs, beside those of the last release.

    python benches/instructions.py [--write]

Counted by valgrind's callgrind. They do not depend on what else the machine does, as times do, but on the
compiler and the profile: the program is built as a release is, whatever the environment says of that profile,
and `instructions.json` has the compiler's version beside the figures. `--write` writes that file anew.
`make bench` prints the comparison, and `make test-all` fails where a figure is more than 2 % off.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
from pathlib import Path

HERE = Path(__file__).resolve().parent
RECORD = HERE / "instructions.json"
TOLERANCE = 0.02
# Simulated seconds of a short and of a longer run: the difference has no start-up and no slow start in it.
WORKLOADS = {"W1": (100, 400), "W2": (60, 180), "W3": (10, 16), "HDR8": (40, 120)}


def build() -> Path:
    """Build airpath's runner of workloads as a release, and return it."""
    own = ("CARGO_PROFILE_RELEASE", "CARGO_INCREMENTAL")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(own)}
    command = ["cargo", "build", "--release", "--quiet", "-p", "airpath-bench"]
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


def print_beside_record(counted: dict[str, int]) -> None:
    """Print the figures beside those of the last release."""
    record = json.loads(RECORD.read_text(encoding="utf-8"))
    print(f"\nInstructions a packet, and those of the last release ({record['rustc']}; here {compiler()})")
    for workload, instructions in counted.items():
        before = record["instructions_per_packet"][workload]
        print(f"{workload:10}{instructions:8,}{before:8,}  {instructions / before - 1:+.1%}")


def main() -> None:
    """Count, and print or write the figures."""
    parser = argparse.ArgumentParser(description="Count the instructions of a packet.")
    parser.add_argument("--write", action="store_true", help=f"write them into {RECORD.name}")
    options = parser.parse_args()
    program = build()
    counted = {workload: per_packet(program, workload) for workload in WORKLOADS}
    if options.write:
        record = {"rustc": compiler(), "instructions_per_packet": counted}
        RECORD.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
    print_beside_record(counted)


if __name__ == "__main__":
    main()
