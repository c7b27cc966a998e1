"""Following a live run: what late readers get, and the facts known in between."""

from __future__ import annotations

import json
import selectors
import threading
from pathlib import Path

import numpy as np
import pytest

import airpath
from airpath.live.control import Control
from airpath.runs import memory
from airpath.runs.memory import simulate
from airpath.studio import attach
from airpath.studio.attach import Attached
from studio.test_chunks import decoded

PROBES = ("bearer_enqueued", "rlc_sdu", "packet")


@pytest.fixture(scope="module")
def pieces():
    """Events of a run in the pieces in which they came, and the share of the time of each."""
    simulation = simulate(airpath.load("umts-384").with_("duration", "20 s"), 1, PROBES)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(memory, "TAKEN_EVENTS", 1)
        return [(events, simulation.now_s) for events, _, _ in memory.steps(simulation)]


@pytest.fixture
def attached(monkeypatch):
    monkeypatch.setattr(attach, "LEAST_WAIT_S", 0)
    return Attached(airpath.load("umts-384"), 1)


def whole(parts):
    """All events of a stream, and the facts about the run."""
    events, told = {}, []
    for part in parts:
        if isinstance(part, dict):
            told.append(part)
            continue
        for kind, columns in decoded(part).items():
            for name, values in columns.items():
                events.setdefault(kind, {}).setdefault(name, []).extend(values)
    return events, told


def entered(events):
    """When each SDU that was sent had entered the buffer."""
    sdus, came = events["rlc_sdu"], events["bearer_enqueued"]
    times = dict(zip(came["packet"], came["time_ns"], strict=True))
    return {
        (time, way, first): times[packet]
        for time, way, first, packet in zip(
            *(sdus[name] for name in ("time_ns", "direction", "first_sn", "packet")), strict=True
        )
        if packet in times
    }


def test_who_follows_from_the_begin_gets_everything(attached, pieces):
    streams = []
    reader = threading.Thread(target=lambda: streams.append(whole(attached.parts())))
    reader.start()
    for events, now_s in pieces:
        attached.add(events)
        attached.tick(now_s)
    attached.end(None)
    attached.wait_for_readers(10)
    reader.join(10)
    (events, told), late = streams[0], whole(attached.parts())[0]
    assert events == late
    for kind in PROBES:
        rows = sum(len(own[kind]["time_ns"]) for own, _ in pieces if kind in own)
        assert len(events[kind]["time_ns"]) == rows
    assert [own["goes_on"] for own in told][-1] is False and told[-1]["summary"]["simulated_s"] == 20
    (flow,) = told[-1]["summary"]["flows"]
    assert (flow["ue"], flow["flow"], flow["direction"]) == (0, 0, "downlink")
    assert flow["start_s"] < 1 and flow["bytes_received"] > 500_000
    assert told[-1]["names"] == ["UE 0"] and told[-1]["chosen"] == [0]
    json.dumps(told)


def test_who_comes_late_gets_the_latest_and_sdus_keep_their_packets(attached, pieces, monkeypatch):
    for events, now_s in pieces:
        attached.add(events)
        attached.tick(now_s)
    everything = entered(whole_of(attached))
    monkeypatch.setattr(attach, "MOST_ROWS", 4000)
    attached.add({})
    late = whole_of(attached)
    assert 300 < len(late["bearer_enqueued"]["time_ns"]) < len(everything)
    known = entered(late)
    assert len(known) > 100 and all(everything[sdu] == came for sdu, came in known.items())


def whole_of(attached):
    """What one gets who comes now."""
    attached.end(None)
    events, _ = whole(attached.parts())
    return events


def test_at_the_end_the_results_are_told(attached):
    summary = airpath.run("umts-64-simple", probes=()).summary
    attached.end(summary | {"live": {}})
    ((last),) = attached.parts()
    assert last["goes_on"] is False and last["summary"]["flows"] == summary["flows"]
    assert last["path"] == ["server", "link", "radio.dch", "ue"]


def test_flows_beyond_those_that_are_told_apart_are_left_out(attached, monkeypatch):
    monkeypatch.setattr(attach, "MOST_FLOWS", 2)
    columns = ("time_ns", "bearer", "packet", "len_bytes", "queued_sdus", "queued_bytes")
    numbers = {name: np.array([5, 5, 5, 5], np.uint64) for name in columns}
    numbers["len_bytes"][1] = 6
    flows = {"ue": np.zeros(4, np.uint64), "flow": np.array([0, 1, 2, 1], np.uint64)}
    attached.add(
        {
            "bearer_enqueued": {
                **numbers,
                **flows,
                "direction": (np.array([0, 0, 0, 1]), ["uplink", "downlink"]),
            }
        }
    )
    attached.end(None)
    *_, told = attached.parts()
    assert [(flow["flow"], flow["direction"]) for flow in told["summary"]["flows"]] == [
        (0, "uplink"),
        (1, "uplink"),
    ]


class Driver:
    """A driver of a link that may be changed, which answers at once, and its control socket."""

    def __init__(self, path: Path, attached: Attached) -> None:
        self.asked: list[dict] = []
        self._attached, self._control = attached, Control(path)
        self._control.connect(self._take)
        self._is_over = False
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def _take(self, request: dict) -> None:
        change = request["change"]["change"]
        self.asked.append(change)
        values = {"wired.rate": "1 Mbit/s", "radio.variable.downlink.trace": "1\n" * 99, "list": [1]}
        status = {"id": request["change"]["id"], "at_s": 1.5, "what": "words", "elements": len(change)}
        status["values"] = values | change.get("set", {})
        self._control.answer(status)
        self._attached.note(status)

    def _serve(self) -> None:
        with selectors.DefaultSelector() as selector:
            selector.register(self._control, selectors.EVENT_READ)
            while not self._is_over:
                if selector.select(0.01):
                    self._control.handle()

    def end(self) -> None:
        self._is_over = True
        self._thread.join()
        self._control.close()


def test_a_run_says_what_may_change_and_what_has_changed(tmp_path):
    attached = Attached(airpath.load("umts-384"), 1, tmp_path / "control")
    driver = Driver(tmp_path / "control", attached)
    try:
        attached.tick(1)
        parts = attached.parts()
        # What no slider has is left out.
        assert next(parts)["steered"] == {"wired.rate": "1 Mbit/s"}
        answer = attached.change({"set": {"wired.rate": "2 Mbit/s"}})
        assert answer["elements"] == 1 and answer["values"] == {"wired.rate": "2 Mbit/s"}
        attached.tick(2)
        told = next(parts)
        assert told["steered"] == {"wired.rate": "2 Mbit/s"}
        assert told["summary"]["changes"] == [{"at_s": 1.5, "what": "words"}]
        assert driver.asked == [{}, {"set": {"wired.rate": "2 Mbit/s"}}]
        attached.end(None)
        assert "steered" not in next(parts)
        with pytest.raises(airpath.LiveError, match="the run is over"):
            attached.change({"pause": True})
    finally:
        driver.end()


def test_a_run_that_changes_by_itself_takes_no_change(attached):
    with pytest.raises(airpath.LiveError, match="says itself what changes"):
        attached.change({"pause": True})
    attached.tick(1)
    assert "steered" not in next(attached.parts())
