"""Writes the files of a run: trace, capture, results, picture, and what they were made from.

Trace and capture are written during the run, so that memory stays bounded. All files stay in a subfolder
until the run has ended, by itself or by Ctrl-C. The manifest is moved up last: a folder without one holds no
run. One process at a time writes into the folder and holds it open (`airpath.files.folder`): nothing is
written elsewhere, whatever other programs do to the folder. Clock and machine are in `manifest.json` only.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import platform
import signal
import subprocess
import threading
import time
import tomllib
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from types import FrameType
from typing import IO, TYPE_CHECKING, Any, Self

from airpath import _core
from airpath.errors import OutputError
from airpath.files.atomic import make_folder, sync_file
from airpath.files.folder import Folder
from airpath.interrupt import interrupt
from airpath.runs.changes import ABRIDGED, changes_of
from airpath.runs.trace import TraceWriter, file_name, read_events
from airpath.scenario import Scenario

if TYPE_CHECKING:
    from airpath.runs.trace import Events

RESOLVED, RESULTS, CAPTURE, PLOT, PAGE, MANIFEST = (
    "scenario.resolved.toml",
    "results.json",
    "capture.pcapng",
    "plot.png",
    "page.html",
    "manifest.json",
)
# Folder of the trace: a file for each kind of event, and tables of what the numbers in them mean.
TRACE, TABLES = "trace", "tables.json"
TRACES = (*(f"{TRACE}/{file_name(kind)}" for kind in _core.probes()), f"{TRACE}/{TABLES}")
FILES = (RESOLVED, RESULTS, *TRACES, CAPTURE, PLOT, PAGE, MANIFEST)

# Subfolder of the files until the run has ended, and the lock of the process that writes them.
UNFINISHED, LOCK = ".unfinished", ".lock"


def prepare(out: Path, force: bool) -> Folder:
    """Make a run's folder, open and lock it; refuse to overwrite an earlier run unasked.

    Raises
    ------
    OutputError
        If the folder cannot be made, another process writes into it, or it holds a run and `force` is not
        given.
    """
    with _output_errors(out):
        make_folder(out)
        folder = Folder.open(out)
    try:
        with _output_errors(out):
            folder.lock(LOCK)
        _check_free(out, force)
    except BaseException:
        folder.close()
        raise
    return folder


def _check_free(out: Path, force: bool) -> None:
    trace = out / TRACE
    if os.path.lexists(trace) and (trace.is_symlink() or not trace.is_dir()):
        raise OutputError("out", f"'{trace}' is no folder", "choose another folder, or remove it")
    # Links and pipes too: a run replaces them instead of writing through them.
    there = [out / name for name in FILES if os.path.lexists(out / name)]
    for file in there:
        if file.is_dir() and not file.is_symlink():
            raise OutputError("out", f"'{file}' is a folder", "choose another folder, or remove this one")
    if there and not force:
        what = f"'{out}' holds a run already ({', '.join(names_in(out))})"
        raise OutputError("out", what, "choose another folder, or replace the files with --force")


def files_in(out: Path) -> list[Path]:
    """Files of a run in a folder."""
    return [out / name for name in FILES if (out / name).is_file()]


def names_in(out: Path) -> list[str]:
    """What a run has left in a folder, by name; the trace is one folder."""
    return sorted({file.relative_to(out).parts[0] for file in files_in(out)})


class Recorder:
    """Writes the files of one run into a folder that `prepare` opened, replacing an earlier run's files.

    Call `write` during the run, `close` when it has ended, then `finish`. Until then an earlier run
    stays in place. `kinds` has the columns of every kind of event that is recorded, without the time.

    Raises
    ------
    OutputError
        From here and from every method, if a file cannot be written; nothing of the run is left.
    """

    def __init__(self, out: Folder, scenario: Scenario, seed: int, kinds: dict[str, list[str]]) -> None:
        self._out = out
        self._scenario, self._seed = scenario, seed
        self._started, self._clock = datetime.now(UTC), time.monotonic()
        # Opened with the first bytes: a run may have no capture.
        self._capture: IO[bytes] | None = None
        with _output_errors(out.path):
            out.remove_tree(UNFINISHED)
            self._unfinished = out.make(UNFINISHED)
        with self._writing():
            metadata = {"airpath": _core.version(), "rng": _core.RNG_VERSION, "seed": str(seed)}
            with self._unfinished.make(TRACE) as folder, contextlib.ExitStack() as files:
                if kinds:
                    with folder.create(TABLES) as tables:
                        tables.write(_core.tables_of(scenario.text).encode() + b"\n")
                self._trace = files.enter_context(contextlib.closing(TraceWriter(folder, kinds, metadata)))
                self._files = files.pop_all()

    @contextlib.contextmanager
    def whole(self) -> Iterator[None]:
        """A context for the run: an error that ends it early leaves no unfinished files."""
        try:
            yield
        except BaseException:
            with contextlib.suppress(OSError):
                self._files.close()
                self._discard()
            raise

    def write(self, events: Events, capture: bytes) -> None:
        """Add the next events and the next part of the pcapng file."""
        with self._writing():
            self._trace.write(events)
            if capture and self._capture is None:
                self._capture = self._files.enter_context(self._unfinished.create(CAPTURE))
            if self._capture:
                self._capture.write(capture)

    def close(self) -> None:
        """Complete trace and capture."""
        with self._writing():
            self._files.close()

    def finish(
        self,
        results: str | None,
        ctrl_c: CtrlC,
        *,
        title: str,
        drawn: bool = True,
        page: Callable[[Path], bytes] | None = None,
        **provenance: Any,
    ) -> None:
        """Write scenario, results, picture, page and manifest, and move all files to their places.

        `results` is JSON; None if the run ended without results, and then there is no picture and no page.
        Ctrl-C while one of them is made leaves it out; there is no picture either unless `drawn`. `page`
        makes the page of the run from a folder with all other files; `provenance` are further entries of
        the manifest.
        """
        place = self._unfinished.place
        with self._writing():
            self._write(RESOLVED, self._scenario.text)
            if results is not None:
                self._write(RESULTS, results + "\n")
            if drawn and results is not None:
                self._write_unless_pressed(PLOT, partial(self._picture, results, title), ctrl_c)
            manifest: dict[str, Any] = {
                "airpath": _core.version(),
                "git": _git_commit(),
                "rng": _core.RNG_VERSION,
                "python": platform.python_version(),
                "host": platform.node(),
                "platform": platform.platform(),
                "scenario": self._scenario.name,
                "changed": {key: value[:ABRIDGED] for key, value in changes_of(self._scenario)},
                "scenario_sha256": hashlib.sha256(self._scenario.text.encode()).hexdigest(),
                "seed": self._seed,
                "started": self._started.isoformat(timespec="seconds"),
                "elapsed_s": round(time.monotonic() - self._clock, 3),
                "interrupted": ctrl_c.pressed,
                **provenance,
            }
            self._write_manifest(manifest)
            if page and results is not None:
                self._write_unless_pressed(PAGE, partial(page, place), ctrl_c)
                self._write_manifest(manifest | {"interrupted": manifest["interrupted"] or ctrl_c.pressed})
            self._put_in_place()

    def _picture(self, results: str, title: str) -> bytes:
        from airpath.runs.lines import kinds_read
        from airpath.runs.picture import picture_of

        summary = json.loads(results)
        trace = read_events(self._unfinished.place / TRACE, kinds_read(summary))
        return picture_of(trace, summary, tomllib.loads(self._scenario.text), title).as_bytes()

    def _write_unless_pressed(self, name: str, content: Callable[[], bytes], ctrl_c: CtrlC) -> None:
        """Write a file, unless Ctrl-C ends the making of its content."""
        if (made := ctrl_c.interruptible(content)) is not None:
            self._write(name, made)

    def _write(self, name: str, content: str | bytes) -> None:
        """Write a file of the unfinished run, replacing an earlier version."""
        self._unfinished.remove(name)
        with self._unfinished.create(name) as file:
            file.write(content.encode() if isinstance(content, str) else content)

    def _write_manifest(self, manifest: dict[str, Any]) -> None:
        """Write the manifest with the sizes of all other files."""
        place = self._unfinished.place
        sizes = {str(file.relative_to(place)): file.stat().st_size for file in files_in(place)}
        sizes.pop(MANIFEST, None)
        self._write(MANIFEST, json.dumps(manifest | {"files": sizes}, indent=2) + "\n")

    def _put_in_place(self) -> None:
        """Remove an earlier run's files, then move the new ones up, the manifest last."""
        place = self._unfinished.place
        names = [str(file.relative_to(place)) for file in files_in(place)]
        for name in names:
            with (place / name).open("rb") as file:
                sync_file(file)
        with self._out.enter(TRACE, make=True) as trace, self._unfinished.enter(TRACE) as new_trace:
            for name in reversed(FILES):
                (trace if name in TRACES else self._out).remove(Path(name).name)
            self._out.sync()
            for name in names:
                if name == MANIFEST:
                    trace.sync()
                    self._out.sync()
                if name in TRACES:
                    new_trace.rename(Path(name).name, into=trace)
                else:
                    self._unfinished.rename(name, into=self._out)
        self._discard()
        if not self._out.is_in_place:
            raise OSError(errno.ESTALE, "it was moved during the run, and holds the files where it is now")

    def _discard(self) -> None:
        """Remove unfinished files."""
        self._unfinished.close()
        self._out.remove_tree(UNFINISHED)
        self._out.sync()

    @contextlib.contextmanager
    def _writing(self) -> Iterator[None]:
        with _output_errors(self._out.path):
            try:
                yield
            except OSError:
                with contextlib.suppress(OSError):
                    self._discard()
                raise


def ending_signals() -> list[signal.Signals]:
    """Signals that end a command in order: Ctrl-C, SIGTERM, and SIGHUP unless `nohup` has it ignored."""
    numbers = [signal.SIGINT, signal.SIGTERM]
    hangup = getattr(signal, "SIGHUP", None)  # Windows has none.
    if hangup is not None and signal.getsignal(hangup) is not signal.SIG_IGN:
        numbers.append(hangup)
    return numbers


class CtrlC:
    """Turns Ctrl-C, SIGTERM and the end of the terminal into a flag, so that no file is left half written.

    Outside the main thread, which alone sees signals, it does nothing.
    """

    def __init__(self) -> None:
        self.pressed = False
        self._raises = False
        self._main = threading.current_thread() is threading.main_thread()
        self._signals = ending_signals() if self._main else []

    def __enter__(self) -> Self:
        if self._main:
            self._previous = {number: signal.signal(number, self._note) for number in self._signals}
        return self

    def __exit__(self, *_exception: object) -> None:
        if self._main:
            for number, handler in self._previous.items():
                signal.signal(number, handler)

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.pressed = True
        if self._raises:
            interrupt(number, frame)

    def interruptible(self, work: Callable[[], bytes]) -> bytes | None:
        """Result of `work`, or None if Ctrl-C ended it."""
        try:
            try:
                self._raises = True
                return work()
            finally:
                self._raises = False
        except KeyboardInterrupt:
            return None


@contextlib.contextmanager
def _output_errors(out: Path) -> Iterator[None]:
    try:
        yield
    except BlockingIOError as error:
        what = f"'{out}' is in use: {error.strerror}"
        raise OutputError("out", what, "wait until that run has ended, or choose another folder") from error
    except OSError as error:
        what = f"cannot write to '{out}': {error.strerror or error}"
        raise OutputError("out", what, "choose a folder on a disk with room that you may write to") from error


def _git_commit() -> str | None:
    """Commit of the checkout that airpath runs from, with "-dirty" if changed; None outside a checkout."""
    package = Path(__file__).resolve().parent.parent
    git = ["git", "-C", str(package)]
    try:
        # airpath may be installed in a virtual environment inside another project's checkout.
        if package != Path(_output_of(*git, "rev-parse", "--show-toplevel")).resolve() / "python" / "airpath":
            return None
        return _output_of(*git, "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*")
    except (OSError, subprocess.CalledProcessError):
        return None


def _output_of(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
