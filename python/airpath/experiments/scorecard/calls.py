"""Rate controllers of calls in the test cases of RFC 8867, and in LTE cells after RFC 8869.

A case is a scenario as plain data, and criteria: a number of the run and its limit. The RFCs fix links, flows
and times, and say in words what is expected of a candidate. ASSUMED: every limit below; they are the same for
all controllers.

Left out: RFC 8867 5.5 (flows of different RTT), and RFC 8869's deployments of 21 cells with positions.
"""

from __future__ import annotations

import json
import math
import tomllib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean, pstdev
from typing import Any

from airpath import _core
from airpath.errors import ScenarioError
from airpath.experiments.replicate import simulation_of
from airpath.experiments.scorecard.conditions import lte
from airpath.runner.threads import run_here
from airpath.runner.wanted import Once
from airpath.scenario import Scenario, inline
from airpath.stats.estimate import Estimate, estimate

Data = dict[str, Any]
Read = Callable[[list[Data]], float]
"""Reads a number from the flows of a run, in the order of the scenario."""

RUNS = 10
"""Runs of each case, unless told otherwise."""
PASSED, UNCLEAR, FAILED = VERDICTS = ("passed", "unclear", "failed")

ONE_WAY_MS = 50
"""One-way delay of the reference path: RFC 8867, 4.2."""
BUFFER_S = 0.3
"""Depth of the drop-tail queue at the reference path: RFC 8867, 4.2."""
NOTHING_MS = 60_000.0
"""Frame delay of a call of which no frame arrived."""


@dataclass(frozen=True)
class Criterion:
    """A number of a run and its limit.

    Attributes
    ----------
    title, unit : str
        What it is called.
    read : callable
        Reads it from the flows.
    limit : float
        In the unit; the largest or the smallest value that passes.
    is_most : bool
        Whether the limit is the largest value that passes.
    """

    title: str
    unit: str
    read: Read
    limit: float
    is_most: bool = True

    def verdict(self, value: Estimate) -> str:
        """Judge the whole confidence interval: "passed", "failed", or "unclear" if the limit is inside."""
        within = [
            end <= self.limit if self.is_most else end >= self.limit for end in (value.ci_low, value.ci_high)
        ]
        if len(value.values) == 1:
            within = [value.mean <= self.limit if self.is_most else value.mean >= self.limit] * 2
        return PASSED if all(within) else UNCLEAR if any(within) else FAILED


@dataclass(frozen=True)
class Case:
    """A test case of an RFC."""

    name: str
    section: str
    says: str
    scenario: Data
    criteria: tuple[Criterion, ...]


@dataclass(frozen=True)
class Score:
    """A criterion of a case with what was measured."""

    case: Case
    criterion: Criterion
    value: Estimate

    @property
    def verdict(self) -> str:
        """Whether the criterion is met."""
        return self.criterion.verdict(self.value)


@dataclass(frozen=True)
class Card:
    """All scores of a controller; `controller` is its table in a scenario, every default written out."""

    name: str
    controller: Data
    seeds: range
    scores: tuple[Score, ...]

    def counts(self) -> dict[str, int]:
        """How often there is each verdict."""
        found = [score.verdict for score in self.scores]
        return {verdict: found.count(verdict) for verdict in VERDICTS}


def media(flow: Data, direction: str = "downlink") -> Data:
    """One direction of a call, as in `results.json`."""
    found: Data = flow["call"][direction]
    return found


def rate(flow: Data, from_s: int, to_s: int, direction: str = "downlink") -> float:
    """Mean received rate between two seconds of a call, Mbit/s; audio and repairs included."""
    part = media(flow, direction)["receiver"]["received_bps_per_second"][from_s:to_s]
    return fmean(part) / 1e6 if part else 0.0


def _used(
    capacity: float, from_s: int, to_s: int, calls: Sequence[int] = (0,), least: float = 50.0
) -> Criterion:
    def read(flows: list[Data]) -> float:
        started = [int(flows[at]["start_s"]) for at in calls]
        rates = (
            rate(flows[at], from_s - start, to_s - start) for at, start in zip(calls, started, strict=True)
        )
        return 100 * sum(rates) / capacity

    return Criterion(f"capacity used, {from_s} to {to_s} s", "%", read, least, is_most=False)


def _delay(
    calls: Sequence[int] = (0,), most_ms: float = 400.0, direction: str = "downlink", note: str = ""
) -> Criterion:
    """Frame delay: RFC 8868 (5) counts what is later than 400 ms one way as lost."""

    def read(flows: list[Data]) -> float:
        delays = [media(flows[at], direction)["receiver"]["frame_delay_ms"]["p95"] for at in calls]
        return max(NOTHING_MS if delay is None else float(delay) for delay in delays)

    return Criterion(f"frame delay, 95th percentile{note}", "ms", read, most_ms)


def _freezes(
    duration_s: float,
    calls: Sequence[int] = (0,),
    most: float = 2.0,
    direction: str = "downlink",
    note: str = "",
) -> Criterion:
    def read(flows: list[Data]) -> float:
        frozen_s: list[float] = [media(flows[at], direction)["receiver"]["freeze_s"] for at in calls]
        return 100 * max(frozen_s) / duration_s

    return Criterion(f"time frozen{note}", "%", read, most)


def _rises(capacity: float, until_s: int, most_s: float, share: float = 0.7) -> Criterion:
    """Time to converge: until a share of the capacity arrives."""

    def read(flows: list[Data]) -> float:
        received = media(flows[0])["receiver"]["received_bps_per_second"][:until_s]
        wanted = share * capacity * 1e6
        return float(next((at for at, bps in enumerate(received) if bps >= wanted), until_s))

    return Criterion(f"time to {100 * share:.0f} % of {capacity:g} Mbit/s", "s", read, most_s)


def _varies(from_s: int, to_s: int, most: float = 25.0) -> Criterion:
    """Rate variation: standard deviation of the rate in each second, of its mean."""

    def read(flows: list[Data]) -> float:
        received = media(flows[0])["receiver"]["received_bps_per_second"][from_s:to_s]
        return 100 * pstdev(received) / fmean(received) if received and fmean(received) else 100.0

    return Criterion(f"variation of the rate, {from_s} to {to_s} s", "%", read, most)


def _mean_rate(calls: Sequence[int], least: float, direction: str) -> Criterion:
    """Mean rate of calls from their second second on, Mbit/s."""

    def read(flows: list[Data]) -> float:
        return fmean(rate(flows[at], 2, 10**6, direction) for at in calls)

    return Criterion(f"rate of a call, {direction}", "Mbit/s", read, least, is_most=False)


def _both(duration_s: float, calls: Sequence[int], least: float, frozen: float) -> tuple[Criterion, ...]:
    """Rate, delay and freezes in both directions."""
    return tuple(
        criterion
        for direction in ("downlink", "uplink")
        for criterion in (
            _mean_rate(calls, least, direction),
            _delay(calls, direction=direction, note=f", {direction}"),
            _freezes(duration_s, calls, frozen, direction, f", {direction}"),
        )
    )


def _lost(calls: Sequence[int] = (0,), most: float = 5.0) -> Criterion:
    def read(flows: list[Data]) -> float:
        reports = [flows[at]["datagrams"] for at in calls]
        lost: int = sum(report["lost"] for report in reports)
        sent: int = sum(report["sent"] for report in reports)
        return 100 * lost / max(1, sent)

    return Criterion("packets lost", "%", read, most)


def _feedback(most: float = 10.0) -> Criterion:
    def read(flows: list[Data]) -> float:
        found = media(flows[0])
        seconds = len(found["receiver"]["received_bps_per_second"])
        sent = found["receiver"]["received_bps"] * seconds / 8
        return 100 * found["receiver"]["feedback_bytes"] / sent if sent else 100.0

    return Criterion("feedback, of the media received", "%", read, most)


def _jain(calls: Sequence[int], from_s: int, to_s: int, least: float = 80.0) -> Criterion:
    def read(flows: list[Data]) -> float:
        starts = [int(flows[at]["start_s"]) for at in calls]
        rates = [
            rate(flows[at], from_s - start, to_s - start) for at, start in zip(calls, starts, strict=True)
        ]
        squares = sum(each * each for each in rates)
        return 100 * sum(rates) ** 2 / (len(rates) * squares) if squares else 0.0

    return Criterion(f"Jain's index of the calls, {from_s} to {to_s} s", "%", read, least, is_most=False)


def _settles(step_s: int, capacity: float, most_s: float = 10.0) -> Criterion:
    """Time from a step down until the target stays below the new capacity."""

    def read(flows: list[Data]) -> float:
        targets = media(flows[0])["sender"]["target_bps_per_second"][step_s : step_s + 20]
        above = [second for second, target in enumerate(targets) if target > capacity * 1e6]
        return float(above[-1] + 1 if above else 0)

    return Criterion(f"target below the capacity after the step at {step_s} s", "s", read, most_s)


def _path(
    *flows: Data,
    steps: Sequence[tuple[float, float]],
    duration_s: float,
    back: Sequence[tuple[float, float]] | None = None,
) -> Data:
    """The reference path: capacities in Mbit/s from times in seconds on, forward and back."""

    def half(steps: Sequence[tuple[float, float]]) -> Data:
        rows = "".join(f"{at:g},{mbps * 1000:g}\n" for at, mbps in steps)
        octets = min(mbps for _, mbps in steps) * 1e6 * BUFFER_S / 8
        return {
            "delay": f"{ONE_WAY_MS / 2:g} ms",
            "channel": {"series": {"rows": f"time_s,rate_kbps\n{rows}"}},
            "queue": {"droptail": {"packets": "absent", "bytes": f"{octets:.0f} B"}},
        }

    return {
        "duration": f"{duration_s:g} s",
        "wired": {"delay": f"{ONE_WAY_MS / 2:g} ms"},
        "radio": {"variable": {"downlink": half(steps), "uplink": half(back or [(0, 100)])}},
        "flow": list(flows),
    }


def call(start_s: float = 0.0, stop_s: float | None = None, *, both_ways: bool = False, **more: Any) -> Data:
    """A call with the limits of RFC 8867, 4.3: 150 kbit/s to 1.5 Mbit/s, or more where the path has more."""
    limits = {"start_rate": "300 kbit/s", "min_rate": "150 kbit/s", "max_rate": "1500 kbit/s"}
    app: Data = {"call": {**limits, "both_ways": both_ways, **more.pop("app", {})}}
    stop = {} if stop_s is None else {"stop": f"{stop_s:g} s"}
    return {"start": f"{start_s:g} s", **stop, "app": app, **more}


_FAST: Data = {"app": {"max_rate": "4 Mbit/s"}}
_SHORT_TCP: Data = {
    "app": {
        "messages": {
            "size": {"uniform": {"mean": "40 kB", "sd": "5773 B"}},
            "interval": {"exponential": {"mean": "10 s"}},
            "after": "ack",
        }
    }
}
"""Files of 30 to 50 kB with pauses of 10 s on average."""

_BURSTS: Data = {"on_off": {"rate": "3 Mbit/s", "size": "1400 B", "on": "2 s", "off": "3 s"}}

_CELL: Data = {
    **lte(
        *(call(ue=ue, both_ways=True) for ue in range(4)),
        *({"ue": ue, "app": _BURSTS} for ue in (4, 5)),
        ues=6,
    ),
    "duration": "60 s",
}
"""As the condition `lte-load` of the scorecard of TCP, with calls."""

CALL_S = 30
"""Length of a call in RFC 8869, 2.1."""
GAP_S = 5.0
"""Mean time between the starts of calls: an intensity of 4.2 users per second in 21 cells."""


def _starts(until_s: float) -> list[float]:
    """Starts of calls: exponential gaps whose quantiles follow the golden ratio, the same in each run."""
    starts, at = [], 0.0
    for n in range(1, 1000):
        at += -GAP_S * math.log(1 - n * 0.6180339887 % 1)
        if at > until_s:
            break
        starts.append(round(at, 1))
    return starts


_USERS = _starts(60.0)
_LOADED: Data = {
    **lte(
        *(call(start, start + CALL_S, ue=ue, both_ways=True) for ue, start in enumerate(_USERS)),
        # Users are anywhere in the cell: 5 to 25 dB.
        sinr=[f"{5 + 20 * (ue * 0.6180339887 % 1):.0f} dB" for ue in range(len(_USERS))],
        ues=len(_USERS),
    ),
    "duration": "91 s",
}


def _edge(doppler: str) -> Data:
    """Two callers at the edge of a cell."""
    flows = [call(ue=ue, both_ways=True) for ue in range(2)]
    return {**lte(*flows, sinr="0 dB", doppler=doppler, ues=2), "duration": "60 s"}


CASES: tuple[Case, ...] = (
    Case(
        "variable",
        "RFC 8867 5.1",
        "one call; capacity 1, 2.5, 0.6 and 1 Mbit/s",
        _path(call(**_FAST), steps=[(0, 1), (40, 2.5), (60, 0.6), (80, 1)], duration_s=100),
        (
            _rises(1.0, 40, 20.0),
            _used(1.0, 20, 40),
            _varies(20, 40),
            _used(0.6, 70, 80),
            _settles(60, 0.6),
            _delay(),
            _freezes(100),
            _lost(),
            _feedback(),
        ),
    ),
    Case(
        "variable-2",
        "RFC 8867 5.2",
        "two calls; capacity 4, 2, 3.5, 1 and 2 Mbit/s",
        _path(call(), call(), steps=[(0, 4), (25, 2), (50, 3.5), (75, 1), (100, 2)], duration_s=125),
        (
            _used(2.0, 35, 50, (0, 1)),
            _jain((0, 1), 35, 50),
            _delay((0, 1)),
            _freezes(125, (0, 1)),
            _lost((0, 1)),
        ),
    ),
    Case(
        "feedback",
        "RFC 8867 5.3",
        "a call in both directions; capacity 2, 1, 0.5 and 2 Mbit/s forward, 2, 0.8 and 2 Mbit/s back",
        _path(
            call(both_ways=True),
            steps=[(0, 2), (20, 1), (40, 0.5), (60, 2)],
            back=[(0, 2), (35, 0.8), (70, 2)],
            duration_s=100,
        ),
        (_used(1.0, 30, 40), _used(0.5, 50, 60), _delay(), _freezes(100), _lost()),
    ),
    Case(
        "same",
        "RFC 8867 5.4",
        "three calls that start at 0, 20 and 40 s; 3.5 Mbit/s",
        _path(call(), call(20), call(40), steps=[(0, 3.5)], duration_s=120),
        (
            _used(3.5, 80, 120, (0, 1, 2)),
            _jain((0, 1, 2), 80, 120),
            _delay((0, 1, 2)),
            _freezes(120, (0, 1, 2)),
        ),
    ),
    Case(
        "long-tcp",
        "RFC 8867 5.6",
        "a call beside a TCP download; 2 Mbit/s",
        _path(call(), {"start": "10 s", "app": {"bulk": {}}}, steps=[(0, 2)], duration_s=120),
        (
            Criterion(
                "rate of the call, 60 to 120 s",
                "Mbit/s",
                lambda flows: rate(flows[0], 60, 120),
                0.15,
                is_most=False,
            ),
            Criterion(
                "rate of TCP", "Mbit/s", lambda flows: flows[1]["goodput_bps"] / 1e6, 0.5, is_most=False
            ),
            _delay(most_ms=500.0),
            _freezes(120, most=5.0),
        ),
    ),
    Case(
        "short-tcp",
        "RFC 8867 5.7",
        "two calls beside ten users who fetch 30 to 50 kB with pauses; 2 Mbit/s",
        _path(call(5), call(5), *[_SHORT_TCP] * 10, steps=[(0, 2)], duration_s=120),
        (
            _used(2.0, 60, 115, (0, 1), least=30.0),
            Criterion(
                "time of a file",
                "ms",
                lambda flows: fmean(flow["transfers"]["completion_ms"]["mean"] for flow in flows[2:]),
                2000.0,
            ),
            _delay((0, 1)),
            _freezes(115, (0, 1)),
        ),
    ),
    Case(
        "pause",
        "RFC 8867 5.8",
        "three calls, of which one pauses from 40 to 60 s (and resumes as a new call); 3.5 Mbit/s",
        _path(call(), call(), call(0, 40), call(60), steps=[(0, 3.5)], duration_s=120),
        (
            _jain((0, 1, 3), 90, 120),
            _used(3.5, 90, 120, (0, 1, 3)),
            _delay((0, 1, 3)),
            _freezes(120, (0, 1)),
        ),
    ),
    Case(
        "lte",
        "RFC 8869 2.1",
        "four calls in both directions in an LTE cell beside two UEs with bursts",
        _CELL,
        (
            Criterion(
                "rate of a call, downlink",
                "Mbit/s",
                lambda flows: fmean(rate(flow, 30, 60) for flow in flows[:4]),
                0.5,
                is_most=False,
            ),
            Criterion(
                "rate of a call, uplink",
                "Mbit/s",
                lambda flows: fmean(rate(flow, 30, 60, "uplink") for flow in flows[:4]),
                0.3,
                is_most=False,
            ),
            _delay(range(4)),
            _freezes(60, range(4)),
        ),
    ),
    Case(
        "lte-users",
        "RFC 8869 2.1",
        f"{len(_USERS)} calls of 30 s that come each {GAP_S:g} s on average to an LTE cell, at 5 to 25 dB",
        _LOADED,
        _both(CALL_S, range(len(_USERS)), 0.5, 5.0),
    ),
    Case(
        "lte-edge",
        "RFC 8869 2.2",
        "two calls in both directions at the edge of an LTE cell, 0 dB, at 3 km/h",
        _edge("5.6 Hz"),
        _both(60, range(2), 0.15, 5.0),
    ),
    Case(
        "lte-edge-drive",
        "RFC 8869 2.2",
        "the same at 30 km/h",
        _edge("56 Hz"),
        _both(60, range(2), 0.15, 5.0),
    ),
)


def controllers() -> list[str]:
    """Names of the rate controllers."""
    return [part["name"] for part in json.loads(_core.registry()) if part["folder"] == "controller"]


def table_of(name: str, changes: Iterable[tuple[str, str]] = ()) -> Data:
    """Make the table of a controller with changed parameters.

    Raises
    ------
    ScenarioError
        If there is no such controller or parameter, or the value does not suit it.
    """
    known = controllers()
    if name not in known:
        raise ScenarioError(
            "CC", f"there is no rate controller '{name}'", f"choose one of: {', '.join(known)}"
        )
    text = source(CASES[0], {name: {}})
    overrides = [(f"flow.0.app.call.controller.{name}.{key}", value) for key, value in changes]
    scenario = Scenario("scorecard", text, tuple(overrides))
    table: Data = tomllib.loads(scenario.text)["flow"][0]["app"]["call"]["controller"]
    return table


def source(case: Case, controller: Data) -> str:
    """Write the scenario of a case as TOML, with this controller in each call and Linux's TCP."""

    def under_test(flow: Data) -> Data:
        app = flow["app"]
        if "call" not in app:
            return flow
        return {**flow, "app": {"call": {**app["call"], "controller": controller}}}

    flows = [under_test(flow) for flow in case.scenario["flow"]]
    data = {**case.scenario, "tcp": {"profile": "linux"}, "flow": flows}
    return "".join(f"{key} = {inline(value)}\n" for key, value in data.items())


def score(
    name: str,
    controller: Data,
    seeds: range,
    workers: int | None = None,
    cases: Sequence[Case] = CASES,
    on_progress: Callable[[float], None] = lambda _: None,
) -> Card:
    """Run all cases with a controller and all seeds.

    `on_progress` is called with the share of the runs that is done, 0 to 1.
    """
    runs = [simulation_of(source(case, controller)) for case in cases]
    measured: dict[tuple[int, int], tuple[float, ...]] = {}

    def simulate(job: int, seed: int) -> tuple[float, ...]:
        return values(cases[job], runs[job](seed))

    def take_in(row: tuple[int, int, tuple[float, ...]]) -> None:
        job, seed, found = row
        measured[job, seed] = found
        on_progress(len(measured) / (len(cases) * len(seeds)))

    run_here([Once(seeds=seeds) for _ in runs], simulate, workers, take_in)
    scores = [
        Score(case, criterion, estimate(measured[at, seed][place] for seed in seeds))
        for at, case in enumerate(cases)
        for place, criterion in enumerate(case.criteria)
    ]
    return Card(name, controller, seeds, tuple(scores))


def values(case: Case, results: Data) -> tuple[float, ...]:
    """Read what the criteria of a case measure from the results of a run."""
    said = case.scenario["flow"]
    # Results have the flows of UE 0 first, each UE's in the order of the scenario.
    order = sorted(range(len(said)), key=lambda at: said[at].get("ue", 0))
    placed = dict(zip(order, results["flows"], strict=True))
    flows = [placed[at] for at in range(len(said))]
    return tuple(criterion.read(flows) for criterion in case.criteria)


def card_as_json(card: Card) -> Data:
    """A scorecard for files: every value of every run, limits, verdicts."""
    return {
        "airpath": _core.version(),
        "rng": _core.RNG_VERSION,
        "controller": card.controller,
        "seeds": list(card.seeds),
        "counts": card.counts(),
        "rows": [
            {
                "case": score.case.name,
                "section": score.case.section,
                "criterion": score.criterion.title,
                "unit": score.criterion.unit,
                "limit": score.criterion.limit,
                "is_most": score.criterion.is_most,
                "verdict": score.verdict,
                "values": list(score.value.values),
                "mean": score.value.mean,
                "ci_low": score.value.ci_low,
                "ci_high": score.value.ci_high,
            }
            for score in card.scores
        ],
    }
