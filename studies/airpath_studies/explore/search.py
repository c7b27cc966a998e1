"""Searches a grid of set-ups: short runs of all, longer runs of the set-ups that fit the values to choose by.

Each round has its own seeds, so random errors of a round do not carry over. The values to test by are
simulated only in the last round: no set-up is dropped by them.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from airpath.stats.estimate import Estimate
from airpath.stats.replication import Rule
from airpath_studies.base.paper import Experiment, Paper
from airpath_studies.base.published import Published
from airpath_studies.base.verdict import MET, Verdict, reproduced_limit
from airpath_studies.explore.plan import Exploration, SetUp, rows_of
from airpath_studies.outcome import Comparison, Effort
from airpath_studies.reproduction import Progress, Reproduction

MOST = 25.0
"""Misfit of a value at most: one that no set-up meets does not decide."""
LEAST_KEPT = 4
"""Set-ups that a round leaves at least."""


@dataclass(frozen=True)
class Tried:
    """A set-up of the last round."""

    setup: SetUp
    name: str
    """The name of an additional set-up; empty for one that was found."""
    misfit: float
    """Misfit of the values to choose by."""
    tested_misfit: float
    """Misfit of the values to test by."""
    values: Mapping[str, tuple[Estimate, Verdict]]
    is_argued: bool
    """Whether it has all that the text settles."""

    def counts(self, ids: Sequence[str]) -> Counter[Verdict]:
        """Count the verdicts on values."""
        return Counter(self.values[name][1] for name in ids)

    def met(self, ids: Sequence[str]) -> int:
        """How many values came out."""
        return sum(self.values[name][1] in MET for name in ids)


@dataclass(frozen=True)
class Found:
    """What a search found."""

    choose: tuple[str, ...]
    test: tuple[str, ...]
    rounds: tuple[tuple[int, int], ...]
    """Set-ups and runs of a cell in each round."""
    best: tuple[Tried, ...]
    """The set-ups of the last round, that with the least misfit first."""
    options: tuple[tuple[str, str, float, int], ...]
    """Choice, option, the least misfit of any set-up with it in the first round, and how many reached the
    last one by their misfit."""


def search(
    paper: Paper,
    exploration: Exploration,
    workers: int | None = None,
    progress: Progress = lambda _done, _expected, _what: None,
) -> list[Found] | None:
    """Search the grid, and again with the halves exchanged if requested; None if interrupted."""
    halves = [(exploration.choose, exploration.test)]
    if exploration.swap:
        halves.append((exploration.test, exploration.choose))
    found = []
    for choose, test in halves:
        one = _search(paper, exploration, choose, test, workers, progress)
        if one is None:
            return None
        found.append(one)
    return found


def _search(
    paper: Paper,
    exploration: Exploration,
    choose: tuple[str, ...],
    test: tuple[str, ...],
    workers: int | None,
    progress: Progress,
) -> Found | None:
    setups, beside = list(exploration.setups), exploration.named()
    first: dict[SetUp, float] = {}
    rounds, seed = [], 1
    *early, last = exploration.runs
    for runs in early:
        known = _measure(paper, setups, choose, Rule.exactly(runs, seed), workers, progress)
        if known is None:
            return None
        misfits = {setup: _misfit(paper, known[setup.name], choose) for setup in setups}
        first = first or misfits
        rounds.append((len(setups), runs))
        seed += runs
        setups = _best(setups, misfits, exploration)
    shown = list(dict.fromkeys([*setups, *beside.values()]))
    known = _measure(paper, shown, (*choose, *test), Rule.exactly(last, seed), workers, progress)
    if known is None:
        return None
    rounds.append((len(shown), last))
    names = {setup: name for name, setup in beside.items()}
    tried = [
        Tried(
            setup,
            names.get(setup, ""),
            _misfit(paper, known[setup.name], choose),
            _misfit(paper, known[setup.name], test),
            known[setup.name],
            exploration.is_argued(setup),
        )
        for setup in shown
    ]
    first = first or {one.setup: one.misfit for one in tried}
    options = tuple(
        (
            choice.name,
            option.name,
            min(misfit for setup, misfit in first.items() if setup.options[place] == option.name),
            sum(setup.options[place] == option.name for setup in setups),
        )
        for place, choice in enumerate(exploration.choices)
        for option in choice.options
    )
    return Found(choose, test, tuple(rounds), tuple(sorted(tried, key=lambda one: one.misfit)), options)


def _best(setups: list[SetUp], misfits: Mapping[SetUp, float], exploration: Exploration) -> list[SetUp]:
    """Keep the share that fits best, and the best that the text leaves; equal fits in order."""
    ranked = sorted(setups, key=misfits.__getitem__)
    argued = [setup for setup in ranked if exploration.is_argued(setup)] if exploration.argued else []
    kept = [of[: max(LEAST_KEPT, math.ceil(exploration.keep * len(of)))] for of in (ranked, argued)]
    return list(dict.fromkeys([*kept[0], *kept[1]]))


def _measure(
    paper: Paper,
    setups: Sequence[SetUp],
    ids: Sequence[str],
    rule: Rule,
    workers: int | None,
    progress: Callable[[int, int, str], None],
) -> dict[str, dict[str, tuple[Estimate, Verdict]]] | None:
    """Measure and judge values under set-ups, by the names of these; None if interrupted."""
    rows, published = rows_of(paper), paper.published
    # The upper end of a range is measured with the lower one, which judges the range.
    wanted = [row for name, row in rows.items() if name in ids or published[name].range_of in ids]
    experiment = Experiment("text", None, "explored", ("value",), tuple(wanted))
    explored = replace(
        paper, readings=tuple(setups), default_reading=setups[0].name, choices=(), derived={}, claims=()
    )
    reproduction = Reproduction(explored, (experiment,), Effort(rule, is_exact=True))
    if not reproduction.simulate(workers, progress):
        return None
    (section,) = reproduction.outcome(complete=True, background=False).sections
    by_id: dict[str, Comparison] = {one.published.id: one for one in section.comparisons}
    return {setup.name: {name: by_id[name].readings[setup.name] for name in ids} for setup in setups}


def _misfit(paper: Paper, values: Mapping[str, tuple[Estimate, Verdict]], ids: Sequence[str]) -> float:
    """Mean of the squared distances from the published values, each cut at `MOST`."""
    rows = rows_of(paper)
    far = [
        min(MOST, _distance(paper.published[name], values[name][0], rows[name].averaged_runs) ** 2)
        for name in ids
    ]
    return sum(far) / len(far)


def _distance(value: Published, measured: Estimate, averaged_runs: int) -> float:
    """Say how far a mean is from a value: in what `reproduced` allows and the paper's own mean scatters."""
    off = measured.mean - value.target
    if value.kind == "claim_upper" or value.bound == "high":
        off = max(off, 0.0)
    elif value.kind == "claim_lower" or value.bound == "low":
        off = min(off, 0.0)
    scatter = 0.0 if measured.is_exact or measured.n == 1 else measured.sd / math.sqrt(averaged_runs)
    scale = math.hypot(reproduced_limit(value.target, value.unit), scatter)
    return abs(off) / scale if scale else (0.0 if off == 0 else math.inf)
