"""A scorecard: runs with a congestion control and with CUBIC on the same seeds, and a verdict on each row.

The interval is that of the difference, run by run with the same seed (`airpath.experiments.paired`).
"""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from airpath import _core
from airpath.errors import ScenarioError, suggestion
from airpath.experiments.paired import PairedComparison, paired
from airpath.experiments.replicate import simulation_of
from airpath.experiments.scorecard.conditions import CONDITIONS, CUBIC, Condition, Data, Row
from airpath.experiments.versus_kernel.carried import registered
from airpath.experiments.versus_kernel.judgement import as_json
from airpath.runner.threads import run_here
from airpath.runner.wanted import Once
from airpath.scenario import Scenario, inline
from airpath.stats.estimate import Estimate, estimate

RUNS = 20
"""Pairs of runs in each condition, unless told otherwise."""
COUNT_MARKS = ("dctcp", "prague")
"""Congestion controls that require accurate ECN. On their cards every flow has it, CUBIC too."""

BETTER, SAME, UNCLEAR, WORSE, HARMS = VERDICTS = ("better", "same", "unclear", "worse", "harms")

Values = tuple[float, ...]
"""What each row of a condition measures in a run."""


@dataclass(frozen=True)
class Score:
    """A row with what was measured: `pair` is the congestion control and CUBIC, in the unit of the row."""

    condition: Condition
    row: Row
    pair: PairedComparison

    @property
    def gain(self) -> Estimate:
        """How much better than CUBIC, as a share of CUBIC's mean; of shares, their difference."""
        measure, pair = self.row.measure, self.pair
        if measure.is_share or pair.relative is None:
            difference, scale = pair.difference, 100.0
        else:
            difference, scale = pair.relative, 1.0
        sign = 1 if measure.more_is_better else -1
        return estimate((sign * value / scale for value in difference.values), difference.confidence)

    @property
    def verdict(self) -> str:
        """What the interval of the gain says; see `judged`."""
        return judged(self.gain, self.row.measure.tolerance, is_of_others=bool(self.row.of))


@dataclass(frozen=True)
class Card:
    """All scores of a congestion control; `cc` is its table in a scenario, every default written out."""

    name: str
    cc: Data
    seeds: range
    scores: tuple[Score, ...]

    def counts(self) -> dict[str, int]:
        """How often there is each verdict."""
        found = Counter(score.verdict for score in self.scores)
        return {verdict: found[verdict] for verdict in VERDICTS}


def judged(gain: Estimate, tolerance: float, *, is_of_others: bool) -> str:
    """Judge a gain by its interval: "better", "same", "unclear", "worse", or "harms" if it is of others.

    It is the same if the whole interval is within the tolerance, better or worse if the mean is beyond it and
    the interval leaves 0 out. After one run, which has no interval, it is unclear.
    """
    if -tolerance <= gain.ci_low and gain.ci_high <= tolerance:
        return SAME
    if gain.mean > tolerance and gain.ci_low > 0:
        return BETTER
    if gain.mean < -tolerance and gain.ci_high < 0:
        return HARMS if is_of_others else WORSE
    return UNCLEAR


def table_of(name: str, changes: Iterable[tuple[str, str]] = ()) -> Data:
    """Make the table `tcp.cc` of a congestion control with changed parameters.

    Raises
    ------
    ScenarioError
        If there is no such congestion control or parameter, or the value does not suit it.
    """
    known = registered("tcp.cc")
    if name not in known:
        raise ScenarioError("CC", f"there is no congestion control '{name}'", suggestion(name, known))
    overrides = [("tcp.cc", name), *((f"tcp.cc.{name}.{key}", value) for key, value in changes)]
    scenario = Scenario("scorecard", source(CONDITIONS[0].scenario, name), tuple(overrides))
    table: Data = tomllib.loads(scenario.text)["tcp"]["cc"]
    return table


def source(scenario: Data, name: str) -> str:
    """Write a scenario as TOML, with Linux's TCP, and accurate ECN if `name` counts marks."""
    ecn = {"ecn": "accurate"} if name in COUNT_MARKS else {}
    data = {**scenario, "tcp": {"profile": "linux", **ecn}}
    return "".join(f"{key} = {inline(value)}\n" for key, value in data.items())


def scenario_of(condition: Condition, name: str, cc: Data) -> Scenario:
    """Make the scenario of a condition on the card of `name`, with a congestion control's table `tcp.cc`."""
    return Scenario(condition.name, source(condition.scenario, name)).with_("tcp.cc", cc)


def score(
    name: str,
    cc: Data,
    seeds: range,
    workers: int | None = None,
    conditions: Sequence[Condition] = CONDITIONS,
    on_progress: Callable[[float], None] = lambda _: None,
) -> Card:
    """Run all conditions with a congestion control and with CUBIC, each with all seeds.

    `on_progress` is called with the share of the runs that is done, 0 to 1.
    """
    jobs = [
        (condition, simulation_of(scenario_of(condition, name, which)))
        for condition in conditions
        for which in (cc, CUBIC)
    ]
    measured: dict[tuple[int, int], Values] = {}

    def simulate(job: int, seed: int) -> Values:
        condition, run = jobs[job]
        return values(condition, run(seed))

    def take_in(row: tuple[int, int, Values]) -> None:
        job, seed, found = row
        measured[job, seed] = found
        on_progress(len(measured) / (len(jobs) * len(seeds)))

    run_here([Once(seeds=seeds) for _ in jobs], simulate, workers, take_in)
    scores = []
    for at, condition in enumerate(conditions):
        for place, row in enumerate(condition.rows):
            mine, cubics = (
                estimate(measured[2 * at + which, seed][place] for seed in seeds) for which in (0, 1)
            )
            scores.append(Score(condition, row, paired(mine, cubics)))
    return Card(name, cc, seeds, tuple(scores))


def values(condition: Condition, results: dict[str, Any]) -> Values:
    """Read what the rows of a condition measure from the results of a run."""
    said = condition.scenario["flow"]
    # Results have the flows of UE 0 first, each UE's in the order of the scenario.
    order = sorted(range(len(said)), key=lambda at: said[at].get("ue", 0))
    flows = dict(zip(order, results["flows"], strict=True))
    return tuple(
        row.measure.read([flows[at] for at in row.flows], results["simulated_s"]) for row in condition.rows
    )


def card_as_json(card: Card) -> dict[str, Any]:
    """A scorecard for files: every value of every run, intervals, verdicts.

    `difference` is its value minus CUBIC's, in the unit of the row; `gain` is positive where it
    is better, as a share of CUBIC's mean or, of shares, 1 for 100 points.
    """
    return {
        "airpath": _core.version(),
        "rng": _core.RNG_VERSION,
        "cc": card.cc,
        "yardstick": CUBIC,
        "seeds": list(card.seeds),
        "counts": card.counts(),
        "rows": [_row_as_json(score) for score in card.scores],
    }


def _row_as_json(score: Score) -> dict[str, Any]:
    row, measure = score.row, score.row.measure
    return {
        "condition": score.condition.name,
        "measure": measure.title,
        "unit": measure.unit,
        "of": row.of or None,
        "more_is_better": measure.more_is_better,
        "tolerance": measure.tolerance,
        "verdict": score.verdict,
        "measured": as_json(score.pair.a),
        "cubic": as_json(score.pair.b),
        "difference": as_json(score.pair.difference),
        "gain": as_json(score.gain),
    }
