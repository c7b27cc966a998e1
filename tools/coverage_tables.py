"""Measures the tables of docs/statistics.md: how often intervals of 95 % cover what they should.

    python tools/coverage_tables.py [--repetitions 6000] [--seeds 5] [--jobs N]

The repetitions are spread over the seeds; behind each coverage stands its standard error. The tests want the
same of fewer repetitions (tests/stats/test_coverage.py); this takes some minutes.
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
    exponential,
    mostly_the_same,
    repetitions,
    sequential,
    settling,
    shifted,
)

from airpath.stats.batch_means import batch_means, steady_mean
from airpath.stats.replication import Rule


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


def stopped(name, guarded, count, seed):
    """Whether each repetition covers, and how many runs it took."""
    draw, precision, most = SEQUENTIAL[name]
    rule = Rule.guarded(precision, max_runs=most) if guarded else Rule(precision, max_runs=most)
    known = list(sequential(rule, draw, seed, count))
    return [one.ci_low <= answer <= one.ci_high for one, answer in known], [one.n for one, _ in known]


def in_one_run(name, count, seed):
    """Whether the interval from each long run covers, and which runs are flagged as too short."""
    draw, n = SERIES.get(name, (settling, 2000))
    judge = steady_mean if name == "settling" else batch_means
    series = repetitions(draw, n, count, seed, 10 if n == 100_000 else 100)
    known = [(judge(x), answer) for x, answer in series]
    return [one.ci_low <= answer <= one.ci_high for one, answer in known], [
        bool(one.remark) for one, _ in known
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--repetitions", type=int, default=6000, help="of each row, in hundreds for each seed"
    )
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    options = parser.parse_args()
    each = max(100, options.repetitions // options.seeds // 100 * 100)
    seeds = range(1, options.seeds + 1)
    with ProcessPoolExecutor(options.jobs) as pool:
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
            for name in (*SERIES, "settling")
        ]
        for name, what, parts in rows:
            results = [part.result() for part in parts]
            covered = list(chain.from_iterable(one for one, _ in results))
            share = float(np.mean(covered))
            error = math.sqrt(share * (1 - share) / len(covered))
            mean = float(np.mean(list(chain.from_iterable(other for _, other in results))))
            print(f"{name:40} {share:.3f} ± {error:.3f}  {what} {mean:.3g}", flush=True)


if __name__ == "__main__":
    main()
