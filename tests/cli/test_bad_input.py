"""Every bad input is one line on standard error with key, cause and remedy, and exit code 2."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest
from conftest import Outcome, check_error

import airpath
from airpath.experiments.sweep.plan import read_plan
from airpath.experiments.sweep.run import run_sweep
from airpath.runner.work import versions
from airpath.runs.finished import FinishedRun
from airpath.runs.folder import run_to_folder
from airpath.runs.memory import coarse_probes
from airpath.runs.recorder import FILES
from airpath_studies.outcome import Effort
from airpath_studies.papers import PAPERS
from airpath_studies.reproduction import Reproduction

SCENARIO = """\
# a scenario in which one line is replaced
duration = "5 s"

[wired]
rate = "100 Mbit/s"
delay = "75 ms"

[radio.dch.downlink]
rate = "384 kbit/s"

[radio.dch.downlink.rlc.fixed_delay_arq]
pdu = "40 B"

[radio.dch.downlink.channel.bernoulli]
bler = "10 %"

[tcp]
receive_buffer = "64 kB"

[[flow]]
ue = 0
direction = "downlink"

[flow.app.file]
size = "50 kB"
"""

DOWNLINK = "radio.dch.downlink"

# What is wrong: (line, what it is replaced with, key, words of the cause, words of the remedy).
CASES = {
    "unknown key": ('delay = "75 ms"', 'dealy = "75 ms"', "wired.dealy", "unknown", "delay"),
    "unknown component": ("fixed_delay_arq]", "arq]", f"{DOWNLINK}.rlc.arq", "unknown", "fixed_delay_arq"),
    "missing unit": ('"75 ms"', '"75"', "wired.delay", "missing unit", "60 ms"),
    "number without a unit": ('"75 ms"', "75", "wired.delay", "missing unit", "60 ms"),
    "wrong unit": ('"75 ms"', '"75 kbit/s"', "wired.delay", "75 kbit/s", "ms"),
    "wrong unit of a rate": ('"384 kbit/s"', '"384 kB"', f"{DOWNLINK}.rate", "384 kB", "kbit/s"),
    "negative rate": ('"384 kbit/s"', '"-384 kbit/s"', f"{DOWNLINK}.rate", "-384 kbit/s", "kbit/s"),
    "zero rate": ('"384 kbit/s"', '"0 kbit/s"', f"{DOWNLINK}.rate", "zero", "kbit/s"),
    "zero PDU size": ('"40 B"', '"0 B"', f"{DOWNLINK}.rlc.fixed_delay_arq.pdu", "no size", "40 B"),
    "BLER 1.0 without a limit": ('"10 %"', '"100 %"', f"{DOWNLINK}.channel", "lost", "max_transmissions"),
    "impossible probability": ('"10 %"', '"110 %"', f"{DOWNLINK}.channel.bernoulli.bler", "110 %", "%"),
    "window below one segment": ('"64 kB"', '"1 kB"', "tcp.receive_buffer", "below one segment", "kB"),
    "text where a number belongs": ("ue = 0", 'ue = "first"', "flow[0].ue", "UE", "each"),
    "a UE that is not there": ("ue = 0", "ue = 7", "flow[0].ue", "UE 7", "UEs"),
}


@pytest.mark.parametrize("case", CASES)
def test_bad_value(case, tmp_path, airpath_command):
    line, replacement, key, cause, remedy = CASES[case]
    file = tmp_path / "bad.toml"
    assert SCENARIO.count(line) == 1
    file.write_text(SCENARIO.replace(line, replacement))
    check_error(airpath_command("run", file), key, cause, remedy)


def test_the_unchanged_scenario_is_good(tmp_path, airpath_command):
    file = tmp_path / "good.toml"
    file.write_text(SCENARIO)
    assert airpath_command("run", file).code == 0


def test_file_that_is_no_toml(tmp_path, airpath_command):
    file = tmp_path / "bad.toml"
    file.write_text("duration = = 3\n")
    check_error(airpath_command("run", file), str(file), "line 1, column 12: not TOML", "example")


def test_file_that_is_no_text(tmp_path, airpath_command):
    file = tmp_path / "bad.toml"
    file.write_bytes(b"\x89PNG\xff\xfe")
    check_error(airpath_command("run", file), str(file), "not UTF-8", "TOML")


def test_file_that_is_missing(tmp_path, airpath_command):
    file = tmp_path / "missing.toml"
    check_error(airpath_command("run", file), str(file), "No such file", "airpath list")


def test_name_that_is_not_bundled(airpath_command):
    check_error(airpath_command("run", "nothing"), "nothing", "no such scenario", "umts-384")


@pytest.mark.parametrize(
    ("change", "key", "cause", "remedy"),
    [
        ("duration", "--set", "'duration'", "PATH=VALUE"),
        ("durration=5 s", "durration", "unknown", "duration"),
        ("duration=5", "duration", "missing unit", "60 ms"),
        (f"{DOWNLINK}.rate=-1 kbit/s", f"{DOWNLINK}.rate", "-1 kbit/s", "kbit/s"),
        ("tcp.recovery.renno.x=1", "tcp.recovery.renno", "unknown", "reno"),
    ],
)
def test_bad_change_on_the_command_line(change, key, cause, remedy, airpath_command):
    check_error(airpath_command("run", "umts-384", "--set", change), key, cause, remedy)


def test_seed_out_of_range(airpath_command):
    check_error(airpath_command("run", "umts-384", "--seed", -1), "seed", "-1", "from 0")


def test_unknown_option(airpath_command):
    check_error(airpath_command("run", "umts-384", "--fast"), "command line", "--fast", "--help")


def test_an_option_given_twice(airpath_command):
    for words in ["compare umts-384 --cc reno --cc=cubic", "live umts-384 --cc reno --cc cubic -- true"]:
        check_error(airpath_command(*words.split()), "command line", "--cc is given twice", "--help")
    # COMMAND's options are its own, and others may be repeated.
    words = "live umts-384 --set a=1 --set b=2 --force --force -- ping --seed 1 --seed 2"
    check_error(airpath_command(*words.split()), "a", "unknown key", "known here")


def test_output_folder_that_cannot_be_made(tmp_path, airpath_command):
    file = tmp_path / "file"
    file.write_text("not a folder")
    check_error(airpath_command("run", "umts-384", "--out", file / "below"), "out", "below", "folder")
    check_error(airpath_command("run", "umts-384", "--out", file), "out", "file", "folder")


@pytest.mark.slow
def test_output_folder_with_a_run(tmp_path, airpath_command):
    assert airpath_command("run", "umts-384", "--out", tmp_path).code == 0
    results = (tmp_path / "results.json").read_bytes()
    outcome = airpath_command("run", "umts-384", "--seed", 2, "--out", tmp_path)
    check_error(outcome, "out", "holds a run already", "--force")
    assert (tmp_path / "results.json").read_bytes() == results
    assert airpath_command("run", "umts-384", "--seed", 2, "--out", tmp_path, "--force").code == 0
    assert (tmp_path / "results.json").read_bytes() != results


@pytest.mark.slow
@pytest.mark.parametrize("room", [0, 500, 3000, 30_000, 100_000])
def test_full_disk(room, tmp_path):
    # A limit on file sizes simulates a small disk.
    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))

    command = [sys.executable, "-B", "-m", "airpath", "run", "umts-384", "--out", "out"]  # No cut bytecode.
    done = subprocess.run(
        command, capture_output=True, text=True, cwd=tmp_path, preexec_fn=limit, check=False
    )
    outcome = Outcome(done.returncode, done.stdout, done.stderr)
    check_error(outcome, "out", "File too large", "disk with room")
    assert os.listdir(tmp_path / "out") == []


def place(kind: str, file: Path, elsewhere: Path) -> None:
    """Put a link to nothing, a pipe or a folder where a run writes a file."""
    file.parent.mkdir(parents=True, exist_ok=True)
    {"link": lambda path: path.symlink_to(elsewhere), "pipe": os.mkfifo, "folder": os.mkdir}[kind](file)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["link", "pipe", "folder"])
def test_what_has_the_name_of_a_runs_file_is_not_replaced_without_force(kind, tmp_path, airpath_command):
    words = "is a folder" if kind == "folder" else "holds a run already"
    for number, file in enumerate(FILES):
        out, elsewhere = tmp_path / str(number), tmp_path / "elsewhere"
        place(kind, out / file, elsewhere)
        check_error(airpath_command("run", "umts-64-simple", "--out", out), "out", words, "another folder")
        assert os.listdir((out / file).parent) == [Path(file).name]
        assert not elsewhere.exists()


@pytest.mark.slow
@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize("kind", ["link", "pipe"])
def test_what_has_the_name_of_a_runs_file_is_not_written_through(kind, tmp_path, airpath_command):
    """Every second file is there: a run finds it next to files that are not."""
    for first in (0, 1):
        out = tmp_path / f"out{first}"
        for number, file in enumerate(FILES[first::2]):
            place(kind, out / file, tmp_path / f"elsewhere{number}")
        words = ("run", "umts-64-simple", "--set", "duration=3 s", "--probes", "all", "--out", out, "--force")
        assert airpath_command(*words).code == 0
        assert FinishedRun.open(out).summary["complete"]
        assert all((out / file).is_file() and not (out / file).is_symlink() for file in FILES[first::2])
        assert not list(tmp_path.glob("elsewhere*"))


@pytest.mark.parametrize("kind", ["link", "pipe", "file"])
def test_what_has_the_name_of_the_traces_folder_stays(kind, tmp_path, airpath_command):
    out, elsewhere = tmp_path / "out", tmp_path / "elsewhere"
    out.mkdir()
    elsewhere.mkdir()
    make = {"link": lambda path: path.symlink_to(elsewhere), "pipe": os.mkfifo, "file": Path.touch}[kind]
    make(out / "trace")
    outcome = airpath_command("run", "umts-64-simple", "--out", out, "--force")
    check_error(outcome, "out", "is no folder", "another folder")
    assert os.listdir(out) == ["trace"] and os.listdir(elsewhere) == []


@pytest.mark.slow
def test_a_name_with_letters_of_a_formula_is_a_title_like_others(tmp_path, airpath_command):
    file, out = tmp_path / "$\\frac{x$.toml", tmp_path / "out"
    file.write_text(SCENARIO)
    assert airpath_command("run", file, "--out", out).code == 0
    assert (out / "plot.png").stat().st_size > 10_000


@pytest.mark.parametrize(
    "command",
    [
        ["run", "umts-64-simple"],
        ["live", "umts-64-simple"],
        ["analyze", "capture"],
        ["reproduce", "lundsten"],
        ["sweep", "chan:figure-11"],
        ["compare", "umts-64-simple"],
    ],
)
def test_an_empty_output_folder_is_not_the_current_one(command, tmp_path, airpath_command, monkeypatch):
    monkeypatch.chdir(tmp_path)
    outcome = airpath_command(*command, "--out", "")
    check_error(outcome, "--out", "'' is not a folder", "name the folder")
    assert os.listdir(tmp_path) == []


@pytest.fixture(scope="module")
def outputs(tmp_path_factory):
    """Commands that write one file, without its name."""
    folder = tmp_path_factory.mktemp("inputs")
    sweep = folder / "sweep.toml"
    sweep.write_text(
        "scenario = 'umts-64-simple'\nmetrics = ['goodput_bps']\nruns = 2\nset.duration = '3 s'\n"
    )
    run_to_folder(airpath.load("umts-64-simple").with_("duration", "3 s"), 1, folder / "run")
    run_sweep(read_plan(sweep), folder / "swept", 1)
    return {
        "export": ["export", folder / "run", "--format", "csv", "--out"],
        "plot": ["plot", folder / "swept", "--x", "goodput_bps", "--out"],
        "overlay": ["overlay", folder / "run", "--out"],
    }


@pytest.mark.slow
@pytest.mark.parametrize("command", ["export", "plot", "overlay"])
def test_an_output_that_is_no_file_is_refused_and_named(command, outputs, tmp_path, airpath_command):
    link, pipe = tmp_path / "link.svg", tmp_path / "pipe.svg"
    link.symlink_to(tmp_path / "elsewhere")
    os.mkfifo(pipe)
    for file, words in ((link, "link to a file that does not exist"), (pipe, "a pipe that no program reads")):
        outcome = airpath_command(*outputs[command], file)
        assert outcome.code == 2 and outcome.err.count("\n") == 1
        assert str(file) in outcome.err and words in outcome.err
    assert sorted(os.listdir(tmp_path)) == ["link.svg", "pipe.svg"]


@pytest.mark.slow
@pytest.mark.parametrize("command", ["export", "plot", "overlay"])
def test_a_full_disk_leaves_no_part_of_a_file_and_the_error_names_it(command, outputs, tmp_path):
    file = tmp_path / "out.svg"
    arguments = [sys.executable, "-B", "-m", "airpath", *map(str, outputs[command]), str(file)]
    limit = partial(resource.setrlimit, resource.RLIMIT_FSIZE, (100, 100))
    done = subprocess.run(arguments, capture_output=True, text=True, preexec_fn=limit, check=False)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1 and str(file) in done.stderr and "File too large" in done.stderr
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    "words", [["--set", b"\xff=1"], ["--set", b"wired.delay=\xff"]], ids=["key", "value"]
)
def test_words_that_are_not_utf_8_are_named(words, tmp_path):
    command = [sys.executable, "-m", "airpath", "run", "umts-64-simple", *words]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    outcome = Outcome(done.returncode, done.stdout, done.stderr)
    check_error(outcome, "command line", "xff' is not UTF-8", "in UTF-8")


@pytest.mark.slow
def test_a_folder_may_have_any_name(tmp_path):
    command = [sys.executable, "-m", "airpath", "run", "umts-64-simple", "--out", b"\xff"]
    done = subprocess.run(command, capture_output=True, cwd=tmp_path, check=False)
    assert done.returncode == 0, done.stderr
    folder = os.fsencode(tmp_path) + b"/\xff"
    assert {*os.listdir(folder), b"trace"} == {os.fsencode(file.split("/")[0]) for file in FILES}
    written = {os.fsencode(f"{kind}.parquet") for kind in coarse_probes()}
    assert {*os.listdir(folder + b"/trace")} == {*written, b"tables.json"}


FOLDERS = {
    "analyze": (["analyze", "{capture}"], ("index.html", "analysis.json")),
    "reproduce": (
        ["reproduce", "lundsten", "--table", "3", "--runs", "1", "--quick"],
        ("index.html", "report.json", "unfinished.jsonl"),
    ),
    "scorecard": (["scorecard", "reno", "--runs", "1"], ("index.html", "report.json", "conditions")),
}


@pytest.mark.parametrize(
    "command",
    ["analyze", *(pytest.param(name, marks=pytest.mark.slow) for name in ("reproduce", "scorecard"))],
)
def test_a_foreign_output_folder_is_not_written_through(command, outputs, tmp_path, airpath_command):
    words, names = FOLDERS[command]
    words = [word.format(capture=Path(outputs["overlay"][1]) / "capture.pcapng") for word in words]
    victim = tmp_path / "victim"
    victim.mkdir()
    (victim / "file").write_text("mine\n")
    for kind in ("file", "new", "pipe"):
        out = tmp_path / kind
        out.mkdir()
        for name in names:
            if kind == "pipe":
                os.mkfifo(out / name)
            else:
                (out / name).symlink_to(victim if name == "conditions" else victim / kind)
        outcome = airpath_command(*words, "--out", out, "--force")
        if outcome.code:
            check_error(outcome, "out", str(out), "")
        assert os.listdir(victim) == ["file"], kind
        assert (victim / "file").read_text() == "mine\n"


@pytest.mark.slow
@pytest.mark.parametrize(
    "content",
    [
        b"\xff" * 9,
        b"[" * 100_000,
        b"{head}\n" + b"[" * 100_000 + b"\n",
        b"{head}\n[0, 1, [[1.0], 5]]\n",
        b"{head}\n[0, 1, [[], null]]\n",
        b"{head}\n[999999, 1, [[1.0], null]]\n",
        b"{head}\n[0, 1, [[1.0, 2.0, 3.0], null]]\n",
        b'{head}\n{"job": 0}\n',
        b"{head}\n[0, 1, [[1e999], null]]\n",
        b"{head}\n" + b"x" * 1000,
    ],
)
def test_a_hostile_journal_of_a_reproduction_is_refused_or_made_again(content, tmp_path, airpath_command):
    paper = PAPERS["lundsten"]
    chosen = [one for one in paper.experiments if (one.kind, one.number) == ("table", 3)]
    digest = Reproduction(paper, chosen, Effort.of(False, 2)).digest
    head = json.dumps([digest, *versions()]).encode()
    (tmp_path / "unfinished.jsonl").write_bytes(content.replace(b"{head}", head))
    outcome = airpath_command("reproduce", "lundsten", "--table", "3", "--runs", "2", "--out", tmp_path)
    assert outcome.code in (0, 2), outcome.err
    if outcome.code:
        check_error(outcome, "out", "unfinished.jsonl", "another folder")


@pytest.mark.slow
def test_a_file_of_the_kernel_that_would_block_is_refused_at_once(tmp_path, airpath_command):
    kernel = Path("/proc/kmsg")
    named = [kernel] if os.access(kernel, os.R_OK) and not kernel.is_dir() else []
    # Whether it has something to read or not, it is no capture and no scenario.
    for file in [*named, Path("/proc/self/mem")]:
        for command in ("analyze", "config"):
            done = subprocess.run(
                [sys.executable, "-m", "airpath", command, file], capture_output=True, text=True, timeout=60
            )
            assert done.returncode == 2 and done.stderr.count("\n") == 1, (command, file, done.stderr)


@pytest.mark.parametrize("runs", [2**63, 2**64 - 1, 2**200])
def test_more_runs_than_there_are_seeds_are_refused(runs, tmp_path, airpath_command):
    sweep = tmp_path / "sweep.toml"
    sweep.write_text(f"scenario = 'umts-384'\nmetrics = ['goodput_bps']\nruns = {runs}\n")
    outcome = airpath_command("sweep", sweep, "--out", tmp_path / "out")
    check_error(outcome, "runs", "too many", "fewer")
