"""Files that are there whole or not at all, whenever the process ends.

Content goes to a temporary file in the same folder, from there to the disk, and gets its name last. Devices
and pipes, such as `/dev/stdout`, cannot be replaced: they are written directly.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import stat
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO

from airpath.files.folder import Folder

# Links to open files: a file that took the place of one would not reach the program that reads it.
_DESCRIPTOR = re.compile(r"/dev/(stdin|stdout|stderr|fd/\d+)|/proc/(self|thread-self|\d+)/fd/\d+")


def write_whole(path: Path, content: bytes | str) -> None:
    """Write a file such that `path` is either what it was or has all of `content`; text as UTF-8.

    Links and errors are as of `replacing`.
    """
    with replacing(path) as file:
        write_all(file, content.encode() if isinstance(content, str) else content)


def write_in(folder: Folder, name: str, content: bytes | str) -> None:
    """Write a file of an open folder as `write_whole` does; a link of that name is replaced."""
    with _replacing(folder, name, None) as file:
        write_all(file, content.encode() if isinstance(content, str) else content)


def write_together(out: Path, files: Mapping[str, bytes | str]) -> None:
    """Write files of a folder that belong together, by their names in it: `NAME` or `FOLDER/NAME`.

    The last one is that which readers require: it is gone before the first of the others changes, and comes
    when all others are on the disk. Links in the folder are not followed: one with the name of a file is
    replaced, one with the name of a folder is refused.
    """
    *others, last = files
    with contextlib.ExitStack() as written:
        folder = written.enter_context(Folder.open(out))
        for name in (last, *others):  # What is entered first gets its name last.
            place = folder
            for part in Path(name).parts[:-1]:
                place = written.enter_context(place.enter(part, make=True))
            content = files[name]
            base = Path(name).name
            file = written.enter_context(_replacing(place, base, _mode_of_file(place, base)))
            write_all(file, content.encode() if isinstance(content, str) else content)
            sync_file(file)  # What can fail, fails before anything is gone.
        if others:
            withdraw(folder, last)


def _mode_of_file(folder: Folder, name: str) -> int | None:
    """Type and permissions of a file in a folder; None for nothing, a link or what else is no file."""
    with contextlib.suppress(FileNotFoundError):
        mode = folder.stat(name).st_mode
        return mode if stat.S_ISREG(mode) else None
    return None


def withdraw(folder: Folder, name: str) -> None:
    """Remove the file that readers require, before those change that belong to it."""
    with contextlib.suppress(FileNotFoundError):
        if not stat.S_ISDIR(folder.stat(name).st_mode):
            folder.remove(name)
            folder.sync()


def make_folder(path: Path) -> None:
    """Make a folder and its parents; their names are on the disk when this returns."""
    made = [folder for folder in (path, *path.parents) if not folder.exists()]
    path.mkdir(parents=True, exist_ok=True)
    for folder in reversed(made):
        with Folder.open(folder.parent) as parent:
            parent.sync()


def write_all(file: IO[bytes], content: bytes) -> None:
    """Write everything; tests of full disks replace this."""
    file.write(content)


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """Open a temporary file for new content, which replaces `path` at the end.

    It is in the folder of `path`, or `path` itself if that is a device or a pipe. A symbolic link to a file
    keeps pointing there; root does not follow links of other users (`Folder.open`). If the body fails, the
    temporary file is removed and `path` is as it was.

    Raises
    ------
    OSError
        If the file cannot be written; `filename` is `path`. Folders, sockets, disks, pipes without a reader
        and links to a missing file are refused.
    """
    with _naming(path, path.parent):
        folder, name = Folder.holding(path)
    with folder, _naming(path, folder.path, folder.path / name, temporary(folder.path / name)):
        mode = _mode_of_old(folder, name, path)
        if mode is None or (stat.S_ISREG(mode) and not is_descriptor(folder.path / name)):
            with _replacing(folder, name, mode) as file:
                yield file
        else:
            with folder.open_special(name) as file:
                yield file


def is_descriptor(path: Path) -> bool:
    """Whether a path is an open file of this process rather than a place in a folder."""
    return _DESCRIPTOR.fullmatch(str(path.absolute())) is not None


def real(path: Path) -> Path:
    """Resolve the links of a path; circular links are left unresolved.

    `Path.resolve` raises a `RuntimeError` for these before Python 3.13.
    """
    return Path(os.path.realpath(path))


def temporary(path: Path) -> Path:
    """Where the content of `path` is until it is complete."""
    return path.with_name(f".{path.name}.tmp")


def _mode_of_old(folder: Folder, name: str, path: Path) -> int | None:
    """Type and permissions of what is to be replaced or written; None for nothing yet."""
    try:
        mode = folder.stat(name).st_mode
    except FileNotFoundError:
        if path.is_symlink():
            what = "is a symbolic link to a file that does not exist"
            raise FileNotFoundError(errno.ENOENT, what, str(path)) from None
        return None
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if stat.S_ISREG(mode) and not os.access(path, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
    if not (stat.S_ISREG(mode) or stat.S_ISCHR(mode) or stat.S_ISFIFO(mode)):
        raise OSError(errno.EINVAL, "is not a file, a pipe or a terminal", str(path))
    return mode


@contextlib.contextmanager
def _replacing(folder: Folder, name: str, mode: int | None) -> Iterator[IO[bytes]]:
    """Create a temporary file in `folder`, which is `name` with the permissions `mode` at the end."""
    unfinished = temporary(Path(name)).name
    folder.remove(unfinished)
    with folder.create(unfinished) as file:
        try:
            yield file
            if mode is not None and sys.platform != "win32":
                os.fchmod(file.fileno(), stat.S_IMODE(mode))
            sync_file(file)
            file.close()  # Windows renames no open file.
            folder.rename(unfinished, name)
        except BaseException:
            with contextlib.suppress(OSError):
                folder.remove(unfinished)
            raise
    folder.sync()


def sync_file(file: IO[bytes]) -> None:
    """Bring what was written into an open file to the disk; a pipe or a device has none."""
    file.flush()
    if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        os.fsync(file.fileno())


@contextlib.contextmanager
def _naming(path: Path, *places: Path) -> Iterator[None]:
    """Name `path` in errors about `places`, where it is written, and in errors that name no file."""
    try:
        yield
    except OSError as error:
        if error.errno is None or error.filename not in (None, *map(str, places)):
            raise
        raise OSError(error.errno, error.strerror, str(path)) from error
