"""Ctrl-C as an exception that waits for the end of an import."""

import _thread
import signal
import socket
import subprocess
import sys
import time

import pytest

from airpath.interrupt import interrupt

PRESSES = """
import _thread, time

_thread.interrupt_main()
time.sleep(0.05)
IS_WHOLE = True
"""


@pytest.fixture
def handled():
    before = signal.signal(signal.SIGINT, interrupt)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("handled")
def test_ctrl_c_waits_for_the_end_of_an_import(tmp_path, monkeypatch):
    (tmp_path / "presses_ctrl_c.py").write_text(PRESSES)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(KeyboardInterrupt):
        import presses_ctrl_c  # noqa: F401

        time.sleep(1)
        pytest.fail("the wait was not ended")
    assert sys.modules["presses_ctrl_c"].IS_WHOLE


@pytest.mark.usefixtures("handled")
def test_ctrl_c_outside_of_an_import_is_an_exception_at_once():
    with pytest.raises(KeyboardInterrupt):
        _thread.interrupt_main()


@pytest.mark.parametrize("number", [signal.SIGTERM, pytest.param(signal.SIGHUP, marks=pytest.mark.slow)])
def test_a_command_that_a_signal_ends_says_so_by_its_status(number):
    # It waits for a client, and has no handlers of its own.
    serve = [sys.executable, "-m", "airpath", "record", "--serve", "--address", "127.0.0.1", "--port"]
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    with subprocess.Popen(
        [*serve, port], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None and process.stderr is not None
        assert process.stdout.readline()
        process.send_signal(number)
        assert process.wait(60) == 130
        assert "Traceback" not in process.stderr.read()
