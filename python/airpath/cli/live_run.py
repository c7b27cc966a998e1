"""Carries out a live run: session, files, report, exit status."""

from __future__ import annotations

import contextlib
import os
import tempfile
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airpath.errors import LiveError, ScenarioError
from airpath.live.control import Control
from airpath.live.session import Session
from airpath.live.terminal import OutputTerminal
from airpath.live.watcher import Watcher
from airpath.report.document import Note
from airpath.report.live import live_report
from airpath.report.run import remarks_on
from airpath.report.terminal import show
from airpath.runs.changes import titled
from airpath.runs.recorder import Recorder, names_in, prepare
from airpath.scenario import Scenario
from airpath.terminal import console_for, say

if TYPE_CHECKING:
    from airpath.studio.beside import Beside

STDOUT = 1


def carry_out(
    scenario: Scenario,
    configuration: dict[str, Any],
    program: list[str],
    out: Path | None,
    force: bool,
    kinds: dict[str, list[str]],
    *,
    view: bool,
    shell: bool,
    stays: bool,
    has_page: bool,
    has_studio: bool,
    control: Path | None = None,
) -> int:
    """Run COMMAND behind the link of a scenario; return its exit status.

    Parameters
    ----------
    configuration : dict
        Configuration of the driver, without "terminal"; `program` is the command that becomes the driver.
    out, force
        Folder for the files, if any, and whether to replace those of an earlier run.
    kinds : dict of list of str
        Columns of every kind of event that is recorded, without the time.
    view, shell : bool
        Whether to show the view, and whether COMMAND is the default shell.
    stays : bool
        Whether there is no COMMAND, and the link stays until it is ended.
    has_page : bool
        Whether there is a page of the run among the files.
    has_studio : bool
        Whether a browser may look on.
    control : Path
        Where a socket listens for changes of the link.

    Raises
    ------
    LiveError
        If the link could not be made, and COMMAND did not run, or the driver failed; the files are complete
        as far as the run came.
    OutputError
        If a file cannot be written; that ends the run.
    """

    def record() -> Recorder:
        assert folder is not None
        return Recorder(folder, scenario, configuration["seed"], kinds)

    def finish(results: dict[str, Any] | None) -> None:
        from airpath.studio.page import page_of_folder

        watcher.finish(configuration, results, page=page_of_folder if has_page else None)

    with contextlib.ExitStack() as kept, prepare(out, force) if out else contextlib.nullcontext() as folder:
        if control is None and has_studio and "change" not in tomllib.loads(scenario.text):
            # Only this user may enter it.
            control = Path(kept.enter_context(tempfile.TemporaryDirectory(prefix="airpath-"))) / "control"
            configuration["control"] = True
        studio = _studio(scenario, configuration["seed"], control) if has_studio else None
        follower = studio.attached if studio else None
        with contextlib.closing(OutputTerminal()) if view else contextlib.nullcontext() as output:
            watcher = Watcher(
                scenario.name,
                title=titled(scenario),
                record=record if out else None,
                output=output,
                greet=shell,
                follower=follower,
            )
            stdout_too = os.isatty(STDOUT)
            results = None
            try:
                with contextlib.closing(watcher), contextlib.ExitStack() as stack:
                    door = stack.enter_context(contextlib.closing(Control(control))) if control else None
                    session = Session(
                        configuration,
                        watcher,
                        driver=program,
                        output=output,
                        stdout_too=stdout_too,
                        control=door,
                    )
                    results = session.run()
            except LiveError:
                finish(None)
                raise
            finally:
                if studio:
                    studio.end(results)
        finish(results)
    console = console_for(stderr=True)
    remarks = [Note(remark, "remark") for remark in remarks_on(scenario)]
    report = live_report(results, titled(scenario), [] if stays else configuration["command"], console.width)
    show([*remarks, *report], console)
    if out:
        names = ", ".join(names_in(out))
        say(console, f"files in {out}: {names}")
    if stays and results["live"]["ended_by"] == "duration":
        return 0
    status: int = results["live"]["exit_status"]
    return status


def _studio(scenario: Scenario, seed: int, control: Path | None) -> Beside:
    """Start the studio's server, and say where it is."""
    try:
        from airpath.studio.beside import Beside
    except ModuleNotFoundError as error:
        what = f"{error.name} is not installed"
        hint = "install it: python -m pip install 'airpath[studio]'"
        raise ScenarioError("--studio", what, hint) from error
    studio = Beside(scenario, seed, control)
    say(console_for(stderr=True), f"airpath: to look on, open {studio.address}")
    return studio
