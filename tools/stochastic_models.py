"""Random series whose expected values are known, many repetitions at once: one row each."""

import numpy as np

from airpath.stats.replication import Replication


def normal(rng, repetitions, n):
    return 5 + rng.standard_normal((repetitions, n)), 5.0


def exponential(rng, repetitions, n):
    return rng.exponential(size=(repetitions, n)), 1.0


def autoregressive(phi):
    """x(t) = phi x(t-1) + noise, from its steady state on."""

    def draw(rng, repetitions, n):
        series = rng.standard_normal((n, repetitions))
        series[0] /= np.sqrt(1 - phi**2)
        for now in range(1, n):
            series[now] += phi * series[now - 1]
        return series.T, 0.0

    return draw


def sawtooth(period, noise):
    """A TCP-like window: rises by 1 within `period`, from a random phase on, and falls; with noise."""

    def draw(rng, repetitions, n):
        # A period that is no whole number, as batches of one whole period would have no variance.
        phases = (np.arange(n) / (period + 0.37) + rng.random((repetitions, 1))) % 1
        return phases + noise * rng.standard_normal((repetitions, n)), 0.5

    return draw


def waiting_in_mm1(load):
    """Waiting times of consecutive customers at a queue M/M/1 with service rate 1, from the steady state on.

    Lindley's recursion as the distance of a random walk from its lowest point; the expected value is load /
    (1 - load), in the steady state, the waiting time is zero with probability 1 - load.
    """

    def draw(rng, repetitions, n):
        steps = rng.exponential(1, (repetitions, n)) - rng.exponential(1 / load, (repetitions, n))
        waits = rng.random(repetitions) < load
        steps[:, 0] = np.where(waits, rng.exponential(1 / (1 - load), repetitions), 0.0)
        walk = np.cumsum(steps, axis=1)
        return walk - np.minimum(np.minimum.accumulate(walk, axis=1), 0), load / (1 - load)

    return draw


def settling(rng, repetitions, n):
    """A transient known to the digit, 10 exp(-t / 50), and correlated noise around 3."""
    noise, _ = autoregressive(0.5)(rng, repetitions, n)
    return 3 + 10 * np.exp(-np.arange(n) / 50) + noise, 3.0


def repetitions(draw, n, count, seed, at_once=100):
    """Series one by one, with the expected value."""
    rng = np.random.default_rng(seed)
    for _ in range(count // at_once):
        series, expected = draw(rng, at_once, n)
        for one in series:
            yield one, expected


def mostly_the_same(rng, count, n):
    """A rare event: one run in ten takes three times as long."""
    return np.where(rng.random((count, n)) < 0.1, 3.0, 1.0), 1.2


def tailed(rng, count, n):
    """A transfer time: hardly any spread, but one run in twenty takes 10 % longer."""
    return 100 + rng.standard_normal((count, n)) + 10 * (rng.random((count, n)) < 0.05), 100.5


def sequential(rule, draw, seed, count=2000):
    """Stop by a rule, over and over; each repetition has so many values in store as the rule allows."""
    for values, expected in repetitions(draw, rule.max_runs, count, seed):
        # Outcomes differ from run to run even where the metric does not.
        replication = Replication(lambda outcome: outcome[0], rule)
        while seeds := replication.next_seeds():
            replication.add(seeds, [(float(values[one - rule.first_seed]), one) for one in seeds])
        yield replication.estimate(), expected


def shifted(mean):
    def draw(rng, count, n):
        return mean + rng.standard_normal((count, n)), mean

    return draw


SERIES = {
    "independent": (normal, 1000),
    "few": (normal, 100),
    "exponential": (exponential, 1000),
    "skewed and few": (exponential, 200),
    "AR(1) 0.5": (autoregressive(0.5), 5000),
    "AR(1) 0.9": (autoregressive(0.9), 5000),
    "M/M/1 0.5": (waiting_in_mm1(0.5), 20_000),
    "M/M/1 0.8": (waiting_in_mm1(0.8), 100_000),
}
