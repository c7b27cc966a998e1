"""Text files from outside: limits, pipes, nesting."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from conftest import check_error

from airpath.files.text import parse_json, parse_toml, read_text

SWEEP = 'scenario = "umts-384"\nmetrics = ["goodput_bps"]\nruns = 1\n'
COMMANDS = ("run", "config", "sweep", "predict", "compare")


@pytest.mark.parametrize("command", COMMANDS)
def test_a_huge_file_is_read_up_to_a_limit(command, tmp_path, airpath_command):
    huge = tmp_path / "huge.toml"
    huge.touch()
    os.truncate(huge, 10**12)  # Takes no room.
    check_error(airpath_command(command, huge), str(huge), "larger than 64 MB", "")


@pytest.mark.parametrize("command", COMMANDS)
def test_a_device_is_refused_at_once(command, airpath_command):
    check_error(airpath_command(command, "/dev/zero"), "/dev/zero", "is a device and not a file", "")


@pytest.mark.parametrize("command", COMMANDS)
def test_a_pipe_in_a_folder_is_refused_at_once(command, tmp_path, airpath_command):
    pipe = tmp_path / "pipe.toml"
    os.mkfifo(pipe)
    check_error(airpath_command(command, pipe), str(pipe), "is a pipe", "")


def test_a_capture_that_is_a_pipe_in_a_folder_is_refused_at_once(tmp_path, airpath_command):
    pipe = tmp_path / "capture.pcap"
    os.mkfifo(pipe)
    outcome = airpath_command("analyze", pipe)
    check_error(outcome, str(pipe), "is a pipe and not a file", "")


def test_a_folder_is_no_scenario(tmp_path, airpath_command):
    check_error(airpath_command("config", tmp_path), str(tmp_path), "is a folder and not a file", "")


@pytest.mark.parametrize("source", ["/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"])
def test_standard_input_is_a_scenario(source, tmp_path):
    scenario = b'flow = [{}]\nradio.variable.downlink.channel.trace_file.file = "trace"'
    (tmp_path / "trace").write_text("1\n2\n")
    command = [sys.executable, "-m", "airpath", "config", source]
    done = subprocess.run(command, input=scenario, capture_output=True, cwd=tmp_path, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_process_substitution_is_a_sweep(tmp_path):
    (tmp_path / "sweep.toml").write_text(SWEEP)
    line = f"'{sys.executable}' -m airpath sweep <(cat sweep.toml) --out out --workers 1"
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 0, done.stderr
    assert "1 point, 1 run," in done.stdout


@pytest.mark.parametrize(
    "text", ["[" * 100_000, '{"a":' * 100_000, '{"a": NaN}', '{"a": "\\ud800"}', "", "{"]
)
def test_hostile_json_is_a_value_error(text):
    with pytest.raises(ValueError):
        parse_json(text)


def test_letters_beyond_the_basic_plane_are_json():
    assert parse_json('"\\ud83d\\ude00"') == "😀"


@pytest.mark.parametrize(
    "text", ["a = " + "[" * 100_000, "a = " + "{a=" * 100_000, "a = 1\0", f"a = {'9' * 5000}"]
)
def test_hostile_toml_is_a_value_error(text):
    with pytest.raises(ValueError):
        parse_toml(text)


def test_a_limit_is_of_bytes(tmp_path):
    file = tmp_path / "file"
    file.write_text("ä" * 5)
    assert read_text(file, 10) == "ä" * 5
    with pytest.raises(OSError, match="larger"):
        read_text(file, 9)


def test_a_pipe_is_no_trace(tmp_path, airpath_command):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "scenario.toml").write_text('radio.variable.downlink.channel.trace_file.file = "pipe"')
    key = "radio.variable.downlink.channel.trace_file.file"
    check_error(airpath_command("config", tmp_path / "scenario.toml"), key, "is a pipe", "path of a trace")


@pytest.mark.parametrize(
    "text",
    [
        "x." * 20_000 + "x = 1",
        "[" + "x." * 20_000 + "x]",
        "a = {" + '"x" . ' * 20_000 + "x = 1}",
        "a = 1\n" + ".".join("'x'" for _ in range(20_000)) + " = 2",
    ],
)
def test_keys_of_very_many_parts_are_refused_at_once(text):
    with pytest.raises(ValueError, match="more than 32 parts"):
        parse_toml(text)


@pytest.mark.slow
def test_long_texts_without_deep_keys_are_parsed():
    assert parse_toml('a = "' + "x" * 3_000_000 + '"')["a"].startswith("xxx")
    assert (
        len(
            parse_toml("[a.b.c.d]\n" + "".join(f'"k.{i}".v = 1.5\n' for i in range(2_000)))["a"]["b"]["c"][
                "d"
            ]
        )
        == 2_000
    )


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir, lambda path: path.symlink_to("/dev/zero")])
def test_what_is_no_file_is_refused_at_once(make, tmp_path):
    path = tmp_path / "there"
    make(path)
    with pytest.raises(OSError, match=r"is a (pipe|folder|device) and not a file|Is a directory"):
        read_text(path)
