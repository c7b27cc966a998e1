"""A comparison for the terminal: a table for each congestion control, and one for each mechanism."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from airpath.agreement.campaign import Outcomes, Variant
from airpath.agreement.carried import Transfer
from airpath.agreement.figures import METRICS
from airpath.agreement.judgement import Effect, Judgement, effects, judge
from airpath.estimate import Estimate
from airpath.terminal import Table, console_for, counted, say

if TYPE_CHECKING:
    from rich.console import Console

FEW = 5
"""So many reasons of repeated runs are printed; the JSON has all."""


def print_comparison(
    name: str, variants: list[Variant], carried: list[Transfer], outcomes: Outcomes, kernel: str
) -> None:
    """Print everything.

    Parameters
    ----------
    name : str
        The scenario's.
    variants : list of Variant
        Those without mechanism first.
    carried : list of Transfer
        The flows.
    outcomes : Outcomes
        What the runs gave.
    kernel : str
        Its release.
    """
    console = console_for()
    for variant in variants:
        runs = len(outcomes.seeds(variant.name))
        with_ = f" with {variant.mechanism}" if variant.mechanism else ""
        say(
            console,
            f"{name}{with_}, {variant.congestion_control}: {counted(runs, 'run')} of each; Linux {kernel}",
        )
        for line in variant.tcp.unlike if variant.tcp else ():
            say(console, f"  not the scenario's TCP: {line}")
        for number, transfer in enumerate(carried):
            _print_judgements(
                console, judge(outcomes, variant.name, number), _label(carried, number, transfer)
            )
    for variant in variants:
        if variant.mechanism is None:
            continue
        say(console, f"what {variant.mechanism} does with {variant.congestion_control}: with it over without")
        for number, transfer in enumerate(carried):
            found = effects(outcomes, variant.congestion_control, variant.name, number)
            _print_effects(console, found, _label(carried, number, transfer))
    for line in notes(outcomes):
        say(console, line)


def notes(outcomes: Outcomes) -> list[str]:
    """What was repeated, and how late packets left."""
    lines = []
    if outcomes.lateness_p99_us:
        lines.append(f"lateness of the live runs: p99 at most {max(outcomes.lateness_p99_us):.0f} us")
    if repeated := outcomes.repeated:
        lines.append(f"live runs that were not valid, and whose figures were not used: {len(repeated)}")
        lines += [f"  {one.variant}, seed {one.seed}: {'; '.join(one.because)}" for one in repeated[:FEW]]
        if len(repeated) > FEW:
            lines.append(f"  and {len(repeated) - FEW} more: see --json")
    return lines


def mean_text(known: Estimate, scale: float, digits: int) -> str:
    """A mean and half of its interval."""
    mean = f"{known.mean * scale:.{digits}f}"
    return mean if math.isnan(known.half_width) else f"{mean} ± {known.half_width * scale:.{digits}f}"


def _label(carried: list[Transfer], number: int, transfer: Transfer) -> str | None:
    return None if len(carried) == 1 else f"flow {number}, {transfer.direction}"


def _print_judgements(console: Console, found: list[Judgement], label: str | None) -> None:
    if label:
        say(console, label)
    table = Table("", "simulated", "live", "difference", "", words=(0, 4))
    known = {one.metric: one for one in found}
    for metric in METRICS:
        one = known.get(metric)
        if one is None:
            table.add(metric.title, "-", "-", "-", "not known of every run")
            continue
        scale, digits, pair = one.metric.scale, one.metric.digits, one.pair
        if one.metric.tolerance is None or pair.relative is None:
            apart = mean_text(pair.difference, scale, digits)
        else:
            apart = f"{mean_text(pair.relative, 100, 1)} %"
        table.add(
            one.metric.title,
            mean_text(pair.a, scale, digits),
            mean_text(pair.b, scale, digits),
            apart,
            one.words,
        )
    table.print(console)


def _print_effects(console: Console, found: list[Effect], label: str | None) -> None:
    if label:
        say(console, label)
    table = Table("", "simulated", "live", "difference\nin points", "", words=(0, 4))
    for one in found:
        table.add(
            one.metric.title.rsplit(" ", 1)[0] if " " in one.metric.title else one.metric.title,
            mean_text(one.simulated, 1, 3),
            mean_text(one.live, 1, 3),
            mean_text(one.difference, 100, 1),
            one.words,
        )
    table.print(console)
