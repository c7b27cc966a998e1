"""`airpath sweep` and `airpath results`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from airpath.arguments import WORKERS, JsonOption, parse_folder, runs_option
from airpath.errors import SweepError
from airpath.terminal import console_for, counted, say, warn

INTERRUPTED = 130

SweepArgument = Annotated[
    str, typer.Argument(metavar="SWEEP", help="A .toml file, see docs/sweep.md, or a bundled name.")
]
FolderArgument = Annotated[Path, typer.Argument(metavar="DIR", help="What 'airpath sweep' wrote.")]
SweepOutOption = Annotated[
    Path | None,
    typer.Option(
        "--out",
        metavar="DIR",
        parser=parse_folder,
        help="The sweep's folder, out/NAME if absent; runs that are there are kept, another sweep's refused.",
    ),
]
DaskOption = Annotated[
    str | None,
    typer.Option(metavar="tcp://HOST:PORT", help="Run on the workers of this Dask scheduler, not here."),
]
DaskWaitOption = Annotated[
    float | None,
    typer.Option(min=0, metavar="SECONDS", help="How long to wait for Dask workers when there are none; 60."),
]


def sweep(
    sweep_file: SweepArgument,
    out: SweepOutOption = None,
    workers: Annotated[int | None, WORKERS] = None,
    runs: Annotated[int | None, runs_option("Runs at each point, instead of what the sweep says.")] = None,
    dask: DaskOption = None,
    dask_wait: DaskWaitOption = None,
) -> None:
    """Run a scenario over many points, each with many runs; the same command goes on where it stopped."""
    from airpath.sweep.bundled import find
    from airpath.sweep.driver import run_sweep
    from airpath.sweep.plan import read_plan
    from airpath.sweep.screen import sweep_bar

    if dask is not None and workers is not None:
        what = "has no meaning beside --dask"
        raise SweepError(
            "--workers", what, "leave it out: how many workers a cluster has is said where they start"
        )
    if dask is None and dask_wait is not None:
        raise SweepError("--dask-wait", "has no meaning without --dask", "leave it out, or name a scheduler")
    file = find(sweep_file)
    folder = out or Path("out") / file.stem
    with sweep_bar(file.stem) as (on_point, on_progress):
        plan = read_plan(file, runs, on_point)
        outcome = run_sweep(
            plan, folder, workers, dask=dask, dask_wait_s=dask_wait, on_progress=on_progress, warn=warn
        )
    if outcome.interrupted:
        warn(f"interrupted: {counted(outcome.runs, 'run')} in {folder}; the same command goes on")
        raise typer.Exit(INTERRUPTED)
    done = f"{counted(outcome.points, 'point')}, {counted(outcome.runs, 'run')}"
    made = f"{outcome.fresh} of them made now in {outcome.seconds:.1f} s"
    say(console_for(), f"{done}, {made}; see: airpath results {folder}")


def results(folder: FolderArgument, json_: JsonOption = False) -> None:
    """Print mean and interval of every metric at every point of a sweep."""
    from airpath.sweep.results import read_results, table_of

    found = read_results(folder)
    for warning in found.warnings:
        warn(warning)
    if json_:
        typer.echo(json.dumps(found.as_json(), indent=2))
    else:
        table_of(found).print(console_for())
