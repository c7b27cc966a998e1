"""A directory named by its path: Windows, which opens no file relative to a directory.

Unlike `by_descriptor` it names whatever is there now. Windows lets nobody rename or remove a directory in
which a file is open, so the lock of a folder keeps it in place while a command writes.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import stat
import sys
from pathlib import Path
from typing import Self

MOST_LINKS = 40
_BINARY = getattr(os, "O_BINARY", 0) | getattr(os, "O_NOINHERIT", 0)
# The byte that is locked: beyond the text, since no other process may read a locked byte.
_LOCKED_AT = 1 << 30


class Directory:
    """A directory by its path. Every method raises `OSError` with the whole path."""

    def __init__(self, path: Path) -> None:
        self._path = path

    @classmethod
    def open(cls, path: Path) -> Self:
        """Take a directory that exists."""
        mode = os.stat(path).st_mode
        if not stat.S_ISDIR(mode):
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(path))
        return cls(path.absolute())

    def close(self) -> None:
        """Nothing is held."""

    def place(self, path: Path) -> Path:
        """Path for readers."""
        return path

    def is_at(self, path: Path) -> bool:
        """Whether a path names this directory."""
        try:
            return os.path.samefile(path, self._path)
        except OSError:
            return False

    def create(self, name: str, mode: int) -> int:
        """Create a file that does not exist yet, for writing."""
        return os.open(self._path / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _BINARY, mode)

    def open_for_adding(self, name: str) -> int:
        """Open a file for reading and adding, and create it if there is none; a link is refused."""
        self._refuse_link(name)
        return os.open(self._path / name, os.O_RDWR | os.O_APPEND | os.O_CREAT | _BINARY, 0o666)

    def open_special(self, name: str, *, follows: bool) -> int:
        """Open a device for writing."""
        if not follows:
            self._refuse_link(name)
        return os.open(self._path / name, os.O_WRONLY | _BINARY)

    def open_lock(self, name: str) -> int:
        """Open the file of a lock, and create it if there is none; a link is refused."""
        self._refuse_link(name)
        return os.open(self._path / name, os.O_RDWR | os.O_CREAT | _BINARY, 0o666)

    def close_lock(self, name: str, descriptor: int) -> None:
        """Release a lock, and remove its file unless another process has opened it meanwhile."""
        os.close(descriptor)
        with contextlib.suppress(OSError):
            os.unlink(self._path / name)

    def make(self, name: str) -> None:
        """Make a directory that does not exist yet."""
        os.mkdir(self._path / name)

    def enter(self, name: str) -> Directory:
        """Take a directory in this one; a link is refused."""
        self._refuse_link(name)
        return Directory.open(self._path / name)

    def rename(self, name: str, into: Directory, new: str) -> None:
        """Move a file that nobody has open; a file that is there is replaced."""
        os.replace(self._path / name, into._path / new)

    def unlink(self, name: str) -> None:
        """Remove a file or a link."""
        os.unlink(self._path / name)

    def remove_tree(self, name: str) -> None:
        """Remove a directory with everything in it."""
        shutil.rmtree(self._path / name)

    def stat(self, name: str, *, follows: bool = False) -> os.stat_result:
        """Describe a file, or a link itself unless it is followed."""
        return os.stat(self._path / name, follow_symlinks=follows)

    def target(self, name: str) -> str | None:
        """Target of a link; None if it is none."""
        path = self._path / name
        return os.readlink(path) if stat.S_ISLNK(os.lstat(path).st_mode) else None

    def names(self) -> list[str]:
        """Names of everything in it."""
        return os.listdir(self._path)

    def sync(self) -> None:
        """Windows writes names with the files: there is nothing to call."""

    def _refuse_link(self, name: str) -> None:
        with contextlib.suppress(FileNotFoundError):
            if self.target(name) is not None:
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), name)


def take(descriptor: int) -> None:
    """Lock an open file for this process; raises `BlockingIOError` if another has locked it.

    Windows releases the lock with the descriptor, however the process ends.
    """
    if sys.platform == "win32":
        import msvcrt

        os.lseek(descriptor, _LOCKED_AT, os.SEEK_SET)
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError as error:
            raise BlockingIOError(errno.EWOULDBLOCK, os.strerror(errno.EWOULDBLOCK)) from error
        finally:
            os.lseek(descriptor, 0, os.SEEK_SET)
