"""The command line: imports commands, runs them, and turns errors into exit codes.

Commands print their reports on standard output; progress and errors go to standard error. An
expected error is one line, `error: <key>: <what is wrong>; <what would be right>`, and exit code 2;
Ctrl-C is exit code 130, a broken pipe 141. Modules are imported when needed, so that help is quick.
"""

from __future__ import annotations

import errno
import io
import keyword
import os
import sys
import warnings
from importlib import import_module
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperCommand, TyperGroup

from airpath.cli.status import BAD_INPUT, BROKEN_PIPE, INTERRUPTED
from airpath.errors import AirpathError, RenamedWarning, ScenarioError
from airpath.terminal import clean

_INSTALL = "install it again: python -m pip install --force-reinstall airpath"
# As the linker reports them, in an ImportError without a number.
_FILES = os.strerror(errno.EMFILE)
# And as those do that map a library, make room or start a thread where memory is limited.
_MEMORY = (
    *("failed to map segment", "Unable to allocate", "malloc of size"),
    "error return without exception set",  # an import that fails, as a SystemError
)
_THREADS = (os.strerror(errno.EAGAIN), "can't start new thread")

COMMANDS = {
    "run": "Run a scenario and print a summary; with --out, write everything about the run into a folder.",
    "list": "Show the bundled scenarios and sweeps and everything registered, with defaults and meanings.",
    "config": "Print a scenario with every default written out.",
    "export": "Write the trace of a finished run in the format of another tool.",
    "predict": "Compare the goodput of a run's TCP flows with what models predict from its losses and RTT.",
    "describe": "Show how the rate of links varies and how often they are silent: recordings and scenarios.",
    "import": "Write a recording of another tool in the form that scenarios and `airpath live` take.",
    "record": "Record the link between two hosts: what it can carry in both directions, and how it is at "
    "little load.",
    "fit": "Write a scenario whose link has the statistics of a recording, with a report on both.",
    "analyze": "Explain a capture: what limited each TCP connection, why it lost; rates and delays of UDP.",
    "reproduce": "Reproduce a paper: simulate its tables and figures and compare them with the published "
    "values.",
    "sweep": "Run a scenario over many points, each with many runs; the same command resumes where it "
    "stopped.",
    "results": "Print mean and interval of every metric at every point of a sweep.",
    "plot": "Draw a figure of sweeps: lines with intervals, goodput-delay planes, distributions, heat maps.",
    "overlay": "Draw several runs in one picture, labelled by their differences.",
    "diff": "Print the settings and results in which two runs, folders of runs, sweeps or scenarios differ.",
    "page": "Write a finished run as one HTML file with plots, events and results, for any browser.",
    "studio": "Open runs in a browser: change a scenario, run it again, compare.",
    "live": "Run a program behind a simulated bearer.",
    "control": "Change a live link while it runs: rates, losses, delays, SINR, queues, an outage, a "
    "hand-over.",
    "ping": "Measure the RTT over a link, from the UE's side: airpath live umts-384 -- airpath ping.",
    "doctor": "Say whether `airpath live` works here, by trying: namespaces, TUN, real-time scheduling.",
    "scorecard": "Compare a congestion control with CUBIC in the conditions of RFC 9743 and RFC 8869.",
    "compare": "Run a scenario simulated and live, with the kernel's TCP, and say how far both agree.",
}
"""Commands, each with the first sentence of its help: `command` of the module of the same name here."""


class Commands(TyperGroup):
    """Imports a command when it is called; lists commands without importing them."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """List the commands, each with the whole first paragraph of its help."""
        with formatter.section("Commands"):
            formatter.write_dl(
                [(name, (command.help or "").split("\n\n")[0]) for name, command in self.commands.items()]
            )

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the called command."""
        name, command, rest = super().resolve_command(ctx, args)
        return name, load_command(name) if name else command, rest


def load_command(name: str) -> TyperCommand:
    """Import a command; its module may define the class of the command, `COMMAND_CLASS`."""
    from airpath.cli.arguments import OnceEach

    # A word of Python's cannot be the name of a module that others import.
    module = import_module(f"airpath.cli.{name}_" if keyword.iskeyword(name) else f"airpath.cli.{name}")
    alone = typer.Typer(add_completion=False, rich_markup_mode=None)
    alone.command(name, cls=getattr(module, "COMMAND_CLASS", OnceEach))(module.command)
    return typer.main.get_command(alone)  # type: ignore[return-value]


app = typer.Typer(
    name="airpath",
    cls=Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    # Brackets in help texts are not markup.
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


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


for _name, _help in COMMANDS.items():
    app.command(_name, help=_help)(lambda: None)


def _warning(
    message: Warning | str, category: type[Warning], filename: str, lineno: int, line: str | None = None
) -> str:
    """Write a warning about a renamed key as the program's own; others as Python does."""
    if issubclass(category, RenamedWarning):
        return f"warning: {clean(str(message))}\n"
    return _python_writes(message, category, filename, lineno, line)


_python_writes = warnings.formatwarning


def main(arguments: list[str] | None = None) -> NoReturn:
    """Run the program and exit; `arguments` are without the program's name, `sys.argv` if absent."""
    warnings.formatwarning = _warning
    for stream in (sys.stdout, sys.stderr):
        # A locale without our letters, such as C, gets them as escapes instead of an error.
        if isinstance(stream, io.TextIOWrapper) and stream.encoding.lower() not in ("utf-8", "utf8"):
            stream.reconfigure(errors="backslashreplace")
    try:
        code = _exit_code(arguments)
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
    except (BrokenPipeError, SystemExit) as ended:
        # Libraries turn a broken pipe into exit status 1.
        if not any(isinstance(error, BrokenPipeError) for error in (ended, ended.__context__)):
            raise
        # Nothing reads the output any more: discard the rest.
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
    except (MemoryError, ImportError, SystemError) as error:
        said = str(error) or "there is not enough memory"
        return _fail(ScenarioError("airpath", said, _INSTALL), error)
    except typer.TyperException as error:
        said = error.format_message().replace("Value error, ", "").rstrip(".")
        if not said:  # Without a command, the help has been printed.
            return error.exit_code
        context = getattr(error, "ctx", None)
        remedy = f"see '{context.command_path if context else 'airpath'} --help'"
        return _fail(ScenarioError("command line", said, remedy))
    except BrokenPipeError:
        raise
    except UnicodeEncodeError as error:
        # Python represents octets of the command line that are not UTF-8 by surrogates.
        octets = error.object[error.start : error.end].encode(errors="surrogateescape")
        try:
            what, remedy = (
                f"the locale has no {octets.decode()!a}",
                "choose one with UTF-8: LC_ALL=C.UTF-8",
            )
        except UnicodeDecodeError:
            what, remedy = f"{octets!r} is not UTF-8", "write names in UTF-8"
        return _fail(ScenarioError("command line", what, remedy))
    except OSError as error:
        what = str(error.strerror or error)
        return _fail(
            ScenarioError(str(error.filename or "files"), what, "check the path and its permissions"), error
        )
    except (KeyboardInterrupt, typer.Abort):
        return INTERRUPTED
    except Exception as error:
        # Libraries have errors of their own where a limit of the system is reached.
        if not _limit_behind(error):
            raise
        return _fail(ScenarioError("airpath", str(error), ""), error)
    return code if isinstance(code, int) else 0


def _fail(error: AirpathError, cause: BaseException | None = None) -> int:
    """Print an error as one line; where a limit of the system is the cause, the remedy is about the limit."""
    if limit := _limit_behind(cause or error):
        error = ScenarioError(error.key, error.problem, limit)
    typer.echo(f"error: {clean(' '.join(str(error).split()))}", err=True)
    return BAD_INPUT


def _limit_behind(error: BaseException | None) -> str:
    """Say which limit of the system an error comes from and how it is raised; empty if from none."""
    seen = set()  # An error may be its own context, over others.
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        code = error.errno if isinstance(error, OSError) else 0
        if code in (errno.EMFILE, errno.ENFILE) or _FILES in str(error):
            return "raise the limit of open files: ulimit -n 1024"
        # airpath's own errors may quote messages of other programs.
        said = "" if isinstance(error, AirpathError) else str(error)
        lacks_memory = code == errno.ENOMEM or os.strerror(errno.ENOMEM) in str(error)
        if lacks_memory or isinstance(error, MemoryError) or any(words in said for words in _MEMORY):
            return "raise the limit of memory (ulimit -v), or close other programs"
        if any(words in said for words in _THREADS):
            return "raise the limits of memory and processes (ulimit -v, ulimit -u), or close other programs"
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return ""
