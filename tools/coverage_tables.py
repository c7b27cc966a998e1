"""Measures the tables of docs/statistics.md: how often intervals of 95 % cover what they should.

    python tools/coverage_tables.py [models|runs] [--repetitions 6000] [--seeds 5] [--jobs N]

The repetitions are spread over the seeds; each coverage is followed by its standard error. The tests check
the same with fewer repetitions (tests/stats/test_coverage.py); this takes some minutes.

`runs` resamples real runs: 600 seeds of each scenario are the population, whose mean is known, and each
repetition draws from them with replacement until `replicate` would stop.
"""

from __future__ import annotations

import argparse
import math
import os
from concurrent.futures import ProcessPoolExecutor
from itertools import chain

import numpy as np
from stochastic_models import (
    SERIES,
    autoregressive,
    exponential,
    mostly_the_same,
    repetitions,
    sawtooth,
    sequential,
    settling,
    shifted,
)

import airpath
from airpath.experiments.replicate import simulation_of
from airpath.runs.metrics import NotMeasuredError, named
from airpath.stats.batch_means import batch_means, steady_mean
from airpath.stats.estimate import Estimate, t_quantile
from airpath.stats.replication import Replication, Rule


def lognormal(rng, count, n):
    return rng.lognormal(0, 0.8, (count, n)), math.exp(0.8**2 / 2)


SEQUENTIAL = {
    "normal, sd 10 % of the mean": (shifted(10), 0.05, 200),
    "normal, sd 20 %": (shifted(5), 0.05, 400),
    "exponential, 10 %": (exponential, 0.10, 1000),
    "exponential, 20 %": (exponential, 0.20, 600),
    "lognormal, sigma 0.8, 20 %": (lognormal, 0.20, 800),
    "1, and 3 in one run of ten": (mostly_the_same, 0.05, 1000),
}


SCENARIOS = {
    "umts-384": {},
    "umts-128": {},
    "jayanathan-46": {},
    "hsdpa-7.2": {"duration": "10 s"},
    "lte-10mhz-still": {"duration": "10 s"},
}
"""Scenarios whose runs are resampled, and what is changed in them."""

METRICS = (
    *("transfer_s", "goodput_bps", "rtt_ms.mean", "rtt_ms.p95", "rtt_ms.max", "queueing_delay_ms.p95"),
    *("retransmissions.total", "timeouts", "fast_retransmits", "dupacks"),
)

POPULATION, MOST_RUNS = 600, 400
"""Runs of each scenario, and at most in a repetition."""


class Student(Replication):
    """What `replicate` did before: Student's interval, whatever the skewness, after 20 runs."""

    RULE = Rule(0.05, 20, MOST_RUNS, batch=10, looks=2, equal_runs=20, doubts_rare_values=True)

    def _estimate(self, metric):
        values = [metric(outcome) for outcome in self.outcomes]
        n, mean, sd = len(values), float(np.mean(values)), float(np.std(values, ddof=1))
        half = t_quantile(n) * (0.0 if max(values) == min(values) else sd) / math.sqrt(n)
        return Estimate(mean, 0.0 if half == 0 else sd, n, mean - half, mean + half, tuple(values))

    def _with_unseen(self, known):
        return known

    def _excess_of(self, now):
        return super()._excess_of(now) if now.sd == 0 else self._excess_of_width(now)


def population(scenario):
    """Metrics of all runs of a scenario, without constants and metrics that some run lacks."""
    chosen = airpath.load(scenario)
    for key, value in SCENARIOS[scenario].items():
        chosen = chosen.with_(key, value)
    simulate = simulation_of(chosen)
    runs = [simulate(seed) for seed in range(1, POPULATION + 1)]
    found = {}
    for name in METRICS:
        try:
            values = np.array([named(name)(run) for run in runs])
        except NotMeasuredError:
            continue
        if np.ptp(values) > 0:
            found[name] = values
    return found


def resampled(values, student, count, seed):
    """Whether each repetition covers the mean, how many runs it took, and whether it was flagged."""
    rng, answer, covered, runs, flagged = np.random.default_rng(seed), float(np.mean(values)), [], [], []
    kind, rule = (Student, Student.RULE) if student else (Replication, Rule.guarded(0.05, max_runs=MOST_RUNS))
    for _ in range(count):
        drawn = rng.choice(values, MOST_RUNS)
        replication = kind(lambda outcome: outcome[0], rule)
        while seeds := replication.next_seeds():
            replication.add(seeds, [(float(drawn[one - 1]), one) for one in seeds])
        known = replication.estimate()
        covered.append(known.ci_low <= answer <= known.ci_high)
        runs.append(known.n)
        flagged.append(not known.is_precise or (not student and bool(known.remark)))
    return covered, runs, flagged


def print_runs(pool, seeds, each) -> None:
    """Print a table: a row for each metric, coverage before and after in a column for each scenario."""
    populations = dict(zip(SCENARIOS, pool.map(population, SCENARIOS), strict=True))
    print(f"| metric | {' | '.join(SCENARIOS)} |\n|---|{'---|' * len(SCENARIOS)}", flush=True)
    for metric in METRICS:
        row = []
        for known in populations.values():
            if metric not in known:
                row.append("")
                continue
            parts = [
                [pool.submit(resampled, known[metric], student, each, seed) for seed in seeds]
                for student in (True, False)
            ]
            before, after = ([part.result() for part in kind] for kind in parts)
            was, is_now = (np.concatenate([one for one, _, _ in kind]).mean() for kind in (before, after))
            number = np.concatenate([one for _, one, _ in after]).mean()
            flagged = np.concatenate([one for _, _, one in after])
            mark = f", {100 * flagged.mean():.0f} % flagged" if flagged.mean() >= 0.005 else ""
            row.append(f"{was:.3f} → {is_now:.3f}, {number:.0f}{mark}")
        print(f"| `{metric}` | {' | '.join(row)} |", flush=True)


FURTHER_SERIES = {
    "settling": (settling, 2000),
    "AR(1) 0.5, few": (autoregressive(0.5), 180),
    "saw-tooth, period 40": (sawtooth(40, 0.3), 600),
    "saw-tooth, period 1000": (sawtooth(1000, 1.0), 600),
    "saw-tooth, period 2000": (sawtooth(2000, 1.0), 600),
}


def stopped(name, guarded, count, seed):
    """Whether each repetition covers, and how many runs it took."""
    draw, precision, most = SEQUENTIAL[name]
    rule = Rule.guarded(precision, max_runs=most) if guarded else Rule(precision, max_runs=most)
    known = list(sequential(rule, draw, seed, count))
    return [one.ci_low <= answer <= one.ci_high for one, answer in known], [one.n for one, _ in known]


def in_one_run(name, count, seed):
    """Whether the interval from each long run covers, and which runs are flagged as too short."""
    draw, n = FURTHER_SERIES.get(name) or SERIES[name]
    judge = steady_mean if name == "settling" else batch_means
    series = repetitions(draw, n, count, seed, 10 if n == 100_000 else 100)
    known = [(judge(x), answer) for x, answer in series]
    return [one.ci_low <= answer <= one.ci_high for one, answer in known], [
        bool(one.remark) for one, _ in known
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", nargs="?", choices=("models", "runs"), default="models")
    parser.add_argument(
        "--repetitions", type=int, default=6000, help="of each row, in hundreds for each seed"
    )
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    options = parser.parse_args()
    each = max(100, options.repetitions // options.seeds // 100 * 100)
    seeds = range(1, options.seeds + 1)
    with ProcessPoolExecutor(options.jobs) as pool:
        if options.what == "runs":
            return print_runs(pool, seeds, each)
        rows = [
            (
                f"{name}, {'guarded' if guarded else 'first look'}",
                "runs",
                [pool.submit(stopped, name, guarded, each, seed) for seed in seeds],
            )
            for name in SEQUENTIAL
            for guarded in (False, True)
        ]
        rows += [
            (name, "flagged", [pool.submit(in_one_run, name, each, seed) for seed in seeds])
            for name in (*SERIES, *FURTHER_SERIES)
        ]
        for name, what, parts in rows:
            results = [part.result() for part in parts]
            covered = list(chain.from_iterable(one for one, _ in results))
            share = float(np.mean(covered))
            error = math.sqrt(share * (1 - share) / len(covered))
            others = list(chain.from_iterable(other for _, other in results))
            mean = float(np.mean(others))
            either = np.mean(np.logical_or(covered, others)) if what == "flagged" else share
            print(f"{name:40} {share:.3f} ± {error:.3f}  {what} {mean:.3g}  either {either:.3f}", flush=True)


if __name__ == "__main__":
    main()
