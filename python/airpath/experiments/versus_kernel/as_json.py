"""A comparison as JSON: every value of every run, intervals, verdicts, and how both worlds were set."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from airpath import _core
from airpath.experiments.versus_kernel.campaign import Outcomes, Variant
from airpath.experiments.versus_kernel.carried import Transfer
from airpath.experiments.versus_kernel.judgement import Effect, Judgement, as_json, effects, judge


def comparison_as_json(
    name: str,
    variants: Sequence[Variant],
    carried: Sequence[Transfer],
    seeds: Sequence[int],
    outcomes: Outcomes,
    kernel: str,
) -> dict[str, Any]:
    """Write a comparison; see `print_comparison` for the parameters.

    Units are in the names; `difference` is simulated less live, `relative` that over the live mean.
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
            "simulated": outcomes.simulated[variant.name, seed][number].json(),
            "live": outcomes.live[variant.name, seed][number].json(),
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
