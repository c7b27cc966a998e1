"""Requests of the control socket that no driver could read: each is refused at once, and harms nothing."""

from __future__ import annotations

import json
import socket
from typing import Any

import pytest

from airpath.errors import LiveError
from airpath.live import control as of_control
from airpath.live.control import Control, ask


def answers(control: Control, path: Any, line: bytes) -> tuple[dict[str, Any], list[Any]]:
    """Send a line; return the answer, and what the driver was sent."""
    sent: list[Any] = []
    control.connect(sent.append)
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(str(path))
        client.sendall(line + b"\n")
        client.setblocking(False)
        for _ in range(1000):
            control.handle()
            if sent:
                return {}, sent
            try:
                return json.loads(client.recv(1 << 16)), sent
            except BlockingIOError:
                pass
    raise AssertionError("no answer")


@pytest.fixture
def path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # A socket has a short path.
    return "control"


@pytest.fixture
def control(path):
    control = Control(of_control.Path(path))
    yield control
    control.close()


@pytest.mark.parametrize(
    ("line", "key"),
    [
        (b"[" * 100_000, ""),
        (b'{"set": {"wired.rate": ' + b"[" * 100 + b"]" * 100 + b"}}", "set"),
        (b'{"set": {"wired.rate": NaN}}', ""),
        (b'{"set": {"wired.rate": 1e999}}', "set"),
        (b'{"set": {"wired.rate": 9223372036854775808}}', "set"),
        (b'{"set": {"wired": {"rate": null}}}', "set"),
        (b'{"set": {"wired.rate": "\\ud800"}}', ""),
        (b'{"set": {"wired.rate": "\xff"}}', ""),
        (b'{"outage": "-3s"}', "outage"),
        (b'{"outage": "3"}', "outage"),
        (b'{"outage": "9999999999 h"}', "outage"),
        (b'{"outage": 3}', "outage"),
    ],
)
def test_a_request_that_no_driver_could_read_is_refused(control, path, line, key):
    answer, sent = answers(control, path, line)
    assert answer["key"] == key and answer["error"] and answer["hint"]
    assert not sent
    assert answers(control, path, b'{"outage": "3 s"}')[1]


def test_a_link_that_does_not_answer_is_told_from_none(control, path, monkeypatch):
    monkeypatch.setattr(of_control, "PATIENCE_S", 0.1)
    with pytest.raises(LiveError, match="did not answer"):
        ask(path, {})
    control.close()
    with pytest.raises(LiveError, match="no link at"):
        ask(path, {})
