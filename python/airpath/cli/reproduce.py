"""`airpath reproduce`: compares published values with measured ones."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from airpath.cli.arguments import (
    WORKERS,
    DaskOption,
    DaskSecurityOption,
    DaskWaitOption,
    ForceOption,
    JsonOption,
    argument,
    check_dask,
    flag,
    option,
    out_option,
    runs_option,
)
from airpath.cli.reality import NAME as REALITY
from airpath.cli.reality import QUICK_WINDOWS, reality
from airpath.errors import ScenarioError
from airpath.studies import installed, studies

NAMES = ", ".join(studies("papers", "PAPER").PAPERS) if installed() else "one of airpath-studies"


def command(
    paper: Annotated[str, argument("PAPER", f"Name of the paper: {NAMES}; or reality, recorded links.")],
    table: Annotated[list[int] | None, option("N", "Only this table. Repeatable.")] = None,
    figure: Annotated[list[int] | None, option("N", "Only this figure. Repeatable.")] = None,
    study: Annotated[list[int] | None, option("N", "Only this study. Repeatable.")] = None,
    quick: Annotated[bool, flag("--quick", "At most 5 runs per cell, one reading.")] = False,
    runs: Annotated[int | None, runs_option("Runs per cell, whatever the precision.")] = None,
    workers: Annotated[int | None, WORKERS] = None,
    json_: JsonOption = False,
    out: Annotated[Path | None, out_option("Folder for the page and the JSON; out/PAPER if absent.")] = None,
    explore: Annotated[
        bool,
        flag(
            "--explore", "Search the paper's free choices instead: chosen by some values, tested by others."
        ),
    ] = False,
    choices: Annotated[
        Path | None, option("FILE", "With --explore: the free choices, instead of the paper's own file.")
    ] = None,
    recordings: Annotated[
        Path | None, option("DIR", "With reality: a folder of recordings, in any of the known formats.")
    ] = None,
    force: ForceOption = False,
    dask: DaskOption = None,
    dask_wait: DaskWaitOption = None,
    dask_security: DaskSecurityOption = None,
) -> None:
    """Reproduce a paper: simulate its tables and figures and compare them with the published values.

    The same command resumes after an interruption.
    """
    security = check_dask(workers, dask, dask_wait, dask_security)
    if paper == REALITY:
        if table or figure or study or explore or choices or dask:
            what = "has no parts, no free choices, and needs no cluster"
            raise ScenarioError(
                "reality", what, "give --recordings, --quick, --runs, --workers or --out alone"
            )
        windows = QUICK_WINDOWS if quick and runs is None else runs
        reality(recordings, windows, workers, json_, out or Path("out") / paper, force)
        return
    if recordings is not None:
        raise ScenarioError("--recordings", "is for reality alone", "leave it out")
    if paper not in studies("papers", "PAPER").PAPERS:
        raise ScenarioError("PAPER", f"there is no '{paper}'", f"choose one of: {NAMES}, reality")
    if choices is not None and not explore:
        raise ScenarioError("--choices", "is for --explore alone", "add --explore")
    papers, folder = studies("command", "PAPER"), out or Path("out") / paper
    if explore:
        if table or figure or study or quick or runs or dask:
            raise ScenarioError(
                "--explore",
                "takes no part of a paper, no other number of runs and no cluster",
                "drop the others",
            )
        papers.explore(paper, choices, workers, json_, folder, force)
        return
    wanted = {"table": table or [], "figure": figure or [], "study": study or []}
    papers.reproduce(
        paper,
        wanted,
        quick,
        runs,
        json_,
        folder,
        force,
        workers=workers,
        dask=dask,
        dask_wait_s=dask_wait,
        dask_security=security,
    )
