"""A live run that is shown while in progress.

The session's thread adds the driver's messages; threads of the studio's server read them, each at its own
pace. What is kept for the slowest is bounded: the oldest goes, and the run never waits.
"""

from __future__ import annotations

import contextlib
import itertools
import threading
import time
import tomllib
from collections import deque
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from airpath import _core
from airpath.errors import LiveError
from airpath.live.control import ask
from airpath.runs.changes import changes_of, described
from airpath.runs.trace import joined
from airpath.studio.chunks import encode
from airpath.studio.facts import live

if TYPE_CHECKING:
    from airpath.runs.trace import Events
    from airpath.scenario import Scenario

MOST_ROWS = 400_000
"""Maximum events that are kept for late or slow readers."""
MOST_FLOWS = 1000
MOST_VALUE = 40
"""Most characters of a value that a slider has."""
LEAST_WAIT_S = 0.2
"""Least time between two parts for the same browser."""

_FLOW: dict[str, Any] = {
    "app": None,
    "transfer_s": None,
    "goodput_bps": None,
    "bytes_acked": None,
    "bytes_received": None,
    "segments_sent": 0,
    "retransmissions": {},
    "timeouts": None,
    "rtt_ms": None,
    "congestion_control": None,
}
"""What a flow of `results.json` has, as long as it is not counted."""


class Attached:
    """The current state of a live run; `control` is the socket on which it takes changes, if it does."""

    def __init__(self, scenario: Scenario, seed: int, control: Path | None = None) -> None:
        self._control = control
        self._values: dict[str, Any] | None = None
        self._changes: list[dict[str, Any]] = []
        self._scenario, self._parsed, self._seed = scenario, tomllib.loads(scenario.text), seed
        self._what = described(changes_of(scenario))
        self._changed = threading.Condition()
        self._kept: deque[_Piece] = deque()
        self._rows = self._next = 0
        self._now_s, self._is_over = 0.0, False
        self._flows: dict[tuple[int, int], dict[str, Any]] = {}
        self._results: dict[str, Any] | None = None
        self._readers = 0

    def add(self, events: Events) -> None:
        """Take events of the run."""
        rows = sum(len(columns["time_ns"]) for columns in events.values())
        with self._changed:
            self._note_flows(events)
            self._kept.append(_Piece(self._next, rows, events))
            self._next, self._rows = self._next + 1, self._rows + rows
            while self._rows > MOST_ROWS and len(self._kept) > 1:
                self._rows -= self._kept.popleft().rows

    def tick(self, now_s: float) -> None:
        """Take note of how far the run is."""
        with self._changed:
            self._now_s = max(self._now_s, now_s)
            self._changed.notify_all()

    def note(self, changed: Mapping[str, Any]) -> None:
        """Take note of a change: an answer of the driver."""
        with self._changed:
            if values := changed.get("values"):
                self._values = _shown(values)
            if changed.get("elements"):
                self._changes.append({"at_s": changed["at_s"], "what": changed["what"]})

    def change(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Change the run; return the answer of its control socket.

        Raises
        ------
        LiveError
            If it is over or cannot be changed, or if the change is refused.
        """
        if self._control is None or self._is_over:
            what = "the run is over" if self._is_over else "the scenario says itself what changes"
            raise LiveError("change", what, "start another: airpath live --studio")
        answer = ask(self._control, dict(request))
        return answer | {"values": _shown(answer["values"])}

    def end(self, results: dict[str, Any] | None) -> None:
        """Take the results, None if there are none."""
        with self._changed:
            self._is_over, self._results = True, results
            self._changed.notify_all()

    def wait_for_readers(self, most_s: float) -> None:
        """Wait until all who follow the run have its end."""
        with self._changed:
            self._changed.wait_for(lambda: not self._readers, most_s)

    def parts(self) -> Iterator[bytes | dict[str, Any]]:
        """Follow the run: events, then its facts, repeatedly until its end."""
        with self._changed:
            self._readers += 1
        try:
            yield from self._parts()
        finally:
            with self._changed:
                self._readers -= 1
                self._changed.notify_all()

    def _parts(self) -> Iterator[bytes | dict[str, Any]]:
        place, now_s = 0, -1.0
        self._ask_values()
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._is_over or self._now_s > now_s)  # noqa: B023
                now_s, is_over = self._now_s, self._is_over
                fresh = [piece for piece in self._kept if piece.number >= place]
                place = self._next
                told = self._told()
            if fresh:
                yield encode(_as_one([piece.events for piece in fresh]))
            yield told
            if is_over:
                return
            time.sleep(LEAST_WAIT_S)

    def _ask_values(self) -> None:
        """Find out what may change, once the link is up."""
        with self._changed:
            self._changed.wait_for(lambda: self._is_over or self._now_s > 0)
            if self._values is not None or self._control is None or self._is_over:
                return
        with contextlib.suppress(LiveError):
            values = self.change({})["values"]
            with self._changed:
                self._values = self._values or values

    def _told(self) -> dict[str, Any]:
        if self._results is not None:
            return live(self._scenario, self._parsed, self._results, self._what, goes_on=False)
        flows = [
            {**_FLOW, "ue": ue, "flow": flow, "direction": known["direction"], "start_s": known["start_s"]}
            | {"bytes_received": sum(known["carried"].values())}
            for (ue, flow), known in sorted(self._flows.items())
        ]
        summary = {
            "seed": self._seed,
            "simulated_s": self._now_s,
            "complete": False,
            "flows": flows,
            "elements": [],
            "changes": list(self._changes),
            "live": {},
        }
        told = live(self._scenario, self._parsed, summary, self._what, goes_on=not self._is_over)
        return told | ({"steered": self._values} if self._values and not self._is_over else {})

    def _note_flows(self, events: Events) -> None:
        """Find out which flows there are: their data go the way that has most bytes."""
        columns: Any = events.get("bearer_enqueued")
        if columns is None or not len(columns["time_ns"]):
            return
        ways, words = columns["direction"]
        table = np.stack([columns["ue"], columns["flow"], ways.astype(np.uint64)])
        for ue, flow, way in np.unique(table, axis=1).T.tolist():
            chosen = (table == np.array([[ue], [flow], [way]])).all(axis=0)
            if (ue, flow) not in self._flows and len(self._flows) >= MOST_FLOWS:
                continue
            begin = int(columns["time_ns"][chosen][0]) / 1e9
            known = self._flows.setdefault(
                (ue, flow), {"start_s": begin, "carried": dict.fromkeys(("downlink", "uplink"), 0)}
            )
            known["carried"][words[way]] += int(columns["len_bytes"][chosen].sum())
            known["direction"] = max(known["carried"], key=lambda word: known["carried"][word])


def _shown(values: Mapping[str, Any]) -> dict[str, Any]:
    """Leave out values that no slider has: lists, and the text of a trace."""
    fits = {key: value for key, value in values.items() if not isinstance(value, list | dict)}
    return {key: value for key, value in fits.items() if len(str(value)) <= MOST_VALUE}


class _Piece(NamedTuple):
    number: int
    rows: int
    events: Events


def _as_one(pieces: list[Events]) -> Events:
    """Join pieces of a trace."""
    columns: Mapping[str, list[str]] = _core.probes()
    kinds = dict.fromkeys(itertools.chain(*pieces))
    return {
        kind: joined([events[kind] for events in pieces if kind in events], columns[kind]) for kind in kinds
    }
