"""Runs the experiments of a paper and judges what they give. No cell is simulated twice.

First the error-free twins, one run each; then every cell under the default reading, then under the
others. What an interruption leaves unfinished is left out of the report.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from airpath import _core
from airpath.papers.paper import Cell, Experiment, Outcome, Paper, Published, Reading, Row
from airpath.papers.send_window import SendWindow
from airpath.papers.verdict import Verdict, verdict
from airpath.papers.wording import reason_for
from airpath.replicate import Estimate, Job, Replication, Results, Rule, drive, without_seed
from airpath.scenario import Scenario


@dataclass(frozen=True)
class Effort:
    """How much to simulate.

    Attributes
    ----------
    rule : Rule
        When a cell has been replicated often enough.
    all_readings : bool
        Whether to simulate the readings that do not judge too.
    """

    rule: Rule = field(default_factory=Rule)
    all_readings: bool = True

    @classmethod
    def of(cls, quick: bool, runs: int | None) -> Effort:
        """Turn the options of the command line into an effort."""
        rule = Rule.exactly(runs) if runs else Rule(max_runs=5) if quick else Rule()
        return cls(rule, all_readings=not quick)


@dataclass(frozen=True)
class Comparison:
    """A published value beside its measurement.

    Attributes
    ----------
    row : Row or None
        Where it stands; None for background.
    published : Published
        The published value.
    measured : Estimate or None
        Under the default reading; None for background.
    others : dict of str to Estimate
        Under the other readings, by name; those that were not simulated are missing.
    verdict : str
        How the two compare.
    reason : str
        Why it was not reproduced; empty for other verdicts.
    """

    row: Row | None
    published: Published
    measured: Estimate | None
    others: dict[str, Estimate]
    verdict: Verdict
    reason: str


@dataclass(frozen=True)
class Section:
    """An experiment with its comparisons, and the window to draw if there is one."""

    experiment: Experiment
    comparisons: tuple[Comparison, ...]
    window: SendWindow | None


@dataclass(frozen=True)
class Report:
    """What came out.

    Attributes
    ----------
    paper : Paper
        The paper.
    effort : Effort
        How much was simulated.
    sections : tuple of Section
        The experiments asked for, without comparisons that are not complete.
    background : tuple of Comparison
        Published values that nothing can be set against; empty unless everything was asked for.
    incomplete : bool
        Whether it was interrupted.
    """

    paper: Paper
    effort: Effort
    sections: tuple[Section, ...]
    background: tuple[Comparison, ...]
    incomplete: bool

    @property
    def comparisons(self) -> list[Comparison]:
        """All comparisons, in order."""
        return [c for section in self.sections for c in section.comparisons] + list(self.background)

    @property
    def other_readings(self) -> list[str]:
        """Names of the readings that were simulated but do not judge."""
        names = [reading.name for reading in self.paper.readings]
        return [name for name in names if self.effort.all_readings and name != self.paper.default_reading]


Progress = Callable[[int, int, str], None]
"""Called with the runs done, the runs expected in all, and what is being simulated."""


class Reproduction:
    """The simulations that the chosen experiments of a paper need.

    Parameters
    ----------
    paper : Paper
        The paper.
    experiments : sequence of Experiment
        Those to reproduce.
    effort : Effort
        How much to simulate.
    """

    def __init__(self, paper: Paper, experiments: Sequence[Experiment], effort: Effort) -> None:
        self._paper = paper
        self._experiments = tuple(experiments)
        self._effort = effort
        default = next(r for r in paper.readings if r.name == paper.default_reading)
        others = [r for r in paper.readings if r is not default] if effort.all_readings else []
        self._readings = [default, *others]
        rows = [row for experiment in experiments for row in experiment.rows]
        drawn = [experiment.window_of for experiment in experiments if experiment.window_of]
        self._traced = {cell for row in rows if row.traced for cell in row.cells} | set(drawn)
        needed = [*(cell for row in rows for cell in row.cells), *drawn]
        self._cells = list(dict.fromkeys(needed))
        self._references: dict[str, Job[Results]] = {}
        self._jobs: dict[str, Job[Outcome]] = {}
        self._names: dict[int, str] = {}

    def simulate(self, workers: int | None = None, progress: Progress | None = None) -> bool:
        """Run everything; whether it got to its end, and not interrupted by Ctrl-C."""
        pairs = [(cell, reading) for reading in self._readings for cell in self._cells]
        for cell, reading in pairs:
            self._plan(cell, reading)
        references, jobs = list(self._references.values()), list(self._jobs.values())
        try:
            drive(references, workers, lambda _: self._tell(progress, "error-free twins"))
            drive(jobs, workers, lambda job: self._tell(progress, self._names[id(job)]))
        except KeyboardInterrupt:
            return False
        return True

    def report(self, complete: bool, background: bool) -> Report:
        """Judge what is complete; `background` adds the values that nothing can be set against."""
        values = [value for value in self._paper.published.values() if background and value.background]
        unmeasured = tuple(Comparison(None, value, None, {}, _judge(value, None, 1), "") for value in values)
        sections = tuple(self._section(experiment) for experiment in self._experiments)
        return Report(self._paper, self._effort, sections, unmeasured, not complete)

    def _plan(self, cell: Cell, reading: Reading) -> None:
        text = self._text(cell, reading)
        if text in self._jobs:
            return
        reference = self._reference_text(cell, reading)
        if reference is not None and not cell.paired and reference not in self._references:
            once: Replication[Results] = Replication(lambda _: 0.0, Rule.exactly(1))
            self._references[reference] = Job(_runner(reference), once)
        # One trace per run: the pictures need the first, the metrics all of them.
        traced = cell in self._traced

        def simulate(seed: int) -> Outcome:
            twin = None
            if reference is not None and cell.paired:
                twin = json.loads(_core.run(reference, seed))
            elif reference is not None:
                twin = self._references[reference].replication.outcomes[0]
            if traced:
                results, window = _run_traced(text, seed)
                return Outcome(results, twin, window)
            return Outcome(json.loads(_core.run(text, seed)), twin, None)

        rows = (row for experiment in self._experiments for row in experiment.rows)
        metrics = [row.metric for row in rows if cell in row.cells and row.metric is not cell.precise]
        replication = Replication(
            cell.precise, self._effort.rule, lambda o: without_seed(o.results), tuple(dict.fromkeys(metrics))
        )
        job = Job(simulate, replication)
        self._jobs[text] = job
        self._names[id(job)] = f"{cell.name}, {reading.name}"

    def _text(self, cell: Cell, reading: Reading) -> str:
        base = self._paper.base
        return Scenario(base.name, base.source, (*cell.overrides, *reading.overrides), base.folder).text

    def _reference_text(self, cell: Cell, reading: Reading) -> str | None:
        if cell.reference is None:
            return None
        base = self._paper.base
        return Scenario(
            base.name, base.source, (*cell.overrides, *reading.overrides, *cell.reference), base.folder
        ).text

    def _tell(self, progress: Progress | None, what: str) -> None:
        if progress:
            twins = [job.replication for job in self._references.values()]
            cells = [job.replication for job in self._jobs.values()]
            done = sum(r.runs for r in twins) + sum(r.runs for r in cells)
            expected = sum(r.expected_runs() for r in twins) + sum(r.expected_runs() for r in cells)
            progress(done, expected, what)

    def _section(self, experiment: Experiment) -> Section:
        comparisons = [self._compare(experiment, row) for row in experiment.rows]
        window = None
        if experiment.window_of is not None:
            job = self._jobs[self._text(experiment.window_of, self._readings[0])]
            if job.replication.finished:
                window = job.replication.outcomes[0].window
        return Section(experiment, tuple(c for c in comparisons if c is not None), window)

    def _compare(self, experiment: Experiment, row: Row) -> Comparison | None:
        default, *others = self._readings
        measured = self._estimate(row, default)
        if measured is None:
            return None
        beside = {reading.name: self._estimate(row, reading) for reading in others}
        known = {name: estimate for name, estimate in beside.items() if estimate is not None}
        value = self._paper.published[row.published_id]

        def judge(estimate: Estimate) -> Verdict:
            return _judge(value, estimate, row.averaged_runs)

        judged, reason = judge(measured), ""
        if judged == "not_reproduced":
            where = f"{experiment.place} ({', '.join(row.labels)})"
            reason = reason_for(value, where, default.name, measured, known, judge, row.remark)
        return Comparison(row, value, measured, known, judged, reason)

    def _estimate(self, row: Row, reading: Reading) -> Estimate | None:
        """Estimate what a row measures under a reading; None if that is not complete."""
        replications = [self._jobs[self._text(cell, reading)].replication for cell in row.cells]
        if not all(replication.finished for replication in replications):
            return None
        return row.pick([replication.estimate(row.metric) for replication in replications])


def _judge(value: Published, estimate: Estimate | None, averaged_runs: int) -> Verdict:
    return verdict(value.kind, value.value, value.corrected, estimate, value.unit, averaged_runs, value.bound)


def _runner(text: str) -> Callable[[int], Results]:
    def simulate(seed: int) -> Results:
        results: Results = json.loads(_core.run(text, seed))
        return results

    return simulate


def _run_traced(text: str, seed: int) -> tuple[Results, SendWindow]:
    simulation = _core.Simulation(text, seed, ["tcp_state"], False)
    while not simulation.advance(simulation.end_s):
        pass
    trace = simulation.take_trace()["tcp_state"]
    window = SendWindow.from_trace(np.asarray(trace["time_ns"]), np.asarray(trace["send_window"]))
    results: Results = json.loads(simulation.results())
    return results, window
