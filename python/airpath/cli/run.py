"""`airpath run`: runs a scenario once."""

from __future__ import annotations

import typer

from airpath.cli.arguments import (
    CaptureIuOption,
    CaptureRlcOption,
    ExplainOption,
    ForceOption,
    JsonOption,
    OutOption,
    PageOption,
    ProbesOption,
    ScenarioArgument,
    SeedOption,
    SetOption,
    ThreadsOption,
    choose_probes,
    load_changed,
    refuse_without_out,
    wanted_interfaces,
)
from airpath.cli.output import tell
from airpath.cli.status import INTERRUPTED


def command(
    scenario: ScenarioArgument,
    set_: SetOption = None,
    seed: SeedOption = 1,
    threads: ThreadsOption = 1,
    explain: ExplainOption = False,
    out: OutOption = None,
    force: ForceOption = False,
    capture_rlc: CaptureRlcOption = False,
    capture_iu: CaptureIuOption = False,
    probes: ProbesOption = None,
    page: PageOption = True,
    json_: JsonOption = False,
) -> None:
    """Run a scenario and print a summary; with --out, write everything about the run into a folder."""
    from airpath import _core
    from airpath.progress import progress_bar
    from airpath.report.run import remarks_on, run_report
    from airpath.runs.changes import titled
    from airpath.terminal import console_for, say, warn

    chosen = load_changed(scenario, set_)
    captures = {"capture_rlc": capture_rlc, "capture_iu": capture_iu}
    refuse_without_out(out, force=force, probes=probes, no_page=not page, **captures)
    wanted = choose_probes(probes)
    if explain or threads > 1:
        is_cut, words = _core.explain(chosen.text, threads, out is not None)
        if explain:
            manner = f"in regions, {threads} at a time" if is_cut else "in one piece"
            typer.echo(f"{chosen.name} is run {manner}: {words}")
            typer.echo(f"memory: {_core.memory(chosen.text)[1]}")
            return
        if not is_cut:
            warn(f"run in one piece, on one thread: {words}")
    interrupted = False
    if out is None:
        from airpath.runs.memory import run as run_in_memory

        with progress_bar(chosen.name) as progress:
            summary = run_in_memory(chosen, seed, probes=(), threads=threads, progress=progress).summary
    else:
        from airpath.runs.folder import run_to_folder
        from airpath.studio.page import page_of_folder

        pdus, iu = wanted_interfaces(chosen, capture_rlc, capture_iu)
        with progress_bar(chosen.name) as progress:
            folder = run_to_folder(
                chosen,
                seed,
                out,
                probes=list(wanted),
                capture_rlc=pdus,
                capture_iu=iu,
                force=force,
                page=page_of_folder if page and wanted else None,
                progress=progress,
            )
        summary, interrupted = folder.summary, folder.interrupted
    remarks = remarks_on(chosen)
    for remark in remarks if json_ else ():
        warn(remark)
    tell(json_, summary, run_report(summary, titled(chosen, seed), remarks))
    if out is not None and not json_:
        from airpath.runs.recorder import names_in

        say(console_for(), f"files in {out}: {', '.join(names_in(out))}")
    if interrupted:
        typer.echo("interrupted: the files hold what there was until then", err=True)
        raise typer.Exit(INTERRUPTED)
