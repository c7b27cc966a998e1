"""Folders that are held open, and the lock of the one process that writes into them.

A path names whatever is there now. A `Folder` is the directory that was opened, even if another process
renames it or puts links in its place (`by_descriptor`; on Windows see `by_path`). No name in it is followed
if it is a symbolic link.
"""

from __future__ import annotations

import contextlib
import errno
import os
import socket
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Self

if sys.platform == "win32":
    from airpath.files.by_path import MOST_LINKS, Directory, take
else:
    from airpath.files.by_descriptor import MOST_LINKS, Directory, take


class Folder:
    """An open directory; a context manager that closes it. `path` is its name in messages.

    Raises
    ------
    OSError
        From here and from every method, if a file cannot be used; `filename` has the whole path.
    """

    def __init__(self, directory: Directory, path: Path) -> None:
        self.path, self._directory = path, directory
        self._lock: Lock | None = None

    @classmethod
    def open(cls, path: Path) -> Self:
        """Open a directory that exists. As root, links that belong to other users are refused."""
        return cls(Directory.open(path), path)

    @classmethod
    def holding(cls, path: Path) -> tuple[Self, str]:
        """Open the directory of a file, and name the file in it; links to files are followed.

        The file need not exist. Links in `/proc`, which stand for open files, are not followed.
        """
        for _ in range(MOST_LINKS):
            folder = cls.open(path.parent)
            try:
                target = None
                if not folder._is_in_proc:
                    with folder._naming(path.name), contextlib.suppress(FileNotFoundError):
                        target = folder._directory.target(path.name)
            except BaseException:
                folder.close()
                raise
            if target is None:
                return folder, path.name
            folder.close()
            path = path.parent / target
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Release the lock, if there is one, and close the directory; further calls do nothing."""
        if self._lock is not None:
            self._lock.release()
        self._directory.close()

    @property
    def place(self) -> Path:
        """Path for readers in this process; on Linux it leads to the open directory, whatever its name."""
        return self._directory.place(self.path)

    @property
    def is_in_place(self) -> bool:
        """Whether `path` still names this directory."""
        return self._directory.is_at(self.path)

    def create(self, name: str, mode: int = 0o666) -> IO[bytes]:
        """Create a file that does not exist yet, and open it for writing."""
        with self._naming(name):
            return open(self._directory.create(name, mode), "wb")

    def open_for_adding(self, name: str) -> IO[str]:
        """Open a text file for reading and adding, and create it if there is none; a link is refused."""
        with self._naming(name):
            return open(self._directory.open_for_adding(name), "a+")

    def open_special(self, name: str) -> IO[bytes]:
        """Open a device or a pipe for writing; a pipe that no program reads is refused at once."""
        with self._naming(name):
            return open(self._directory.open_special(name, follows=self._is_in_proc), "wb")

    def make(self, name: str) -> Folder:
        """Make a directory that does not exist yet, and open it."""
        with self._naming(name):
            self._directory.make(name)
        return self.enter(name)

    def enter(self, name: str, *, make: bool = False) -> Folder:
        """Open a directory in this one, and with `make` create it if there is none; a link is refused."""
        with self._naming(name):
            if make:
                with contextlib.suppress(FileExistsError):
                    self._directory.make(name)
            return Folder(self._directory.enter(name), self.path / name)

    def rename(self, name: str, new: str | None = None, into: Folder | None = None) -> None:
        """Rename a file, or move it into another directory; a file or a link that is there is replaced."""
        to = into or self
        with self._naming(name):
            self._directory.rename(name, to._directory, new or name)

    def remove(self, name: str) -> None:
        """Remove a file or a link; nothing happens if there is none."""
        with self._naming(name), contextlib.suppress(FileNotFoundError):
            self._directory.unlink(name)

    def remove_tree(self, name: str) -> None:
        """Remove a directory with all that is in it, a file or a link; nothing happens if there is none."""
        with self._naming(name), contextlib.suppress(FileNotFoundError):
            if stat.S_ISDIR(self.stat(name).st_mode):
                self._directory.remove_tree(name)
            else:
                self.remove(name)

    def stat(self, name: str) -> os.stat_result:
        """Describe a file, or a link itself; in `/proc` the open file that it stands for."""
        with self._naming(name):
            return self._directory.stat(name, follows=self._is_in_proc)

    def names(self) -> list[str]:
        """Names of everything in it, sorted."""
        with self._naming(""):
            return sorted(self._directory.names())

    def sync(self) -> None:
        """Bring the names in it to the disk."""
        with self._naming(""):
            self._directory.sync()

    def lock(self, name: str) -> None:
        """Become the only process that writes into it until `close`; the file `name` is its `Lock`."""
        with self._naming(name):
            self._lock = Lock(self._directory, name)

    @property
    def _is_in_proc(self) -> bool:
        return str(self.path).startswith("/proc/")

    @contextlib.contextmanager
    def _naming(self, name: str) -> Iterator[None]:
        """Give errors the whole path instead of a name in this directory."""
        try:
            yield
        except OSError as error:
            if error.errno is None or os.path.isabs(str(error.filename or "")):
                raise
            raise OSError(error.errno, error.strerror, str(self.path / name)) from None


def lock_file(file: IO[str]) -> None:
    """Lock an open file for this process until it is closed; raises `BlockingIOError` if another has."""
    take(file.fileno())


class Lock:
    """The lock of a directory: a file that names its holder, removed with the lock.

    It lasts as long as the process, however that ends.

    Raises
    ------
    BlockingIOError
        If another process holds it; the text says which, on which host.
    OSError
        If the lock's file cannot be opened, or is no file.
    """

    def __init__(self, directory: Directory, name: str) -> None:
        self._directory, self._name = directory, name
        while True:
            self._file = directory.open_lock(name)
            try:
                if self._taken():
                    break
            except BlockingIOError:
                os.close(self._file)
                raise
            except BaseException:
                self.release()
                raise
            # Its holder removed the file between the two calls.
            os.close(self._file)

    def release(self) -> None:
        """Remove the file and give the lock back; further calls do nothing."""
        if self._file >= 0:
            self._directory.close_lock(self._name, self._file)
            self._file = -1

    def _taken(self) -> bool:
        if not stat.S_ISREG(os.fstat(self._file).st_mode):
            raise OSError(errno.EINVAL, "is no file, so it cannot be the lock", self._name)
        try:
            take(self._file)
        except BlockingIOError:
            holder = os.read(self._file, 300).decode(errors="replace").strip() or "another process"
            raise BlockingIOError(errno.EWOULDBLOCK, f"{holder} is writing into it", self._name) from None
        try:
            there = self._directory.stat(self._name)
        except FileNotFoundError:
            return False
        if not os.path.samestat(there, os.fstat(self._file)):
            return False
        os.ftruncate(self._file, 0)
        os.write(self._file, f"process {os.getpid()} on {socket.gethostname()}\n".encode())
        return True
