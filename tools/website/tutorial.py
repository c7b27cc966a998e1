"""Runs the commands of a document, and inserts their output after them.

Documents in `RUN` are executed, each in an empty folder, from top to bottom:

* `console`: commands of bash, each after `$ `, followed by their output.
* `python`: code, with what it prints, and the value of its last expression as a notebook shows it. Names are
  kept from one block of a document to the next.
* `model`: a small model that runs in the page (`models.py`). Its runs are made, and checks may call `model`.
* any block with `title="FILE"`: is written to that file.
* `<!-- show: FILE | CAPTION -->`: the picture, or a link to the HTML file.
* `<!-- check: EXPRESSION -->`: has to be true, as the sentence before it says. It has the names of the
  document's Python, and `results`, `means` and `report` of folders.

Words behind the language change this: `skip` (not executed), `fails` (the command has to fail) and
`needs=NAME` (executed where `NEEDS` finds what it needs; elsewhere `recorded.json` has the output from when
the documents were last recorded, by `python -m website --record`, and the page says so).
"""

from __future__ import annotations

import ast
import base64
import contextlib
import io
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from textwrap import indent
from typing import Any, NamedTuple

import forks
import left_out

from airpath.cli import main as cli
from airpath.experiments.sweep.results import read_results
from website.models import Model
from website.pages import DOCS, ROOT, PageError

RUN = ("start/", "tutorials/", "lessons/", "gallery", "how-do-i")
"""Where the pages are that are executed."""
RECORDED = DOCS / "tutorials/recorded.json"
MOST_LINES = 60
"""Lines of output that are shown."""
COMMAND_S = 240
"""A command may take so long."""

PART = re.compile(
    r"^```(?P<language>\w+)(?P<info>[^\n]*)\n(?P<code>.*?)^```$"
    r"|^<!-- show: (?P<shown>\S+) \| (?P<caption>.*?) -->$"
    r"|^<!-- check: (?P<check>.*?) -->$",
    re.DOTALL | re.MULTILINE,
)
PLAIN = re.compile(r"airpath( |\\\n|[\w./=:,%+-])*")
"""A command that bash would only split into words, except for quoted parts."""
QUOTED = re.compile("'[^']*'")
PNG = re.compile(r"data:image/png;base64,([A-Za-z0-9+/=]+)")


def _live_works() -> bool:
    return subprocess.run(["airpath", "doctor"], env=environment(), capture_output=True).returncode == 0


NEEDS = {
    "live": (
        _live_works,
        "Recorded: live runs were not possible where this page was made.",
        "airpath live does not work here: airpath doctor says why",
    )
}
"""What a command may need: whether it is there, and what the page and `make site` say where it is not."""


@cache
def has(need: str) -> bool:
    """Whether what a command needs is there; what is not is noted for the last line of `make site`."""
    found, why = NEEDS[need][0](), NEEDS[need][2]
    if not found:
        left_out.note(f"new output of commands that need {need}", why)
    return found


@cache
def environment() -> dict[str, str]:
    """Environment of commands: this Python's `airpath`, no colours, a terminal of 100 columns."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    return {
        **os.environ,
        "PATH": path,
        "NO_COLOR": "1",
        "TERM": "dumb",
        "COLUMNS": "100",
        "PYTHONWARNINGS": "ignore",
    }


class Executed(NamedTuple):
    """An executed document: its text, and what it recorded by need and command."""

    text: str
    recorded: dict[str, str]


def executed(text: str, file: Path, page: Path, recording: dict[str, str] | None = None) -> Executed:
    """Execute a document, its links fitted, for a page; pictures go into a folder next to the page.

    Raises
    ------
    PageError
        If something fails, or does not although it should.
    """
    with tempfile.TemporaryDirectory() as folder:
        session = Session(Path(folder), page, file, recording or {})

        def run(part: re.Match[str]) -> str:
            try:
                return session.part(part)
            except (PageError, OSError) as error:
                line = text.count("\n", 0, part.start()) + 1
                raise PageError(f"{file.relative_to(ROOT)}:{line}: {error}") from error

        with contextlib.chdir(folder):
            return Executed(PART.sub(run, text), session.recorded)


class Session:
    """What a document's blocks share: a folder, the names of its Python, and the page that they come to."""

    def __init__(self, folder: Path, page: Path, file: Path, recording: dict[str, str]) -> None:
        self.folder, self.page, self.file = folder, page, file
        self.names: dict[str, Any] = {"__name__": "__main__"}
        self.recording = recording
        self.recorded: dict[str, str] = {}
        self.kept = 0
        self.lacking = False

    def part(self, part: re.Match[str]) -> str:
        """Execute a block, or show a file."""
        if part["shown"]:
            file = self.folder / part["shown"]
            if self.lacking and not file.exists():
                return f"*{part['caption']}: not made here.*"
            return self.show(file, part["caption"])
        if part["check"]:
            if not eval(part["check"], {**self.names, **KNOWN}):
                raise PageError(f"it is not so that {part['check']}")
            return ""
        info, code = part["info"].split(), part["code"]
        titled = re.search(r'title="([^"]+)"', part["info"])
        title = f' title="{titled[1]}"' if titled else ""
        block = f"```{part['language']}{title}\n{code}```"
        if titled:
            file = self.folder / titled[1]
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(code, encoding="utf-8")
            return block
        if "skip" in info:
            return block
        if part["language"] == "console":
            need = next((word.removeprefix("needs=") for word in info if word.startswith("needs=")), None)
            return self.console(code, "fails" in info, need)
        if part["language"] == "model":
            return self.model(code)
        if part["language"] == "python":
            return f"{block}\n\n{self.python(code)}".rstrip()
        return block

    def console(self, code: str, fails: bool, need: str | None) -> str:
        """Run commands, and write each with its output; commands without output are grouped."""
        made: list[str] = []
        silent: list[str] = []
        remark = ""
        for command in commands(code):
            if need is None or has(need):
                said = self.command(command, fails)
                if need:
                    self.recorded[command] = said
            elif command in self.recording:
                self.lacking = True
                said, remark = self.recording[command], f"\n\n*{NEEDS[need][1]}*"
            else:
                raise PageError(f"nothing was recorded of '{command}': python -m website --record")
            silent.append(command)
            if said:
                made += [fence("console", "\n".join(f"$ {each}" for each in silent)), fence("text", said)]
                silent = []
        if silent:
            made.append(fence("console", "\n".join(f"$ {each}" for each in silent)))
        return "\n\n".join(made) + remark

    def command(self, command: str, fails: bool) -> str:
        """Run a command in a fork; gives what it printed."""
        with tempfile.TemporaryFile("w+", encoding="utf-8") as output:
            file = output.fileno()
            ran = forks.fork(lambda: self.run(command), COMMAND_S, file, file)
            try:
                status = os.waitstatus_to_exitcode(os.waitpid(ran, 0)[1])
            finally:
                # What is still in the background ends here.
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(ran, signal.SIGKILL)
            if status == -signal.SIGALRM:
                raise PageError(f"'{command}' takes more than {COMMAND_S} s")
            output.seek(0)
            said = output.read()
        if bool(status) != fails:
            raise PageError(f"'{command}' ended with {status}:\n{said}")
        return shortened(said)

    def run(self, command: str) -> None:
        """Run a command instead of this process: airpath in it, where no shell is needed, and else bash."""
        os.setsid()
        os.chdir(self.folder)
        if PLAIN.fullmatch(QUOTED.sub("", command)):
            os.environ.update(environment())
            warnings.simplefilter("ignore")
            cli.main(shlex.split(command.replace("\\\n", " "))[1:])
        os.execvpe("bash", ["bash", "-euo", "pipefail", "-c", command], environment())

    def python(self, code: str) -> str:
        """Run Python; gives what it printed, and its value, as Markdown."""
        tree = ast.parse(code)
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        value = None
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            try:
                exec(compile(tree, self.file.name, "exec"), self.names)
                if last is not None:
                    value = eval(compile(ast.Expression(last.value), self.file.name, "eval"), self.names)  # type: ignore[attr-defined]
            except Exception as error:
                raise PageError(f"{type(error).__name__}: {error}") from error
        made = [fence("text", shortened(said))] if (said := printed.getvalue()) else []
        if value is not None:
            if hasattr(value, "_repr_html_"):
                made.append(self.html(value._repr_html_()))
            elif hasattr(value, "_repr_png_"):
                made.append(f"![{value!r}]({self.keep(value._repr_png_(), '.png')})")
            else:
                made.append(fence("text", shortened(repr(value))))
        return "\n\n".join(made)

    def html(self, text: str) -> str:
        """HTML of a value, its pictures as files."""

        def keep(png: re.Match[str]) -> str:
            return self.keep(base64.b64decode(png[1]), ".png")

        return '<div class="value">\n' + re.sub(r"\n\s*\n", "\n", PNG.sub(keep, text)) + "\n</div>"

    def model(self, code: str) -> str:
        """Make the runs of a model and their picture; gives its element, and the commands."""
        model = Model.read(code)
        made = model.commands(self.file.stem)
        for command in made:
            self.command(command, False)
        self.names["model"] = model.flows
        names = "; ".join(run["name"] for run in model.run).capitalize()
        page = self.page.parent.name + "/" + self.page.name
        element = model.element(
            page, self.keep((self.folder / f"{self.file.stem}.png").read_bytes(), ".png"), names
        )
        shown = fence("console", "\n".join(f"$ {each}" for each in made))
        return f'{element}\n\n??? note "The same by commands"\n\n{indent(shown, "    ")}'

    def show(self, file: Path, caption: str) -> str:
        """Put a file on the site: a picture, or what a link leads to."""
        kept = self.keep(file.read_bytes(), file.suffix)
        return f"[{caption}]({kept})" if file.suffix == ".html" else f"![{caption}]({kept})\n\n*{caption}*"

    def keep(self, content: bytes, suffix: str) -> str:
        """Keep a file next to the page; return its address from there."""
        self.kept += 1
        beside = self.page.with_suffix("")
        beside.mkdir(parents=True, exist_ok=True)
        (beside / f"{self.kept}{suffix}").write_bytes(content)
        return f"{beside.name}/{self.kept}{suffix}"


def results(folder: str) -> dict[str, Any]:
    """Results of a run in a folder."""
    found: dict[str, Any] = json.loads((Path(folder) / "results.json").read_text(encoding="utf-8"))
    return found


def means(folder: str) -> list[dict[str, float]]:
    """Means of the metrics of a sweep, point by point."""
    found = read_results(Path(folder))
    return [
        {name: known.mean for name, known in point.estimates.items() if known is not None}
        for point in found.points
    ]


def report(folder: str) -> Any:
    """Report of a reproduction in a folder."""
    return json.loads((Path(folder) / "report.json").read_text(encoding="utf-8"))


KNOWN = {"results": results, "means": means, "report": report}
"""What checks may call."""


def commands(code: str) -> Iterator[str]:
    """Commands of a block: from a `$ ` to the next, or to an output."""
    lines = iter(code.splitlines())
    for line in lines:
        if not line.startswith("$ "):
            raise PageError(f"'{line}' is no command: write '$ ' before it")
        command = line.removeprefix("$ ")
        while command.endswith("\\"):
            command += "\n" + next(lines)
        yield command


def fence(language: str, text: str) -> str:
    """Write a block of code, or of output where the language is text."""
    words = "{ .text .output }" if language == "text" else language
    return f"```{words}\n{text.rstrip()}\n```"


def shortened(text: str) -> str:
    """Cut what is too long for a page."""
    lines = text.rstrip().splitlines()
    more = len(lines) - MOST_LINES
    return "\n".join([*lines[:MOST_LINES], f"... and {more} more lines"] if more > 0 else lines)
