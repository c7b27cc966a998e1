"""The command line: `airpath run`, `live`, `sweep`, `reproduce` and the others that `airpath` lists.

Commands print what they found on standard output; progress and errors go to standard error. An
expected error is one line, `error: <key>: <what is wrong>; <what would be right>`, and exit code 2;
Ctrl-C is exit code 130, a broken pipe 141. Modules are imported where they are needed, so that help is quick.
"""

from __future__ import annotations

import json
import os
import sys
from enum import StrEnum
from importlib import import_module
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperCommand, TyperGroup

from airpath.arguments import (
    CaptureIuOption,
    CaptureRlcOption,
    ForceOption,
    JsonOption,
    OutOption,
    ScenarioArgument,
    SeedOption,
    SetOption,
    load_changed,
    wanted_interfaces,
)
from airpath.errors import AirpathError, ScenarioError
from airpath.terminal import clean

BAD_INPUT, INTERRUPTED, BROKEN_PIPE = 2, 130, 141

# Commands that are imported when they are called: module, function and the first sentence of its help.
ELSEWHERE = {
    "export": (
        "export.command",
        "export",
        "Write the trace of a finished run in the format of another tool.",
    ),
    "predict": (
        "analytic.command",
        "predict",
        "Set the goodput of a run's TCP flows beside what throughput models predict from its losses.",
    ),
    "analyze": (
        "analyze.command",
        "analyze_command",
        "Explain a capture: round trips, losses and their causes, and what limited each TCP connection.",
    ),
    "reproduce": (
        "papers.command",
        "reproduce",
        "Set the published values of a paper beside what airpath measures.",
    ),
    "sweep": (
        "sweep.command",
        "sweep",
        "Run a scenario over many points, each with many runs; the same command goes on where it stopped.",
    ),
    "results": (
        "sweep.command",
        "results",
        "Print mean and interval of every metric at every point of a sweep.",
    ),
    "plot": (
        "figures.command",
        "plot",
        "Draw a figure of a sweep: lines with intervals, goodput-delay planes, distributions, heat maps.",
    ),
    "overlay": (
        "figures.overlay_command",
        "overlay_command",
        "Draw runs over each other in one picture, named by what differs among them.",
    ),
    "live": ("live.command", "live", "Run a program behind a simulated bearer."),
    "doctor": (
        "live.doctor",
        "doctor",
        "Say whether `airpath live` works here, by trying: namespaces, TUN, real-time scheduling.",
    ),
    "compare": (
        "agreement.command",
        "compare",
        "Run a scenario simulated and live, with the kernel's TCP, and say how far both agree.",
    ),
}


class Commands(TyperGroup):
    """Imports the commands of `ELSEWHERE` when they are called, and lists them without that."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """List the commands, each with the first paragraph of its help, whole."""
        with formatter.section("Commands"):
            formatter.write_dl(
                [(name, (command.help or "").split("\n\n")[0]) for name, command in self.commands.items()]
            )

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the command that is called."""
        name, command, rest = super().resolve_command(ctx, args)
        return name, load_command(name) if name in ELSEWHERE else command, rest


def load_command(name: str) -> TyperCommand:
    """Import a command of `ELSEWHERE`; its module may have a class of its own for it, `COMMAND_CLASS`."""
    module_name, function, _ = ELSEWHERE[name]
    module = import_module(f"airpath.{module_name}")
    alone = typer.Typer(add_completion=False, rich_markup_mode=None)
    alone.command(name, cls=getattr(module, "COMMAND_CLASS", None))(getattr(module, function))
    return typer.main.get_command(alone)  # type: ignore[return-value]


app = typer.Typer(
    name="airpath",
    cls=Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    # Brackets in a help text are brackets.
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


class Kind(StrEnum):
    """What `airpath list` can be asked for alone."""

    scenarios = "scenarios"
    sweeps = "sweeps"
    traces = "traces"
    components = "components"
    probes = "probes"


def _print_version(wanted: bool) -> None:
    if wanted:
        from airpath import _core

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
    from airpath.folder import run_to_folder
    from airpath.progress import progress_bar
    from airpath.run import run as run_in_memory
    from airpath.summary import print_summary
    from airpath.terminal import console_for, say

    chosen = load_changed(scenario, set_)
    interrupted = False
    if out is None:
        for option, given in (
            ("--capture-rlc", capture_rlc),
            ("--capture-iu", capture_iu),
            ("--force", force),
        ):
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
            say(console_for(), f"files in {out}: {', '.join(sorted(file.name for file in folder.files))}")
    if interrupted:
        typer.echo("interrupted: the files hold what there was until then", err=True)
        raise typer.Exit(INTERRUPTED)


@app.command(name="list")
def list_(
    kind: Annotated[
        Kind | None,
        typer.Argument(metavar="KIND", help="scenarios, sweeps, components or probes; all if absent."),
    ] = None,
    prefix: Annotated[
        str | None, typer.Argument(metavar="PREFIX", help="Only names that begin like this, such as tcp.cc.")
    ] = None,
    json_: JsonOption = False,
) -> None:
    """Show the bundled scenarios and sweeps and everything registered, with defaults and meanings."""
    from airpath.summary import catalogue, print_catalogue

    content = catalogue(kind, prefix)
    if json_:
        typer.echo(json.dumps(content, indent=2))
    else:
        print_catalogue(content)


@app.command()
def config(scenario: ScenarioArgument, set_: SetOption = None) -> None:
    """Print a scenario with every default written out."""
    typer.echo(load_changed(scenario, set_).text.rstrip("\n"))


for _name, (_, _, _help) in ELSEWHERE.items():
    app.command(_name, help=_help)(lambda: None)


def main(arguments: list[str] | None = None) -> NoReturn:
    """Run the program and exit.

    Parameters
    ----------
    arguments : list of str, optional
        The command line without the program's name; `sys.argv` if absent.
    """
    try:
        code = _exit_code(arguments)
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
    except (BrokenPipeError, SystemExit) as ended:
        # Libraries make an exit with status 1 of a broken pipe.
        if not any(isinstance(error, BrokenPipeError) for error in (ended, ended.__context__)):
            raise
        # Nothing reads the output any more: what is left of it goes nowhere.
        nowhere = os.open(os.devnull, os.O_WRONLY)
        for descriptor in (1, 2):
            os.dup2(nowhere, descriptor)
        code = BROKEN_PIPE
    sys.exit(code)


def _exit_code(arguments: list[str] | None) -> int:
    """Run the program; print an expected error as one line."""
    try:
        code = app(arguments, prog_name="airpath", standalone_mode=False)
    except AirpathError as error:
        return _fail(error)
    except typer.TyperException as error:
        said = error.format_message().replace("Value error, ", "").rstrip(".")
        if not said:  # Without a command the help was printed: that is all.
            return error.exit_code
        context = getattr(error, "ctx", None)
        remedy = f"see '{context.command_path if context else 'airpath'} --help'"
        return _fail(ScenarioError("command line", said, remedy))
    except BrokenPipeError:
        raise
    except UnicodeEncodeError as error:
        # Python stands for octets of the command line that are not UTF-8 by halves of pairs.
        octets = error.object[error.start : error.end].encode(errors="surrogateescape")
        return _fail(ScenarioError("command line", f"{octets!r} is not UTF-8", "write names in UTF-8"))
    except OSError as error:
        what = str(error.strerror or error)
        return _fail(
            ScenarioError(str(error.filename or "files"), what, "check the path and its permissions")
        )
    except (KeyboardInterrupt, typer.Abort):
        return INTERRUPTED
    return code if isinstance(code, int) else 0


def _fail(error: AirpathError) -> int:
    """Print an error as one line."""
    typer.echo(f"error: {clean(' '.join(str(error).split()))}", err=True)
    return BAD_INPUT
