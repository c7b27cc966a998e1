"""Live runs with a stand-in for the driver: frames, files, signals, terminal, doctor."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import pty
import re
import resource
import selectors
import shlex
import signal
import struct
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import fake_driver
import numpy as np
import pytest
from conftest import WRITTEN, check_error, events_in

from airpath import _core
from airpath.live import driver
from airpath.live.driver import FrameReader, decode_events, encode
from airpath.report.live import verdict

FAKE, SHELL = (Path(__file__).with_name(f"fake_{what}.py") for what in ("driver", "shell"))
# No test waits longer than this for anything, in seconds.
PATIENCE_S = 60
# airpath with the stand-in for its driver.
LAUNCH = """
import sys
from airpath.live import driver
fake = sys.argv[1:4]
driver.driver_command = lambda: [sys.executable, *fake]
from airpath.cli.main import main
main(sys.argv[4:])
"""


def launched(behaviour, log, *arguments) -> list[str]:
    return [sys.executable, "-c", LAUNCH, str(FAKE), behaviour, str(log), *map(str, arguments)]


def frames_of(log: Path) -> list[list[object]]:
    """What the stand-in received after the configuration."""
    return [json.loads(line) for line in log.read_text().splitlines()][1:]


@pytest.fixture
def live(monkeypatch, tmp_path, airpath_command):
    """Run a command line inside this process, with a stand-in that behaves as named."""

    def call(behaviour, *arguments, command="live"):
        program = [sys.executable, str(FAKE), behaviour, str(tmp_path / "log")]
        monkeypatch.setattr(driver, "driver_command", lambda: program)
        return airpath_command(command, *arguments)

    return call


@contextlib.contextmanager
def bounded(process: subprocess.Popen) -> Iterator[None]:
    """Nothing waits for this process for ever."""
    timer = threading.Timer(PATIENCE_S, process.kill)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def test_frames_come_whole_from_any_pieces():
    stream = encode("S", {"a": 1}) + encode("K", {}) + encode("R", {"b": "x" * 1000})
    for size in (1, 2, 5, 64, len(stream)):
        reader = FrameReader()
        pieces = [stream[start : start + size] for start in range(0, len(stream), size)]
        frames = [frame for piece in pieces for frame in reader.feed(piece)]
        assert [frame.kind for frame in frames] == ["S", "K", "R"]
        assert [frame.json() for frame in frames] == [{"a": 1}, {}, {"b": "x" * 1000}]


def test_a_frame_counts_its_letter():
    assert encode("S", {}) == struct.pack("<I", 3) + b"S{}"


def test_events_are_those_of_a_simulation():
    events = decode_events(fake_driver.trace_chunk())
    assert events["rtt_sample"]["rtt_us"].tolist() == [175_000, 180_000, 2**40]
    assert events["rtt_sample"]["rtt_us"].dtype == np.uint64
    codes, words = events["bearer_enqueued"]["direction"]
    assert [words[code] for code in codes] == ["downlink", "uplink"]
    assert events["bearer_enqueued"]["queued_bytes"].tolist() == [1500, 40]
    # A few rows that wait to be written do not keep the whole chunk in memory.
    assert all(array.base is None for array in (events["rtt_sample"]["rtt_us"], codes))


@pytest.mark.slow
@pytest.mark.parametrize("behaviour", ["run", "in_odd_pieces"])
def test_a_folder_holds_what_a_simulation_leaves(behaviour, live, tmp_path):
    out = tmp_path / "out"
    options = ("--server", "iperf3 -s", "--out", out)
    outcome = live(behaviour, "umts-384", *options, "--", "iperf3", "-t", "1")
    assert outcome.code == 0, outcome.err
    names = "capture.pcapng, manifest.json, page.html, plot.png, results.json, scenario.resolved.toml, trace"
    assert f"files in {out}: {names}" in outcome.err
    assert json.loads((out / "results.json").read_text()) == fake_driver.RESULTS
    assert (out / "capture.pcapng").read_bytes() == fake_driver.CAPTURE
    assert (out / "plot.png").read_bytes().startswith(b"\x89PNG")
    table = events_in(out)
    assert table["event"].to_pylist() == ["rtt_sample", "bearer_enqueued"] * 2 + ["rtt_sample"]
    assert table["rtt_us"].to_pylist() == [175_000, None, 180_000, None, 2**40]
    manifest = json.loads((out / "manifest.json").read_text())
    assert (manifest["scenario"], manifest["interrupted"]) == ("umts-384", False)
    assert manifest["live"] == {
        "kernel": os.uname().release,
        "command": ["iperf3", "-t", "1"],
        "server": "iperf3 -s",
        "duration_s": 2.5,
    }
    again = live(behaviour, "umts-384", "--out", out, "--force", "--probes", "dropped", "--", "true")
    assert again.code == 0, again.err
    assert events_in(out).num_rows == 0


def test_the_report_has_flows_bearers_and_verdict(live):
    outcome = live("run", "umts-384", "--", "sh", "-c", "exit 0")
    assert outcome.out == ""
    lines = outcome.err.splitlines()
    assert lines[:3] == [
        "airpath: a notice from the start",
        "airpath: a notice on the way",
        "umts-384: sh -c 'exit 0' ended with status 0 after 2.500 s",
    ]
    flows = [line.split() for line in lines if line.startswith("0.")]
    assert [flow[:3] for flow in flows] == [["0.0", "tcp", "down"], ["0.1", "udp", "up"]]
    assert " ".join(flows[0][3:]) == "10.0.0.1:5201 10.0.0.2:40000 reno 91.0 361.0 400 175 800 2"
    assert " ".join(flows[1][3:]) == "10.0.0.1:53 10.0.0.2:41000 - 0.5 - - - - -"
    text = outcome.err
    assert "UE 0 downlink bearer: 64 SDUs delivered" in text
    assert "lateness: p50 23 us, p99 71 us (at most 1000 us is valid), max 310 us; SCHED_FIFO 10" in text
    assert "dropped by the TUN devices: server 0, UE 4 packets" in text
    assert "refused by the kernel (larger than the MTU, or no IP): server 0, UE 3 packets" in text
    assert lines[-1].startswith("valid: ")
    assert "\x1b" not in text


def test_a_run_that_is_not_valid_says_so(live):
    outcome = live("invalid", "umts-384", "--", "true")
    assert outcome.code == 143
    assert "true was ended by --duration" in outcome.err
    last = outcome.err.splitlines()[-1]
    assert last == "NOT VALID, do not use these results: p99 lateness 2300 us; 5 lost"
    assert verdict({"valid": False, "invalid_because": ["p99 lateness 2300 us", "5 lost"]}) == last


def test_a_link_without_a_command_ends_well_after_its_duration(live):
    outcome = live("invalid", "umts-384", "--attach", "1", "--duration", "5s")
    assert outcome.code == 0
    assert "the link was ended by --duration" in outcome.err and "sleep" not in outcome.err


def test_the_exit_status_is_the_commands(live):
    assert live("status_7", "umts-384", "--", "true").code == 7


def test_a_shells_user_is_told_where_the_server_is(live):
    assert "the server is 10.0.0.1 ($AIRPATH_SERVER)" in live("status_7", "umts-384").err


def test_without_a_link_there_is_one_error_and_no_file(live, tmp_path):
    out = tmp_path / "out"
    outcome = live("no_link", "umts-384", "--out", out, "--", "true")
    check_error(outcome, "tun", "no /dev/net/tun", "modprobe tun")
    assert list(out.iterdir()) == []


def children() -> set[str]:
    """Children of this process that are not reaped. Other tests may have left some, e.g. a pool's tracker."""
    return set(Path("/proc/self/task", str(os.getpid()), "children").read_text().split())


OF_RESULTS = {"results.json", "plot.png", "page.html"}


@pytest.mark.parametrize(
    ("behaviour", "how", "files"),
    [
        ("dies_at_once", "status 4", set()),
        ("dies_before_the_link", "SIGKILL", set()),
        ("dies_running", "SIGKILL", WRITTEN - OF_RESULTS),
        (
            "dies_at_the_end",
            "status 5",
            WRITTEN - OF_RESULTS - {"capture.pcapng"},
        ),
        ("leaves_a_child", "SIGKILL", WRITTEN - OF_RESULTS - {"capture.pcapng"}),
    ],
)
def test_a_driver_that_dies_is_an_error_and_files_are_complete(behaviour, how, files, live, tmp_path):
    out = tmp_path / "out"
    before = children()
    outcome = live(behaviour, "umts-384", "--out", out, "--", "true")
    assert outcome.code == 2
    assert outcome.err.splitlines()[-1].startswith("error: driver: ")
    assert how in outcome.err
    assert "airpath doctor" in outcome.err
    assert {str(file.relative_to(out)) for file in out.rglob("*") if file.is_file()} == files
    if behaviour == "dies_running":
        assert events_in(out).num_rows == 5
        assert (out / "capture.pcapng").read_bytes() == fake_driver.CAPTURE
        assert json.loads((out / "manifest.json").read_text())["interrupted"] is True
    assert children() <= before  # Every child of the session has been reaped.


def test_a_full_disk_ends_the_run(live, tmp_path):
    before = children()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    # A limit on file sizes simulates a small disk.
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, hard))
    try:
        outcome = live("fills_the_disk", "umts-384", "--out", tmp_path / "out", "--", "true")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert outcome.code == 2
    assert outcome.err.splitlines()[-1].startswith("error: out: cannot write")
    assert os.listdir(tmp_path / "out") == []
    assert children() <= before


@pytest.mark.slow
def test_signals_are_passed_on_and_do_not_end_us(tmp_path):
    log = tmp_path / "log"
    command = launched("waits", log, "live", "umts-384", "--out", tmp_path / "out", "--", "true")
    passed_on = (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2, signal.SIGTSTP)
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    with bounded(process), process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        for number in passed_on:
            process.send_signal(number)
            assert json.loads(process.stdout.readline()) == {"signal": number}
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 143, err
    assert frames_of(log) == [["K", {"signal": number}] for number in (*passed_on, signal.SIGTERM)]
    assert json.loads((tmp_path / "out" / "manifest.json").read_text())["interrupted"] is True


@pytest.mark.slow
def test_in_the_background_of_a_script_ctrl_c_is_ignored_and_sigterm_ends_it(tmp_path):
    command = shlex.join(launched("waits", tmp_path / "log", "live", "umts-384", "--", "true"))
    script = f"trap '' INT QUIT; exec {command}"
    process = subprocess.Popen(
        ["sh", "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    with bounded(process), process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGTERM):
            process.send_signal(number)
        _, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 143, err
    assert frames_of(tmp_path / "log") == [["K", {"signal": signal.SIGTERM}]]


@pytest.mark.slow
def test_a_stop_without_a_terminal_stops_us_until_we_are_continued(tmp_path):
    log = tmp_path / "log"
    command = launched("stops", log, "live", "umts-384", "--", "true")
    # In a group of its own below us, as the job of a shell.
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, process_group=0)
    with bounded(process):
        _, how = os.waitpid(process.pid, os.WUNTRACED)
    assert os.WIFSTOPPED(how)
    process.send_signal(signal.SIGCONT)
    assert process.wait(PATIENCE_S) == 9
    assert frames_of(log) == [["K", {"continue": True}]]


@pytest.mark.slow
def test_where_nobody_could_continue_us_we_do_not_stop(tmp_path):
    command = launched("stops", tmp_path / "log", "live", "umts-384", "--", "true")
    done = subprocess.run(command, start_new_session=True, timeout=PATIENCE_S, capture_output=True)
    assert done.returncode == 9, done.stderr


def read_terminal(fd: int, process: subprocess.Popen, until: bytes | None = None) -> bytes:
    """What appears on a terminal, until there is something or the process has ended."""
    output, deadline = b"", time.monotonic() + PATIENCE_S
    with selectors.DefaultSelector() as selector:
        selector.register(fd, selectors.EVENT_READ)
        while until is None or until not in output:
            assert time.monotonic() < deadline, output
            if not selector.select(0.05):
                if process.poll() is not None:
                    break
                continue
            try:
                piece = os.read(fd, 4096)
            except OSError:  # The other side is closed.
                break
            if not piece:
                break
            output += piece
    return output


@pytest.mark.slow
def test_job_control_is_that_of_any_command(tmp_path):
    outer, inner = pty.openpty()
    log = tmp_path / "log"
    command = [sys.executable, str(SHELL), *launched("has_a_job", log, "live", "umts-384", "--no-view")]
    with subprocess.Popen(
        [*command, "--", "true"], stdin=inner, stdout=subprocess.PIPE, stderr=inner, start_new_session=True
    ) as shell:
        os.close(inner)
        read_terminal(outer, shell, until=b"ready")
        os.write(outer, b"\x1a")  # Ctrl-Z
        seen = read_terminal(outer, shell)
        out, _ = shell.communicate(timeout=PATIENCE_S)
    os.close(outer)
    assert out.decode().splitlines() == ["stopped and has the terminal", "status 7 and has the terminal"], (
        seen
    )
    assert frames_of(log) == [["K", {"continue": True}]]


def screen_of(output: bytes) -> list[str]:
    """The lines that a terminal shows after this output: enough of one for what we write."""
    lines, row, column = [""], 0, 0
    for token in re.findall(r"\x1b\[[0-9;?]*[A-Za-z]|[^\x1b]|\x1b", output.decode()):
        if token == "\n":
            row += 1
            lines += [""] * (row + 1 - len(lines))
        elif token == "\r":
            column = 0
        elif token.endswith("A") and len(token) > 1:
            row -= int(token[2:-1])
        elif token == "\x1b[J":
            lines[row:] = [lines[row][:column]]
        elif len(token) == 1:
            line = lines[row].ljust(column)
            lines[row] = line[:column] + token + line[column + 1 :]
            column += 1
    return lines


@pytest.fixture
def on_a_terminal(tmp_path):
    """Run with standard error on a terminal of 100 columns, and output too; returns what appears there."""

    def call(behaviour, *arguments, stdout=None, end_after=None):
        outer, inner = pty.openpty()
        fcntl.ioctl(inner, termios.TIOCSWINSZ, struct.pack("4H", 30, 100, 0, 0))
        command = launched(behaviour, tmp_path / "log", "live", "umts-384", *arguments, "--", "true")
        environment = {**os.environ, "TERM": "xterm", "PYTHONIOENCODING": "utf-8"}
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=stdout or inner, stderr=inner, env=environment
        )
        os.close(inner)
        output = b""
        if end_after:
            output = read_terminal(outer, process, until=end_after)
            process.terminate()
        output += read_terminal(outer, process)
        os.close(outer)
        assert process.wait(PATIENCE_S) == (143 if end_after else 0), output
        return output

    return call


EXPECTED = [
    *(f"line {number} begins and ends" for number in range(50)),
    *("red", "100 % done", "stdout is a terminal: True, stderr 100 wide", "this is stderr", "no end"),
]


@pytest.mark.slow
def test_a_view_leaves_the_commands_output_as_it_is(on_a_terminal):
    output = on_a_terminal("prints")
    for shown in ("361.0 kbit/s", "28 SDUs", "40.3 kB", "0.89 s", "RTT - ms", "RTT 213 ms", "█" * 16):
        assert shown in output.decode()
    screen = screen_of(output)
    assert screen[0] == "airpath: a notice from the start"
    end = next(row for row, line in enumerate(screen) if line.startswith("umts-384: true ended"))
    assert screen[1:end] == EXPECTED
    assert b"\x1b[31mred\x1b[0m" in output


@pytest.mark.slow
def test_no_view_draws_nothing(on_a_terminal):
    output = on_a_terminal("prints", "--no-view")
    assert b"28 SDUs" not in output
    before_report = output.partition(b"umts-384: true ended")[0]
    assert b"\x1b" not in before_report.replace(b"\x1b[31mred\x1b[0m", b"")


@pytest.mark.slow
def test_output_that_is_redirected_passes_the_view_by(on_a_terminal, tmp_path):
    with (tmp_path / "stdout").open("wb") as stdout:
        output = on_a_terminal("prints", stdout=stdout)
    written = (tmp_path / "stdout").read_text()
    assert written.startswith("line 0 begins and ends\nline 1 begins and ends\n")
    assert written.endswith("\nstdout is a terminal: False, stderr 100 wide\nno end")
    assert b"28 SDUs" in output
    assert "this is stderr" in screen_of(output)
    assert b"begins and ends" not in output


@pytest.mark.slow
def test_endless_output_keeps_nothing_else_waiting(on_a_terminal):
    assert b"true ended with status 143" in on_a_terminal("floods", end_after=b"flood")


def test_doctor_finds_all_well(live):
    outcome = live("all_well", command="doctor")
    assert outcome.code == 0
    assert outcome.out.splitlines() == [
        "ok       TUN device            made",
        "missing  real-time scheduling  SCHED_OTHER (live works without it, less well); "
        "setcap cap_sys_nice+ep",
    ]


def test_doctor_finds_what_is_missing(live):
    outcome = live("not_well", command="doctor")
    assert outcome.code == 1
    assert outcome.out.splitlines() == [
        "missing    namespaces            EPERM; run as root",
        "not tried  TUN device",
        "ok         real-time scheduling  SCHED_FIFO 10",
    ]


def test_doctor_as_json(live):
    outcome = live("not_well", "--json", command="doctor")
    assert outcome.code == 1
    checks = json.loads(outcome.out)
    assert [check["ok"] for check in checks] == [False, None, True]
    assert set(checks[0]) == {"check", "ok", "found", "remedy", "needed"}


def test_doctor_without_a_driver(monkeypatch, airpath_command):
    monkeypatch.delattr(_core, "live_driver", raising=False)
    monkeypatch.setattr(sys, "platform", "darwin")
    outcome = airpath_command("doctor")
    assert outcome.code == 1
    assert outcome.out == "missing  Linux  there is no driver for darwin; airpath live needs Linux\n"


def test_doctor_whose_driver_dies(live):
    check_error(live("dies_at_once", command="doctor"), "driver", "status 4", "can be run")


def test_the_driver_finds_the_core_without_the_package(tmp_path):
    script = Path(driver.__file__).with_name("driver_main.py")
    code = script.read_text().replace("module.live_driver(int(sys.argv[1]))", "print(module.version())")
    assert "print(" in code
    copy = tmp_path / "live" / script.name
    copy.parent.mkdir()
    copy.write_text(code)
    for core in script.parent.parent.glob("_core*.so"):
        (tmp_path / core.name).symlink_to(core)
    command = [sys.executable, "-I", "-S", str(copy), "0"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S)
    assert done.stdout == f"{_core.version()}\n", done.stderr
