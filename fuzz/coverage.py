"""Say which share of the lines of each Rust file the kept corpora and the tests reach: `make coverage`."""

import json
import os
import shutil
import subprocess
from pathlib import Path

from fuzz import ROOT, corpus_of, targets

BUILT = ROOT / "target" / "coverage"
OUT = ROOT / "build" / "coverage"
# Inputs to a process; a command line holds so many names.
MOST = 400
TESTED = ("airpath-core", "airpath-analyze", "airpath-live", "airpath")
OTHERS = r"(/registry/|/rustc/|/rustlib/|fuzz/targets/|/tests/|/tests\.rs|/benches/)"
FLAGS = {
    "RUSTFLAGS": "-Cinstrument-coverage --cfg fuzzing",
    "LLVM_PROFILE_FILE": f"{OUT}/profiles/%m.profraw",
    "PROPTEST_RNG_SEED": "1",
}


def run(*command: object, **options: object) -> str:
    words = [str(word) for word in command]
    env = os.environ | FLAGS
    return subprocess.run(words, env=env, stdout=subprocess.PIPE, text=True, check=True, **options).stdout


def main() -> None:
    shutil.rmtree(OUT, ignore_errors=True)
    OUT.mkdir(parents=True)
    run("cargo", "build", "--bins", "--manifest-path", ROOT / "fuzz/Cargo.toml", "--target-dir", BUILT)
    packages = [word for package in TESTED for word in ("-p", package)]
    test = ["cargo", "test", *packages, "--lib", "--bins", "--tests", "--target-dir", BUILT]
    lines = run(*test, "--no-run", "--message-format=json", cwd=ROOT).splitlines()
    tests = [program for line in lines if (program := json.loads(line).get("executable"))]
    binaries = [BUILT / "debug" / target for target in targets()]
    for binary in binaries:
        inputs = sorted(corpus_of(binary.name).iterdir())
        for at in range(0, len(inputs), MOST):
            run(binary, *inputs[at : at + MOST], stderr=subprocess.DEVNULL)
    run(*test, cwd=ROOT)
    tools = next(Path(run("rustc", "--print", "target-libdir").strip()).parent.glob("bin"))
    data = OUT / "all.profdata"
    run(tools / "llvm-profdata", "merge", "-sparse", *OUT.glob("profiles/*"), "-o", data)
    objects = [word for program in (*binaries, *tests) for word in ("-object", program)]
    # Not `report`, which of generic code counts the instance alone that has most lines reached.
    cov = ("export", "-format=lcov", *objects, f"-instr-profile={data}", f"-ignore-filename-regex={OTHERS}")
    text = table(run(tools / "llvm-cov", *cov, stderr=subprocess.DEVNULL))
    (OUT / "lines.txt").write_text(text)
    print(text, end="")


def table(lcov: str) -> str:
    """Share of lines reached, how many are not and of how many, file, and which are not."""
    reached: dict[str, dict[int, bool]] = {}
    for line in lcov.splitlines():
        kind, _, rest = line.partition(":")
        if kind == "SF":
            lines = reached.setdefault(str(Path(rest).relative_to(ROOT)), {})
        elif kind == "DA":
            number, count = rest.split(",")[:2]
            lines[int(number)] = count != "0"
    rows = []
    for file, lines in sorted(reached.items()):
        missing = [number for number, is_reached in lines.items() if not is_reached]
        rows.append((len(lines), len(missing), f"{file} {' '.join(map(str, missing))}".rstrip()))
    rows.append((sum(row[0] for row in rows), sum(row[1] for row in rows), "all"))
    return "".join(
        f"{100 - 100 * missing / total:7.2f}% {missing:5} of {total:6} not  {file}\n"
        for total, missing, file in rows
    )


if __name__ == "__main__":
    main()
