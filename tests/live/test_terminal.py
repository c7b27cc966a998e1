"""A live run on a terminal: the shell, Ctrl-C, Ctrl-Z, and whose terminal it is."""

from __future__ import annotations

import os
import pty
import selectors
import subprocess
import time
from collections.abc import Callable

import pytest

from live.harness import AIRPATH, FAST, MARKER, PATIENCE_S, needs

CTRL_C, CTRL_Z, CTRL_D = "\x03", "\x1a", "\x04"
PROMPT = "(airpath trace) "

pytestmark = needs("setsid", "bash")
masked = pytest.mark.xfail(reason="defect 1: COMMAND inherits the driver's signal mask", strict=False)


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
        """Wait until this appears; give what came before it."""
        self._read(lambda: text in self._seen)
        assert text in self._seen, f"ended without {text!r}: {self._seen!r}"
        before, _, self._seen = self._seen.partition(text)
        return before

    def expect_all(self, *texts: str) -> None:
        """Wait until all of these have appeared, in any order."""
        self._read(lambda: all(text in self._seen for text in texts))
        assert all(text in self._seen for text in texts), self._seen
        self._seen = ""

    def rest(self) -> str:
        """Wait for the program's end; give what came."""
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
                    except OSError:  # Nobody has the terminal any more.
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


def test_without_command_there_is_a_shell_with_a_marked_prompt(terminal):
    shell = terminal(AIRPATH, "live", *FAST)
    # Greeting and prompt come from two processes, in any order.
    shell.expect_all(PROMPT, "this shell is the UE, 10.77.0.2; the server is 10.77.0.1")
    shell.type("ping -c 1 $AIRPATH_SERVER\n")
    shell.expect("1 received")
    shell.expect(PROMPT)
    shell.type("exit 5\n")
    shell.expect("ended with status 5")
    shell.rest()
    assert shell.process.returncode == 5


@masked
def test_ctrl_c_ends_what_runs_in_the_shell_and_not_the_shell(terminal):
    shell = terminal(AIRPATH, "live", *FAST)
    shell.expect(PROMPT)
    shell.type("echo $((6 * 7)); sleep 1000\n")
    shell.expect("42")
    shell.type(CTRL_C)
    shell.expect(PROMPT)
    shell.type("echo status $?\n")
    shell.expect("status 130")
    shell.expect(PROMPT)
    shell.type(CTRL_D)
    shell.rest()
    assert shell.process.returncode == 130


@masked
def test_ctrl_z_in_the_shell_is_the_shells(terminal):
    shell = terminal(AIRPATH, "live", *FAST)
    shell.expect(PROMPT)
    shell.type("cat\n")
    shell.type("first\n")
    # What was typed, and what cat made of it.
    shell.expect("first\r\nfirst")
    shell.type(CTRL_Z)
    shell.expect("Stopped")
    shell.expect(PROMPT)
    shell.type("fg\n")
    shell.type("second\n")
    shell.expect("second\r\nsecond")
    shell.type(CTRL_D)
    shell.expect(PROMPT)
    shell.type("exit 0\n")
    shell.rest()
    assert shell.process.returncode == 0


@pytest.mark.parametrize("command", ["sh -c 'cat; exit 4'", pytest.param("cat", marks=masked)])
@pytest.mark.parametrize("view", ["--no-view", "--view"])
def test_ctrl_z_stops_airpath_and_its_shell_makes_it_go_on(command, view, terminal):
    shell = terminal("bash", "--norc", "-i")
    shell.expect("$ " if os.geteuid() else "# ")
    options = " ".join(f"'{option}'" for option in FAST)
    environment = "TERM=xterm" if view == "--view" else "TERM=dumb"
    shell.type(f"{environment} {AIRPATH} live {options} {view} -- {command}; echo status $?\n")
    shell.expect("status $?\r\n")
    shell.type("first\n")
    shell.expect("first")
    shell.expect("first")
    shell.type(CTRL_Z)
    shell.expect("Stopped")
    shell.type("fg; echo status $?\n")
    shell.expect("echo status $?\r\n")
    shell.type("second\n")
    shell.expect("second")
    shell.expect("second")
    shell.type(CTRL_D)
    shell.expect("ended with status 4" if "exit 4" in command else "ended with status 0")
    shell.expect("status 4" if "exit 4" in command else "status 0")


@masked
def test_ctrl_c_reaches_a_command_that_is_no_shell(terminal):
    shell = terminal(AIRPATH, "live", *FAST, "--no-view", "--", "cat")
    shell.type("first\n")
    shell.expect("first\r\nfirst")
    shell.type(CTRL_C)
    shell.rest()
    assert shell.process.returncode == 130


def test_hanging_up_ends_everything(terminal):
    shell = terminal(AIRPATH, "live", *FAST)
    shell.expect(PROMPT)
    # That nothing has the marker any more is looked at after every test.
    shell.close()
