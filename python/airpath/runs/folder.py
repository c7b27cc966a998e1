"""Runs a scenario and writes results, trace, capture, picture, scenario and manifest into a folder."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from airpath import _core
from airpath.progress import OnProgress, reporting
from airpath.runs.changes import titled
from airpath.runs.memory import coarse_probes, simulate, steps
from airpath.runs.recorder import CtrlC, Recorder, files_in, prepare
from airpath.runs.renamed import current
from airpath.scenario import Scenario, load


@dataclass(frozen=True)
class RunFolder:
    """A folder that a run has filled, the content of its `results.json`, and whether Ctrl-C ended the run."""

    path: Path
    summary: dict[str, Any] = field(repr=False)
    interrupted: bool

    @property
    def files(self) -> list[Path]:
        """The files of the run that exist."""
        return files_in(self.path)


def run_to_folder(
    scenario: Scenario | str | Path,
    seed: int,
    out: str | Path,
    *,
    probes: Sequence[str] | None = None,
    capture_rlc: bool = False,
    capture_iu: bool = False,
    force: bool = False,
    page: Callable[[Path], bytes] | None = None,
    progress: bool | OnProgress | None = None,
) -> RunFolder:
    """Run a scenario and write everything about it into a folder.

    Ctrl-C ends the run early: all files are completed with what there is, and `results.json` says
    `"complete": false`.

    Parameters
    ----------
    scenario, seed, capture_rlc, capture_iu, progress
        As for :func:`airpath.run`; the packets are always captured.
    out : str or Path
        The folder; made if it does not exist.
    probes : sequence of str, optional
        Kinds of events to record; by default all except `FINE_PROBES`.
    force : bool
        Whether to replace the files of an earlier run.
    page : callable, optional
        Makes `page.html` of the run in a folder; there is none if absent.

    Raises
    ------
    ScenarioError
        If the scenario, the seed or a probe cannot be used.
    OutputError
        If the folder holds a run already, cannot be made or written, or the disk is full.
    """
    if not isinstance(scenario, Scenario):
        scenario = load(scenario)
    out = Path(out)
    names = coarse_probes() if probes is None else probes
    simulation = simulate(scenario, seed, names, True, capture_rlc, capture_iu)
    kinds = {kind: columns for kind, columns in _core.probes().items() if kind in names}
    with CtrlC() as ctrl_c, prepare(out, force) as folder:
        recorder = Recorder(folder, scenario, seed, kinds)
        title = titled(scenario, seed)
        with recorder.whole():
            with contextlib.closing(recorder), reporting(progress, title) as report:
                for events, capture, done in steps(simulation, lambda: ctrl_c.pressed):
                    recorder.write(events, capture)
                    report(done)
            results = simulation.results()
            recorder.finish(results, ctrl_c, title=title, page=page)
    return RunFolder(out, current(json.loads(results)), ctrl_c.pressed)
