"""What the atlas runs: a place with a sender, a queue discipline and a cure, under three loads."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import numpy as np

from airpath.runs.trace import Events
from airpath.scenario import inline
from airpath_studies.atlas.places import Place
from airpath_studies.base.cell import Cell, Metric, Outcome, buffer
from airpath_studies.base.measure import Measure, observed
from airpath_studies.base.observe import Observation, column, words
from airpath_studies.shared.today import DISCIPLINES, SENDERS

_MS_A_PACKET = 12_000 * 0.4
"""Alcaraz and Cerdan: 12.5 ms for each SDU in the buffer at 384 kbit/s, 0.4 of the time of 12,000 bits."""


def _ack_rate_control(place: Place) -> dict[str, Any]:
    held_ms = round(place.packets * _MS_A_PACKET / place.rate_kbps)
    return {
        "ack_rate_control": {
            "t_id": {"linear": {"minth": 0, "maxth": place.packets, "maxd": f"{held_ms} ms"}}
        }
    }


@dataclass(frozen=True)
class Cure:
    """A box in front of the cell, and what it goes together with."""

    box: Callable[[Place], dict[str, Any]]
    senders: tuple[str, ...] = tuple(SENDERS)
    disciplines: tuple[str, ...] = tuple(DISCIPLINES)
    tcp: Mapping[str, Any] = field(default_factory=dict)
    """What the sender needs for it."""


CURES: dict[str, Cure] = {
    # It regulates by the limit of a drop-tail buffer.
    "Ack Regulator": Cure(
        lambda _: {"ack_regulator": {"count": "segments", "growth": "acked"}},
        disciplines=("drop-tail",),
    ),
    "ACK rate control": Cure(_ack_rate_control),
    # It changes what Reno makes of duplicate ACKs, and has nothing to say to the others.
    "RNC feedback": Cure(
        lambda _: {"rnc_feedback": {}},
        senders=("Reno",),
        tcp={
            "cc": {"reno": {"variant": "rfc5681"}},
            "sack": False,
            "prr": False,
            "recovery": "newreno",
            "rnf": "first_flagged",
        },
    ),
    "split": Cure(lambda _: {"split": {"buffer": "1 MB"}}),
    "snoop": Cure(lambda _: {"snoop": {}}),
}


@dataclass(frozen=True)
class Delays:
    """Time of packets in the bearer, from entering the buffer to arrival at the UE, ms."""

    mean_ms: float
    p95_ms: float


def _delays(events: Events) -> Delays:
    down = words(events, "bearer_delivered", "direction") == "downlink"
    ms = column(events, "bearer_delivered", "delay_ns")[down] / 1e6
    return Delays(float(ms.mean()), float(np.percentile(ms, 95)))


_DELAYS = Observation(("bearer_delivered",), _delays)


def _received(outcome: Outcome) -> list[float]:
    return [float(flow["bytes_received"]) for flow in outcome.results["flows"]]


def goodput_kbps(outcome: Outcome) -> float:
    """Payload that the receiver gets in the whole run, kbit/s."""
    return sum(_received(outcome)) * 8e-3 / float(outcome.results["simulated_s"])


def share(outcome: Outcome) -> float:
    """Share of the first of two flows in the data that both receive, percent."""
    first, second = _received(outcome)
    return 100 * first / (first + second)


def larger_share(outcome: Outcome) -> float:
    """Part of the flow that receives more, percent."""
    return max(share(outcome), 100 - share(outcome))


def page_s(outcome: Outcome) -> float:
    """Mean time until a page has arrived, s; one that has not by the end of the run counts until then."""
    end_s = float(outcome.results["simulated_s"])
    pages = outcome.results["flows"][1:]
    times = [end_s - page["start_s"] if page["received_s"] is None else page["received_s"] for page in pages]
    return float(np.mean(times))


GOODPUT = Measure("goodput", "kbit/s", goodput_kbps)
MEAN = Measure("delay, mean", "ms", observed("mean_ms"))
P95 = Measure("delay, 95 % are below", "ms", observed("p95_ms"))
SHARE = Measure("share beside CUBIC", "percent", share)
PAGE = Measure("page load time", "s", page_s)

PRECISION = 0.05
"""Half the width of an interval over the mean."""
MOST_RUNS = 400


@cache
def alone(place: Place, sender: str, discipline: str, cure: str | None = None) -> Cell:
    """One download, with a cure if one is named."""
    made = _cell(place, sender, discipline, cure or "", [_BULK], goodput_kbps, CURES.get(cure or ""))
    return replace(made, observe=_DELAYS, also_precise=(P95.metric,))


@cache
def beside_cubic(place: Place, sender: str, discipline: str) -> Cell:
    """A download that competes with a CUBIC download in the same buffer, started a second later."""
    other = {**_BULK, "start": "1 s", "tcp": SENDERS["CUBIC"]}
    return _cell(place, sender, discipline, "beside CUBIC", [_BULK, other], larger_share)


@cache
def with_pages(place: Place, sender: str, discipline: str) -> Cell:
    """A download, and three pages one after the other, from senders of its kind."""
    pages = [
        {"start": f"{place.seconds * quarter / 4:g} s", "app": {"file": {"size": f"{place.page_bytes} B"}}}
        for quarter in (1, 2, 3)
    ]
    return _cell(place, sender, discipline, "with pages", [_BULK, *pages], page_s)


_BULK: dict[str, Any] = {"app": {"bulk": {}}}


def _cell(
    place: Place,
    sender: str,
    discipline: str,
    what: str,
    flows: list[dict[str, Any]],
    precise: Metric,
    cure: Cure | None = None,
) -> Cell:
    boxes = [*([place.box] if place.box else []), *([inline(cure.box(place))] if cure else [])]
    overrides = (
        ("duration", f"{place.seconds} s"),
        *place.options,
        *buffer(place.kind, DISCIPLINES[discipline](place.packets)),
        ("middlebox", f"[{', '.join(boxes)}]"),
        ("tcp", inline({**SENDERS[sender], **(cure.tcp if cure else {})})),
        ("flow", inline(flows)),
    )
    return Cell(
        ", ".join([place.name, sender, discipline, *([what] if what else [])]),
        overrides,
        None,
        precise,
        scenario=place.scenario,
        is_read=False,
        most_runs=MOST_RUNS,
        precision=PRECISION,
    )
