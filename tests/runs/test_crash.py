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
from programs import needs

from airpath.errors import OutputError
from airpath_studies.journal import Journal

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="LD_PRELOAD"),
    needs("cc"),
]

TOGETHER = """
import sys
from pathlib import Path
from airpath.files.atomic import make_folder, write_together
out, word = Path(sys.argv[1]), sys.argv[2]
make_folder(out / "more")
write_together(out, {"more/page": word * 1000, "picture": word * 10, "report": word})
"""
JOURNAL = """
import sys
from pathlib import Path
from airpath_studies.journal import Journal
with Journal(Path(sys.argv[1]) / "journal", "digest") as journal:
    for seed in range(len(journal.rows), 2):
        journal.append([(0, (seed,), [((1.0, 2.0), None)])])
"""


FORKS = """
import json
import sys
from functools import partial
import airpath_studies.journal
import crash
program = compile(sys.argv[1], "program", "exec")
def run(words):
    sys.argv[1:] = words
    exec(program, {})
for line in sys.stdin:
    words, environment = json.loads(line)
    print(json.dumps(crash.fork(partial(run, words), environment)), flush=True)
"""


class Program:
    """A small program that changes a folder, disturbed, in forks of a process with the library."""

    def __init__(self, text: str, folder: Path, library: Path) -> None:
        self.out, self._library = folder / "out", library
        self._counter, self._synced = folder / "counter", folder / "synced"
        self._process = subprocess.Popen(
            [sys.executable, "-c", FORKS, text],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | {"LD_PRELOAD": str(library), "PYTHONPATH": os.pathsep.join(sys.path)},
        )

    def __enter__(self) -> Program:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()

    def run(self, *words: str, at: int = 0, with_: str = "kill") -> tuple[int, str]:
        """Run it again; return its status and error output."""
        self._counter.write_bytes(bytes(8))
        shutil.rmtree(self._synced, ignore_errors=True)
        self._synced.mkdir()
        crash.keep_as_synced(self.out, self._synced)
        faults = crash.faults(self._library, self.out, self._counter, self._synced, with_, at)
        assert self._process.stdin and self._process.stdout
        print(json.dumps([[str(self.out), *words], faults]), file=self._process.stdin, flush=True)
        status, said = json.loads(self._process.stdout.readline())
        return status, said

    @property
    def changes(self) -> int:
        """How many the last run made."""
        return crash.count_of(self._counter)

    def cut_power(self) -> None:
        """Leave what is on the disk."""
        crash.cut_power(self.out, self._synced)


@pytest.fixture(scope="module")
def library(tmp_path_factory) -> Path:
    return crash.build(tmp_path_factory.mktemp("faults"))


def contents(out: Path) -> dict[str, str]:
    return {str(file.relative_to(out)): file.read_text()[:1] for file in out.rglob("[!.]*") if file.is_file()}


@pytest.mark.slow
@pytest.mark.parametrize("with_", ["kill", "ENOSPC", "EIO"])
def test_files_that_belong_together_are_all_old_or_all_new_or_the_last_is_missing(with_, library, tmp_path):
    with Program(TOGETHER, tmp_path, library) as program:
        assert program.run("a", with_=with_)[0] == 0
        old = contents(program.out)
        shutil.copytree(program.out, tmp_path / "old")
        assert program.run("b", with_=with_)[0] == 0
        new = contents(program.out)
        assert len(old) == len(new) == 3
        seen = set()
        for at in range(1, program.changes + 1):
            shutil.rmtree(program.out)
            shutil.copytree(tmp_path / "old", program.out)
            status, _ = program.run("b", at=at, with_=with_)
            # After the last change of a name, to bring it to the disk is all that can fail.
            assert status == (crash.KILLED if with_ == "kill" else 1), at
            for power in ("on", "off"):
                if power == "off":
                    program.cut_power()
                found = contents(program.out)
                if "report" in found:
                    assert found in (old, new), (at, power)
                seen.add(found.get("report"))
            assert program.run("c")[0] == 0
            assert set(contents(program.out).values()) == {"c"}
            assert not list(program.out.rglob(".*"))
        assert seen == {"a", "b", None}


@pytest.mark.slow
@pytest.mark.parametrize("with_", ["kill", "ENOSPC", "EIO"])
def test_a_journal_goes_on_wherever_it_was_torn(with_, library, tmp_path):
    with Program(JOURNAL, tmp_path, library) as program:
        program.run(with_=with_)
        for at in range(1, program.changes + 1):
            shutil.rmtree(program.out)
            status, said = program.run(at=at, with_=with_)
            if with_ == "kill":
                assert status == crash.KILLED
            else:
                assert "OutputError" in said.splitlines()[-1] and said.count("Traceback") <= 2
            if with_ == "kill":
                program.cut_power()
            status, said = program.run()
            assert status == 0, (at, said)
            lines = (program.out / "journal").read_text().splitlines()
            assert [json.loads(line)[1] for line in lines[1:]] == [0, 1], at


def test_a_journal_that_is_damaged_is_refused(tmp_path):
    file = tmp_path / "journal"
    with Journal(file, "digest") as journal:
        journal.append([(0, (1,), [((1.0,), None)])])
    good = file.read_text()
    deep = "[" * 100_000
    wrong = ["no JSON", deep, "1", "[0, 1, [1.0, null]]", '["0", 1, [[1.0], null]]', "[-1, 1, [[1.0], null]]"]
    wrong += ["[0, 18446744073709551616, [[1.0], null]]", '[0, 1, [["1"], null]]', "[0, 1, [[1.0], {}]]"]
    for line in wrong:
        file.write_text(f"{good}{line}\n")
        with pytest.raises(OutputError, match="is damaged"):
            Journal(file, "digest")


@pytest.mark.slow
@pytest.mark.parametrize(
    "command", ["run", "reproduce", "compare", "analyze", "sweep", "sweep-dask", "studio"]
)
def test_what_a_command_leaves_is_whole(command, library):
    if command == "sweep-dask":
        pytest.importorskip("distributed", reason="Dask is not installed")
    if command == "compare":
        from airpath.live.doctor import examine, missing

        if what := missing(examine()):
            pytest.skip(what)
    words = [sys.executable, crash.__file__, command, "--times", "2", "--full", "1"]
    loaded = os.environ | {"LD_PRELOAD": str(library)}
    ended = subprocess.run(words, capture_output=True, text=True, timeout=600, env=loaded)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert f"{command}: {2 if command == 'studio' else 3} times" in ended.stdout
