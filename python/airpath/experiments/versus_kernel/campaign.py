"""All runs of a comparison: simulated ones on threads, live ones side by side, each in namespaces of its own.

Live runs take as long as they last, and at the rates of a cell cost little of a processor. A run
whose packets left too late is repeated, with fewer parallel runs each time and finally alone, and its
figures are never used.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from airpath.experiments.versus_kernel.carried import duration_s, transfers
from airpath.experiments.versus_kernel.measured import Figures
from airpath.experiments.versus_kernel.runs import LiveOutcome, Processes, run_live_once, simulate_once
from airpath.experiments.versus_kernel.tcp import KernelTcp
from airpath.runner.threads import run_here
from airpath.runner.wanted import Once
from airpath.runner.work import Row
from airpath.scenario import Scenario

MOST_ATTEMPTS = 3
"""So often is a live run made until its timing holds."""
LIVE_PER_PROCESSOR = 4
"""Live runs side by side unless told otherwise, for each processor."""


@dataclass(frozen=True)
class Variant:
    """A configuration that runs simulated and live, with a name for folders and people.

    `mechanism` is what the scenario has in addition. What is `simulated` and the path of the `live` run
    differ in `[tcp]` at most, which a live run ignores. `tcp` is the kernel's; None where there is no live
    run.
    """

    name: str
    congestion_control: str
    mechanism: str | None
    simulated: Scenario
    live: Scenario
    tcp: KernelTcp | None


Job = tuple[Variant, int]
"""A variant and a seed."""
Runs = dict[tuple[str, int], list[Figures]]
"""Figures of each transfer by variant's name and seed."""


@dataclass(frozen=True)
class Repeated:
    """A live run that was not valid, and why; attempts count from 1."""

    variant: str
    seed: int
    attempt: int
    because: list[str]


@dataclass
class Outcomes:
    """What all runs gave, with live runs that were not valid in `repeated` alone."""

    simulated: Runs = field(default_factory=dict)
    live: Runs = field(default_factory=dict)
    repeated: list[Repeated] = field(default_factory=list)
    lateness_p99_us: list[float] = field(default_factory=list)

    def seeds(self, variant: str) -> list[int]:
        """Seeds with both a simulated and a live run."""
        return sorted(seed for name, seed in self.live if name == variant and (name, seed) in self.simulated)


def crossed(variants: Sequence[Variant], seeds: Sequence[int]) -> list[Job]:
    """Each variant with each seed, so that temporary load of the machine affects all variants alike."""
    return [(variant, seed) for seed in seeds for variant in variants]


def run_all(
    jobs: Sequence[Job],
    folder: Path,
    workers: int | None = None,
    progress: Callable[[float], None] | None = None,
    on_simulated: Callable[[float], None] | None = None,
) -> Outcomes:
    """Make all runs, each simulated and live; they leave their files in `folder`/VARIANT/WORLD-SEED/.

    `workers` are the live runs side by side. `progress` is called with the share of the live runs that is
    done, 0 to 1, and `on_simulated` before them, with the seconds that they will take.

    Raises
    ------
    LiveError
        If live runs do not work here.
    """
    outcomes = Outcomes()
    processors = os.cpu_count() or 1
    side_by_side = workers or LIVE_PER_PROCESSOR * processors

    def simulate(job: int, seed: int) -> list[Figures]:
        variant = jobs[job][0]
        return simulate_once(variant.simulated, seed, _place(folder, variant, "simulated", seed))

    def take_in(row: Row) -> None:
        job, seed, figures = row
        outcomes.simulated[jobs[job][0].name, seed] = figures

    run_here([Once(seed) for _, seed in jobs], simulate, processors, take_in)
    live = [job for job in jobs if job[0].tcp is not None]
    if on_simulated:
        on_simulated(_expected_s(live, outcomes, side_by_side))
    _run_live(live, outcomes, folder, side_by_side, progress)
    return outcomes


def _expected_s(jobs: Sequence[Job], outcomes: Outcomes, workers: int) -> float:
    """How long the live runs take if they are as long as the simulated ones and none is repeated."""
    lengths = [_length_s(variant, outcomes.simulated[variant.name, seed]) for variant, seed in jobs]
    return max(sum(lengths) / workers, *lengths)


def _length_s(variant: Variant, simulated: list[Figures]) -> float:
    times = [one.transfer_s for one in simulated]
    starts = [transfer.start_s for transfer in transfers(variant.live)]
    ends = [None if time is None else start + time for start, time in zip(starts, times, strict=True)]
    return duration_s(variant.live) if None in ends else max(end for end in ends if end is not None)


def _run_live(
    jobs: list[Job],
    outcomes: Outcomes,
    folder: Path,
    workers: int,
    progress: Callable[[float], None] | None,
) -> None:
    alive, wanted = Processes(), len(jobs)

    def attempt(jobs: list[Job], number: int, workers: int) -> list[Job]:
        """Make live runs, and say which were not valid."""
        invalid: list[Job] = []

        def live(job: int, seed: int) -> LiveOutcome:
            variant = jobs[job][0]
            assert variant.tcp is not None
            return run_live_once(
                variant.live, variant.tcp, seed, _place(folder, variant, "live", seed), alive
            )

        def take_in(row: Row) -> None:
            job, seed, outcome = row
            name = jobs[job][0].name
            if outcome.invalid_because:
                outcomes.repeated.append(Repeated(name, seed, number, outcome.invalid_because))
                invalid.append(jobs[job])
                return
            outcomes.live[name, seed] = outcome.figures
            outcomes.lateness_p99_us.append(outcome.lateness_us["p99"])
            if progress:
                progress(len(outcomes.live) / wanted)

        run_here([Once(seed) for _, seed in jobs], live, workers, take_in, end=alive.end)
        return invalid

    for number in range(1, MOST_ATTEMPTS + 1):
        jobs = attempt(jobs, number, workers) if jobs else []
        workers = 1 if number == MOST_ATTEMPTS - 1 else max(1, workers // 2)


def _place(folder: Path, variant: Variant, world: str, seed: int) -> Path:
    return folder / variant.name / f"{world}-{seed}"
