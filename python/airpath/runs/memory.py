"""Runs a scenario in memory.

The simulation advances in steps of simulated time. The length of a step depends on the number of events in
the step before, never on a clock, so that the output depends on scenario and seed alone.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airpath import _core
from airpath.errors import ScenarioError
from airpath.progress import OnProgress, reporting
from airpath.runs.changes import titled
from airpath.runs.renamed import current
from airpath.scenario import Scenario, load

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

    from airpath.runs.picture import RunPicture
    from airpath.runs.trace import Events, Trace

# Probes of `run` by default: all except single slots and receivers.
DEFAULT_PROBES = ("tcp_state", "rtt_sample", "segment_sent", "bearer_enqueued", "bearer_delivered", "dropped")

# Kinds with a row for each packet at each place, or for each SDU: a run's folder has them only on request.
FINE_PROBES = ("packet", "rlc_sdu")

# A step of simulated time, in seconds, is halved above and doubled below these numbers of events.
FIRST_STEP_S = 0.25
LONGEST_STEP_S = 8.0
MOST_THREADS = 256
MANY_EVENTS = 100_000
FEW_EVENTS = 10_000
# Events are made into columns when there are so many: a few take as long as many.
TAKEN_EVENTS = 50_000
# Captured bytes that count as one event.
BYTES_PER_EVENT = 100


@dataclass(frozen=True, repr=False)
class Result:
    """Results of a run.

    Attributes
    ----------
    summary : dict
        The content of `results.json`.
    trace : dict of dict of ndarray
        `trace[kind][column]`: one array per column, those of a kind with the same length. `time_s` in
        seconds; `tcpi_rtt`, `tcpi_rttvar`, `tcpi_rto`, `rtt_us` in microseconds; `tcpi_snd_cwnd`,
        `tcpi_snd_ssthresh`, `tcpi_unacked`, `send_window` in segments; `seq`, `snd_una`, `rcv_nxt` and
        `*_bytes` in bytes; `queued_sdus` in SDUs; `delay_ns` in nanoseconds; `direction`, `cause` and
        `reason` are words. `airpath list` names all kinds and their columns.
    scenario : Scenario
        What was run.
    capture : bytes
        The packets as pcapng, empty unless asked for.
    """

    summary: dict[str, Any]
    trace: Trace
    scenario: Scenario
    capture: bytes = b""

    @property
    def flows(self) -> list[dict[str, Any]]:
        """Counters of the flows: `goodput_bps` in bit/s, `transfer_s` in seconds, `rtt_ms` in ms."""
        flows: list[dict[str, Any]] = self.summary["flows"]
        return flows

    def plot(self) -> RunPicture:
        """Draw windows, round-trip times, buffer and sequence numbers over time, where recorded.

        Returns
        -------
        RunPicture
            A notebook shows it; it has `save`, `draw` (a matplotlib figure) and the numbers in `data`.
        """
        from airpath.runs.picture import picture_of
        from airpath.runs.trace import raw

        title = titled(self.scenario, self.summary["seed"])
        return picture_of([raw(self.trace)], self.summary, tomllib.loads(self.scenario.text), title)

    def to_arrow(self) -> pa.Table:
        """All events of the trace as one table, ordered by time; those of one instant are ordered by kind.

        Columns are `time_s`, `event`, and those of all recorded kinds, with nulls where an event does
        not have a column; each field says its unit in its metadata.
        """
        from airpath.runs.trace import side_by_side, tables_of

        return side_by_side(tables_of(self.trace))

    def to_pandas(self) -> pd.DataFrame:
        """Make a pandas data frame of `to_arrow`.

        Raises
        ------
        ImportError
            If pandas is not installed.
        """
        try:
            import pandas  # noqa: F401
        except ImportError as error:
            hint = "install it with 'pip install pandas', or use to_arrow()"
            raise ImportError(f"to_pandas() needs pandas, which is not installed; {hint}") from error
        frame: pd.DataFrame = self.to_arrow().to_pandas()
        return frame

    def __repr__(self) -> str:
        seed, end_s = self.summary["seed"], self.summary["simulated_s"]
        return f"Result({self.scenario.name!r}, seed={seed}, flows={len(self.flows)}, simulated_s={end_s:g})"

    def _repr_html_(self) -> str:
        """Show a row for each flow, and the picture of the run."""
        from airpath.notebook import MOST_FLOWS, image, number, table
        from airpath.runs.flows import flow_names

        names = flow_names(self.summary, tomllib.loads(self.scenario.text))
        rows = [
            (
                name,
                flow["direction"],
                number(flow["goodput_bps"] / 1e3),
                number(flow["rtt_ms"]["mean"]),
                str(flow["retransmissions"]["total"]),
                str(flow["timeouts"]),
                number(flow["transfer_s"]),
            )
            for name, flow in zip(names, self.flows, strict=True)
        ]
        heads = ("flow", "direction", "goodput kbit/s", "RTT ms", "retransmissions", "timeouts", "transfer s")
        more = len(rows) - MOST_FLOWS
        title = f"{titled(self.scenario, self.summary['seed'])}: {number(self.summary['simulated_s'])} s"
        shown = table(title, heads, rows[:MOST_FLOWS], f"and {more} more in .flows" if more > 0 else "")
        has_events = any(len(columns["time_s"]) for columns in self.trace.values())
        return shown + (image(self.plot()) if has_events else "")


def run(
    scenario: Scenario | str | Path,
    seed: int = 1,
    *,
    probes: Sequence[str] = DEFAULT_PROBES,
    capture: bool = False,
    capture_rlc: bool = False,
    capture_iu: bool = False,
    threads: int = 1,
    progress: bool | OnProgress | None = None,
) -> Result:
    """Run a scenario and keep results and trace in memory.

    Parameters
    ----------
    scenario : Scenario, str or Path
        A scenario, a bundled name or a file.
    seed : int
        Seed of the random streams.
    probes : sequence of str
        Kinds of events to record; `()` records nothing and is fastest.
    capture : bool
        Whether to capture the packets.
    capture_rlc : bool
        Whether to capture the packets, and RLC PDUs on an interface `rlc`.
    capture_iu : bool
        Whether to capture the packets, and the GTP-U datagrams between SGSN and RNC on an interface `iu`.
    threads : int
        Threads to run on, where the scenario can be cut into regions; results do not depend on it.
    progress : bool or callable, optional
        True shows a bar, on a terminal or in a notebook; a function is called with the share done, 0 to 1.

    Raises
    ------
    ScenarioError
        If the scenario, the seed or a probe cannot be used.
    """
    if not isinstance(scenario, Scenario):
        scenario = load(scenario)
    simulation = simulate(scenario, seed, probes, capture, capture_rlc, capture_iu, threads=threads)
    chunks: list[Events] = []
    packets: list[bytes] = []
    with reporting(progress, f"{scenario.name}, seed {seed}") as report:
        for events, part, done in steps(simulation):
            chunks.append(events)
            packets.append(part)
            report(done)
    trace: Trace = {}
    if probes:
        from airpath.runs.trace import concatenate

        trace = concatenate(
            chunks, {kind: columns for kind, columns in _core.probes().items() if kind in probes}
        )
    return Result(current(json.loads(simulation.results())), trace, scenario, b"".join(packets))


def simulate(
    scenario: Scenario,
    seed: int,
    probes: Sequence[str],
    capture: bool = False,
    capture_rlc: bool = False,
    capture_iu: bool = False,
    *,
    waterfall: bool = False,
    threads: int = 1,
) -> _core.Simulation:
    """Prepare a simulation, for arguments as of `run`.

    With `waterfall` the packets are analyzed as they are captured, and not handed out.
    """
    check_seed(seed)
    check_probes(probes)
    if not 1 <= threads <= MOST_THREADS:
        raise ScenarioError(
            "threads", f"{threads} is out of range", f"write a number from 1 to {MOST_THREADS}"
        )
    if threads > 1 and not (probes or capture or capture_rlc or capture_iu or waterfall):
        return _core.Simulation.on_threads(scenario.text, seed, threads)
    return _core.Simulation(scenario.text, seed, list(probes), capture, capture_rlc, capture_iu, waterfall)


def coarse_probes() -> list[str]:
    """Kinds of event that a run's folder has by default: all except `FINE_PROBES`."""
    return [kind for kind in _core.probes() if kind not in FINE_PROBES]


def check_seed(seed: int) -> None:
    """Raise a `ScenarioError` if the seed is out of range."""
    if not 0 <= seed < 2**64:
        raise ScenarioError("seed", f"{seed} is out of range", "write a whole number from 0 to 2^64 - 1")


def check_probes(probes: Sequence[str]) -> None:
    """Raise a `ScenarioError` if there is no such kind of event."""
    if isinstance(probes, str):  # Its characters would be taken for kinds.
        raise ScenarioError("probes", f"'{probes}' is a text", 'write a list, such as ["rtt_sample"]')
    known = list(_core.probes())
    for probe in probes:
        if probe not in known:
            raise ScenarioError("probes", f"there is no probe '{probe}'", f"choose from {', '.join(known)}")


def steps(
    simulation: _core.Simulation, is_ended: Callable[[], bool] = lambda: False
) -> Iterator[tuple[Events, bytes, float]]:
    """Advance a simulation to its end, or until it is ended early, step by step.

    Yields the events of the next few steps, part of the pcapng file, and the share done.
    """
    pace, finished, waiting = Pace(), False, 0
    while not finished:
        finished = simulation.advance(pace.step_s) or is_ended()
        capture, recorded = simulation.take_capture(), simulation.recorded
        pace.go_on(recorded - waiting + len(capture) // BYTES_PER_EVENT)
        events = simulation.take_trace() if finished or recorded >= TAKEN_EVENTS else {}
        waiting = simulation.recorded
        yield events, capture, simulation.progress


class Pace:
    """How far a simulation goes in a step, `step_s` seconds: so that it has neither many nor few events."""

    def __init__(self) -> None:
        self.step_s = FIRST_STEP_S

    def go_on(self, events: int) -> None:
        """Choose the next step from the event count of the last one."""
        if events > MANY_EVENTS:
            self.step_s /= 2
        elif events < FEW_EVENTS:
            self.step_s = min(2 * self.step_s, LONGEST_STEP_S)
