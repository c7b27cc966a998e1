"""Files that are there whole or not at all, whenever the process ends.

Content goes to a temporary file in the same folder, from there to the disk, and gets its name last. Devices
and pipes, such as `/dev/stdout`, cannot be replaced: they are written directly.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO

# Links to open files: a file that took the place of one would not reach the program that reads it.
DESCRIPTORS = ("/dev/", "/proc/")


def write_whole(path: Path, content: bytes | str) -> None:
    """Write a file such that `path` is either what it was or has all of `content`; text as UTF-8.

    Links and errors are as of `replacing`.
    """
    with replacing(path) as unfinished, unfinished.open("wb") as file:
        write_all(file, content.encode() if isinstance(content, str) else content)


def write_together(files: Mapping[Path, bytes | str]) -> None:
    """Write files that belong together, as `write_whole` writes each of them.

    The last one is that which readers require: it is gone before the first of the others changes, and comes
    when all others are on the disk.
    """
    *others, last = files
    with contextlib.ExitStack() as written:
        for path in (last, *others):  # What is entered first gets its name last.
            content = files[path]
            with (unfinished := written.enter_context(replacing(path))).open("wb") as file:
                write_all(file, content.encode() if isinstance(content, str) else content)
            if unfinished != path:  # No pipe: what can fail, fails before anything is gone.
                sync(unfinished)
        if others:
            withdraw(last)


def withdraw(path: Path) -> None:
    """Remove the file that readers require, before those change that belong to it; a link or a pipe stays."""
    if path.is_file() and not path.is_symlink():
        path.unlink()
        sync(path.parent)


def make_folder(path: Path) -> None:
    """Make a folder, and those above it; their names are on the disk when this returns."""
    made = [folder for folder in (path, *path.parents) if not folder.exists()]
    path.mkdir(parents=True, exist_ok=True)
    for folder in reversed(made):
        sync(folder.parent)


def write_all(file: IO[bytes], content: bytes) -> None:
    """Write everything; tests of full disks replace this."""
    file.write(content)


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give a temporary path for new content, which replaces `path` at the end.

    It is in the folder of `path`, or `path` itself if that is a device or a pipe; a symbolic link to a file
    keeps pointing there. If the body fails, the temporary file is removed and `path` is as it was.

    Raises
    ------
    OSError
        If the file cannot be written; `filename` is `path`. Folders, sockets, disks, pipes without a reader
        and links to a missing file are refused.
    """
    if (pipe := _opened_special(path)) is not None:
        with pipe, _naming(path, path):
            yield path
        return
    target = path.resolve()
    unfinished = temporary(target)
    with _naming(path, unfinished):
        unfinished.unlink(missing_ok=True)
        try:
            yield unfinished
            _give_name(unfinished, target)
        except BaseException:
            with contextlib.suppress(OSError):
                unfinished.unlink()
            raise


def is_descriptor(path: Path) -> bool:
    """Whether a path is an open file of this process rather than a place in a folder."""
    return str(path.absolute()).startswith(DESCRIPTORS)


def sync(path: Path) -> None:
    """Bring a file, or the names in a folder, to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def temporary(path: Path) -> Path:
    """Where the content of `path` is until it is complete."""
    return path.with_name(f".{path.name}.tmp")


def _opened_special(path: Path) -> IO[bytes] | None:
    """Open what is no file and can be written all the same; None for a file, or nothing yet."""
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        if path.is_symlink():
            what = "is a symbolic link to a file that does not exist"
            raise FileNotFoundError(errno.ENOENT, what, str(path)) from None
        return None
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if stat.S_ISREG(mode):
        if not os.access(path, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        if not is_descriptor(path):
            return None
    elif not (stat.S_ISCHR(mode) or stat.S_ISFIFO(mode)):
        raise OSError(errno.EINVAL, "is not a file, a pipe or a terminal", str(path))
    # Without waiting: a pipe that nothing reads would block for ever.
    try:
        return open(os.open(path, os.O_WRONLY | os.O_NONBLOCK), "wb")
    except OSError as error:
        if error.errno != errno.ENXIO:
            raise
        raise OSError(errno.ENXIO, "is a pipe that no program reads", str(path)) from None


@contextlib.contextmanager
def _naming(path: Path, unfinished: Path) -> Iterator[None]:
    """Name `path` in errors about its temporary file, and in those that name no file."""
    try:
        yield
    except OSError as error:
        if error.errno is None or error.filename not in (None, str(unfinished)):
            raise
        raise OSError(error.errno, error.strerror, str(path)) from error


def _give_name(unfinished: Path, target: Path) -> None:
    """Bring a complete file to the disk, then put it in the place of another."""
    with contextlib.suppress(FileNotFoundError):
        unfinished.chmod(stat.S_IMODE(target.stat().st_mode))
    sync(unfinished)
    unfinished.rename(target)
    sync(target.parent)
