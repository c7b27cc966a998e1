"""Carries out a live run: session, files, report, exit status."""

from __future__ import annotations

import contextlib
import json
import os
import platform
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from airpath.errors import LiveError
from airpath.live.session import Session
from airpath.live.terminal import OutputTerminal
from airpath.live.watcher import Watcher
from airpath.report.live import live_report
from airpath.report.terminal import show
from airpath.runs.recorder import CtrlC, Recorder, files_in, prepare
from airpath.scenario import Scenario
from airpath.terminal import console_for, say

STDOUT = 1


@dataclass(frozen=True)
class Plan:
    """A live run to carry out.

    Attributes
    ----------
    scenario : Scenario
        The link.
    seed : int
        Seed of its random streams.
    configuration : dict
        Configuration of the driver, without "terminal".
    driver : list of str
        The command that becomes the driver.
    out : Path or None
        Folder for the files.
    force : bool
        Whether to replace the files of an earlier run.
    kinds : dict of list of str
        Columns of every kind of event that is recorded, without the time.
    view : bool
        Whether to show the view.
    shell : bool
        Whether COMMAND is the default shell.
    """

    scenario: Scenario
    seed: int
    configuration: dict[str, Any]
    driver: list[str]
    out: Path | None
    force: bool
    kinds: dict[str, list[str]]
    view: bool
    shell: bool


def carry_out(plan: Plan) -> int:
    """Run COMMAND behind the link; return its exit status.

    Raises
    ------
    LiveError
        If the link could not be made, and COMMAND did not run, or the driver failed; the files are complete
        as far as the run came.
    OutputError
        If a file cannot be written; that ends the run.
    """
    if plan.out:
        prepare(plan.out, plan.force)
    with contextlib.closing(OutputTerminal()) if plan.view else contextlib.nullcontext() as output:
        watcher = Watcher(plan.scenario.name, record=_recorder(plan), output=output, greet=plan.shell)
        session = Session(
            plan.configuration,
            watcher,
            driver=plan.driver,
            output=output,
            stdout_too=os.isatty(STDOUT),
        )
        try:
            with contextlib.closing(watcher):
                results = session.run()
        except LiveError:
            _finish(plan, watcher.recorder, None)
            raise
    _finish(plan, watcher.recorder, results)
    console = console_for(stderr=True)
    show(live_report(results, plan.scenario.name, plan.configuration["command"], console.width), console)
    if plan.out:
        names = ", ".join(sorted(file.name for file in files_in(plan.out)))
        say(console, f"files in {plan.out}: {names}")
    status: int = results["live"]["exit_status"]
    return status


def _recorder(plan: Plan) -> Callable[[], Recorder] | None:
    out = plan.out
    return None if out is None else lambda: Recorder(out, plan.scenario, plan.seed, plan.kinds)


def _finish(plan: Plan, recorder: Recorder | None, results: dict[str, Any] | None) -> None:
    """Complete the files of a run, if it has any."""
    if recorder is None:
        return
    with CtrlC() as ctrl_c:
        recorder.finish(
            None if results is None else json.dumps(results, indent=2),
            ctrl_c,
            title=f"{plan.scenario.name}, live",
            interrupted=results is None or not results["complete"],
            live={
                "kernel": platform.release(),
                "command": plan.configuration["command"],
                "server": plan.configuration["server"],
                "duration_s": None if results is None else results["simulated_s"],
            },
        )
