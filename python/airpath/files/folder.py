"""Folders held by descriptor, and the lock of the one process that writes into them.

A path names whatever is there now. A `Folder` is the directory that was opened, even if another process
renames it or puts links in its place: every file in it is created, renamed and removed relative to the
descriptor, and no name in it is followed if it is a symbolic link.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import shutil
import socket
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Self

_OPEN = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
# As many links as Linux follows in a path, path_resolution(7).
MOST_LINKS = 40


class Folder:
    """An open directory; a context manager that closes it. `path` is its name in messages.

    Raises
    ------
    OSError
        From here and from every method, if a file cannot be used; `filename` has the whole path.
    """

    def __init__(self, descriptor: int, path: Path) -> None:
        self.path, self._descriptor = path, descriptor
        self._lock: Lock | None = None

    @classmethod
    def open(cls, path: Path) -> Self:
        """Open a directory that exists. As root, links that belong to other users are refused."""
        return cls(_open_trusted(path) if _is_root() else os.open(path, _OPEN), path)

    @classmethod
    def holding(cls, path: Path) -> tuple[Self, str]:
        """Open the directory of a file, and name the file in it; links to files are followed.

        The file need not exist. Links in `/proc`, which stand for open files, are not followed.
        """
        for _ in range(MOST_LINKS):
            folder = cls.open(path.parent)
            try:
                target = None
                if not str(path.parent).startswith("/proc/"):
                    with folder._naming(path.name), contextlib.suppress(FileNotFoundError):
                        target = _target_of_link(path.name, folder._descriptor)
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
        """Release the lock, if there is one, and close the descriptor; further calls do nothing."""
        if self._lock is not None:
            self._lock.release()
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    @property
    def place(self) -> Path:
        """Path for readers in this process; on Linux it leads to the open directory, whatever its name."""
        held = Path(f"/proc/self/fd/{self._descriptor}")
        return held if held.exists() else self.path

    @property
    def is_in_place(self) -> bool:
        """Whether `path` still names this directory."""
        try:
            return os.path.samestat(os.stat(self.path), os.fstat(self._descriptor))
        except OSError:
            return False

    def create(self, name: str, mode: int = 0o666) -> IO[bytes]:
        """Create a file that does not exist yet, and open it for writing."""
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        with self._naming(name):
            return open(os.open(name, flags, mode, dir_fd=self._descriptor), "wb")

    def open_for_adding(self, name: str) -> IO[str]:
        """Open a text file for reading and adding, and create it if there is none; a link is refused."""
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        with self._naming(name):
            return open(os.open(name, flags, 0o666, dir_fd=self._descriptor), "a+")

    def open_special(self, name: str) -> IO[bytes]:
        """Open a device or a pipe for writing; a pipe that no program reads is refused at once."""
        follows = str(self.path).startswith("/proc/")
        flags = os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC | (0 if follows else os.O_NOFOLLOW)
        with self._naming(name):
            try:
                descriptor = os.open(name, flags, dir_fd=self._descriptor)
            except OSError as error:
                if error.errno != errno.ENXIO:
                    raise
                raise OSError(errno.ENXIO, "is a pipe that no program reads", name) from None
            os.set_blocking(descriptor, True)
            return open(descriptor, "wb")

    def make(self, name: str) -> Folder:
        """Make a directory that does not exist yet, and open it."""
        with self._naming(name):
            os.mkdir(name, dir_fd=self._descriptor)
        return self.enter(name)

    def enter(self, name: str, *, make: bool = False) -> Folder:
        """Open a directory in this one, and with `make` create it if there is none; a link is refused."""
        with self._naming(name):
            if make:
                with contextlib.suppress(FileExistsError):
                    os.mkdir(name, dir_fd=self._descriptor)
            descriptor = os.open(name, _OPEN | os.O_NOFOLLOW, dir_fd=self._descriptor)
        return Folder(descriptor, self.path / name)

    def rename(self, name: str, new: str | None = None, into: Folder | None = None) -> None:
        """Rename a file, or move it into another directory; a file or a link that is there is replaced."""
        to = into or self
        with self._naming(name):
            os.rename(name, new or name, src_dir_fd=self._descriptor, dst_dir_fd=to._descriptor)

    def remove(self, name: str) -> None:
        """Remove a file or a link; nothing happens if there is none."""
        with self._naming(name), contextlib.suppress(FileNotFoundError):
            os.unlink(name, dir_fd=self._descriptor)

    def remove_tree(self, name: str) -> None:
        """Remove a directory with all that is in it, a file or a link; nothing happens if there is none."""
        with self._naming(name), contextlib.suppress(FileNotFoundError):
            if stat.S_ISDIR(self.stat(name).st_mode):
                shutil.rmtree(name, dir_fd=self._descriptor)
            else:
                self.remove(name)

    def stat(self, name: str) -> os.stat_result:
        """Describe a file, or a link itself; in `/proc` the open file that it stands for."""
        with self._naming(name):
            follows = str(self.path).startswith("/proc/")
            return os.stat(name, dir_fd=self._descriptor, follow_symlinks=follows)

    def names(self) -> list[str]:
        """Names of everything in it, sorted."""
        with self._naming(""):
            return sorted(os.listdir(self._descriptor))

    def sync(self) -> None:
        """Bring the names in it to the disk."""
        with self._naming(""):
            os.fsync(self._descriptor)

    def lock(self, name: str) -> None:
        """Become the only process that writes into it until `close`; the file `name` is its `Lock`."""
        with self._naming(name):
            self._lock = Lock(self._descriptor, name)

    @contextlib.contextmanager
    def _naming(self, name: str) -> Iterator[None]:
        """Give errors the whole path instead of a name in this directory."""
        try:
            yield
        except OSError as error:
            if error.errno is None or os.path.isabs(str(error.filename or "")):
                raise
            raise OSError(error.errno, error.strerror, str(self.path / name)) from None


class Lock:
    """The lock of a directory: a file that names its holder, removed with the lock.

    It lasts as long as the process: the kernel releases it however the process ends.

    Raises
    ------
    BlockingIOError
        If another process holds it; the text says which, on which host.
    OSError
        If the lock's file cannot be opened, or is no file.
    """

    def __init__(self, directory: int, name: str) -> None:
        self._directory, self._name = directory, name
        while True:
            flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
            self._file = os.open(name, flags, 0o666, dir_fd=directory)
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
            with contextlib.suppress(OSError):
                os.unlink(self._name, dir_fd=self._directory)
            os.close(self._file)
            self._file = -1

    def _taken(self) -> bool:
        if not stat.S_ISREG(os.fstat(self._file).st_mode):
            raise OSError(errno.EINVAL, "is no file, so it cannot be the lock", self._name)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.pread(self._file, 300, 0).decode(errors="replace").strip() or "another process"
            raise BlockingIOError(errno.EWOULDBLOCK, f"{holder} is writing into it", self._name) from None
        try:
            there = os.stat(self._name, dir_fd=self._directory, follow_symlinks=False)
        except FileNotFoundError:
            return False
        if not os.path.samestat(there, os.fstat(self._file)):
            return False
        os.ftruncate(self._file, 0)
        os.pwrite(self._file, f"process {os.getpid()} on {socket.gethostname()}\n".encode(), 0)
        return True


def _is_root() -> bool:
    return os.geteuid() == 0 and hasattr(os, "O_PATH")


def _open_trusted(path: Path) -> int:
    """Open a directory step by step and follow only links of root: other links may change any time."""
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
    found = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=directory)
    try:
        about = os.fstat(found)
        if not stat.S_ISLNK(about.st_mode):
            return None
        if about.st_uid != 0:
            raise PermissionError(errno.EPERM, "is a link of another user, which root does not follow", name)
        return os.readlink("", dir_fd=found)
    finally:
        os.close(found)
