"""Use of memory and descriptors is bounded, and the error names the limit."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest

import airpath
from airpath.files.text import MOST_VALUES, parse_json, parse_toml

FLOOD = """\
duration = "100 s"
[radio.dch.downlink]
rate = "384 kbit/s"
[radio.dch.uplink]
rate = "64 kbit/s"
[[flow]]
[flow.app.cbr]
rate = "100 Gbit/s"
"""


@pytest.mark.slow
def test_a_run_without_bound_ends_with_the_buffer_and_the_flow(tmp_path, airpath_command):
    scenario = tmp_path / "flood.toml"
    scenario.write_text(FLOOD)
    outcome = airpath_command("run", scenario, "--out", tmp_path / "out")
    assert outcome.code == 2
    for words in (
        "radio.dch.downlink (UE 0)",
        "flow 0 of UE 0 (cbr)",
        "MB of memory",
        "queue.droptail.packets",
    ):
        assert words in outcome.err
    assert not list((tmp_path / "out").glob(".*"))
    with pytest.raises(airpath.ScenarioError, match="flow 0 of UE 0"):
        airpath.replicate(FLOOD, "goodput_bps", min_runs=2, max_runs=2, workers=1)


@pytest.mark.parametrize(
    "text", ["a = [" + "1," * 300_000 + "]", "".join(f"k{i}=1\n" for i in range(300_000))]
)
def test_toml_of_very_many_values_is_refused_before_it_is_parsed(text, tmp_path, airpath_command):
    with pytest.raises(ValueError, match="more than 250000 values"):
        parse_toml(text)
    file = tmp_path / "many.toml"
    file.write_text(text)
    for command in ("run", "config", "sweep"):
        outcome = airpath_command(command, file)
        assert outcome.code == 2
        assert "more than 250000 values" in outcome.err


def test_json_of_very_many_values_is_refused_before_it_is_parsed():
    with pytest.raises(ValueError, match=f"more than {MOST_VALUES} values"):
        parse_json("[" + "[]," * MOST_VALUES + "[]]")
    assert parse_json(json.dumps(list(range(1000)))) == list(range(1000))


@pytest.mark.slow
def test_too_few_descriptors_are_named_with_the_limit():
    def limited(files: int, *words: str) -> subprocess.CompletedProcess[str]:
        few = partial(resource.setrlimit, resource.RLIMIT_NOFILE, (files, files))
        command = (sys.executable, "-m", "airpath", *words)
        return subprocess.run(
            command, capture_output=True, text=True, preexec_fn=few, timeout=60, check=False
        )

    done = [limited(files, "run", "umts-384", "--set", "duration=1 s") for files in (5, 6, 7, 8)]
    failed = [one for one in done if one.returncode]
    for one in failed:
        assert "Traceback" not in one.stderr
        assert one.stderr.count("\n") == 1
    assert not failed or any("ulimit -n" in one.stderr for one in failed)


@pytest.mark.slow
@pytest.mark.parametrize("kilobytes", [60_000, 200_000, 350_000, 1_000_000])
def test_too_little_memory_is_named_with_the_limit(kilobytes, tmp_path):
    little = partial(resource.setrlimit, resource.RLIMIT_AS, (kilobytes * 1024, kilobytes * 1024))
    command = (sys.executable, "-m", "airpath", "run", "umts-384", "--out", str(tmp_path / "out"))
    done = subprocess.run(command, capture_output=True, text=True, preexec_fn=little, timeout=60, check=False)
    if done.returncode:
        assert done.returncode == 2 and done.stderr.count("\n") == 1
        assert "ulimit -v" in done.stderr and "install" not in done.stderr.partition("; raise")[2]
    else:
        assert (tmp_path / "out" / "results.json").exists()


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("duration", ["duration = 1000000 s", "duration = 20 s"])
def test_a_signal_ends_a_run_or_its_picture_and_leaves_nothing_unfinished(duration, number, tmp_path):
    out = tmp_path / "out"
    command = (sys.executable, "-m", "airpath", "run", "hsdpa-3.6", "--set", duration)
    process = subprocess.Popen((*command, "--out", out), stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 20
    while not (out / ".unfinished").exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    time.sleep(0.2)
    process.send_signal(number)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Traceback" not in said
    assert not list(out.glob(".*"))
    assert not (out / "lock").exists()


@pytest.mark.slow
def test_nohup_keeps_a_run_from_the_end_of_its_terminal(tmp_path):
    ignored = partial(signal.signal, signal.SIGHUP, signal.SIG_IGN)
    command = (sys.executable, "-m", "airpath", "run", "umts-384", "--set", "duration=100 s")
    process = subprocess.Popen((*command, "--out", tmp_path / "out"), preexec_fn=ignored)
    for _ in range(20):
        if process.poll() is None:
            os.kill(process.pid, signal.SIGHUP)
        time.sleep(0.02)
    assert process.wait(timeout=60) == 0


def test_replicate_takes_what_run_takes(tmp_path):
    few = {"min_runs": 2, "max_runs": 2, "workers": 1}
    text = airpath.load("umts-384").text
    file = tmp_path / "mine.toml"
    file.write_text(text)
    expected = airpath.replicate(text, "goodput_bps", **few)
    for named in ("umts-384", str(file), Path(file)):
        assert airpath.replicate(named, "goodput_bps", **few) == expected
    with pytest.raises(airpath.ScenarioError, match="no such scenario"):
        airpath.replicate("umts-383", "goodput_bps", **few)


@pytest.mark.slow
def test_the_studio_raises_its_limit_of_files_or_says_how(tmp_path):
    def started(soft: int, hard: int) -> tuple[int | None, str, str]:
        few = partial(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        command = (sys.executable, "-m", "airpath", "studio", "--no-browser")
        pipe = subprocess.PIPE
        process = subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, preexec_fn=few)
        assert process.stdout is not None
        line = process.stdout.readline()
        process.terminate()
        _, said = process.communicate(timeout=20)
        return process.returncode, line, said

    code, line, _ = started(40, 1000)
    assert code == 0
    assert line.startswith("http://127.0.0.1:")
    code, line, said = started(40, 40)
    assert (code, line) == (2, "")
    assert said.startswith("error: studio: only 40 files may be open")
    assert "ulimit -n" in said


@pytest.mark.slow
@pytest.mark.parametrize(
    "words", [("list",), ("config", "umts-384"), ("run", "umts-384", "--set", "tcp.§=1")]
)
def test_a_locale_without_our_letters_gets_them_as_escapes(words):
    environment = os.environ | {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    command = (sys.executable, "-m", "airpath", *words)
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=60, check=False)
    assert "Traceback" not in done.stderr
    if words[0] == "run":
        assert done.returncode == 2
        assert r"the locale has no '\xa7'; choose one with UTF-8" in done.stderr
    else:
        assert (done.returncode, done.stderr) == (0, "")


def test_a_seed_that_no_run_has_is_a_value_error():
    for first in (-1, 2**64 - 1):
        with pytest.raises(ValueError, match="first_seed"):
            airpath.replicate("umts-384", "goodput_bps", first_seed=first, min_runs=2, max_runs=3)
    with pytest.raises(airpath.ScenarioError, match="most"):
        airpath.captures.analyze("x.pcap", most=-1)
