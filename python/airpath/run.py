"""Run a scenario: in memory, or into a folder as it goes.

Both advance the simulation in steps of simulated time. The length of a step follows from how many
events the step before recorded, never from a clock: what is written depends on scenario and seed alone.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from airpath import _core
from airpath.errors import ScenarioError
from airpath.scenario import Scenario, load
from airpath.trace import Events, Trace, concatenate, count_rows

# What `run` records unless told otherwise: everything but single slots and receivers.
DEFAULT_PROBES = ("tcp_state", "rtt_sample", "segment_sent", "bearer_enqueued", "bearer_delivered", "dropped")

# A step of simulated time, in seconds, is halved above and doubled below these numbers of events.
FIRST_STEP_S = 0.25
LONGEST_STEP_S = 8.0
MANY_EVENTS = 100_000
FEW_EVENTS = 10_000
# Captured bytes that count as one event.
BYTES_PER_EVENT = 100


@dataclass(frozen=True)
class Result:
    """What a run gave.

    Attributes
    ----------
    summary : dict
        The content of `results.json`.
    trace : dict of dict of ndarray
        `trace[kind][column]`: one array per column, all of a kind of one length. `time_s` in seconds;
        `tcpi_rtt`, `tcpi_rttvar`, `tcpi_rto`, `rtt_us` in microseconds; `tcpi_snd_cwnd`,
        `tcpi_snd_ssthresh`, `tcpi_unacked`, `send_window` in segments; `seq`, `snd_una`, `rcv_nxt` and
        `*_bytes` in bytes; `queued_sdus` in SDUs; `delay_ns` in nanoseconds; `direction`, `cause` and
        `reason` are words. `airpath list` names all kinds and their columns.
    capture : bytes
        The packets as pcapng, empty unless asked for.
    """

    summary: dict[str, Any]
    trace: Trace = field(repr=False)
    capture: bytes = field(default=b"", repr=False)

    @property
    def flows(self) -> list[dict[str, Any]]:
        """The flows' counters: `goodput_bps` in bit/s, `transfer_s` in seconds, `rtt_ms` in ms."""
        flows: list[dict[str, Any]] = self.summary["flows"]
        return flows


@dataclass(frozen=True)
class Step:
    """What a step of a simulation recorded.

    Attributes
    ----------
    events : dict
        Events by kind, as the core hands them out.
    capture : bytes
        Part of a pcapng file.
    progress : float
        How much of the run is done, 0 to 1.
    """

    events: Events
    capture: bytes
    progress: float


def run(
    scenario: Scenario | str | Path,
    seed: int = 1,
    *,
    probes: Sequence[str] = DEFAULT_PROBES,
    capture: bool = False,
    capture_rlc: bool = False,
    capture_iu: bool = False,
    progress: Callable[[float], None] | None = None,
) -> Result:
    """Run a scenario and keep what it gave in memory.

    Parameters
    ----------
    scenario : Scenario, str or Path
        A scenario, a bundled name or a file.
    seed : int
        Same scenario and seed, same result.
    probes : sequence of str
        Kinds of events to record; `()` records nothing and is fastest.
    capture : bool
        Whether to capture the packets.
    capture_rlc : bool
        Whether to capture the packets, and the PDUs of RLC on an interface of their own, `rlc`.
    capture_iu : bool
        Whether to capture the packets, and the datagrams of GTP-U between SGSN and RNC on an interface of
        their own, `iu`.
    progress : callable, optional
        Called with the share that is done, 0 to 1.

    Raises
    ------
    ScenarioError
        If the scenario, the seed or a probe cannot be used.
    """
    if not isinstance(scenario, Scenario):
        scenario = load(scenario)
    simulation = simulate(scenario, seed, probes, capture, capture_rlc, capture_iu)
    chunks: list[Events] = []
    packets: list[bytes] = []
    for step in steps(simulation):
        chunks.append(step.events)
        packets.append(step.capture)
        if progress:
            progress(step.progress)
    kinds = {kind: columns for kind, columns in _core.probes().items() if kind in probes}
    return Result(json.loads(simulation.results()), concatenate(chunks, kinds), b"".join(packets))


def simulate(
    scenario: Scenario,
    seed: int,
    probes: Sequence[str],
    capture: bool,
    capture_rlc: bool,
    capture_iu: bool,
) -> _core.Simulation:
    """Set a simulation up; see `run` for the parameters."""
    check_seed(seed)
    check_probes(probes)
    return _core.Simulation(scenario.text, seed, list(probes), capture, capture_rlc, capture_iu)


def check_seed(seed: int) -> None:
    """Raise a `ScenarioError` if the random streams cannot have this seed."""
    if not 0 <= seed < 2**64:
        raise ScenarioError("seed", f"{seed} is out of range", "write a whole number from 0 to 2^64 - 1")


def check_probes(probes: Sequence[str]) -> None:
    """Raise a `ScenarioError` if there is no such kind of event."""
    known = list(_core.probes())
    for probe in probes:
        if probe not in known:
            raise ScenarioError("probes", f"there is no probe '{probe}'", f"choose from {', '.join(known)}")


def steps(simulation: _core.Simulation) -> Iterator[Step]:
    """Advance a simulation to its end, handing out what each step recorded."""
    step_s, finished = FIRST_STEP_S, False
    while not finished:
        finished = simulation.advance(step_s)
        events, capture = simulation.take_trace(), simulation.take_capture()
        size = count_rows(events) + len(capture) // BYTES_PER_EVENT
        if size > MANY_EVENTS:
            step_s /= 2
        elif size < FEW_EVENTS:
            step_s = min(2 * step_s, LONGEST_STEP_S)
        yield Step(events, capture, simulation.progress)
