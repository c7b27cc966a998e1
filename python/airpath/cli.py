"""The command line: `airpath run`, `live`, `sweep`, `reproduce` and the others that `airpath` lists.

Commands print what they found on standard output; progress and errors go to standard error. An
expected error is one line, `error: <key>: <what is wrong>; <what would be right>`, and exit code 2;
Ctrl-C is exit code 130. Heavy libraries are imported where they are needed, so that help is quick.
"""

from __future__ import annotations

import json
import sys
from enum import StrEnum
from typing import Annotated, NoReturn

import typer

from airpath import _core
from airpath._core import ScenarioError
from airpath.agreement.command import compare
from airpath.analytic.command import predict
from airpath.analyze.command import analyze_command
from airpath.arguments import (
    CaptureIuOption,
    CaptureRlcOption,
    ForceOption,
    JsonOption,
    OutOption,
    SeedOption,
    SetOption,
    load_changed,
    wanted_interfaces,
)
from airpath.export.command import export
from airpath.export.source import ExportError
from airpath.figures.command import plot
from airpath.figures.overlay_command import overlay_command
from airpath.folder import run_to_folder
from airpath.live.command import BeforeCommand, live
from airpath.live.doctor import doctor
from airpath.live.driver import LiveError
from airpath.papers.command import reproduce
from airpath.progress import progress_bar
from airpath.recorder import OutputError
from airpath.run import run as run_in_memory
from airpath.sweep.command import results, sweep
from airpath.sweep.error import SweepError

BAD_INPUT, INTERRUPTED = 2, 130

app = typer.Typer(
    name="airpath",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


class Kind(StrEnum):
    """What `airpath list` can be asked for alone."""

    scenarios = "scenarios"
    sweeps = "sweeps"
    traces = "traces"
    components = "components"
    probes = "probes"


KindArgument = Annotated[Kind | None, typer.Argument(help="Only these; everything if absent.")]
ScenarioArgument = Annotated[str, typer.Argument(metavar="SCENARIO", help="A .toml file or a bundled name.")]


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"airpath {_core.version()}")
        raise typer.Exit()


@app.callback()
def common(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit."),
    ] = False,
) -> None:
    """TCP over cellular radio bearers: simulate a path, regenerate published tables."""


@app.command()
def run(
    scenario: ScenarioArgument,
    set_: SetOption = None,
    seed: SeedOption = 1,
    out: OutOption = None,
    force: ForceOption = False,
    capture_rlc: CaptureRlcOption = False,
    capture_iu: CaptureIuOption = False,
    json_: JsonOption = False,
) -> None:
    """Run a scenario and print a summary; with --out, write everything about the run into a folder."""
    from airpath.summary import print_summary

    chosen = load_changed(scenario, set_)
    interrupted = False
    if out is None:
        for option, given in (("--capture-rlc", capture_rlc), ("--capture-iu", capture_iu)):
            if given:
                raise ScenarioError(option, "nothing is written without a folder", "add --out DIR")
        with progress_bar(chosen.name) as progress:
            summary = run_in_memory(chosen, seed, probes=(), progress=progress).summary
    else:
        pdus, iu = wanted_interfaces(chosen, capture_rlc, capture_iu)
        with progress_bar(chosen.name) as progress:
            folder = run_to_folder(
                chosen, seed, out, force=force, capture_rlc=pdus, capture_iu=iu, progress=progress
            )
        summary, interrupted = folder.summary, folder.interrupted
    if json_:
        typer.echo(json.dumps(summary, indent=2))
    else:
        print_summary(summary, f"{chosen.name}, seed {seed}")
        if out is not None:
            typer.echo(f"files in {out}: {', '.join(sorted(file.name for file in folder.files))}")
    if interrupted:
        typer.echo("interrupted: the files hold what there was until then", err=True)
        raise typer.Exit(INTERRUPTED)


@app.command(name="list")
def list_(kind: KindArgument = None, json_: JsonOption = False) -> None:
    """Show the bundled scenarios and sweeps and everything registered, with defaults and meanings."""
    from airpath.summary import catalogue, print_catalogue

    content = catalogue()
    if kind is not None:
        content = {kind.value: content[kind.value]}
    if json_:
        typer.echo(json.dumps(content, indent=2))
    else:
        print_catalogue(content)


@app.command()
def config(scenario: ScenarioArgument, set_: SetOption = None) -> None:
    """Print a scenario with every default written out."""
    typer.echo(load_changed(scenario, set_).text.rstrip("\n"))


app.command()(export)
app.command()(predict)
app.command(name="analyze")(analyze_command)
app.command()(reproduce)
app.command()(sweep)
app.command()(results)
app.command()(plot)
app.command(name="overlay")(overlay_command)
app.command(cls=BeforeCommand, context_settings={"allow_extra_args": True})(live)
app.command()(doctor)
app.command()(compare)


def main(arguments: list[str] | None = None) -> NoReturn:
    """Run the program and exit.

    Parameters
    ----------
    arguments : list of str, optional
        The command line without the program's name; `sys.argv` if absent.
    """
    try:
        code = app(arguments, prog_name="airpath", standalone_mode=False)
    except (ScenarioError, OutputError, LiveError, ExportError, SweepError) as error:
        _fail(*error.args)
    except typer.TyperException as error:
        if not error.format_message():  # Without a command the help was printed: that is all.
            sys.exit(error.exit_code)
        _fail("command line", error.format_message(), "see 'airpath --help'")
    except BrokenPipeError:
        # Whoever read our output has gone; keep the interpreter from complaining as it flushes.
        sys.stdout = None
        sys.exit(1)
    except OSError as error:
        what = str(error.strerror or error)
        _fail(str(error.filename or "files"), what, "check the path and its permissions")
    except (KeyboardInterrupt, typer.Abort):
        code = INTERRUPTED
    sys.exit(code if isinstance(code, int) else 0)


def _fail(key: str, what: str, remedy: str) -> NoReturn:
    """Print an error as one line and exit."""
    line = f"error: {key}: {what}" + (f"; {remedy}" if remedy else "")
    typer.echo(" ".join(line.split()), err=True)
    sys.exit(BAD_INPUT)


if __name__ == "__main__":
    main()
