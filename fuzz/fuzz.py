"""Build the fuzz targets, run each for some time and say what was run and covered; 1 if one found something.

Corpora grow in build/fuzz/corpus from run to run; inputs that fail lie in build/fuzz/found, and
``target/fuzz/<platform>/release/<target> <input>`` runs one again.
"""

import argparse
import re
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILT = ROOT / "target" / "fuzz"
WORK = ROOT / "build" / "fuzz"
# Texts to begin with, where random ones would not get far.
SEEDS = {"scenario": [ROOT / "crates" / "core" / "scenarios"]}
# An input must not take longer, nor the target more memory.
LIMITS = ["-timeout=20", "-rss_limit_mb=1024"]


def targets() -> list[str]:
    manifest = tomllib.loads((ROOT / "fuzz" / "Cargo.toml").read_text())
    return [binary["name"] for binary in manifest["bin"]]


def build() -> Path:
    """Build all targets without sanitizers, which want a nightly compiler and find nothing in safe code."""
    command = ["cargo", "fuzz", "build", "--sanitizer", "none", "--target-dir", str(BUILT)]
    try:
        subprocess.run(command, cwd=ROOT / "fuzz", check=True)
    except FileNotFoundError:
        sys.exit("fuzz: no cargo: see https://rustup.rs")
    except subprocess.CalledProcessError:
        sys.exit("fuzz: not built; it needs `cargo install cargo-fuzz --locked` and a C++ compiler")
    return next(path.parent for path in BUILT.glob("*/release/" + targets()[0]))


def run(binaries: Path, target: str, seconds: int) -> bool:
    """Run one target; whether it found nothing."""
    corpus = WORK / "corpus" / target
    for folder in (corpus, WORK / "found"):
        folder.mkdir(parents=True, exist_ok=True)
    log = WORK / f"{target}.log"
    options = [f"-max_total_time={seconds}", *LIMITS, f"-artifact_prefix={WORK / 'found' / target}-"]
    command = [binaries / target, *options, corpus, *SEEDS.get(target, [])]
    with log.open("w") as out:
        result = subprocess.run(command, stdout=out, stderr=subprocess.STDOUT, check=False)
    text = log.read_text(errors="replace")
    print(f"{target:14} {figures(text)}", flush=True)
    if result.returncode:
        tail = [line for line in text.splitlines() if line and not line.startswith("#")][-25:]
        print(*tail, f"see {log.relative_to(ROOT)} and build/fuzz/found", sep="\n", flush=True)
    return result.returncode == 0


def figures(text: str) -> str:
    done = re.search(r"Done (\d+) runs in (\d+) second", text)
    last = re.findall(r"^#(\d+).* cov: (\d+) ft: (\d+) corp: (\d+)", text, re.MULTILINE)
    edges = re.search(r"\((\d+) inline 8-bit counters\)", text)
    if not last or not edges:
        return "did not start"
    runs, covered, features, inputs = last[-1]
    speed = "failed"
    if done:
        runs, seconds = done[1], max(1, int(done[2]))
        speed = f"{int(runs) / seconds:,.0f} runs/s"
    covers = f"{covered} of {edges[1]} edges, {features} features"
    return f"{int(runs):>12,} runs, {speed}, {covers}, {inputs} inputs"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=int, default=600, help="for each (default: %(default)s)")
    parser.add_argument("target", nargs="*", help=f"default: {' '.join(targets())}")
    arguments = parser.parse_args()
    binaries = build()
    clean = [run(binaries, target, arguments.seconds) for target in arguments.target or targets()]
    sys.exit(0 if all(clean) else 1)


if __name__ == "__main__":
    main()
