"""A directory held by descriptor: Linux, macOS and other systems of POSIX.

The descriptor is the directory that was opened, even if another process renames it or puts a link in its
place. Every call takes a name in it; no name is followed if it is a symbolic link.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import shutil
import stat
import sys
from pathlib import Path
from typing import Self

assert sys.platform != "win32"

_OPEN = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_PATH: int = getattr(os, "O_PATH", 0)  # Linux
# As many links as Linux follows in a path, path_resolution(7).
MOST_LINKS = 40


class Directory:
    """An open directory. Every method raises `OSError` with the name in it."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    @classmethod
    def open(cls, path: Path) -> Self:
        """Open a directory that exists. As root, links that belong to other users are refused."""
        return cls(_open_trusted(path) if _is_root() else os.open(path, _OPEN))

    def close(self) -> None:
        """Close it; further calls do nothing."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def place(self, path: Path) -> Path:
        """Path for readers in this process; on Linux it leads to the open directory, whatever its name."""
        held = Path(f"/proc/self/fd/{self._descriptor}")
        return held if held.exists() else path

    def is_at(self, path: Path) -> bool:
        """Whether a path names this directory."""
        try:
            return os.path.samestat(os.stat(path), os.fstat(self._descriptor))
        except OSError:
            return False

    def create(self, name: str, mode: int) -> int:
        """Create a file that does not exist yet, for writing."""
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        return os.open(name, flags, mode, dir_fd=self._descriptor)

    def open_for_adding(self, name: str) -> int:
        """Open a file for reading and adding, and create it if there is none."""
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        return os.open(name, flags, 0o666, dir_fd=self._descriptor)

    def open_special(self, name: str, *, follows: bool) -> int:
        """Open a device or a pipe for writing; a pipe without a reader is refused."""
        flags = os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC | (0 if follows else os.O_NOFOLLOW)
        try:
            descriptor = os.open(name, flags, dir_fd=self._descriptor)
        except OSError as error:
            if error.errno != errno.ENXIO:
                raise
            raise OSError(errno.ENXIO, "is a pipe that no program reads", name) from None
        os.set_blocking(descriptor, True)
        return descriptor

    def open_lock(self, name: str) -> int:
        """Open the file of a lock, and create it if there is none."""
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        return os.open(name, flags, 0o666, dir_fd=self._descriptor)

    def close_lock(self, name: str, descriptor: int) -> None:
        """Remove the file of a lock that is held, and release it."""
        with contextlib.suppress(OSError):
            os.unlink(name, dir_fd=self._descriptor)
        os.close(descriptor)

    def make(self, name: str) -> None:
        """Make a directory that does not exist yet."""
        os.mkdir(name, dir_fd=self._descriptor)

    def enter(self, name: str) -> Directory:
        """Open a directory in this one."""
        return Directory(os.open(name, _OPEN | os.O_NOFOLLOW, dir_fd=self._descriptor))

    def rename(self, name: str, into: Directory, new: str) -> None:
        """Move a file; a file or a link that is there is replaced."""
        os.rename(name, new, src_dir_fd=self._descriptor, dst_dir_fd=into._descriptor)

    def unlink(self, name: str) -> None:
        """Remove a file or a link."""
        os.unlink(name, dir_fd=self._descriptor)

    def remove_tree(self, name: str) -> None:
        """Remove a directory with everything in it."""
        shutil.rmtree(name, dir_fd=self._descriptor)

    def stat(self, name: str, *, follows: bool = False) -> os.stat_result:
        """Describe a file, or a link itself unless it is followed."""
        return os.stat(name, dir_fd=self._descriptor, follow_symlinks=follows)

    def target(self, name: str) -> str | None:
        """Target of a link; None if it is none."""
        return _target_of_link(name, self._descriptor)

    def names(self) -> list[str]:
        """Names of everything in it."""
        return os.listdir(self._descriptor)

    def sync(self) -> None:
        """Bring the names in it to the disk."""
        os.fsync(self._descriptor)


def take(descriptor: int) -> None:
    """Lock an open file for this process; raises `BlockingIOError` if another has locked it.

    The kernel releases the lock with the descriptor, however the process ends.
    """
    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _is_root() -> bool:
    return os.geteuid() == 0 and _PATH != 0


def _open_trusted(path: Path) -> int:
    """Open a directory step by step and follow only links of root: others may change theirs at any time."""
    rest = list(reversed(path.absolute().parts[1:]))
    descriptor, links = os.open("/", _OPEN), 0
    try:
        while rest:
            part = rest.pop()
            target = _target_of_link(part, descriptor)
            if target is None:
                step = os.open(part, _OPEN | os.O_NOFOLLOW, dir_fd=descriptor)
            else:
                links += 1
                if links > MOST_LINKS:
                    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
                rest += reversed([part for part in Path(target).parts if part != "/"])
                step = os.open("/" if target.startswith("/") else ".", _OPEN, dir_fd=descriptor)
            os.close(descriptor)
            descriptor = step
    except OSError as error:
        os.close(descriptor)
        raise OSError(error.errno, error.strerror, str(path)) from error
    return descriptor


def _target_of_link(name: str, directory: int) -> str | None:
    """Where a link leads; None if it is none. As root, a link that belongs to another user is refused."""
    if not _is_root():
        is_link = stat.S_ISLNK(os.stat(name, dir_fd=directory, follow_symlinks=False).st_mode)
        return os.readlink(name, dir_fd=directory) if is_link else None
    # The link that is examined is the one that is read, whatever takes its name meanwhile.
    found = os.open(name, _PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=directory)
    try:
        about = os.fstat(found)
        if not stat.S_ISLNK(about.st_mode):
            return None
        if about.st_uid != 0:
            raise PermissionError(errno.EPERM, "is a link of another user, which root does not follow", name)
        return os.readlink("", dir_fd=found)
    finally:
        os.close(found)
