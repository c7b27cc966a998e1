"""Runs of a paper's cells, and the requested metrics that are kept of each."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from airpath import _core
from airpath.experiments.replicate import simulation_of
from airpath.stats.estimate import Estimate
from airpath.stats.replication import Replication, Results, Rule, without_seed
from airpath_studies.base.cell import Cell, Metric, Outcome
from airpath_studies.base.send_window import SendWindow

Measured = tuple[tuple[float, ...], str]
"""The metrics of a run, and what two runs of a cell without randomness have in common."""
TWIN_SEED = 1
"""Seed of a twin that is the same whatever the seed of the run."""


@dataclass
class Job:
    """The runs of a cell under a reading."""

    name: str
    cell: Cell
    """What is run; cells with the same text are one job."""
    text: str
    """The resolved scenario; `reference` is that of the cell's twin."""
    reference: str | None
    traced: bool
    """Whether the send window over time is wanted."""
    rule: Rule
    """How many runs there are."""
    deciding: tuple[Metric, ...]
    """Metrics that must be precise, the cell's own first."""
    metrics: dict[Metric, int] = field(default_factory=dict)
    """All metrics, and the place of each in what is kept of a run."""

    def __post_init__(self) -> None:
        """Measure what decides."""
        for metric in self.deciding:
            self.ask(metric)

    def ask(self, metric: Metric) -> None:
        """Have a metric measured in every run."""
        self.metrics.setdefault(metric, len(self.metrics))

    def replicate(self) -> None:
        """Start: all metrics have been requested."""
        first, *others = (self._reader(metric) for metric in self.deciding)
        self.replication: Replication[Measured] = Replication(
            first, self.rule, lambda measured: measured[1], others
        )

    def estimate(self, metric: Metric) -> Estimate:
        """Estimate the mean of a metric."""
        return self.replication.estimate(self._reader(metric))

    def _reader(self, metric: Metric) -> Any:
        place = self.metrics[metric]
        return lambda measured: measured[0][place]


class Runs:
    """Makes runs of jobs, and the error-free twins that they are compared with."""

    def __init__(self, jobs: Sequence[Job]) -> None:
        self._jobs = jobs
        self._twins: dict[str, Results] = {}

    def measured(self, number: int, seeds: Sequence[int]) -> Iterator[list[Measured]]:
        """Run a job with each seed, and keep the requested metrics."""
        job = self._jobs[number]
        for seed in seeds:
            outcome = self.outcome(job, seed)
            common = json.dumps(without_seed(outcome.results)).encode()
            metrics = tuple(float(metric(outcome)) for metric in job.metrics)
            yield [(metrics, hashlib.sha256(common).hexdigest()[:16])]

    def outcome(self, job: Job, seed: int) -> Outcome:
        """Run a job with a seed, and keep everything."""
        twin, observe = self._twin(job, seed), job.cell.observe
        if not (job.traced or observe):
            return Outcome(simulation_of(job.text)(seed), twin)
        # One trace, for the send window and for what the cell observes.
        probes = {*(("tcp_state",) if job.traced else ()), *(observe.probes if observe else ())}
        simulation = _core.Simulation(job.text, seed, sorted(probes), False)
        while not simulation.advance(simulation.end_s):
            pass
        events, window = simulation.take_trace(), None
        if job.traced:
            states = events["tcp_state"]
            window = SendWindow.from_trace(np.asarray(states["time_ns"]), np.asarray(states["send_window"]))
        results: Results = json.loads(simulation.results())
        return Outcome(results, twin, window, observe.reduce(events) if observe else None)

    def _twin(self, job: Job, seed: int) -> Results | None:
        if job.reference is None:
            return None
        if job.cell.paired:
            return simulation_of(job.reference)(seed)
        if job.reference not in self._twins:
            self._twins[job.reference] = simulation_of(job.reference)(TWIN_SEED)
        return self._twins[job.reference]
