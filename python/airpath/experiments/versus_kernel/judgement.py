"""Intervals, differences and verdicts: how far simulated and live agree, also as JSON.

Paired comparison: for each seed, simulated minus live. The confidence interval of the mean difference is
valid whether or not common seeds reduce the variance. The JSON also has Welch's interval for independent
runs. Differences are relative to the live mean.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from statistics import fmean
from typing import Any

from airpath import _core
from airpath.experiments.paired import PairedComparison, paired
from airpath.experiments.versus_kernel.campaign import Outcomes, Variant
from airpath.experiments.versus_kernel.carried import Transfer
from airpath.experiments.versus_kernel.measured import Figures, Metric, metrics_of
from airpath.stats.estimate import Estimate, by_seed, estimate, welch

AGREE, UNSURE, DIFFER, NOT_SEEN = "agree", "unsure", "differ", "no_difference_seen"
LEAST_COUNT = 5.0
"""A ratio of counts is computed only if the baseline (without the mechanism) has at least this many per run,
in simulation and live."""
EFFECT_TOLERANCE = 0.05
"""Effects of a mechanism agree if they are no further apart than this, as shares of what is without it."""


@dataclass(frozen=True)
class Judgement:
    """One metric, simulated and live, with their difference.

    `welch` is the interval of the difference, in the metric's unit, if the runs were not paired; NaN after
    one run. The `verdict` is "agree", "unsure", "differ" or, of counts, which have no tolerance,
    "no_difference_seen"; `words` say it to people.
    """

    metric: Metric
    pair: PairedComparison
    welch: tuple[float, float]
    verdict: str
    words: str


@dataclass(frozen=True)
class Effect:
    """Effect of a mechanism on a metric, simulated and live: mean with it over mean without it."""

    metric: Metric
    simulated: Estimate
    live: Estimate
    difference: Estimate
    verdict: str
    words: str


def judge(outcomes: Outcomes, variant: str, transfer: int) -> list[Judgement]:
    """Judge one transfer of a variant; a figure that some run does not have is left out."""
    seeds = outcomes.seeds(variant)
    found = []
    for metric in _metrics(outcomes, variant, seeds, transfer):
        simulated = _values(outcomes.simulated, variant, seeds, transfer, metric)
        live = _values(outcomes.live, variant, seeds, transfer, metric)
        if simulated and live:
            found.append(judged(metric, simulated, live))
    return found


def judged(metric: Metric, simulated: Sequence[float], live: Sequence[float]) -> Judgement:
    """Judge one metric from the values of all runs, in the order of the seeds."""
    pair = paired(estimate(simulated), estimate(live))
    if metric.tolerance is None or pair.relative is None:
        verdict, words = _of_counts(pair, metric)
    else:
        verdict, words = _within(pair.relative, metric.tolerance, "%")
    return Judgement(metric, pair, welch(pair.a, pair.b), verdict, words)


def effects(outcomes: Outcomes, base: str, variant: str, transfer: int) -> list[Effect]:
    """Judge what distinguishes a variant from another; rare events have no ratio (`LEAST_COUNT`)."""
    seeds = [seed for seed in outcomes.seeds(variant) if seed in outcomes.seeds(base)]
    found = []
    for metric in _metrics(outcomes, variant, seeds, transfer):
        ratios = []
        for world in (outcomes.simulated, outcomes.live):
            values = [_values(world, name, seeds, transfer, metric) for name in (variant, base)]
            if all(values) and (metric.tolerance is not None or fmean(values[1]) >= LEAST_COUNT):
                ratios.append(_ratio(*values))
        match ratios:
            case [Estimate() as simulated, Estimate() as live]:
                difference = by_seed(lambda one, other: one - other, simulated, live)
                verdict, words = _within(difference, EFFECT_TOLERANCE, "points")
                found.append(Effect(metric, simulated, live, difference, verdict, words))
    return found


def _values(
    world: dict[tuple[str, int], list[Figures]],
    variant: str,
    seeds: Sequence[int],
    transfer: int,
    metric: Metric,
) -> list[float]:
    values = [world[variant, seed][transfer].value(metric) for seed in seeds]
    known = [float(value) for value in values if value is not None]
    return known if len(known) == len(values) else []


def _metrics(outcomes: Outcomes, variant: str, seeds: Sequence[int], transfer: int) -> tuple[Metric, ...]:
    """Metrics of a transfer, by what its runs have."""
    return metrics_of(list(outcomes.simulated[variant, seeds[0]][transfer].shares)) if seeds else ()


def _ratio(changed: Sequence[float], base: Sequence[float]) -> Estimate | None:
    relative = paired(estimate(changed), estimate(base)).relative
    return None if relative is None else estimate(1 + share for share in relative.values)


def _within(share: Estimate, tolerance: float, unit: str) -> tuple[str, str]:
    """Whether a difference is within a tolerance, and how certain that is."""
    bound, apart = f"{100 * tolerance:.0f} {unit}", f"{100 * share.mean:+.1f} {unit}"
    if share.n < 2:
        near = "within" if abs(share.mean) <= tolerance else "beyond"
        return UNSURE, f"{apart}, {near} {bound}; one run tells no interval"
    if -tolerance <= share.ci_low and share.ci_high <= tolerance:
        return AGREE, f"agree within {bound}"
    if share.ci_low > tolerance or share.ci_high < -tolerance:
        return DIFFER, f"differ by more than {bound}"
    if abs(share.mean) <= tolerance:
        return UNSURE, f"within {bound} so far; more runs would tell"
    if share.ci_low > 0 or share.ci_high < 0:
        return DIFFER, f"differ, by about {apart}"
    return UNSURE, f"{apart}, which may be chance; more runs would tell"


def _of_counts(pair: PairedComparison, metric: Metric) -> tuple[str, str]:
    difference = pair.difference
    if difference.n < 2:
        return UNSURE, "one run tells no interval"
    if pair.is_different:
        apart = f"{difference.mean * metric.scale:+.{metric.digits}f}"
        return DIFFER, f"differ: {apart} a run"
    return NOT_SEEN, "no difference seen"


def as_json(known: Estimate) -> dict[str, Any]:
    """An estimate for files; numbers that are none are null."""
    return {
        "mean": known.mean,
        "sd": known.sd if math.isfinite(known.sd) else None,
        "interval": None if math.isnan(known.ci_low) else [known.ci_low, known.ci_high],
        "confidence": known.confidence,
        "n": known.n,
        "values": list(known.values),
    }


def comparison_as_json(
    name: str,
    variants: Sequence[Variant],
    carried: Sequence[Transfer],
    seeds: Sequence[int],
    outcomes: Outcomes,
    kernel: str,
) -> dict[str, Any]:
    """A comparison for files: every value of every run, intervals, verdicts, and both configurations.

    Units are in the names; `difference` is simulated minus live, `relative` that over the live mean.
    """
    return {
        "airpath": _core.version(),
        "rng": _core.RNG_VERSION,
        "kernel": kernel,
        "scenario": name,
        "seeds": list(seeds),
        "flows": [asdict(transfer) for transfer in carried],
        "comparisons": [_variant(variant, carried, outcomes) for variant in variants],
        "live": {
            "repeated": [asdict(one) for one in outcomes.repeated],
            "lateness_p99_us": outcomes.lateness_p99_us,
        },
    }


def _variant(variant: Variant, carried: Sequence[Transfer], outcomes: Outcomes) -> dict[str, Any]:
    return {
        "congestion_control": variant.congestion_control,
        "mechanism": variant.mechanism,
        "simulated_scenario": variant.simulated.text,
        "kernel_tcp": asdict(variant.tcp) if variant.tcp else None,
        "flows": [_flow(variant, number, outcomes) for number in range(len(carried))],
    }


def _flow(variant: Variant, number: int, outcomes: Outcomes) -> dict[str, Any]:
    said: dict[str, Any] = {
        "metrics": {one.metric.name: _judgement(one) for one in judge(outcomes, variant.name, number)}
    }
    if variant.mechanism:
        found = effects(outcomes, variant.congestion_control, variant.name, number)
        said["effects"] = {one.metric.name: _effect(one) for one in found}
    said["runs"] = [
        {
            "seed": seed,
            "simulated": asdict(outcomes.simulated[variant.name, seed][number]),
            "live": asdict(outcomes.live[variant.name, seed][number]),
        }
        for seed in outcomes.seeds(variant.name)
    ]
    return said


def _judgement(one: Judgement) -> dict[str, Any]:
    pair = one.pair
    return {
        "simulated": as_json(pair.a),
        "live": as_json(pair.b),
        "difference": as_json(pair.difference),
        "difference_if_unpaired": None if math.isnan(one.welch[0]) else list(one.welch),
        "relative": None if pair.relative is None else as_json(pair.relative),
        "correlation": None if math.isnan(pair.correlation) else pair.correlation,
        "tolerance": one.metric.tolerance,
        "verdict": one.verdict,
        "words": one.words,
    }


def _effect(one: Effect) -> dict[str, Any]:
    return {
        "simulated_ratio": as_json(one.simulated),
        "live_ratio": as_json(one.live),
        "difference": as_json(one.difference),
        "verdict": one.verdict,
        "words": one.words,
    }
