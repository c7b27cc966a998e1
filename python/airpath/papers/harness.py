"""Runs the experiments of a paper and judges what they give. No cell is simulated twice.

First the error-free twins, one run each; then every cell under the default reading, then under the
others. What only a claim or a picture needs runs under the default reading alone. What an interruption
leaves unfinished is left out of the report.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from airpath import _core
from airpath.papers.claims import judge as judge_claim
from airpath.papers.conditions import Quantity
from airpath.papers.observe import Observation
from airpath.papers.paper import Cell, Experiment, Outcome, Paper, Published, Reading, Row
from airpath.papers.report import Comparison, Effort, Report, Section
from airpath.papers.send_window import SendWindow
from airpath.papers.verdict import Verdict, verdict
from airpath.papers.wording import helped_to_choose, reason_for
from airpath.replicate import Estimate, Job, Replication, Results, Rule, drive, estimate, without_seed

_Key = tuple[str, str | None, Observation | None]
"""What tells jobs apart: texts of the scenario and of its twin, and what is kept of the trace."""

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
    claims : bool
        Whether to check the paper's claims, too.
    """

    def __init__(
        self, paper: Paper, experiments: Sequence[Experiment], effort: Effort, *, claims: bool = False
    ) -> None:
        self._paper = paper
        self._experiments = tuple(experiments)
        self._effort = effort
        self._claims = paper.claims if claims else ()
        default = next(r for r in paper.readings if r.name == paper.default_reading)
        others = [r for r in paper.readings if r is not default] if effort.all_readings else []
        self._readings = [default, *others]
        self._rows = [row for experiment in experiments for row in experiment.rows]
        asked = [quantity for experiment in experiments for quantity in experiment.quantities]
        asked += [q for claim in self._claims for q in claim.quantities]
        self._quantities = list(dict.fromkeys(asked))
        drawn = [experiment.window_of for experiment in experiments if experiment.window_of]
        self._traced = {cell for row in self._rows if row.traced for cell in row.cells} | set(drawn)
        self._traced |= {quantity.cell for quantity in self._quantities if quantity.traced}
        self._references: dict[str, Job[Results]] = {}
        self._jobs: dict[_Key, Job[Outcome]] = {}
        self._names: dict[int, str] = {}

    def simulate(self, workers: int | None = None, progress: Progress | None = None) -> bool:
        """Run everything; whether it got to its end, and not interrupted by Ctrl-C."""
        self._plan_all()
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
        unmeasured = tuple(
            Comparison(None, value, None, None, {}, _judge(value, None, 1), "", {}) for value in values
        )
        sections = tuple(self._section(experiment) for experiment in self._experiments)
        known = {quantity: self._measured(quantity) for quantity in self._quantities}
        estimates = {quantity: measured for quantity, measured in known.items() if measured is not None}
        claims = tuple(
            judge_claim(claim, estimates, self._paper.not_reproduced, self._paper.calibrated)
            for claim in self._claims
        )
        return Report(self._paper, self._effort, sections, unmeasured, claims, not complete)

    def _plan_all(self) -> None:
        """Make the jobs: rows first, under every reading, then what is needed under the default one."""
        default = self._readings[0]
        experiments = self._experiments
        drawn = [experiment.window_of for experiment in experiments if experiment.window_of]
        cells = list(dict.fromkeys([*(cell for row in self._rows for cell in row.cells), *drawn]))
        for reading in self._readings:
            for cell in cells:
                self._plan(cell, reading, self._rule(cell))
        for quantity in self._quantities:
            self._plan(quantity.cell, default, self._rule(quantity.cell))
        single = [curve.cell for experiment in experiments for curve in experiment.curves]
        single += [trace.cell for experiment in experiments for trace in experiment.traces]
        for cell in single:
            self._plan(cell, default, Rule.exactly(1))

    def _rule(self, cell: Cell) -> Rule:
        averaged = [row.averaged_runs for row in self._rows if cell in row.cells]
        return self._effort.rule_for(max(cell.runs, *averaged, 1), cell.most_runs)

    def _plan(self, cell: Cell, reading: Reading, rule: Rule) -> None:
        key = self._key(cell, reading)
        if key in self._jobs:
            return
        text, reference, _ = key
        if reference is not None and not cell.paired and reference not in self._references:
            once: Replication[Results] = Replication(lambda _: 0.0, Rule.exactly(1))
            self._references[reference] = Job(_runner(reference), once)
        metrics = [row.metric for row in self._rows if cell in row.cells and row.metric is not cell.precise]
        replication = Replication(
            cell.precise, rule, lambda o: without_seed(o.results), tuple(dict.fromkeys(metrics))
        )
        job = Job(self._simulation(cell, text, reference), replication)
        self._jobs[key] = job
        self._names[id(job)] = f"{cell.name}, {reading.name}"

    def _simulation(self, cell: Cell, text: str, reference: str | None) -> Callable[[int], Outcome]:
        """Make what runs one seed of a cell."""
        # One trace per run: the pictures need the first, the metrics all of them.
        traced = cell in self._traced

        def simulate(seed: int) -> Outcome:
            twin = None
            if reference is not None and cell.paired:
                twin = json.loads(_core.run(reference, seed))
            elif reference is not None:
                twin = self._references[reference].replication.outcomes[0]
            if traced or cell.observe:
                results, window, observed = _run_traced(text, seed, traced, cell.observe)
                return Outcome(results, twin, window, observed)
            return Outcome(json.loads(_core.run(text, seed)), twin, None)

        return simulate

    def _key(self, cell: Cell, reading: Reading) -> _Key:
        text = self._paper.text(cell, cell.overrides, reading)
        return text, self._reference_text(cell, reading), cell.observe

    def _reference_text(self, cell: Cell, reading: Reading) -> str | None:
        return None if cell.reference is None else self._paper.text(cell, cell.reference, reading)

    def _tell(self, progress: Progress | None, what: str) -> None:
        if progress:
            twins = [job.replication for job in self._references.values()]
            cells = [job.replication for job in self._jobs.values()]
            done = sum(r.runs for r in twins) + sum(r.runs for r in cells)
            expected = sum(r.expected_runs() for r in twins) + sum(r.expected_runs() for r in cells)
            progress(done, expected, what)

    def _section(self, experiment: Experiment) -> Section:
        comparisons = [self._compare(experiment, row) for row in experiment.rows]
        known = tuple(c for c in comparisons if c is not None)
        curves = tuple(
            (curve.label, curve.scale, outcome.observed)
            for curve in experiment.curves
            if (outcome := self._first(curve.cell)) is not None
        )
        traces = tuple(
            (trace, outcome.observed)
            for trace in experiment.traces
            if (outcome := self._first(trace.cell)) is not None
        )
        grid = {quantity: self._measured(quantity) for quantity in experiment.quantities}
        drawn = self._first(experiment.window_of) if experiment.window_of else None
        if drawn is None:
            return Section(experiment, known, curves=curves, grid=grid, traces=traces)
        round_trip_s = (
            drawn.results["flows"][0]["rtt_ms"]["mean"] / 1000 if experiment.in_round_trips else None
        )
        return Section(experiment, known, drawn.window, round_trip_s, curves)

    def _first(self, cell: Cell) -> Outcome | None:
        """The first run of a cell under the default reading; None if it is not complete."""
        replication = self._jobs[self._key(cell, self._readings[0])].replication
        return replication.outcomes[0] if replication.finished else None

    def _compare(self, experiment: Experiment, row: Row) -> Comparison | None:
        default, *others = self._readings
        measured = self._estimate(row, default)
        if measured is None:
            return None
        beside = {reading.name: self._estimate(row, reading) for reading in others}
        known = {name: found for name, found in beside.items() if found is not None}
        value = self._paper.published[row.published_id]
        choice = self._paper.calibrated.get(value.id)

        def judge(measured: Estimate) -> Verdict:
            return "calibrated" if choice else _judge(value, measured, row.averaged_runs)

        readings = {name: (e, judge(e)) for name, e in {default.name: measured, **known}.items()}
        reason = (
            helped_to_choose(choice)
            if choice
            else reason_for(
                value,
                f"{experiment.place} ({', '.join(row.labels)})",
                default.name,
                measured,
                known,
                judge,
                row.averaged_runs,
                row.remark,
                more_readings=len(self._paper.readings) > 1,
            )
        )
        first_run = row.pick([estimate(each.values[:1]) for each in self._estimates(row, default)]).mean
        return Comparison(row, value, measured, first_run, known, judge(measured), reason, readings)

    def _estimate(self, row: Row, reading: Reading) -> Estimate | None:
        """Estimate what a row measures under a reading; None if that is not complete."""
        replications = [self._jobs[self._key(cell, reading)].replication for cell in row.cells]
        if not all(replication.finished for replication in replications):
            return None
        return row.pick(self._estimates(row, reading))

    def _estimates(self, row: Row, reading: Reading) -> list[Estimate]:
        """Estimate the metric of a row in each of its cells."""
        replications = [self._jobs[self._key(cell, reading)].replication for cell in row.cells]
        return [replication.estimate(row.metric) for replication in replications]

    def _measured(self, quantity: Quantity) -> Estimate | None:
        """Estimate what a claim or a grid is about; None if that is not complete."""
        replication = self._jobs[self._key(quantity.cell, self._readings[0])].replication
        return replication.estimate(quantity.metric) if replication.finished else None


def _judge(value: Published, estimate: Estimate | None, averaged_runs: int) -> Verdict:
    return verdict(value.kind, value.value, value.corrected, estimate, value.unit, averaged_runs, value.bound)


def _runner(text: str) -> Callable[[int], Results]:
    def simulate(seed: int) -> Results:
        results: Results = json.loads(_core.run(text, seed))
        return results

    return simulate


def _run_traced(
    text: str, seed: int, traced: bool, observe: Observation | None
) -> tuple[Results, SendWindow | None, Any]:
    probes = {*(("tcp_state",) if traced else ()), *(observe.probes if observe else ())}
    simulation = _core.Simulation(text, seed, sorted(probes), False)
    while not simulation.advance(simulation.end_s):
        pass
    events = simulation.take_trace()
    window = None
    if traced:
        states = events["tcp_state"]
        window = SendWindow.from_trace(np.asarray(states["time_ns"]), np.asarray(states["send_window"]))
    results: Results = json.loads(simulation.results())
    return results, window, observe.reduce(events) if observe else None
