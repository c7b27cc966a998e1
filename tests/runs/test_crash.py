"""What is there after a kill, a power cut, a full disk or a failing fsync at any change: `tools/crash.py`."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import crash
import pytest
from conftest import sampled

from airpath.errors import OutputError
from airpath.experiments.papers.journal import Journal

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="LD_PRELOAD"),
    pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler"),
]

TOGETHER = """
import sys
from pathlib import Path
from airpath.files.atomic import make_folder, write_together
out, word = Path(sys.argv[1]), sys.argv[2]
make_folder(out / "more")
write_together({out / "more" / "page": word * 1000, out / "picture": word * 10, out / "report": word})
"""
JOURNAL = """
import sys
from pathlib import Path
from airpath.experiments.papers.journal import Journal
with Journal(Path(sys.argv[1]) / "journal", "digest") as journal:
    for seed in range(len(journal.rows), 2):
        journal.append([(0, (seed,), [((1.0, 2.0), None)])])
"""


class Program:
    """A small program that changes a folder, disturbed."""

    def __init__(self, text: str, folder: Path) -> None:
        self._text, self.out = text, folder / "out"
        self._library, self._counter = crash.build(folder), folder / "counter"
        self._synced = folder / "synced"

    def run(self, *words: str, at: int = 0, with_: str = "kill") -> subprocess.CompletedProcess[str]:
        """Run it anew."""
        self._counter.write_bytes(bytes(8))
        shutil.rmtree(self._synced, ignore_errors=True)
        self._synced.mkdir()
        crash.keep_as_synced(self.out, self._synced)
        faults = crash.faults(self._library, self.out, self._counter, self._synced, with_, at)
        return subprocess.run(
            [sys.executable, "-c", self._text, str(self.out), *words],
            env=os.environ | faults,
            capture_output=True,
            text=True,
        )

    @property
    def changes(self) -> int:
        """How many the last run made."""
        return crash.count_of(self._counter)

    def cut_power(self) -> None:
        """Leave what is on the disk."""
        crash.cut_power(self.out, self._synced)


def contents(out: Path) -> dict[str, str]:
    return {str(file.relative_to(out)): file.read_text()[:1] for file in out.rglob("[!.]*") if file.is_file()}


@pytest.mark.parametrize("with_", sampled(["kill", "ENOSPC", "EIO"], 1))
def test_files_that_belong_together_are_all_old_or_all_new_or_the_last_is_missing(with_, tmp_path):
    program = Program(TOGETHER, tmp_path)
    assert program.run("a", with_=with_).returncode == 0
    old = contents(program.out)
    shutil.copytree(program.out, tmp_path / "old")
    assert program.run("b", with_=with_).returncode == 0
    new = contents(program.out)
    assert len(old) == len(new) == 3
    seen = set()
    for at in range(1, program.changes + 1):
        shutil.rmtree(program.out)
        shutil.copytree(tmp_path / "old", program.out)
        ended = program.run("b", at=at, with_=with_)
        # After the last change of a name, to bring it to the disk is all that can fail.
        assert ended.returncode == (crash.KILLED if with_ == "kill" else 1), at
        for power in ("on", "off"):
            if power == "off":
                program.cut_power()
            found = contents(program.out)
            if "report" in found:
                assert found in (old, new), (at, power)
            seen.add(found.get("report"))
        assert program.run("c").returncode == 0
        assert set(contents(program.out).values()) == {"c"}
        assert not list(program.out.rglob(".*"))
    assert seen == {"a", "b", None}


@pytest.mark.slow
@pytest.mark.parametrize("with_", ["kill", "ENOSPC", "EIO"])
def test_a_journal_goes_on_wherever_it_was_torn(with_, tmp_path):
    program = Program(JOURNAL, tmp_path)
    program.run(with_=with_)
    for at in range(1, program.changes + 1):
        shutil.rmtree(program.out)
        ended = program.run(at=at, with_=with_)
        if with_ == "kill":
            assert ended.returncode == crash.KILLED
        else:
            assert "OutputError" in ended.stderr.splitlines()[-1] and ended.stderr.count("Traceback") <= 2
        if with_ == "kill":
            program.cut_power()
        again = program.run()
        assert again.returncode == 0, (at, again.stderr)
        lines = (program.out / "journal").read_text().splitlines()
        assert [json.loads(line)[1] for line in lines[1:]] == [0, 1], at


def test_a_journal_that_is_damaged_is_refused(tmp_path):
    file = tmp_path / "journal"
    with Journal(file, "digest") as journal:
        journal.append([(0, (1,), [((1.0,), None)])])
    file.write_text(file.read_text() + "no JSON\n")
    with pytest.raises(OutputError, match="is damaged"):
        Journal(file, "digest")


@pytest.mark.slow
@pytest.mark.parametrize(
    "command", ["run", "reproduce", "compare", "analyze", "sweep", "sweep-dask", "studio"]
)
def test_what_a_command_leaves_is_whole(command):
    if command == "sweep-dask":
        pytest.importorskip("distributed", reason="Dask is not installed")
    if command == "compare":
        from airpath.live.doctor import examine, missing

        if what := missing(examine()):
            pytest.skip(what)
    words = [sys.executable, crash.__file__, command, "--times", "2", "--full", "1"]
    ended = subprocess.run(words, capture_output=True, text=True, timeout=600)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert f"{command}: {2 if command == 'studio' else 3} times" in ended.stdout
