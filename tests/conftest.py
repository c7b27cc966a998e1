"""What several tests use."""

from __future__ import annotations

import signal
from collections.abc import Callable
from typing import NamedTuple

import pytest
from hypothesis import settings

from airpath import cli

# A commit has one verdict, whatever is drawn elsewhere and however busy the machine is.
settings.register_profile("same-cases", derandomize=True, deadline=None)
settings.load_profile("same-cases")

# Shells have programs in the background ignore these, nohup the last; what tests start would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGQUIT, signal.SIG_DFL)
signal.signal(signal.SIGHUP, signal.SIG_DFL)


class Outcome(NamedTuple):
    """How a command ended."""

    code: int
    out: str
    err: str


@pytest.fixture
def airpath_command(capsys: pytest.CaptureFixture[str]) -> Callable[..., Outcome]:
    """Run the command line inside this process."""

    def call(*arguments: object) -> Outcome:
        with pytest.raises(SystemExit) as exit_:
            cli.main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return Outcome(int(exit_.value.code or 0), captured.out, captured.err)

    return call


def check_error(outcome: Outcome, key: str, cause: str, remedy: str) -> None:
    """An expected error: one line with its key, the cause and the remedy, and nothing else."""
    assert outcome.code == cli.BAD_INPUT
    assert outcome.out == ""
    assert outcome.err.count("\n") == 1
    assert outcome.err.startswith(f"error: {key}: ")
    what, _, hint = outcome.err.removeprefix(f"error: {key}: ").rstrip("\n").partition("; ")
    assert what and hint, outcome.err
    assert cause in what
    assert remedy in hint
