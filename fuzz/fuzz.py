"""Build the fuzz targets, run each for some time and say what was run and covered; 1 if one found something.

Corpora begin with fuzz/corpus and grow in build/fuzz/corpus from run to run; ``--minimise`` keeps the best of
them in fuzz/corpus. Inputs that fail lie in build/fuzz/found, and
``target/fuzz/<platform>/release/<target> <input>`` runs one again.
"""

import argparse
import io
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILT = ROOT / "target" / "fuzz"
WORK = ROOT / "build" / "fuzz"
KEPT = ROOT / "fuzz" / "corpus"
# A kept corpus is no larger, in bytes: what has most in it for its size is kept.
MOST_KEPT = 40_000
# Texts to begin with, where random ones would not get far.
SEEDS = {"scenario": [ROOT / "crates" / "core" / "scenarios"]}
# An input must not take longer, nor the target more memory.
LIMITS = ["-timeout=20", "-rss_limit_mb=1024"]


def targets() -> list[str]:
    manifest = tomllib.loads((ROOT / "fuzz" / "Cargo.toml").read_text())
    return [binary["name"] for binary in manifest["bin"]]


def build() -> Path:
    """Build all targets without sanitizers, which need a nightly compiler and find nothing in safe code."""
    command = ["cargo", "fuzz", "build", "--sanitizer", "none", "--target-dir", str(BUILT)]
    try:
        subprocess.run(command, cwd=ROOT / "fuzz", check=True)
    except FileNotFoundError:
        sys.exit("fuzz: no cargo: see https://rustup.rs")
    except subprocess.CalledProcessError:
        sys.exit("fuzz: not built; it needs `cargo install cargo-fuzz --locked` and a C++ compiler")
    return next(path.parent for path in BUILT.glob("*/release/" + targets()[0]))


def corpus_of(target: str) -> Path:
    """The folder of a target's corpus, with what was kept in it."""
    corpus = WORK / "corpus" / target
    corpus.mkdir(parents=True, exist_ok=True)
    if (kept := KEPT / f"{target}.tar.xz").exists():
        with tarfile.open(kept) as archive:
            archive.extractall(corpus, filter="data")
    return corpus


def minimise(binaries: Path, target: str) -> bool:
    """Keep the fewest inputs of a target that cover what all do, the smallest of these first."""
    least = WORK / "least" / target
    shutil.rmtree(least, ignore_errors=True)
    least.mkdir(parents=True)
    command = [binaries / target, "-set_cover_merge=1", *LIMITS, least, corpus_of(target)]
    if subprocess.run(command, stderr=subprocess.DEVNULL, check=False).returncode:
        print(f"{target:14} failed")
        return False
    inputs = sorted(least.iterdir(), key=lambda file: (file.stat().st_size, file.name))
    fits, fails = 0, len(inputs) + 1
    while fails - fits > 1:
        middle = (fits + fails) // 2
        if len(packed(inputs[:middle])) <= MOST_KEPT:
            fits = middle
        else:
            fails = middle
    KEPT.mkdir(exist_ok=True)
    (KEPT / f"{target}.tar.xz").write_bytes(packed(inputs[:fits]))
    print(f"{target:14} {fits} of {len(inputs)} inputs", flush=True)
    return True


def packed(files: list[Path]) -> bytes:
    """Make an archive that depends on the files alone."""
    octets = io.BytesIO()
    with tarfile.open(fileobj=octets, mode="w:xz") as archive:
        for number, file in enumerate(files):
            entry = tarfile.TarInfo(f"{number:04}")
            entry.size = file.stat().st_size
            archive.addfile(entry, io.BytesIO(file.read_bytes()))
    return octets.getvalue()


def run(binaries: Path, target: str, seconds: int) -> bool:
    """Run one target; whether it found nothing."""
    corpus = corpus_of(target)
    (WORK / "found").mkdir(parents=True, exist_ok=True)
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
    parser.add_argument("--minimise", action="store_true", help="write fuzz/corpus, and run nothing")
    parser.add_argument("target", nargs="*", help=f"default: {' '.join(targets())}")
    arguments = parser.parse_args()
    binaries = build()
    wanted = arguments.target or targets()
    if arguments.minimise:
        done = [minimise(binaries, target) for target in wanted]
    else:
        done = [run(binaries, target, arguments.seconds) for target in wanted]
    sys.exit(0 if all(done) else 1)


if __name__ == "__main__":
    main()
