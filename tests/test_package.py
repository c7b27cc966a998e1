"""What `import airpath` offers, and how the program starts and ends."""

from __future__ import annotations

import ast
import os
import pickle
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import check_error

import airpath
from airpath.cli import main as cli

ROOT = Path(__file__).resolve().parent.parent
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def python(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a program in an interpreter of its own."""
    return subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **environment},
    )


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda file: str(file.relative_to(ROOT)))
def test_every_name_in_the_documents_is_there(document):
    for path in re.findall(r"\bairpath\.([a-z_]\w*(?:\.[a-z_]\w*)*)", document.read_text()):
        if path.startswith(("_core", "csv", "toml")):
            continue
        pkgutil.resolve_name(f"airpath.{path}")


def test_type_checkers_see_the_names_that_are_there():
    stub = ast.parse((ROOT / "python" / "airpath" / "__init__.pyi").read_text())
    declared = {
        alias.asname for node in stub.body if isinstance(node, ast.ImportFrom) for alias in node.names
    }
    assert declared | {"__version__"} == set(airpath.__all__)
    assert set(airpath.__all__) <= set(dir(airpath))
    for name in airpath.__all__:
        assert getattr(airpath, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = airpath.nothing


def test_functions_are_not_hidden_by_the_modules_they_are_in():
    done = python(
        "import airpath.runs.memory, airpath.stats.steady, airpath.experiments.replicate, airpath\n"
        "assert all(map(callable, (airpath.run, airpath.steady, airpath.replicate, airpath.batch_means)))\n"
        "assert airpath.run('umts-64-simple', probes=()).flows\n"
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("what", ["import airpath", "from airpath.cli import main\nmain.main(['--help'])"])
def test_nothing_heavy_is_imported_at_the_start(what):
    done = python(
        "import sys, atexit\natexit.register("
        "lambda: print([name for name in sys.modules if name in HEAVY]))\n"
        f"HEAVY = {{'numpy', 'scipy', 'matplotlib', 'pyarrow', 'rich', 'distributed'}}\n{what}"
    )
    assert done.stdout.splitlines()[-1] == "[]", done.stdout


@pytest.mark.parametrize("name", ["ScenarioError", "OutputError", "LiveError", "ExportError", "SweepError"])
def test_errors_have_one_form(name):
    kind = getattr(airpath, name)
    error = kind("tcp.mss", "is zero", "write a size")
    assert str(error) == "tcp.mss: is zero; write a size"
    assert (error.key, error.problem, error.remedy) == ("tcp.mss", "is zero", "write a size")
    assert (
        isinstance(error, airpath.AirpathError) and f"{kind.__module__}.{kind.__name__}" == f"airpath.{name}"
    )
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is kind and again.args == error.args
    assert str(kind("", "no rate", "")) == "no rate"


def test_the_core_raises_the_same_error():
    with pytest.raises(airpath.ScenarioError) as refused:
        airpath.load("umts-384").with_("tcp.nothing", 1)
    assert refused.value.key == "tcp.nothing"
    assert str(refused.value).startswith("tcp.nothing: unknown key; known here: ")


# What the program imports; the first was once imported before it had seen to Ctrl-C.
@pytest.mark.parametrize(
    "module", ["typing", "airpath.cli.main", "typer", "airpath.errors", "airpath._core", "airpath.cli.run"]
)
def test_ctrl_c_while_modules_are_imported_ends_quietly(module):
    done = python(
        "import os, signal, sys\n"
        "class Interrupt:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        f"        if name == '{module}':\n"
        "            os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.meta_path.insert(0, Interrupt())\n"
        "sys.argv[1:] = ['run', 'hsdpa-3.6', '--set', 'duration = 1000 s']\n"
        "from airpath.__main__ import main\n"
        "main()\n"
    )
    assert (done.returncode, done.stdout, done.stderr) == (cli.INTERRUPTED, "", "")


def test_nothing_is_imported_before_the_program_has_seen_to_ctrl_c():
    done = python(
        "import sys\nbefore = set(sys.modules)\nimport airpath.__main__\nprint(*set(sys.modules) - before)\n"
    )
    assert set(done.stdout.split()) == {"airpath", "airpath.__main__"}


def test_a_program_that_was_started_with_ctrl_c_ignored_goes_on_ignoring_it():
    done = python(
        "import os, signal, sys\n"
        "signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
        "sys.argv[1:] = ['config', 'umts-384']\n"
        "class Interrupt:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.meta_path.insert(0, Interrupt())\n"
        "from airpath.__main__ import main\n"
        "main()\n"
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.slow
@pytest.mark.parametrize(
    "words", ["list", "run umts-64", "run umts-64 --json", "config umts-64", "-h", "plot -h"]
)
def test_a_reader_that_goes_away_is_no_error(words):
    read, write = os.pipe()
    os.close(read)
    command = [sys.executable, "-m", "airpath", *words.split()]
    done = subprocess.run(command, stdout=write, stderr=subprocess.PIPE, text=True, check=False)
    os.close(write)
    assert (done.returncode, done.stderr) == (cli.BROKEN_PIPE, "")


@pytest.mark.slow
def test_shells_complete_commands_and_scenarios():
    command = [sys.executable, "-m", "airpath"]
    for words, number, expected in (
        ("airpath re", 1, {"record", "reproduce", "results"}),
        ("airpath run hdr-s", 2, None),
    ):
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            check=False,
            env={
                **os.environ,
                "_AIRPATH_COMPLETE": "complete_bash",
                "COMP_WORDS": words,
                "COMP_CWORD": str(number),
            },
        )
        found = {line.partition(",")[2] or line for line in done.stdout.split()}
        assert found == (expected or {"hdr-single", "hdr-single-ar"}), done


def test_short_helps_are_the_beginnings_of_the_long_ones():
    for name, short in cli.COMMANDS.items():
        assert cli.load_command(name).help.split("\n\n")[0].replace("\n", " ") == short


@pytest.mark.parametrize(
    "command", ["", *(command.name for command in cli.app.registered_commands if command.name)]
)
def test_both_helps_are_the_same(command, airpath_command):
    short, long = (airpath_command(*command.split(), option) for option in ("-h", "--help"))
    assert short == long and short.code == 0 and short.out.startswith("Usage: airpath")


def test_every_option_has_one_form():
    """The same option is spelled, and takes the same, in every command."""
    forms: dict[str, set[tuple[object, ...]]] = {}
    commands = [cli.load_command(name) for name in cli.COMMANDS]
    for command in commands:
        for parameter in command.params:
            if parameter.param_type_name == "option":
                forms.setdefault(parameter.opts[0], set()).add((parameter.metavar, parameter.is_flag))
                assert parameter.is_flag or parameter.metavar, (command.name, parameter.opts)
    assert forms.pop("--out") == {("DIR", False), ("FILE", False)}
    # Of `compare` several, of `live` one.
    assert forms.pop("--cc") == {("NAME,...", False), ("NAME", False)}
    # Of `export` a number, of `live` also a name.
    assert forms.pop("--ue") == {("N", False), ("NAME", False)}
    # Of `control` until `--resume`, of `live` for a time.
    assert forms.pop("--pause") == {(None, True), ("TIME", False)}
    assert {option for option, form in forms.items() if len(form) > 1} == set()
    assert "--seeds" not in forms and forms["--json"] == {(None, True)}


def test_dash_is_no_folder_and_never_a_file(tmp_path, airpath_command, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for words in (
        ["run", "umts-64"],
        ["live", "umts-64"],
        ["sweep", "chan:figure-11"],
        ["reproduce", "zhang"],
    ):
        check_error(airpath_command(*words, "--out", "-"), "--out", "'-' is not a folder", "name the folder")
    assert os.listdir(tmp_path) == []


def test_a_list_can_be_cut_down_to_a_prefix(airpath_command):
    names = [line.split()[0] for line in airpath_command("list", "components", "tcp.cc").out.splitlines()]
    assert {"tcp.cc.reno", "tcp.cc.cubic"} <= set(names) and not any(
        name.startswith("queue") for name in names
    )
    assert "hdr-4" in airpath_command("list", "scenarios", "hdr").out
    assert airpath_command("list", "sweeps", "zhang").code == 0
    assert airpath_command("list", "probes", "rtt").code == 0
    outcome = airpath_command("list", "components", "tcp.xx")
    check_error(outcome, "PREFIX", "no name of components begins with 'tcp.xx'", "tcp.cc")


@pytest.mark.slow
def test_the_folder_of_a_run_is_no_folder_of_a_sweep(tmp_path, airpath_command):
    out = tmp_path / "run"
    assert airpath_command("run", "umts-64-simple", "--set", "duration=2 s", "--out", out).code == 0
    for words, remedy in ((["results", out], "airpath predict"), (["plot", out, "--x", "a"], "plot.png")):
        check_error(airpath_command(*words), str(out), "the folder of a run, not of a sweep", remedy)
