"""Runs that are made, as the front takes them: chunks of events, how far it is, and at the end its facts."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from airpath.errors import ScenarioError
from airpath.runs.memory import Pace, simulate
from airpath.studio.facts import BY_NEED, simulated

if TYPE_CHECKING:
    from airpath.studio.sources import Chosen

MOST_EVENTS = 4_000_000
"""Most events of a run that a browser is given; the kinds that are needed least are left out first."""
CHUNK_EVENTS = 12_000
"""A chunk is handed over when it has so many: then the browser reads it while the next one is simulated."""
TELL_S = 0.1
"""Interval of progress messages."""
AIM = 0.8
"""Share of these that is aimed at where kinds are left out of a run that is not over."""


@dataclass(frozen=True)
class Progress:
    """How far a run is: the share done, and simulated seconds."""

    share: float
    now_s: float


@dataclass(frozen=True)
class Again:
    """The run starts again without some kinds: what was handed over so far is void."""


@dataclass(frozen=True)
class Rows:
    """The rows of a waterfall, as `airpath analyze` finds them in the packets of a run."""

    rows: list[dict[str, Any]]


Part: TypeAlias = "bytes | Progress | Again | Rows | dict[str, Any]"
"""A chunk of events, or something about the run; the dictionary has its facts, and comes last."""


def simulating(chosen: Chosen, seed: int) -> Iterator[Part]:
    """Simulate with all probes that the browser has room for.

    Raises
    ------
    ScenarioError
        If the seed cannot be used, or the run is too large with any events.
    """
    kinds, begin = list(BY_NEED), time.monotonic()
    told = begin
    while True:
        simulation = simulate(chosen.scenario, seed, kinds)
        pace, is_over = Pace(), False
        rows: Counter[str] = Counter()
        while not is_over and rows.total() <= MOST_EVENTS:
            before = simulation.recorded
            is_over = simulation.advance(pace.step_s)
            pace.go_on(simulation.recorded - before)
            if time.monotonic() > told + TELL_S:
                told = time.monotonic()
                yield Progress(simulation.progress, simulation.now_s)
            if simulation.recorded >= CHUNK_EVENTS or is_over:
                chunk, counts = simulation.take_chunk()
                rows.update(counts)
                yield chunk
        if rows.total() <= MOST_EVENTS:
            break
        if len(kinds) == 1:
            what = f"the run has more than {MOST_EVENTS / 1e6:g} million events of one kind"
            raise ScenarioError("duration", what, "make it shorter, or use 'airpath run'")
        share = max(simulation.progress, 1e-3)
        kinds = that_fit({kind: rows[kind] / share for kind in kinds}, AIM * MOST_EVENTS)
        yield Again()
    left_out = dict.fromkeys(kind for kind in BY_NEED if kind not in kinds)
    summary = json.loads(simulation.results())
    elapsed_s = time.monotonic() - begin
    yield simulated(chosen.scenario, chosen.base, chosen.changes, summary, left_out, elapsed_s)


def falling(chosen: Chosen, seed: int) -> Iterator[Part]:
    """Simulate for the waterfall of a run: packets are analysed when it is opened, not in each run.

    Raises
    ------
    ScenarioError
        If the seed cannot be used.
    """
    simulation, pace, is_over = simulate(chosen.scenario, seed, (), waterfall=True), Pace(), False
    told = time.monotonic()
    while not is_over:
        is_over = simulation.advance(pace.step_s)
        pace.go_on(simulation.recorded)
        if time.monotonic() > told + TELL_S:
            told = time.monotonic()
            yield Progress(simulation.progress, simulation.now_s)
    yield Rows(json.loads(simulation.waterfall()))


def that_fit(rows: Mapping[str, float], most: float) -> list[str]:
    """Choose kinds in order of need while there is room for their rows; the first is chosen in any case."""
    kinds: list[str] = []
    for kind, count in rows.items():
        if kinds and count > most:
            break
        kinds.append(kind)
        most -= count
    return kinds
