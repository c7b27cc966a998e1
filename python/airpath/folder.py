"""A run's folder: results, trace, capture, picture, and what they were made from.

Trace and capture are written while the run goes on, so that memory stays bounded and an interrupted
run leaves files that can be read. `results.json`, `trace.parquet`, `capture.pcapng` and
`scenario.resolved.toml` depend on scenario and seed alone; clock and machine are in `manifest.json`.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import platform
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType
from typing import Any, Self

from airpath import _core
from airpath.plot import plot_run
from airpath.run import simulate, steps
from airpath.scenario import Scenario
from airpath.trace import TraceWriter

RESOLVED, RESULTS, TRACE, CAPTURE, PLOT, MANIFEST = FILES = (
    "scenario.resolved.toml",
    "results.json",
    "trace.parquet",
    "capture.pcapng",
    "plot.png",
    "manifest.json",
)


class OutputError(Exception):
    """Results cannot be written; `args` = (key, what is wrong, what would be right)."""


@dataclass(frozen=True)
class RunFolder:
    """A folder that a run has filled.

    Attributes
    ----------
    path : Path
        The folder.
    summary : dict
        The content of its `results.json`.
    interrupted : bool
        Whether Ctrl-C ended the run.
    """

    path: Path
    summary: dict[str, Any]
    interrupted: bool

    @property
    def files(self) -> list[Path]:
        """The files of the run that are there."""
        return [self.path / name for name in FILES if (self.path / name).is_file()]


def run_to_folder(
    scenario: Scenario,
    seed: int,
    out: Path,
    *,
    probes: Sequence[str] | None = None,
    force: bool = False,
    progress: Callable[[float], None] | None = None,
) -> RunFolder:
    """Run a scenario and write everything about it into a folder.

    Ctrl-C ends the run early: all files are completed with what there is, and `results.json` says
    `"complete": false`.

    Parameters
    ----------
    scenario : Scenario
        What to run.
    seed : int
        Same scenario and seed, same results, trace and capture.
    out : Path
        The folder; made if it does not exist.
    probes : sequence of str, optional
        Kinds of events to record; all if absent.
    force : bool
        Whether to replace the files of an earlier run.
    progress : callable, optional
        Called with the share that is done, 0 to 1.

    Raises
    ------
    ScenarioError
        If the scenario, the seed or a probe cannot be used.
    OutputError
        If the folder holds a run already, cannot be made or written, or the disk is full.
    """
    kinds = {kind: columns for kind, columns in _core.probes().items() if probes is None or kind in probes}
    simulation = simulate(scenario, seed, list(kinds) if probes is None else probes, capture=True)
    started, clock = datetime.now(UTC), time.monotonic()
    with _CtrlC() as ctrl_c, _output_errors(out):
        _prepare(out, force)
        (out / RESOLVED).write_text(scenario.text, encoding="utf-8")
        with (
            (out / TRACE).open("wb") as trace_file,
            (out / CAPTURE).open("wb") as capture_file,
            contextlib.closing(TraceWriter(trace_file, kinds, _trace_metadata(seed))) as trace,
        ):
            for step in steps(simulation):
                trace.write(step.events)
                capture_file.write(step.capture)
                if progress:
                    progress(step.progress)
                if ctrl_c.pressed:
                    break
        results = simulation.results()
        (out / RESULTS).write_text(results + "\n", encoding="utf-8")
        summary = json.loads(results)
        with ctrl_c.raising():
            plot_run(out / TRACE, summary, out / PLOT, title=f"{scenario.name}, seed {seed}")
        manifest = {
            **_provenance(),
            "scenario": scenario.name,
            "scenario_sha256": hashlib.sha256(scenario.text.encode()).hexdigest(),
            "seed": seed,
            "started": started.isoformat(timespec="seconds"),
            "elapsed_s": round(time.monotonic() - clock, 3),
            "interrupted": ctrl_c.pressed,
            "files": {name: (out / name).stat().st_size for name in FILES if (out / name).is_file()},
        }
        (out / MANIFEST).write_text(json.dumps(manifest, indent=2) + "\n", encoding="utf-8")
    return RunFolder(out, summary, ctrl_c.pressed)


class _CtrlC:
    """Turns Ctrl-C into a flag, so that no file is left half written.

    Outside the main thread, where Ctrl-C is never seen, it does nothing.
    """

    def __init__(self) -> None:
        self.pressed = False
        self._main = threading.current_thread() is threading.main_thread()

    def __enter__(self) -> Self:
        if self._main:
            self._previous = signal.signal(signal.SIGINT, self._note)
        return self

    def __exit__(self, *_exception: object) -> None:
        if self._main:
            signal.signal(signal.SIGINT, self._previous)

    def _note(self, _number: int, _frame: FrameType | None) -> None:
        self.pressed = True

    @contextlib.contextmanager
    def raising(self) -> Iterator[None]:
        """For work that may be left out: Ctrl-C ends it."""
        try:
            if self._main:
                signal.signal(signal.SIGINT, signal.default_int_handler)
            yield
            if self._main:
                signal.signal(signal.SIGINT, self._note)
        except KeyboardInterrupt:
            self.pressed = True
            signal.signal(signal.SIGINT, self._note)


@contextlib.contextmanager
def _output_errors(out: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        what = f"cannot write to '{out}': {error.strerror or error}"
        raise OutputError("out", what, "choose a folder on a disk with room that you may write to") from error


def _prepare(out: Path, force: bool) -> None:
    """Make the folder; see to it that no earlier run is overwritten unasked."""
    out.mkdir(parents=True, exist_ok=True)
    there = [name for name in FILES if (out / name).is_file()]
    if there and not force:
        what = f"'{out}' holds a run already ({', '.join(there)})"
        raise OutputError("out", what, "choose another folder, or replace the files with --force")
    for name in there:
        (out / name).unlink()


def _trace_metadata(seed: int) -> dict[str, str]:
    return {"airpath": _core.version(), "rng": _core.RNG_VERSION, "seed": str(seed)}


def _provenance() -> dict[str, Any]:
    """Program and machine."""
    return {
        "airpath": _core.version(),
        "git": _git_commit(),
        "rng": _core.RNG_VERSION,
        "python": platform.python_version(),
        "host": platform.node(),
        "platform": platform.platform(),
    }


def _git_commit() -> str | None:
    """Commit of the checkout that airpath runs from, with "-dirty" if changed; None outside of one."""
    package = Path(__file__).resolve().parent
    git = ["git", "-C", str(package)]
    try:
        # A virtual environment inside somebody else's checkout is not ours to name.
        if package != Path(_output_of(*git, "rev-parse", "--show-toplevel")).resolve() / "python" / "airpath":
            return None
        return _output_of(*git, "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*")
    except (OSError, subprocess.CalledProcessError):
        return None


def _output_of(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
