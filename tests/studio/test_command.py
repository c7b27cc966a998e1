"""`airpath studio` as a command: how it starts and ends, and what many or deaf clients cost."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from conftest import Outcome, check_error

from airpath.studio import serve

from .client import LONG, Client, cookie_of, goes_on


@pytest.mark.parametrize(
    ("arguments", "key", "cause"),
    [
        (["nothing"], "nothing", "no such scenario"),
        (["EMPTY"], "EMPTY", "holds no finished run"),
    ],
)
def test_what_cannot_be_served_is_said(airpath_command, tmp_path, arguments, key, cause):
    known = {"EMPTY": str(tmp_path)}
    outcome = airpath_command("studio", "--no-browser", *(known.get(own, own) for own in arguments))
    check_error(outcome, known.get(key, key), cause, "")


@pytest.mark.slow
def test_a_port_that_is_taken_is_said():
    with socket.create_server(("127.0.0.1", 0)) as busy:
        command = [sys.executable, "-m", "airpath", "studio", "--port", str(busy.getsockname()[1])]
        ended = subprocess.run([*command, "--no-browser"], capture_output=True, text=True, timeout=20)
    check_error(Outcome(ended.returncode, ended.stdout, ended.stderr), "--port", "cannot be used", "choose")


def test_a_scenario_is_served_and_simulated_without_numpy():
    code = """if True:
        import sys
        from airpath.studio.serve import Studio, simulating
        from airpath.studio.sources import Sources
        sources = Sources(["umts-384"])
        Studio(sources)
        *chunks, run = simulating(sources.open(None), 1)
        assert chunks and run["summary"]["complete"]
        assert "numpy" not in sys.modules
    """
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_without_websockets_it_names_the_command_that_installs_it(airpath_command, monkeypatch):
    monkeypatch.delitem(sys.modules, "airpath.studio.serve")
    for name in [name for name in sys.modules if name.startswith("websockets")]:
        monkeypatch.setitem(sys.modules, name, None)
    outcome = airpath_command("studio")
    check_error(outcome, "studio", "websockets", "python -m pip install 'airpath[studio]'")


class Process:
    """The command as a process."""

    def __init__(self, *arguments: str, **more: Any) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "airpath", "studio", *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            **more,
        )
        self.address = self.process.stdout.readline().strip()
        self.origin = self.address.partition("/?")[0]
        self.port = int(self.origin.rpartition(":")[2])

    def end(self, number: int = signal.SIGINT) -> tuple[int, str]:
        """How it ended, and what it said."""
        self.process.send_signal(number)
        _, said = self.process.communicate(timeout=20)
        return self.process.returncode, said


@pytest.fixture
def process():
    own = Process("--no-browser")
    yield own
    own.process.kill()
    own.process.communicate()


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_ends_it_cleanly_in_the_midst_of_runs(process, number):
    with Client(process, cookie_of(process)) as client:
        for id in range(8):
            client.say("run", id=id, base="hdr-4", set=LONG)
        client.hear()
        assert process.end(number) == (0, "Ctrl-C ends it\n")


@pytest.mark.slow
def test_it_opens_the_browser_unless_refused_by_a_page_that_only_this_user_can_read(tmp_path):
    # The standard library's module starts what BROWSER says. All users see what a browser is started with.
    told = tmp_path / "told"
    (tmp_path / "browser").write_text(f'#!/bin/sh\necho "$1" > {told}.part\nmv {told}.part {told}\n')
    (tmp_path / "browser").chmod(0o755)
    own = Process(env={**os.environ, "BROWSER": f"{tmp_path / 'browser'} %s", "TMPDIR": str(tmp_path)})
    for _ in range(100):
        if told.exists():
            break
        time.sleep(0.05)
    door = Path(told.read_text().strip().removeprefix("file://"))
    assert door.parent.stat().st_mode & 0o077 == 0
    assert f"url={own.address}" in door.read_text()
    assert own.end()[0] == 0
    assert not door.exists()


@pytest.mark.slow
def test_many_connections(process):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(max(soft, 4096), hard), hard))
    cookie = cookie_of(process)
    with contextlib.ExitStack() as stack, Client(process, cookie) as before:
        for _ in range(3 * serve.MOST_CONNECTIONS):
            with contextlib.suppress(ConnectionError):
                stack.enter_context(socket.create_connection(("127.0.0.1", process.port), 10))
        assert before.ask("schema")["id"] == 1
        assert len(os.listdir(f"/proc/{process.process.pid}/fd")) < 2 * serve.MOST_CONNECTIONS + 40
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        with contextlib.suppress(ConnectionError, TimeoutError, EOFError):
            assert goes_on(process, cookie)
            break
        time.sleep(0.1)
    assert process.end() == (0, "Ctrl-C ends it\n")


@pytest.mark.slow
def test_a_client_that_does_not_listen_costs_no_memory_and_holds_up_nobody(process):
    cookie = cookie_of(process)
    with Client(process, cookie, max_queue=1) as deaf, Client(process, cookie) as other:
        before = resident_mb(process)
        for id in range(3):
            deaf.say("run", id=id, base="lundsten-dch", set=LONG)
        for _ in range(10):
            other.run(base="umts-64-simple")
        time.sleep(1)
        assert resident_mb(process) < before + 60
        deaf.socket.socket.close()
    assert process.end()[0] == 0


def resident_mb(process: Process) -> float:
    status = Path(f"/proc/{process.process.pid}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) / 1000
