"""A live run on a terminal: the shell, Ctrl-C, Ctrl-Z, and whose terminal it is."""

from __future__ import annotations

import os
import pty
import selectors
import subprocess
import sys
import time
from collections.abc import Callable

import pytest
from programs import needs

from live.harness import AIRPATH, FAST, MARKER, PATIENCE_S

CTRL_C, CTRL_Z, CTRL_D = "\x03", "\x1a", "\x04"
PROMPT = "(airpath trace) "

pytestmark = needs("setsid", "bash")


class Terminal:
    """A terminal with a program on it, whose session it is."""

    def __init__(self, *words: str, home: object, marker: str) -> None:
        self._outer, inner = pty.openpty()
        environment = {**os.environ, MARKER: marker, "HOME": str(home), "SHELL": "/bin/bash", "TERM": "dumb"}
        environment.pop("PROMPT_COMMAND", None)
        self.process = subprocess.Popen(
            ["setsid", "--ctty", *words], stdin=inner, stdout=inner, stderr=inner, env=environment
        )
        os.close(inner)
        # What has appeared and was not yet expected.
        self._seen = ""

    def type(self, text: str) -> None:
        """Press keys."""
        os.write(self._outer, text.encode())

    def expect(self, text: str) -> str:
        """Wait until this appears; return the preceding output."""
        self._read(lambda: text in self._seen)
        assert text in self._seen, f"ended without {text!r}: {self._seen!r}"
        before, _, self._seen = self._seen.partition(text)
        return before

    def rest(self) -> str:
        """Wait for the program's end; return its output."""
        self._read(lambda: False)
        self.process.wait(PATIENCE_S)
        return self._seen

    def _read(self, enough: Callable[[], bool]) -> None:
        """Read until there is enough, or nothing will come any more."""
        deadline = time.monotonic() + PATIENCE_S / 3
        with selectors.DefaultSelector() as selector:
            selector.register(self._outer, selectors.EVENT_READ)
            while not enough():
                assert time.monotonic() < deadline, self._seen
                if selector.select(0.1):
                    try:
                        piece = os.read(self._outer, 4096)
                    except OSError:  # The terminal is closed.
                        return
                    self._seen += piece.decode(errors="replace")

    def close(self) -> None:
        """Hang up."""
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait(PATIENCE_S)
        if self._outer >= 0:
            os.close(self._outer)
            self._outer = -1


@pytest.fixture
def terminal(tmp_path, marker):
    """Put a program on a terminal of its own."""
    opened: list[Terminal] = []

    def call(*words: str) -> Terminal:
        opened.append(Terminal(*words, home=tmp_path, marker=marker))
        return opened[-1]

    yield call
    for each in opened:
        each.close()


# One process: a shell that is stopped while it starts another does not stop.
PROGRAM = """#!{python}
import sys
print("ready", flush=True)
for line in sys.stdin:
    print("got", line, end="", flush=True)
sys.exit(4)
"""


@pytest.fixture
def cat(tmp_path) -> str:
    """A program that says what it is given."""
    script = tmp_path / "program"
    script.write_text(PROGRAM.format(python=sys.executable))
    script.chmod(0o755)
    return str(script)


@pytest.fixture
def busy_shell(terminal, cat):
    """A shell in the link, in which that program runs and has the terminal."""
    shell = terminal(AIRPATH, "live", *FAST)
    shell.expect(PROMPT)
    shell.type(f"{cat}\n")
    # Not before: there is a moment when bash delivers Ctrl-C to no process.
    shell.expect("ready")
    return shell


@pytest.mark.slow
def test_without_command_there_is_a_shell_with_a_marked_prompt(terminal):
    shell = terminal(AIRPATH, "live", *FAST)
    assert "this shell is the UE, 10.77.0.2; the server is 10.77.0.1" in shell.expect(PROMPT)
    shell.type("airpath ping --count 1\n")
    shell.expect("1 received")
    shell.expect(PROMPT)
    shell.type("exit 5\n")
    shell.expect("ended with status 5")
    shell.rest()
    assert shell.process.returncode == 5


@pytest.mark.slow
def test_ctrl_c_ends_what_runs_in_the_shell_and_not_the_shell(busy_shell):
    busy_shell.type(CTRL_C)
    busy_shell.expect(PROMPT)
    busy_shell.type("echo status $?\n")
    busy_shell.expect("status 130")
    busy_shell.expect(PROMPT)
    busy_shell.type(CTRL_D)
    busy_shell.rest()
    assert busy_shell.process.returncode == 0


@pytest.mark.slow
def test_ctrl_z_in_the_shell_is_the_shells(busy_shell, cat):
    busy_shell.type(CTRL_Z)
    busy_shell.expect("Stopped")
    busy_shell.expect(PROMPT)
    busy_shell.type("fg\n")
    # bash names the continued command.
    busy_shell.expect(f"{cat}\r\n")
    busy_shell.type("line\n")
    busy_shell.expect("got line")
    busy_shell.type(CTRL_D)
    busy_shell.expect(PROMPT)
    busy_shell.type("exit 0\n")
    busy_shell.rest()
    assert busy_shell.process.returncode == 0


@pytest.mark.slow
@pytest.mark.parametrize("view", ["--no-view", "--view"])
def test_ctrl_z_stops_airpath_and_its_shell_makes_it_go_on(view, terminal, cat):
    shell = terminal("bash", "--norc", "-i")
    shell.expect("$ " if os.geteuid() else "# ")
    options = " ".join(f"'{option}'" for option in FAST)
    shell.type(f"TERM=xterm {AIRPATH} live {options} {view} -- {cat}; echo status $?\n")
    shell.expect("ready")
    shell.type("first\n")
    shell.expect("got first")
    shell.type(CTRL_Z)
    shell.expect("Stopped")
    shell.type("fg; echo status $?\n")
    shell.expect(cat)
    shell.type("second\n")
    shell.expect("got second")
    shell.type(CTRL_D)
    shell.expect("ended with status 4")
    shell.expect("status 4")


@pytest.mark.slow
def test_ctrl_c_reaches_a_command_that_is_no_shell(terminal):
    shell = terminal(AIRPATH, "live", *FAST, "--no-view", "--", "sed", "-u", "s/^/got /")
    # Typed before any program reads: a terminal keeps it.
    shell.type("line\n")
    shell.expect("got line")
    shell.type(CTRL_C)
    shell.rest()
    assert shell.process.returncode == 130


def test_hanging_up_ends_everything(terminal):
    shell = terminal(AIRPATH, "live", *FAST)
    shell.expect(PROMPT)
    # That nothing has the marker any more is looked at after every test.
    shell.close()
