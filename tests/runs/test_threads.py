"""Runs on several threads: the results of one thread to the byte, why not; and what other threads do."""

import sys
import threading
import time

import pytest

import airpath
from airpath import ScenarioError, _core
from airpath.runs.memory import simulate
from airpath.scenario import Scenario

MANY = Scenario(
    "many",
    """\
duration = "3 s"
wired = { rate = "20 Mbit/s", delay = "20 ms", loss = "1 %" }
radio.dch = { ues = 240, downlink.delay = "30 ms" }
[[flow]]
ue = "each"
stagger = "1 ms"
app.bulk = {}
""",
)


def results(threads: int, step_s: float, probes: list[str]) -> str:
    simulation = simulate(MANY, 1, probes, threads=threads)
    while not simulation.advance(step_s):
        pass
    return simulation.results()


def test_results_do_not_depend_on_threads_nor_on_steps() -> None:
    in_one_piece = results(1, 8.0, ["outage"])
    for threads in (1, 2, 3):
        for step_s in (8.0, 0.4):
            assert results(threads, step_s, []) == in_one_piece, (threads, step_s)


def test_the_reason_is_told_where_there_are_no_regions() -> None:
    assert _core.explain(MANY.text, 2) == (
        True,
        "each UE's bearers and ends are a region, with the wired link between",
    )
    is_cut, words = _core.explain(MANY.text, 2, observed=True)
    assert not is_cut and "probes" in words
    is_cut, words = _core.explain(airpath.load("lte-10mhz").text, 2)
    assert not is_cut and words


@pytest.mark.parametrize("threads", [0, -1, 257])
def test_a_number_of_threads_that_cannot_be_is_refused(threads: int) -> None:
    with pytest.raises(ScenarioError, match="threads"):
        airpath.run("umts-384", threads=threads)


def test_the_command_says_how_a_run_is_made(airpath_command):
    assert airpath_command("run", "two-cells", "--threads", "2", "--explain").out.startswith(
        "two-cells is run in "
    )
    outcome = airpath_command("run", "umts-384", "--threads", "2")
    assert outcome.code == 0 and "run in one piece, on one thread: " in outcome.err


@pytest.fixture
def other_thread():
    """Times at which another thread ran: never unless this one gives up the interpreter's lock by itself."""
    times, is_over, interval = [0.0], threading.Event(), sys.getswitchinterval()

    def run() -> None:
        while not is_over.is_set():
            times.append(time.monotonic())
            time.sleep(0.001)

    thread = threading.Thread(target=run)
    sys.setswitchinterval(60)
    thread.start()
    yield times
    is_over.set()
    thread.join()
    sys.setswitchinterval(interval)


@pytest.mark.parametrize(
    "build",
    [
        lambda text: _core.Simulation(text, 1),
        lambda text: _core.Simulation.on_threads(text, 1, 2),
        _core.tables_of,
        lambda text: _core.Net(text, 1),
        lambda text: _core.Steered(text, 0, 1_000_000),
    ],
    ids=["run", "run on threads", "tables", "net", "steered"],
)
def test_other_threads_of_a_program_go_on_while_a_run_is_built(build, other_thread):
    tcp = {"profile": "linux", "cc": "constant"}
    text = MANY.with_("radio.dch.ues", 20_000).with_("tcp", tcp).text
    ran = len(other_thread)
    build(text)
    assert len(other_thread) > ran + 1
