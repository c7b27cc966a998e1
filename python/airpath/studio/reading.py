"""Finished runs as the front takes them: chunks of events, and finally the facts about the run."""

from __future__ import annotations

from collections.abc import Iterator

from airpath.runs.finished import FinishedRun
from airpath.studio.again import fine
from airpath.studio.chunks import encode
from airpath.studio.facts import BY_NEED, finished
from airpath.studio.runs import MOST_EVENTS, Part, that_fit

MOST_AGAIN_S = 30
"""Longest time for which a finished run is simulated again, for the kinds of event that its folder lacks."""


def reading(run: FinishedRun) -> Iterator[Part]:
    """Read the events of a finished run.

    Raises
    ------
    ScenarioError
        If a file of the run is missing or damaged.
    """
    rows = {kind: run.count(kind) for kind in sorted(run.kinds, key=BY_NEED.index)}
    kinds = that_fit(rows, MOST_EVENTS)
    for kind in kinds:
        for events in run.events({kind: run.kinds[kind]}):
            yield encode(events)
    again = fine(run, MOST_EVENTS - sum(rows[kind] for kind in kinds), MOST_AGAIN_S)
    for events in again.events:
        yield encode(events)
    left_out = {kind: rows[kind] for kind in rows if kind not in kinds}
    yield finished(run, left_out | dict.fromkeys(again.left_out), again.not_again)
