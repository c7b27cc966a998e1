"""`airpath sweep` and `airpath results`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from airpath.arguments import folder_path
from airpath.atomic import write_whole
from airpath.sweep.error import SweepError

INTERRUPTED = 130

SweepArgument = Annotated[
    str, typer.Argument(metavar="SWEEP", help="A .toml file, see docs/sweep.md, or a bundled name.")
]
FolderArgument = Annotated[Path, typer.Argument(metavar="DIR", help="What 'airpath sweep' wrote.")]
SweepOutOption = Annotated[
    Path | None,
    typer.Option(
        "--out",
        parser=folder_path,
        metavar="DIR",
        help="The sweep's folder; out/NAME if absent.",
    ),
]
WorkersOption = Annotated[
    int | None, typer.Option(min=1, help="Worker processes; as many as processors if absent.")
]
DaskOption = Annotated[
    str | None,
    typer.Option(metavar="tcp://HOST:PORT", help="Run on the workers of this Dask scheduler, not here."),
]
DaskWaitOption = Annotated[
    float | None,
    typer.Option(min=0, metavar="SECONDS", help="How long to wait for Dask workers when there are none; 60."),
]
RunsOption = Annotated[
    int | None, typer.Option(min=1, help="Runs at each point, instead of what the sweep says.")
]
JsonFileOption = Annotated[
    Path | None, typer.Option("--json", metavar="FILE", help="Write the means and intervals there too.")
]


def sweep(
    sweep_file: SweepArgument,
    out: SweepOutOption = None,
    workers: WorkersOption = None,
    runs: RunsOption = None,
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
            plan, folder, workers, dask=dask, dask_wait_s=dask_wait, on_progress=on_progress, warn=_warn
        )
    made = f"{outcome.fresh} of them made now in {outcome.seconds:.1f} s"
    if outcome.interrupted:
        typer.echo(f"interrupted: {outcome.runs} runs are in {folder}; the same command goes on", err=True)
        raise typer.Exit(INTERRUPTED)
    typer.echo(f"{outcome.points} points, {outcome.runs} runs, {made}; see: airpath results {folder}")


def results(folder: FolderArgument, json_: JsonFileOption = None) -> None:
    """Print mean and interval of every metric at every point of a sweep."""
    from rich.console import Console

    from airpath.sweep.results import read_results, table_of

    found = read_results(folder)
    for warning in found.warnings:
        _warn(warning)
    if json_ is not None:
        try:
            write_whole(json_, json.dumps(found.as_json(), indent=2) + "\n")
        except OSError as error:
            what = f"cannot write to '{json_}': {error.strerror or error}"
            raise SweepError("--json", what, "choose another place for it") from error
    console = Console()
    table = table_of(found)
    if not console.is_terminal:  # Nothing is cut where nobody looks at a screen's width.
        console = Console(width=max(Console(width=10_000).measure(table).maximum, 80))
    console.print(table, highlight=False, markup=False)


def _warn(text: str) -> None:
    typer.echo(f"warning: {text}", err=True)
