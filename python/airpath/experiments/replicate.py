"""`airpath.replicate`: a scenario with one seed after the other until its averages are known well enough."""

from __future__ import annotations

import contextlib
import json
import math
import numbers
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, overload

from airpath import _core
from airpath.progress import reporting
from airpath.runner.threads import run_here
from airpath.runs.metrics import named
from airpath.runs.renamed import current
from airpath.scenario import load
from airpath.stats.estimate import CONFIDENCE, Estimate, Estimates
from airpath.stats.replication import MAX_RUNS, Replication, Results, Rule, without_seed

Metric = Callable[[Results], float] | str
"""A number of a run: a function of its results, or the name of a number in them (`metrics.named`)."""


@overload
def replicate(
    scenario: Any,
    metrics: Metric,
    precision: float = ...,
    confidence: float = ...,
    *,
    min_runs: int | None = ...,
    max_runs: int = ...,
    first_seed: int = ...,
    workers: int | None = ...,
    on_run: Callable[[int, int], None] | None = ...,
) -> Estimate: ...


@overload
def replicate(
    scenario: Any,
    metrics: Mapping[str, Metric] | Sequence[str],
    precision: float = ...,
    confidence: float = ...,
    *,
    min_runs: int | None = ...,
    max_runs: int = ...,
    first_seed: int = ...,
    workers: int | None = ...,
    on_run: Callable[[int, int], None] | None = ...,
) -> Estimates: ...


def replicate(
    scenario: Any,
    metrics: Metric | Mapping[str, Metric] | Sequence[str],
    precision: float = 0.05,
    confidence: float = CONFIDENCE,
    *,
    min_runs: int | None = None,
    max_runs: int = MAX_RUNS,
    first_seed: int = 1,
    workers: int | None = None,
    on_run: Callable[[int, int], None] | None = None,
    progress: bool = False,
) -> Estimate | Estimates:
    """Run a scenario with one seed after the other until the means of metrics are known well enough.

    Parameters
    ----------
    scenario : str, Path or object with an attribute `text`
        Bundled name, path of a TOML file, or scenario as TOML.
    metrics : callable or str, sequence of str, or mapping of str to callable or str
        What to average: a number from the results of a run, or its name in them, such as ``"goodput_bps"``
        (see :func:`airpath.runs.metrics.named`). One of them gives an `Estimate`, several give one for each
        name.
    precision, confidence : float
        The half-width of each metric's interval at `confidence` shall be at most `precision` times its mean.
    min_runs, max_runs, first_seed
        See :meth:`Rule.guarded`. Where `max_runs` ends it, `is_precise` of an estimate is False.
    workers : int, optional
        Number of threads; the estimates do not depend on it.
    on_run : callable, optional
        Called after every run with the number of runs done and of runs expected.
    progress : bool
        Whether to show a bar, on a terminal or in a notebook.

    Raises
    ------
    ScenarioError
        If the scenario is not valid.
    ValueError
        If a metric is not finite or not there, or the stopping rule makes no sense.
    """
    read = read_metrics(metrics)
    rule = Rule.guarded(precision, confidence, min_runs, max_runs, first_seed)
    first, *others = read.values()
    replication: Replication[Results] = Replication(first, rule, without_seed, others)
    with reporting_runs(replication, on_run, progress) as report:
        simulate = simulation_of(scenario)
        run_here([replication], lambda _job, seed: simulate(seed), workers, report)
    if callable(metrics) or isinstance(metrics, str):
        return replication.estimate()
    return Estimates({name: replication.estimate(metric) for name, metric in read.items()})


@contextlib.contextmanager
def reporting_runs(
    replication: Replication[Any], on_run: Callable[[int, int], None] | None, progress: bool
) -> Iterator[Callable[[object], None]]:
    """Make what reports a run that has ended to the caller, and to a bar if there is to be one."""
    with reporting(progress, "runs") as show:

        def report(_run: object) -> None:
            done, expected = replication.runs, replication.expected_runs()
            show(done / expected)
            if on_run is not None:
                on_run(done, expected)

        yield report


def simulation_of(scenario: Any) -> Callable[[int], Results]:
    """Make what runs one seed of a scenario.

    It is given as TOML, as `load` takes it (a bundled name or a path), or as an object with an attribute
    `text`.
    """
    if isinstance(scenario, Path) or (isinstance(scenario, str) and not set("=\n[") & set(scenario)):
        scenario = load(scenario)
    text = scenario if isinstance(scenario, str) else scenario.text
    return lambda seed: current(json.loads(_core.run(text, seed)))


def read_metrics(
    metrics: Metric | Mapping[str, Metric] | Sequence[str],
) -> dict[str, Callable[[Results], float]]:
    """Wrap each metric in a function whose error names the metric and run without a finite value."""
    if callable(metrics):
        metrics = {"metric": metrics}
    elif isinstance(metrics, str):
        metrics = {metrics: metrics}
    elif not isinstance(metrics, Mapping):
        metrics = {name: name for name in metrics}
    if not metrics:
        raise ValueError("no metrics: name at least one, such as 'goodput_bps'")
    return {name: _checked(name, metric) for name, metric in metrics.items()}


def _checked(name: str, metric: Metric) -> Callable[[Results], float]:
    read = metric if callable(metric) else named(metric)

    def checked(results: Results) -> float:
        try:
            value = read(results)
        except ValueError as error:
            raise ValueError(f"run with seed {results['seed']}: {error}") from error
        if not isinstance(value, numbers.Real) or not math.isfinite(value):
            wrong = f"metric '{name}' is {value!r} in the run with seed {results['seed']}"
            raise ValueError(f"{wrong}: it must be a finite number in every run")
        return float(value)

    return checked
