"""Reports of `airpath compare`: simulation against live runs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from airpath.experiments.versus_kernel.campaign import Outcomes, Variant
from airpath.experiments.versus_kernel.carried import Transfer
from airpath.experiments.versus_kernel.judgement import Effect, Judgement, effects, judge
from airpath.experiments.versus_kernel.measured import Metric, metrics_of
from airpath.report.document import Items, Note, Part, Table
from airpath.stats.estimate import Estimate
from airpath.terminal import counted

FEW = 5
"""Reasons of repeated runs that are shown; the JSON has all."""


def comparison_report(
    name: str, variants: list[Variant], carried: list[Transfer], outcomes: Outcomes, kernel: str
) -> Iterator[Part]:
    """Report on a scenario, simulated and live: results of its variants' runs for the flows `carried`.

    Variants without mechanism come first; `kernel` is the kernel's release.
    """
    labels = [
        (number, [Note(f"flow {number}, {transfer.direction}")] if len(carried) > 1 else [])
        for number, transfer in enumerate(carried)
    ]
    for variant in variants:
        runs = counted(len(outcomes.seeds(variant.name)), "run")
        with_ = f" with {variant.mechanism}" if variant.mechanism else ""
        yield Note(f"{name}{with_}, {variant.congestion_control}: {runs} of each; Linux {kernel}")
        yield Items(
            [f"not the scenario's TCP: {line}" for line in (variant.tcp.unlike if variant.tcp else ())]
        )
        for number, label in labels:
            yield from label
            yield _judgements(judge(outcomes, variant.name, number), metrics_of(carried[number].paths))
    for variant in variants:
        if variant.mechanism is None:
            continue
        yield Note(f"what {variant.mechanism} does with {variant.congestion_control}: with it over without")
        for number, label in labels:
            yield from label
            yield _effects(effects(outcomes, variant.congestion_control, variant.name, number))
    yield from notes(outcomes)


def notes(outcomes: Outcomes) -> Iterator[Part]:
    """How late packets left, and which runs were repeated."""
    if outcomes.lateness_p99_us:
        yield Note(f"lateness of the live runs: p99 at most {max(outcomes.lateness_p99_us):.0f} us")
    if repeated := outcomes.repeated:
        yield Note(f"live runs that were not valid, and whose figures were not used: {len(repeated)}")
        yield Items([f"{one.variant}, seed {one.seed}: {'; '.join(one.because)}" for one in repeated[:FEW]])
        if len(repeated) > FEW:
            yield Items([f"and {len(repeated) - FEW} more: see --json"])


def mean_text(known: Estimate, scale: float, digits: int) -> str:
    """Write a mean and half the width of its interval."""
    mean = f"{known.mean * scale:.{digits}f}"
    return mean if math.isnan(known.half_width) else f"{mean} ± {known.half_width * scale:.{digits}f}"


def _judgements(found: list[Judgement], metrics: Sequence[Metric]) -> Table:
    table = Table("", "simulated", "live", "difference", "", words=(0, 4))
    known = {one.metric: one for one in found}
    for metric in metrics:
        one = known.get(metric)
        if one is None:
            table.add(metric.title, "-", "-", "-", "not known for every run")
            continue
        scale, digits, pair = metric.scale, metric.digits, one.pair
        if metric.tolerance is None or pair.relative is None:
            apart = mean_text(pair.difference, scale, digits)
        else:
            apart = f"{mean_text(pair.relative, 100, 1)} %"
        means = (mean_text(side, scale, digits) for side in (pair.a, pair.b))
        table.add(metric.title, *means, apart, one.words)
    return table


def _effects(found: list[Effect]) -> Table:
    return Table.of(
        found,
        ("", lambda one: one.metric.title.rsplit(" ", 1)[0]),
        ("simulated", lambda one: mean_text(one.simulated, 1, 3)),
        ("live", lambda one: mean_text(one.live, 1, 3)),
        ("difference\nin points", lambda one: mean_text(one.difference, 100, 1)),
        ("", lambda one: one.words),
        words=(0, 4),
    )
