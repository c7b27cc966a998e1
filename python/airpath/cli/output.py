"""Output of commands: standard output, files and folders, never overwritten unasked."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from airpath.errors import OutputError
from airpath.files.atomic import replacing

STANDARD_OUTPUT = Path("-")


def check_free(option: str, file: Path, force: bool) -> None:
    """Raise an `OutputError` if a file exists and may not be replaced."""
    if file.is_file() and not force:
        raise OutputError(
            option, f"'{file}' exists already", "choose another place, or replace it with --force"
        )


@contextlib.contextmanager
def output_errors(option: str) -> Iterator[None]:
    """Turn an error of the operating system into an `OutputError`."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        what = f"cannot write to '{error.filename}': {error.strerror or error}"
        raise OutputError(option, what, "choose another place for it") from error


@contextlib.contextmanager
def opened(option: str, file: Path, force: bool = False) -> Iterator[IO[bytes]]:
    """Open a file that appears complete or not at all; `-` is standard output.

    Parameters
    ----------
    option : str
        The option that names the file, for errors.
    file : Path
        The file; its folder must exist.
    force : bool
        Whether to replace an existing file.

    Raises
    ------
    OutputError
        If the file exists, or cannot be written.
    """
    if file == STANDARD_OUTPUT:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    check_free(option, file, force)
    with output_errors(option), replacing(file) as unfinished, unfinished.open("wb") as content:
        yield content


def write_file(option: str, file: Path, content: str | bytes, force: bool = False) -> None:
    """Write a file as `opened` opens it; text as UTF-8."""
    with opened(option, file, force) as target:
        target.write(content.encode() if isinstance(content, str) else content)


def folder_for(option: str, *files: Path, force: bool) -> None:
    """Make the folder for output files before the work begins, and check that they can be written.

    Raises
    ------
    OutputError
        If a file exists and may not be replaced, or the folder cannot be made.
    """
    for file in files:
        check_free(option, file, force)
        with output_errors(option):
            file.parent.mkdir(parents=True, exist_ok=True)
