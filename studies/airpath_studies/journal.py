"""Runs of a reproduction that is not finished, so that the same command resumes it: a line of JSON each."""

from __future__ import annotations

import contextlib
import errno
import json
import math
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

from airpath.errors import OutputError
from airpath.files.atomic import make_folder
from airpath.files.folder import Folder, lock_file
from airpath.files.text import MOST_RESULTS_BYTES
from airpath.runner.work import Rows, versions

NAME = "unfinished.jsonl"
"""File in the folder of the page."""


class Journal:
    """A file that runs are added to, locked for one writer; a context manager.

    Parameters
    ----------
    path : Path or None
        The file; None keeps nothing.
    digest : str
        What the runs depend on. The first line of the file holds it, with the versions of airpath.
    replace : bool
        Whether to start over if the file belongs to another reproduction.

    Attributes
    ----------
    rows : list of Rows
        Runs that are there.

    Raises
    ------
    OutputError
        If the file belongs to another reproduction, is in use, or cannot be read or written.
    """

    def __init__(self, path: Path | None, digest: str, *, replace: bool = False) -> None:
        self.rows: list[Rows] = []
        self._path, self._replace = path, replace
        self._head = json.dumps([digest, *versions()])
        self._file: Any = None
        if path is not None and path.is_file():
            try:
                self._open()
            except BaseException:
                self.__exit__()
                raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        if self._file is not None:
            with contextlib.suppress(OSError):  # What `append` could not write.
                self._file.close()

    def append(self, rows: Sequence[Rows]) -> None:
        """Add runs; when this returns, they are on the disk."""
        if self._path is None:
            return
        if self._file is None:
            self._open()
        each = [(job, *run) for job, *runs in rows for run in zip(*runs, strict=True)]
        try:
            self._file.write("".join(f"{json.dumps(run)}\n" for run in each))
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as error:
            raise self._unwritable(error) from error

    def remove(self) -> None:
        """Remove the file: everything is done."""
        if self._file is not None and self._path is not None:
            self._path.unlink(missing_ok=True)

    def _open(self) -> None:
        assert self._path is not None
        try:
            make_folder(self._path.parent)
            with Folder.open(self._path.parent) as folder:
                self._file = folder.open_for_adding(self._path.name)
                folder.sync()
            lock_file(self._file)
            self._file.seek(0)
            text = self._file.read(MOST_RESULTS_BYTES)
            if len(text) == MOST_RESULTS_BYTES:
                raise OSError(errno.EFBIG, f"is larger than {MOST_RESULTS_BYTES / 1e6:g} MB")
            lines = text.split("\n")
        except BlockingIOError as error:
            raise self._unusable(
                "is in use by another reproduction", "wait, or name another folder"
            ) from error
        except (OSError, UnicodeDecodeError) as error:
            raise self._unusable(f"cannot be used: {error}", "name another folder") from error
        # The first line may be torn too, if the writer was killed.
        is_ours = lines[0] == self._head or (len(lines) == 1 and self._head.startswith(lines[0]))
        if not (is_ours or self._replace):
            remedy = "give the command that began it, name another folder, or add --force to start over"
            raise self._unusable("holds runs of another reproduction", remedy)
        try:
            if lines[:-1][:1] != [self._head]:
                self._file.truncate(0)
                self._file.write(f"{self._head}\n")
                lines = []
            elif lines[-1]:  # Torn, too.
                self._file.truncate(len("\n".join(lines[:-1]).encode()) + 1)
        except OSError as error:
            raise self._unwritable(error) from error
        for line in lines[1:-1]:
            try:
                self.rows.append(_rows_of(line))
            except (ValueError, TypeError, RecursionError) as error:
                raise self.damaged() from error

    def damaged(self) -> OutputError:
        """The error for lines that are not those of this reproduction."""
        return self._unusable("is damaged", "name another folder, or remove it")

    def _unwritable(self, error: OSError) -> OutputError:
        return self._unusable(f"cannot be written: {error.strerror}", "make room; what was kept is safe")

    def _unusable(self, what: str, remedy: str) -> OutputError:
        return OutputError("out", f"'{self._path}' {what}", remedy)


def _rows_of(line: str) -> Rows:
    """Read a line: the run of a job with a seed, its metrics, and what it has in common with others."""
    job, seed, (values, common) = json.loads(line)
    known = type(job) is int and type(seed) is int and job >= 0 and 0 <= seed < 2**64
    known = known and isinstance(values, list) and isinstance(common, str | None)
    if not (known and all(type(value) in (int, float) and math.isfinite(value) for value in values)):
        raise ValueError("it is no run")
    return (job, (seed,), [(tuple(values), common)])
