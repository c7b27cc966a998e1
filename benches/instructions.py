#!/usr/bin/env python3
"""Instructions per packet, compared with the last release.

    python benches/instructions.py [--write]

Counted by valgrind's callgrind. They do not depend on what else the machine does, as times do, but on the
compiler and on Cargo's profile: `instructions.json` has the compiler's version and figures for `release`,
which `make build` makes, and for `dist`, which is published. `--write` rewrites that file. `make bench`
prints the comparison of `dist`; `make test-all` fails where a figure of `release` is more than 2 % off.
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
PROFILES = ("release", "dist")


def build(profile: str) -> Path:
    """Build airpath's runner of workloads in a profile, and return it.

    Features are those of the extension module: so the core is the one that `make build` has compiled.
    """
    command = ["cargo", "build", "--quiet", "--profile", profile, "--bin", "airpath-bench"]
    command += ["-p", "airpath-bench", "-p", "airpath-py"]
    subprocess.run(command, cwd=HERE.parent, check=True)
    return Path(os.environ.get("CARGO_TARGET_DIR", HERE.parent / "target"), profile, "airpath-bench")


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


def count(profile: str) -> dict[str, int]:
    """Count all workloads in a profile."""
    program = build(profile)
    return {workload: per_packet(program, workload) for workload in WORKLOADS}


def before(profile: str) -> dict[str, int]:
    """The figures of the last release in a profile."""
    record = json.loads(RECORD.read_text(encoding="utf-8"))
    figures: dict[str, int] = record["instructions_per_packet"][profile]
    return figures


def print_beside_record(counted: dict[str, int]) -> None:
    """Print figures of `dist`, beside those of the last release."""
    record = json.loads(RECORD.read_text(encoding="utf-8"))
    print(f"\nInstructions per packet, and of the last release ({record['rustc']}; here {compiler()})")
    for workload, now in counted.items():
        then = before("dist")[workload]
        print(f"{workload:10}{now:8,}{then:8,}  {now / then - 1:+.1%}")


def main() -> None:
    """Count, and print or write the figures."""
    parser = argparse.ArgumentParser(description="Count the instructions of a packet.")
    parser.add_argument("--write", action="store_true", help=f"write them into {RECORD.name}")
    if parser.parse_args().write:
        figures = {profile: count(profile) for profile in PROFILES}
        record = {"rustc": compiler(), "instructions_per_packet": figures}
        RECORD.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
    else:
        print_beside_record(count("dist"))


if __name__ == "__main__":
    main()
