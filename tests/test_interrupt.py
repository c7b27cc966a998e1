"""Ctrl-C as an exception that waits for the end of an import."""

import _thread
import signal
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
