"""`airpath sweep`: runs a scenario over many points."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from airpath.cli.arguments import (
    WORKERS,
    DaskOption,
    DaskWaitOption,
    argument,
    check_dask,
    flag,
    out_option,
    runs_option,
)
from airpath.cli.status import INTERRUPTED
from airpath.terminal import console_for, counted, say, warn


def command(
    sweep_file: Annotated[
        str, argument("SWEEP", "A .toml file, see docs/sweep.md, or a bundled name such as chan:figure-11.")
    ],
    out: Annotated[
        Path | None,
        out_option("The sweep's folder, out/NAME if absent; its runs are kept, another sweep's refused."),
    ] = None,
    workers: Annotated[int | None, WORKERS] = None,
    runs: Annotated[int | None, runs_option("Runs at each point, instead of the sweep's.")] = None,
    dask: DaskOption = None,
    dask_wait: DaskWaitOption = None,
    print_: Annotated[bool, flag("--print", "Print the sweep as a file to change, and run nothing.")] = False,
) -> None:
    """Run a scenario over many points, each with many runs; the same command resumes where it stopped."""
    from airpath.cli.sweep_bar import sweep_bar
    from airpath.experiments.sweep.bundled import find
    from airpath.experiments.sweep.plan import Written, read_plan
    from airpath.experiments.sweep.run import run_sweep

    check_dask(workers, dask, dask_wait)
    source = find(sweep_file)
    if print_:
        typer.echo(source.text if isinstance(source, Written) else read_plan(source).text, nl=False)
        return
    name = source.stem if isinstance(source, Path) else source.name
    folder = out or Path("out") / name
    with sweep_bar(name) as (on_point, on_progress):
        plan = read_plan(source, runs, on_point)
        outcome = run_sweep(
            plan, folder, workers, dask=dask, dask_wait_s=dask_wait, on_progress=on_progress, warn=warn
        )
    if outcome.interrupted:
        warn(f"interrupted: {counted(outcome.runs, 'run')} in {folder}; the same command resumes")
        raise typer.Exit(INTERRUPTED)
    done = f"{counted(outcome.points, 'point')}, {counted(outcome.runs, 'run')}"
    made = f"{outcome.fresh} of them made now in {outcome.seconds:.1f} s"
    say(console_for(), f"{done}, {made}; see: airpath results {folder}")
