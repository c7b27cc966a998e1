"""Kinds of event that a run's folder leaves out, since they are many: the run is simulated again for them.

Scenario and seed give the same run with the same version of airpath and of its random streams. Whether it was
the same is seen from the results.
"""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, NamedTuple

from airpath import _core
from airpath.runs.memory import FINE_PROBES, simulate, steps
from airpath.runs.trace import joined
from airpath.scenario import Scenario

if TYPE_CHECKING:
    from airpath.runs.finished import FinishedRun
    from airpath.runs.trace import Events, RawColumns


LOOK_S = 0.5
"""After this time of simulating, the time for the whole run is estimated."""


class Fine(NamedTuple):
    """Events of the kinds that the folder lacks; the kinds without room; or why there are no such events."""

    events: list[Events]
    left_out: list[str]
    not_again: str | None


def fine(run: FinishedRun, most_rows: int, most_s: float | None = None) -> Fine:
    """Simulate a run again for the kinds that its folder lacks, if there is room.

    With `most_s`, a run that would take longer than so many seconds is not simulated: someone waits for it.
    """
    wanted = [kind for kind in FINE_PROBES if kind not in run.kinds]
    if not wanted:
        return Fine([], [], None)
    if (because := _why_not(run)) is not None:
        return Fine([], [], because)
    _ = run.scenario  # If it is damaged, the error names the file.
    # A packet that came to a bearer is a row of `packet` there.
    if "packet" in wanted and "bearer_enqueued" in run.kinds and run.count("bearer_enqueued") > most_rows:
        return Fine([], wanted, None)
    simulation = simulate(Scenario(run.manifest["scenario"], run.scenario_text), run.manifest["seed"], wanted)
    rows, begin = 0, time.monotonic()
    parts: dict[str, list[RawColumns]] = {kind: [] for kind in wanted}
    for events, _, share in steps(simulation):
        elapsed_s = time.monotonic() - begin
        if most_s is not None and elapsed_s > LOOK_S and elapsed_s > most_s * share:
            return Fine([], [], f"to simulate it again would take longer than {most_s:g} s")
        rows += sum(len(columns["time_ns"]) for columns in events.values())
        if rows > most_rows:
            return Fine([], wanted, None)
        for kind, columns in events.items():
            parts[kind].append(columns)
    if json.loads(simulation.results()) != run.summary:
        return Fine([], [], "simulated again, the run has other results")
    happened = [kind for kind in wanted if parts[kind]]
    return Fine([{kind: joined(parts[kind], _core.probes()[kind])} for kind in happened], [], None)


def _why_not(run: FinishedRun) -> str | None:
    if "live" in run.summary:
        return "the run was live"
    if not run.summary["complete"]:
        return "the run was ended early"
    if (run.manifest.get("airpath"), run.manifest.get("rng")) != (_core.version(), _core.RNG_VERSION):
        return "another version of airpath made the run"
    return None
