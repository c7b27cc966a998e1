"""Every event of the bundled scenarios as hashes: whatever changes a behaviour, by intent or not, is seen.

Each scenario has a file in `trajectories/`: when the run ends, hashes of its results and its capture, and a
line for each sixteenth of its duration with the number and a hash of the events of each kind, which say what
differs, and when.

After a change on purpose: say in the change log what changed and why, and take the new files over with
`make trajectories`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import airpath
from airpath import _core

FOLDER = Path(__file__).parent / "trajectories"
SCENARIOS = sorted(_core.bundled())
SECTIONS = 16
# Scenarios without anything random: all that varies is written in a trace.
DRAWS_NOTHING = ("variable-3g",)


def short(content: bytes) -> str:
    return hashlib.blake2b(content, digest_size=4).hexdigest()


def simulated(name: str, probes: list[str], seed: int = 1, *, capture: bool = False) -> airpath.Result:
    """Run a scenario to its end."""
    return airpath.run(name, seed=seed, probes=probes, capture=capture)


def octets_of(column: np.ndarray) -> bytes:
    """The values of a column, whatever the type in which it is stored; words as themselves."""
    if column.dtype.kind in "uif":
        return column.astype("<f8" if column.dtype.kind == "f" else "<u8").tobytes()
    words, codes = np.unique(column, return_inverse=True)
    return "\n".join(words.astype(str)).encode() + codes.astype("<u4").tobytes()


def trajectory(result: airpath.Result) -> str:
    """What a file of `trajectories/` has."""
    end_s = result.summary["simulated_s"]
    results = json.dumps(result.summary, sort_keys=True).encode()
    lines = [f"ends at {end_s!r} s, results {short(results)}, capture {short(result.capture)}"]
    edges = np.linspace(0, end_s, SECTIONS + 1)[1:]
    edges[-1] = np.inf
    parts: list[list[str]] = [[] for _ in edges]
    for kind, columns in result.trace.items():
        bounds = [0, *np.searchsorted(columns["time_s"], edges)]
        for part, first, end in zip(parts, bounds[:-1], bounds[1:], strict=True):
            if end > first:
                content = b"".join(octets_of(column[first:end]) for column in columns.values())
                part.append(f"{kind} {end - first} {short(content)}")
    lines += [f"{at}/{SECTIONS}: {', '.join(part)}" for at, part in enumerate(parts)]
    return "\n".join(lines) + "\n"


def shares_used(results: Any) -> Iterator[float]:
    """What the bearers of a run used of their capacity."""
    if isinstance(results, dict):
        yield from (value for key, value in results.items() if key == "utilisation")
        results = list(results.values())
    if isinstance(results, list):
        for inside in results:
            yield from shares_used(inside)


@pytest.mark.slow
@pytest.mark.parametrize("name", SCENARIOS)
def test_a_trajectory_is_the_same_everywhere_and_no_probe_or_step_changes_it(name):
    observed = simulated(name, list(_core.probes()), capture=True)
    assert trajectory(observed) == (FOLDER / f"{name}.txt").read_text()
    assert all(0 <= share <= 1 for share in shares_used(observed.summary))
    # Without a probe packets are delivered early; `outage` disables early delivery.
    assert simulated(name, []).summary == simulated(name, ["outage"]).summary == observed.summary
    in_steps, other = (_core.Simulation(airpath.load(name).text, seed, []) for seed in (1, 2))
    is_same, is_over = True, False
    while not is_over:
        is_over = in_steps.advance(0.137)
        results = in_steps.results()
        if is_same:
            # Another seed is run until it makes a difference.
            is_same = other.advance(0.137) == is_over
            is_same &= json.loads(other.results())["flows"] == json.loads(results)["flows"]
    assert json.loads(results) == observed.summary
    assert is_same == (name in DRAWS_NOTHING), "does the seed matter?"


def test_each_file_is_of_a_scenario():
    assert sorted(file.stem for file in FOLDER.iterdir()) == SCENARIOS


if __name__ == "__main__":
    for file in FOLDER.glob("*.txt"):
        file.unlink()
    for name in SCENARIOS:
        (FOLDER / f"{name}.txt").write_text(trajectory(simulated(name, list(_core.probes()), capture=True)))
