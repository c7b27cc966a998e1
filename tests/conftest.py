"""What several tests use, and how tests are spread over processes."""

from __future__ import annotations

import contextlib
import gc
import os
import signal
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import left_out
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import settings

from airpath import _core
from airpath.cli import main as cli
from airpath.runner.processes import processors
from airpath.runs.memory import FINE_PROBES
from airpath.runs.picture import RunPicture
from airpath.runs.recorder import FILES
from airpath.runs.trace import side_by_side

# A commit has one verdict, whatever is drawn elsewhere and however busy the machine is.
settings.register_profile("same-cases", derandomize=True, deadline=None)
settings.load_profile("same-cases")

# Shells have programs in the background ignore these, nohup the last; what tests start would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGQUIT, signal.SIG_DFL)
signal.signal(signal.SIGHUP, signal.SIG_DFL)

# A thread for each processor in each of many processes gains nothing.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# In parallel (pytest -n), a test would have the width of the terminal in its environment.
for name in ("COLUMNS", "LINES"):
    os.environ.pop(name, None)

CHANGED = "documents quote what the code no longer gives: run `make papers docs-figures`"

# Two UEs, both downloading, and one of them uploading too.
UP_AND_DOWN = """\
duration = "20 s"
radio.dch.ues = 2

[[flow]]
ue = "each"
direction = "downlink"
app.bulk = {}

[[flow]]
ue = 1
direction = "uplink"
app.bulk = {}
"""

# A test that takes longer, in seconds, is marked as slow.
SLOW_S = 2


def sampled(cases: Iterable[Any], quick: int) -> list[Any]:
    """Mark most cases of a test as slow: `quick` of them, spread over the list, are not."""
    cases = [case if isinstance(case, tuple) else (case,) for case in cases]
    chosen = {at * len(cases) // quick for at in range(quick)}
    return [
        pytest.param(*case, marks=[] if at in chosen else pytest.mark.slow) for at, case in enumerate(cases)
    ]


@pytest.fixture(scope="session")
def wasm() -> Path:
    """The simulator as WebAssembly, or the test is skipped."""
    file = Path(__file__).parent.parent / "target/wasm32-unknown-unknown/wasm/airpath_wasm.wasm"
    if not file.exists():
        pytest.skip("there is no simulator as WebAssembly: run 'make wasm'")
    return file


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Processes of `pytest -n auto`: tests of live runs wait for the clock and hardly use a processor."""
    return min(2 * processors(), 24)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Hand out units of work in the order in which they were collected."""
    from xdist.scheduler import LoadScopeScheduling

    class Units(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return unit(nodeid)

    # xdist's own groups (`--dist loadgroup`) are without effect since pytest 9.2: pytest-xdist issue 1386.
    config.option.loadscopereorder = False
    return Units(config, log)


def unit(nodeid: str) -> str:
    """What stays in one process: a file, which shares fixtures; a live test; a case of a minute."""
    file, _, name = nodeid.partition("::")
    if name.startswith(("test_everything_together", "test_what_a_command_leaves")):
        return nodeid
    return nodeid if "/live/" in file and not file.endswith("test_files.py") else file


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark all cases of a live test except the first as slow, and tests in a browser but the first of a file.

    In parallel, slow tests start first; then live tests, which wait, among tests that compute. Those that run
    alone are the last.
    """
    seen = set()
    for item in items:
        if item.get_closest_marker("slow"):
            continue
        if "browser" in getattr(item, "fixturenames", ()):
            kind = str(item.path)
        elif "live" in item.path.parts:
            kind = item.nodeid.partition("[")[0]
        else:
            continue
        if kind in seen:
            item.add_marker(pytest.mark.slow)
        seen.add(kind)
    if not hasattr(config, "workerinput"):
        return
    live = [item for item in items if "live" in item.path.parts]
    others = [item for item in items if "live" not in item.path.parts]
    place = {item: at / len(group) for group in (live, others) for at, item in enumerate(group)}
    items.sort(key=lambda item: (runs_alone(item), item.get_closest_marker("slow") is None, place[item]))


def runs_alone(item: pytest.Item) -> bool:
    """Whether a test is marked as `alone`."""
    return item.get_closest_marker("alone") is not None


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[Any]:
    """Run a test that is marked as `alone` while no other process runs one."""
    if not hasattr(item.config, "workerinput"):
        return (yield)
    import fcntl

    # Locks need files that are there for all processes, whatever they hold.
    with open(__file__) as turn, open(Path(__file__).with_name("programs.py")) as tests:
        # Who waits for the others to end has the turn, so that none of them begins another test.
        fcntl.flock(turn, fcntl.LOCK_EX)
        fcntl.flock(tests, fcntl.LOCK_EX if runs_alone(item) else fcntl.LOCK_SH)
        fcntl.flock(turn, fcntl.LOCK_UN)
        return (yield)


def pytest_collection_finish() -> None:
    """Thousands of tests stay until the end: the collector need not look at them again and again."""
    gc.freeze()


def note_skipped(reports: list[Any]) -> None:
    """Note what was skipped, for the last line of `make test`: tests, and files that were not read."""
    # Each process that reads a file reports it.
    once = {(report.nodeid, type(report)): report for report in reports}.values()
    for report in once:
        what = "test" if isinstance(report, pytest.TestReport) else f"tests of {report.nodeid}"
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        left_out.note(what, reason.removeprefix("Skipped: "))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Name the tests that took long and are not marked: a remark, as the machine may have been busy."""
    # Each of several processes has its own summary, which is not shown.
    if not hasattr(terminalreporter.config, "workerinput"):
        note_skipped(terminalreporter.stats.get("skipped", []))
    reports = [report for kind in ("passed", "failed") for report in terminalreporter.stats.get(kind, [])]
    for report in reports:
        if report.duration > SLOW_S and "slow" not in report.keywords:
            terminalreporter.write_line(
                f"not marked as slow: {report.duration:.0f} s for the {report.when} of {report.nodeid}"
            )


@contextlib.contextmanager
def no_pictures() -> Iterator[None]:
    """Runs leave an empty file for their picture, which takes longer to draw than a short run takes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(RunPicture, "as_bytes", lambda *_, **__: b"")
        yield


@pytest.fixture
def undrawn() -> Iterator[None]:
    """No run of the test has a picture."""
    with no_pictures():
        yield


class Outcome(NamedTuple):
    """How a command ended."""

    code: int
    out: str
    err: str


@pytest.fixture
def airpath_command(capsys: pytest.CaptureFixture[str]) -> Callable[..., Outcome]:
    """Run the command line inside this process."""

    def call(*arguments: object) -> Outcome:
        with pytest.raises(SystemExit) as exit_:
            cli.main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return Outcome(int(exit_.value.code or 0), captured.out, captured.err)

    return call


WRITTEN = set(FILES) - {f"trace/{kind}.parquet" for kind in FINE_PROBES}
"""Files of a run with default options."""


def events_in(folder: Path) -> pa.Table:
    """All events of a run's trace, ordered by time."""
    files = {kind: folder / "trace" / f"{kind}.parquet" for kind in _core.probes()}
    return side_by_side({kind: pq.read_table(file) for kind, file in files.items() if file.exists()})


def check_error(outcome: Outcome, key: str, cause: str, remedy: str) -> None:
    """An expected error: one line with its key, the cause and the remedy, and nothing else."""
    assert outcome.code == cli.BAD_INPUT
    assert outcome.out == ""
    assert outcome.err.count("\n") == 1
    assert outcome.err.startswith(f"error: {key}: ")
    what, _, hint = outcome.err.removeprefix(f"error: {key}: ").rstrip("\n").partition("; ")
    assert what and hint, outcome.err
    assert cause in what
    assert remedy in hint
