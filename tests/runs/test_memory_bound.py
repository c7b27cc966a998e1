"""The memory that `airpath run --explain` announces: it is not exceeded, and not many times what is used."""

import subprocess
import sys

import pytest

import airpath
from airpath import _core

TEXT = """\
duration = "2 s"
wired = {{ rate = "1 Gbit/s", delay = "20 ms" }}
{cell}
[[flow]]
ue = "each"
app.bulk = {{}}
"""
AM = "radio.dch = { ues = 400, downlink.rlc.am = {}, uplink.rlc.am = {} }"
CELLS = {
    "dch": "radio.dch.ues = 400",
    "am": AM,
    "variable": "radio.variable.ues = 400",
    "evdo": "radio.evdo.ues = 200",
    "hsdpa": "radio.hsdpa.ues = 200",
    "lte": "radio.lte.ues = 200",
    "nr": "radio.nr.ues = 100",
}
# The peak of the process, since it began to run a program: `ru_maxrss` includes that of its parent.
PROGRAM = """
import re, sys
from airpath import _core

def peak():
    return 1024 * int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1])

text = sys.stdin.read()
before = peak()
simulation = _core.Simulation.on_threads(text, 1, 1)
while not simulation.advance(1.0):
    pass
print(peak() - before)
"""


@pytest.mark.parametrize(
    "kind", ["dch", "am", *(pytest.param(kind, marks=pytest.mark.slow) for kind in list(CELLS)[2:])]
)
def test_a_run_takes_no_more_memory_than_was_announced(kind: str) -> None:
    text = TEXT.format(cell=CELLS[kind])
    bound, words = _core.memory(text)
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM], input=text, capture_output=True, text=True, check=True
    )
    used = int(ran.stdout)
    assert bound / 8 < used <= bound, (used, words)


def test_packets_without_a_window_count_as_many_as_a_run_may_hold() -> None:
    _, words = _core.memory(airpath.load("umts-384", [("flow", "[{ app.cbr = {} }]")]).text)
    assert "no window limits those of app.cbr of UE 0" in words and "4194304 packets" in words
    smaller, words = _core.memory(airpath.load("umts-384", [("flow", "[{ app.bulk = {} }]")]).text)
    assert smaller < 20e6 and "no window" not in words


def test_the_command_tells_the_memory(airpath_command) -> None:
    assert "\nmemory: at most " in airpath_command("run", "umts-384", "--explain").out
