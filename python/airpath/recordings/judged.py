"""Compares a fitted model with its recording, by statistics and by what TCP sees."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from airpath import _core
from airpath.recordings.felt import METRICS, WINDOW_S, Felt, felt_of, link_of, middle, windows
from airpath.recordings.statistics import Statistics, describe_counts
from airpath.scenario import Scenario
from airpath.stats.estimate import Estimate, estimate

Counts = NDArray[np.int32]
Model = Mapping[str, Any]

SEEDS = 8
"""Runs of the model, each as long as the recording, whose statistics are averaged."""
MOST_PACKETS = 20_000_000
"""So many opportunities are at most simulated for a comparison of transfers: about half a minute."""
MOST_WINDOWS = 20
PATH = """\
[radio.variable]
[[flow]]
app.bulk = {}
"""


def offered(model: Model, seed: int, milliseconds: int, *, is_uplink: bool = False) -> Counts:
    """Opportunities of a model in each millisecond."""
    direction = "uplink" if is_uplink else "downlink"
    scenario = Scenario("fit", PATH).with_(f"radio.variable.{direction}.channel", process(model))
    counts = _core.opportunities(scenario.text, seed, 0, is_uplink, milliseconds)
    assert counts is not None
    return counts.astype(np.int32)


def process(model: Model) -> dict[str, Any]:
    """The channel of a model."""
    return {"process": {"model": model, "spacing": "at_once"}}


def statistics_of(model: Model, milliseconds: int, seeds: int = SEEDS) -> Statistics:
    """Statistics of a model: means over runs of this length."""
    runs = [describe_counts(offered(model, seed, milliseconds)) for seed in range(1, seeds + 1)]
    return mean_of(runs)


def mean_of(runs: list[Statistics]) -> Statistics:
    """Mean of each statistic over the runs that have it."""
    means: dict[str, float | None] = {}
    for one in fields(Statistics):
        known = [value for run in runs if (value := getattr(run, one.name)) is not None]
        means[one.name] = sum(known) / len(known) if known else None
    return Statistics(**means)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Compared:
    """What transfers see of a recording and of its model.

    Parameters
    ----------
    setup : (str, str)
        Congestion control and queue.
    metric : str
        One of `METRICS` or ``"timeouts"``.
    recorded, modelled : Estimate
        Mean over windows of 60 s, geometric of an RTT, with its interval.
    """

    setup: tuple[str, str]
    metric: str
    recorded: Estimate
    modelled: Estimate

    def as_dict(self) -> dict[str, Any]:
        """Return the values for JSON; a single window has no interval."""
        said: dict[str, Any] = {"setup": self.setup, "metric": self.metric}
        for name, known in (("recorded", self.recorded), ("modelled", self.modelled)):
            said |= {name: known.mean, f"{name}_ci": [known.ci_low, known.ci_high] if known.n > 1 else None}
        return said


def compare_transfers(
    counts: Counts,
    link: Callable[[int], object],
    setups: tuple[tuple[str, str], ...] = (("CUBIC", "drop-tail"), ("BBR", "drop-tail")),
    progress: Callable[[float], None] = lambda share: None,
) -> list[Compared]:
    """Run transfers over windows of a recording, and over 20 of its model: fewer of a fast link.

    `link` has the channel of the model's window by number; the seed of its run is one more.
    """
    chosen = windows(counts)
    per_window = max(float(np.mean([one.sum() for one in chosen])), 1.0)
    number = max(2, min(MOST_WINDOWS, int(MOST_PACKETS / per_window / (2 * len(setups)))))
    if len(chosen) > number:
        chosen = [chosen[int(place)] for place in (np.arange(number) + 0.5) * len(chosen) / number]
    links = [link_of(one) for one in chosen]
    # Each second is shared by two windows, unless some are left out.
    step = 2 if len(counts) < len(chosen) * 1000 * WINDOW_S else 1
    found = []
    for done, setup in enumerate(setups):
        recorded = felt_of(lambda index: links[index], len(links), setup)
        progress((2 * done + 1) / (2 * len(setups)))
        modelled = felt_of(link, number, setup, is_seeded=True)
        progress((done + 1) / len(setups))
        found += [
            Compared(setup, metric, estimated(recorded, metric, step), estimated(modelled, metric))
            for metric in (*METRICS, "timeouts")
        ]
    return found


def estimated(felt: list[Felt], metric: str, step: int = 1) -> Estimate:
    """Mean as of `middle` with its interval, which each `step`-th window tells: they do not overlap."""
    is_rtt = metric.startswith("rtt")
    values = [float(getattr(one, metric)) for one in felt]
    apart = estimate([math.log(value) for value in values[::step]] if is_rtt else values[::step])
    mean = middle(felt, metric)
    low, high = (
        mean * math.exp(end - apart.mean) if is_rtt else max(0.0, mean + end - apart.mean)
        for end in (apart.ci_low, apart.ci_high)
    )
    return replace(apart, mean=mean, ci_low=low, ci_high=high)
