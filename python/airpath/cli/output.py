"""Output of commands: reports and JSON, files and folders that are never overwritten unasked."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any

import typer

from airpath.drawing.picture import Picture, format_of
from airpath.errors import OutputError
from airpath.files.atomic import make_folder, replacing, write_together
from airpath.report.document import Part
from airpath.report.terminal import show
from airpath.terminal import clean

STANDARD_OUTPUT = Path("-")


def tell(json_: bool, said: Any, report: Iterable[Part]) -> None:
    """Print a report, or what it says as JSON."""
    if json_:
        typer.echo(as_text(said))
    else:
        show(report)


def as_text(said: Any) -> str:
    """Write plain data as JSON for people."""
    return json.dumps(said, indent=2)


def check_free(option: str, file: Path, force: bool) -> None:
    """Raise an `OutputError` if a file exists and may not be replaced."""
    if file.is_file() and not force:
        remedy = "choose another place, or replace it with --force"
        raise OutputError(option, f"'{file}' exists already", remedy)


@contextlib.contextmanager
def output_errors(option: str, place: Path | None = None) -> Iterator[None]:
    """Turn an error of the operating system into an `OutputError`, of `place` if it names no file."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        what = f"cannot write to '{error.filename or place}': {error.strerror or error}"
        raise OutputError(option, what, "choose another place for it") from error


@contextlib.contextmanager
def opened(option: str, file: Path, force: bool = False) -> Iterator[IO[bytes]]:
    """Open a file that appears complete or not at all; its folder must exist. `-` is standard output.

    An `OutputError` of the option says that it exists and may not be replaced, or cannot be written.
    """
    if file == STANDARD_OUTPUT:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    check_free(option, file, force)
    with output_errors(option), replacing(file) as content:
        yield content


def write_file(option: str, file: Path, content: str | bytes, force: bool = False) -> None:
    """Write a file as `opened` opens it; text as UTF-8."""
    with opened(option, file, force) as target:
        target.write(content.encode() if isinstance(content, str) else content)


def write_files(option: str, folder: Path, files: Mapping[str, str | bytes], force: bool = False) -> None:
    """Write files of a folder that belong together, the one that readers require last: `write_together`.

    An `OutputError` of the option says which exists and may not be replaced, or cannot be written.
    """
    for name in files:
        check_free(option, folder / name, force)
    with output_errors(option, folder):
        make_folder(folder)
        write_together(folder, files)


def picture_format(file: Path, json_: bool) -> str:
    """Format of a picture's file: PNG on standard output, which then has no JSON."""
    if file != STANDARD_OUTPUT:
        return format_of(file)
    if json_:
        what = "standard output takes the figure"
        raise OutputError("--json", what, "leave one of --json and --out - out")
    return "png"


def write_picture(picture: Picture, file: Path, force: bool, json_: bool, *, is_silent: bool = False) -> None:
    """Write a picture; print its numbers as JSON, or the name of the file unless `is_silent`."""
    write_file("--out", file, picture.as_bytes(picture_format(file, json_)), force)
    if json_:
        typer.echo(as_text(picture.data))
    elif file != STANDARD_OUTPUT and not is_silent:
        typer.echo(clean(str(file)))


def folder_for(option: str, *files: Path, force: bool) -> None:
    """Make the folder for output files before the work begins, and check that they may be written."""
    for file in files:
        check_free(option, file, force)
        with output_errors(option, file.parent):
            make_folder(file.parent)
