"""Runs the experiments of a paper and judges what they give. No cell is simulated twice.

First every cell under the default reading, then under the others. What only a claim or a grid needs runs
under the default reading alone. What an interruption leaves unfinished is left out of the report.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

from airpath.runner import driver
from airpath.runner.cluster import WORKERS_S, Cluster, Security
from airpath.runner.processes import processors
from airpath.runner.threads import Threads, run_here
from airpath.runner.wanted import Once, Wanted
from airpath.runner.work import MakeRuns, Rows
from airpath.runner.work import Row as Run
from airpath.stats.estimate import Estimate, estimate, exact
from airpath.stats.replication import Rule
from airpath_studies import sources
from airpath_studies.base.cell import Cell, Metric, Outcome
from airpath_studies.base.choices import Reading
from airpath_studies.base.claims import judge as judge_claim
from airpath_studies.base.observe import Observation
from airpath_studies.base.paper import Experiment, Paper, Row
from airpath_studies.base.published import Published
from airpath_studies.base.quantity import Quantity
from airpath_studies.base.verdict import Verdict, calibrated, verdict, worse
from airpath_studies.base.wording import number, reason_for
from airpath_studies.journal import Journal
from airpath_studies.outcome import Comparison, Effort, PaperOutcome, Section
from airpath_studies.papers import PAPERS
from airpath_studies.runs import Job, Measured, Runs

_Key = tuple[str, str | None, Observation | None]
"""What tells jobs apart: texts of the scenario and of its twin, and what is kept of the trace."""

Progress = Callable[[int, int, str], None]
"""Called with the runs done, the runs expected in all, and what is being simulated."""


@dataclass(frozen=True)
class PaperRuns:
    """The work of a reproduction, for workers elsewhere: they plan the same jobs."""

    paper: str
    """Its name."""
    experiments: tuple[int, ...]
    """Places of the experiments among the paper's."""
    effort: Effort
    claims: bool
    """Whether the claims are checked, too."""

    def open(self) -> MakeRuns:
        """Plan the reproduction."""
        paper = PAPERS[self.paper]
        chosen = [paper.experiments[place] for place in self.experiments]
        return Reproduction(paper, chosen, self.effort, claims=self.claims).runs.measured


class Reproduction:
    """The simulations that the chosen experiments of a paper need, and its claims if they are checked."""

    def __init__(
        self, paper: Paper, experiments: Sequence[Experiment], effort: Effort, *, claims: bool = False
    ) -> None:
        self._paper = paper
        self._experiments = tuple(experiments)
        self._effort = effort
        self._claims = paper.claims if claims else ()
        default = paper.judging
        others = [r for r in paper.readings if r is not default] if effort.all_readings else []
        self._readings = [default, *others]
        self._rows = [row for experiment in experiments for row in experiment.rows]
        asked = [quantity for experiment in experiments for quantity in experiment.quantities]
        asked += [q for claim in self._claims for q in claim.quantities]
        self._quantities = list(dict.fromkeys(asked))
        self._windows = [experiment.window_of for experiment in experiments if experiment.window_of]
        self._traced = {cell for row in self._rows if row.traced for cell in row.cells} | set(self._windows)
        self._traced |= {quantity.cell for quantity in self._quantities if quantity.traced}
        self._asked: dict[Cell, list[Metric]] = {}
        for quantity in self._quantities:
            self._asked.setdefault(quantity.cell, []).append(quantity.metric)
        self._rows_of: dict[Cell, list[Row]] = {}
        for row in self._rows:
            for cell in dict.fromkeys(row.cells):
                self._rows_of.setdefault(cell, []).append(row)
        # A cell is asked for by each of its values, and its scenario takes the core a while to resolve.
        self._key = cache(self._key_of)
        self._jobs: dict[_Key, Job] = {}
        self._plan_all()
        jobs = list(self._jobs.values())
        for job in jobs:
            job.replicate()
        self.runs = Runs(jobs)
        self._drawn: dict[_Key, Outcome] = {}

    def simulate(
        self,
        workers: int | None = None,
        progress: Progress = lambda _done, _expected, _what: None,
        *,
        dask: str | None = None,
        dask_wait_s: float | None = None,
        dask_security: Security | None = None,
        journal: Journal | None = None,
        warn: Callable[[str], None] = lambda _: None,
    ) -> bool:
        """Run everything; whether it got to its end, and was not interrupted.

        Parameters
        ----------
        workers : int, optional
            Number of threads; the processors that this process may use if absent.
        progress : callable
            Called after every run.
        dask, dask_wait_s, dask_security
            A Dask scheduler whose workers make the runs, see `airpath.runner.cluster.pool_of`.
        journal : Journal, optional
            Keeps the runs, begun with `digest`: what it holds is not run again.
        warn : callable
            Called when there is no worker.

        Raises
        ------
        OutputError
            If the journal cannot be written.
        SweepError
            If the cluster is not there or goes away.
        """
        jobs, kept = list(self._jobs.values()), journal or Journal(None, "")

        def width(job: int) -> int:
            return len(jobs[job].metrics)

        for job, _, [(values, _)] in kept.rows:
            if job >= len(jobs) or len(values) != width(job):
                raise kept.damaged()
        with driver.signals() as stopped:
            wanted = Wanted([job.replication for job in jobs], kept.rows)

            def tell(rows: Rows) -> None:
                progress(wanted.done, wanted.expected, jobs[rows[0]].name)

            def name(job: int) -> str:
                return jobs[job].name

            def measure(job: int, seed: int) -> Measured:
                return next(self.runs.measured(job, (seed,)))[0]

            pool: Threads | Cluster
            if dask is None:
                pool = Threads(workers or processors(), measure)
            else:
                wait_s = WORKERS_S if dask_wait_s is None else dask_wait_s
                pool = Cluster(dask, self._work(), width, wait_s, warn, dask_security)
            with pool:
                driver.run(wanted, pool, name=name, keep=kept.append, on_rows=tell, stopped=stopped)
            if wanted.is_finished:
                self._draw(workers)
            return wanted.is_finished

    def _work(self) -> PaperRuns:
        places = tuple(self._paper.experiments.index(experiment) for experiment in self._experiments)
        return PaperRuns(self._paper.name, places, self._effort, bool(self._claims))

    @property
    def digest(self) -> str:
        """Digest of what the runs depend on: scenarios, metrics, the engine, and this paper's modules."""
        seen = hashlib.sha256()
        for text, reference, observation in self._jobs:
            seen.update(f"{text}\n{reference}\n{observation and observation.probes}\n".encode())
        for job in self._jobs.values():
            seen.update(f"{job.rule}, {len(job.metrics)}\n".encode())
        for source in sources.sources_of(self._paper.name):
            seen.update(f"{source.relative_to(sources.FOLDER).as_posix()}\n".encode())
            seen.update(source.read_bytes())
        return seen.hexdigest()

    def _draw(self, workers: int | None) -> None:
        """Make the runs of pictures, one each."""
        single = [cell for experiment in self._experiments for cell in experiment.single_runs]
        keys = list(dict.fromkeys(self._key(cell, self._readings[0]) for cell in [*self._windows, *single]))

        def take_in(run: Run) -> None:
            self._drawn[keys[run[0]]] = run[2]

        seed = self._effort.rule.first_seed
        make = lambda number, seed: self.runs.outcome(self._jobs[keys[number]], seed)  # noqa: E731
        run_here([Once(seed) for _ in keys], make, workers, take_in)

    def outcome(self, complete: bool, background: bool) -> PaperOutcome:
        """Judge what is complete; `background` adds the values that nothing can be set against."""
        values = [value for value in self._paper.published.values() if background and value.background]
        unmeasured = tuple(
            Comparison(None, value, None, None, {}, _judge(value, None, 1), "", {}) for value in values
        )
        sections = tuple(self._section(experiment) for experiment in self._experiments)
        known = {quantity: self._measured(quantity) for quantity in self._quantities}
        estimates = {quantity: measured for quantity, measured in known.items() if measured is not None}
        claims = tuple(
            judge_claim(
                claim, estimates, self._paper.not_reproduced, self._paper.calibrated, self._paper.derived
            )
            for claim in self._claims
        )
        return PaperOutcome(self._paper, self._effort, sections, unmeasured, claims, not complete)

    def _plan_all(self) -> None:
        """Make the jobs: rows first, under every reading, then what is needed under the default one."""
        default = self._readings[0]
        cells = dict.fromkeys([*(cell for row in self._rows for cell in row.cells), *self._windows])
        for reading in self._readings:
            for cell in cells:
                self._plan(cell, reading, self._rule(cell))
        for quantity in self._quantities:
            self._plan(quantity.cell, default, self._rule(quantity.cell))
        for experiment in self._experiments:
            for cell in experiment.single_runs:
                self._plan(cell, default, Rule.exactly(1))

    def _rule(self, cell: Cell) -> Rule:
        averaged = [row.averaged_runs for row in self._rows_of.get(cell, ())]
        return self._effort.rule_for(max(cell.runs, *averaged, 1), cell.most_runs, cell.precision)

    def _plan(self, cell: Cell, reading: Reading, rule: Rule) -> None:
        key = self._key(cell, reading)
        metrics = [row.metric for row in self._rows_of.get(cell, ())]
        if key not in self._jobs:
            deciding = tuple(dict.fromkeys([cell.precise, *cell.also_precise, *metrics]))
            name = f"{cell.name}, {reading.name}"
            self._jobs[key] = Job(name, cell, *key[:2], cell in self._traced, rule, deciding)
        job = self._jobs[key]
        job.traced |= cell in self._traced
        if reading is self._readings[0]:
            metrics += self._asked.get(cell, ())
        for metric in metrics:
            job.ask(metric)

    def _key_of(self, cell: Cell, reading: Reading) -> _Key:
        twin = None if cell.reference is None else self._paper.text(cell, cell.reference, reading)
        return self._paper.text(cell, cell.overrides, reading), twin, cell.observe

    def _section(self, experiment: Experiment) -> Section:
        comparisons = [self._compare(experiment, row) for row in experiment.rows]
        drawn = self._first(experiment.window_of) if experiment.window_of else None
        return Section(
            experiment,
            tuple(comparison for comparison in comparisons if comparison is not None),
            drawn.window if drawn else None,
            drawn.flow["rtt_ms"]["mean"] / 1000 if drawn and experiment.in_round_trips else None,
            tuple(
                (of.label, of.scale, run.observed)
                for of in experiment.curves
                if (run := self._first(of.cell))
            ),
            {quantity: self._measured(quantity) for quantity in experiment.quantities},
            tuple((of, run.observed) for of in experiment.traces if (run := self._first(of.cell))),
        )

    def _first(self, cell: Cell) -> Outcome | None:
        """The first run of a cell under the default reading; None if it was not made."""
        return self._drawn.get(self._key(cell, self._readings[0]))

    def _compare(self, experiment: Experiment, row: Row) -> Comparison | None:
        default = self._readings[0]
        estimates = {reading.name: self._estimate(row, reading) for reading in self._readings}
        value = self._paper.published[row.published_id]
        choice, rule = self._paper.calibrated.get(value.id), self._paper.derived.get(value.id)
        readings = {
            name: (known, self._verdict(value, row, known, reading))
            for name, reading in ((reading.name, reading) for reading in self._readings)
            if (known := estimates[name]) is not None
        }
        if default.name not in readings:
            return None
        measured, judged = readings[default.name]
        where = f"{experiment.place} ({', '.join(row.labels)})"
        more = len(self._paper.readings) > 1
        if judged == "restated":
            reason = f"judged and counted with {value.restates or value.range_of}"
        elif rule:
            reason = rule
        elif choice:
            reason = choice.reason
        else:
            remark = "; ".join(filter(None, (row.remark, *self._upper_ends(value))))
            reason = reason_for(value, where, readings, row.averaged_runs, remark, more_readings=more)
        alone = self._paper.link_alone(row, measured)
        link = None if alone is None else (alone, _judge(value, exact(alone), 1))
        first_run = row.pick([estimate(each.values[:1]) for each in self._estimates(row, default)]).mean
        others = {name: known for name, (known, _) in readings.items() if name != default.name}
        return Comparison(row, value, measured, first_run, others, judged, reason, readings, link)

    def _verdict(self, value: Published, row: Row, known: Estimate, reading: Reading) -> Verdict:
        """Judge what was measured for a value under a reading; a range by both of its ends."""
        if value.restates or value.range_of:
            return "restated"
        if value.id in self._paper.derived:
            return "derived"
        judged, used = _judge(value, known, row.averaged_runs), value.id in self._paper.calibrated
        for upper in self._uppers(value):
            end, of_end = self._paper.published[upper.published_id], self._estimate(upper, reading)
            if of_end is not None:
                judged = worse(judged, _judge(end, of_end, upper.averaged_runs))
        return calibrated(judged) if used else judged

    def _uppers(self, value: Published) -> list[Row]:
        """Rows of the upper end of the range that begins with a value; none if it is no range."""
        published = self._paper.published
        return [row for row in self._rows if published[row.published_id].range_of == value.id]

    def _upper_ends(self, value: Published) -> list[str]:
        """Say what was measured for the upper end of a range."""
        known = [(row, self._estimate(row, self._readings[0])) for row in self._uppers(value)]
        return [
            f"its upper end, {self._paper.published[row.published_id].value:g}: {number(of.mean)}"
            for row, of in known
            if of is not None
        ]

    def _estimate(self, row: Row, reading: Reading) -> Estimate | None:
        """Estimate what a row measures under a reading; None if that is not complete."""
        if not all(self._jobs[self._key(cell, reading)].replication.finished for cell in row.cells):
            return None
        return row.pick(self._estimates(row, reading))

    def _estimates(self, row: Row, reading: Reading) -> list[Estimate]:
        """Estimate the metric of a row in each of its cells."""
        return [self._jobs[self._key(cell, reading)].estimate(row.metric) for cell in row.cells]

    def _measured(self, quantity: Quantity) -> Estimate | None:
        """Estimate what a claim or a grid is about; None if that is not complete."""
        job = self._jobs[self._key(quantity.cell, self._readings[0])]
        return job.estimate(quantity.metric) if job.replication.finished else None


def _judge(value: Published, estimate: Estimate | None, averaged_runs: int) -> Verdict:
    return verdict(value.kind, value.value, value.corrected, estimate, value.unit, averaged_runs, value.bound)
