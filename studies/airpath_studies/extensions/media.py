"""Calls and videos beside a download: which queue lets them through, and what the download pays."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from airpath.scenario import inline
from airpath_studies.base.cell import Cell, Outcome, Overrides, buffer
from airpath_studies.base.claims import claims_of
from airpath_studies.base.conditions import AtLeast, AtMost, Less, Never, NotLess, Positive
from airpath_studies.base.grid import Grid
from airpath_studies.base.measure import Measure, tables
from airpath_studies.base.paper import study
from airpath_studies.base.quantity import Times
from airpath_studies.extensions.utilisation import FAST_UPLINK, RADIOS, Radio
from airpath_studies.shared.today import DISCIPLINES, SENDERS

START_S, RUN_S = 5, 35
"""Start of the call or the video, and length of a run, seconds; the download runs from the beginning."""

MEDIA_S = RUN_S - START_S
"""Length of the call or the video, seconds."""

NETWORKS: dict[str, Radio] = {
    **RADIOS,
    "NR": Radio(
        "nr-n78-100mhz",
        "nr",
        324_000,
        800,
        (("radio.nr.downlink.blocks.bandwidth", "20 MHz"), ("radio.nr.uplink.blocks.bandwidth", "20 MHz")),
    ),
}
"""The cells of study 17 with one user, and a fifth of a cell of NR with a fifth of its buffer."""


@dataclass(frozen=True)
class Way:
    """What the downlink's buffer does, and which senders meet in it."""

    discipline: str
    tcp: str = "CUBIC"
    controller: str = "gcc"
    is_alone: bool = False
    """Whether there is no download."""


WAYS = {
    "no download": Way("drop-tail", is_alone=True),
    "drop-tail": Way("drop-tail"),
    "CoDel": Way("CoDel"),
    "FQ-CoDel": Way("FQ-CoDel"),
    "L4S": Way("DualPI2", "Prague", "scream"),
    "PDPC": Way("PDPC"),
}
"""By the heads of the tables."""
ALONE, TAIL, CODEL, FQ, L4S, PDPC = WAYS
BESIDE = tuple(way for way in WAYS if way != ALONE)

Traffic = Callable[[Way], dict[str, Any]]


def _call(way: Way) -> dict[str, Any]:
    return {"call": {"both_ways": False, "controller": {way.controller: {}}}}


def _video(way: Way) -> dict[str, Any]:
    return {"adaptive_video": {}}


def frame_delay_ms(outcome: Outcome) -> float:
    """95th percentile from the capture of a frame until it can be decoded; the whole call if no frame can."""
    p95 = _received(outcome)["frame_delay_ms"]["p95"]
    return 1000.0 * MEDIA_S if p95 is None else float(p95)


def frozen_percent(outcome: Outcome) -> float:
    """Share of the call in which the picture is frozen."""
    return 100 * float(_received(outcome)["freeze_s"]) / MEDIA_S


def call_kbps(outcome: Outcome) -> float:
    """IP packets of the call that arrive, kbit/s."""
    return float(_received(outcome)["received_bps"]) / 1000


def download_kbps(outcome: Outcome) -> float:
    """Payload that the download brings over the whole run, kbit/s."""
    return float(outcome.results["flows"][1]["bytes_received"]) * 8e-3 / RUN_S


def startup_s(outcome: Outcome) -> float:
    """From the first request until playing starts; all of the time if it never does."""
    startup = outcome.flow["video"]["startup_s"]
    return float(MEDIA_S) if startup is None else float(startup)


def stalled_s(outcome: Outcome) -> float:
    """Time in which the player waits after it has started, seconds."""
    return float(outcome.flow["video"]["stall_s"])


def level_kbps(outcome: Outcome) -> float:
    """Mean rate of the levels of the segments that arrive, kbit/s; 0 if none does."""
    return float(outcome.flow["video"]["mean_rate_bps"] or 0) / 1000


def _received(outcome: Outcome) -> Mapping[str, Any]:
    received: Mapping[str, Any] = outcome.flow["call"]["downlink"]["receiver"]
    return received


def _cell(traffic: Traffic, name: str, network: str) -> Cell:
    radio, way = NETWORKS[network], WAYS[name]
    media = {"start": f"{START_S} s", "app": traffic(way)}
    download: list[dict[str, Any]] = [] if way.is_alone else [{"app": {"bulk": {}}}]
    overrides: Overrides = (
        ("duration", f"{RUN_S} s"),
        (f"radio.{radio.kind}.ues", "1"),
        *radio.overrides,
        *(FAST_UPLINK if network == "HSDPA" else ()),
        *buffer(radio.kind, DISCIPLINES[way.discipline](radio.packets)),
        ("tcp.profile", SENDERS[way.tcp]["profile"]),
        ("flow", inline([media, *download])),
    )
    precise = call_kbps if traffic is _call else level_kbps
    return Cell(
        f"{network}, {name}",
        overrides,
        None,
        precise,
        scenario=radio.scenario,
        is_read=False,
        runs=20,
        most_runs=20,
    )


def _tables(traffic: Traffic, ways: tuple[str, ...], *measures: Measure) -> tuple[Grid, ...]:
    columns = {way: partial(_cell, traffic, way) for way in ways}
    return tables("cell", columns, {network: network for network in NETWORKS}, measures)


_OF_CALLS = _tables(
    _call,
    tuple(WAYS),
    Measure("frame delay of the call, 95 % are below", "ms", frame_delay_ms),
    Measure("time in which the call is frozen", "percent", frozen_percent),
    Measure("rate of the call", "kbit/s", call_kbps),
)
_OF_VIDEOS = _tables(
    _video,
    tuple(WAYS),
    Measure("startup of the video", "s", startup_s),
    Measure("stalls of the video", "s", stalled_s),
    Measure("level of the video", "kbit/s", level_kbps),
)
_BESIDE_CALL = _tables(_call, BESIDE, Measure("download beside the call", "kbit/s", download_kbps))
_BESIDE_VIDEO = _tables(_video, BESIDE, Measure("download beside the video", "kbit/s", download_kbps))

MEDIA = study(
    23,
    "Calls and videos beside a download",
    "A user downloads, and 5 s later receives a call or an adaptive video for 30 s. What do the queue of "
    "the cell and its senders make of them: a drop-tail buffer, CoDel, FQ-CoDel, PDPC, each with CUBIC and "
    "a call under GCC; and L4S, which is DualPI2 with Prague and a call under SCReAM? The cells are those "
    "of study 17, HSDPA with an uplink of 384 kbit/s, and NR with 20 MHz and room for 800 packets.",
    *_OF_CALLS,
    *_BESIDE_CALL,
    *_OF_VIDEOS,
    *_BESIDE_VIDEO,
)

_DELAY, _FROZEN, _RATE = _OF_CALLS
_STARTUP, _STALLS, _ = _OF_VIDEOS
(_DOWNLOAD,) = _BESIDE_CALL

_claim = claims_of("extensions", MEDIA.place)

MEDIA_CLAIMS = (
    _claim(
        55,
        "Behind a drop-tail buffer one frame in twenty comes more than 400 ms late on DCH and HSDPA, the "
        "limit of RFC 8868, and on LTE more than four times as late as without the download. On NR the mean "
        "of the runs is below the limit.",
        (AtLeast(_DELAY.entry(TAIL, network), 400, slack=0) for network in ("DCH", "HSDPA")),
        Less(Times(4, _DELAY.entry(ALONE, "LTE")), _DELAY.entry(TAIL, "LTE")),
        AtMost(_DELAY.entry(TAIL, "NR"), 400, slack=0),
    ),
    _claim(
        56,
        "FQ-CoDel gives the call a queue of its own: on LTE frames are earlier than with drop-tail by half "
        "and more, and on LTE and NR the call has nine tenths of its rate without the download, where "
        "drop-tail leaves it less than a quarter. On HSDPA it has less than half even so.",
        Less(Times(2, _DELAY.entry(FQ, "LTE")), _DELAY.entry(TAIL, "LTE")),
        (
            condition
            for network in ("LTE", "NR")
            for condition in (
                Less(Times(0.9, _RATE.entry(ALONE, network)), _RATE.entry(FQ, network)),
                Less(Times(4, _RATE.entry(TAIL, network)), _RATE.entry(ALONE, network)),
            )
        ),
        Less(Times(2, _RATE.entry(FQ, "HSDPA")), _RATE.entry(ALONE, "HSDPA")),
    ),
    _claim(
        57,
        "CoDel alone makes frames earlier than drop-tail on LTE and NR, but leaves the call less than seven "
        "tenths of the rate that it has with FQ-CoDel; on LTE its frames are later, too.",
        (Less(_DELAY.entry(CODEL, network), _DELAY.entry(TAIL, network)) for network in ("LTE", "NR")),
        (
            Less(_RATE.entry(CODEL, network), Times(0.7, _RATE.entry(FQ, network)))
            for network in ("LTE", "NR")
        ),
        Less(_DELAY.entry(FQ, "LTE"), _DELAY.entry(CODEL, "LTE")),
    ),
    _claim(
        58,
        "L4S makes frames earlier than drop-tail on LTE and NR, but on LTE not earlier than FQ-CoDel, and "
        "its download pays for it: it has less than seven tenths of that beside FQ-CoDel. On DCH it is worse "
        "for the call than drop-tail, and freezes it for more than a quarter of the time.",
        (Less(_DELAY.entry(L4S, network), _DELAY.entry(TAIL, network)) for network in ("LTE", "NR")),
        NotLess(_DELAY.entry(L4S, "LTE"), _DELAY.entry(FQ, "LTE")),
        (
            Less(_DOWNLOAD.entry(L4S, network), Times(0.7, _DOWNLOAD.entry(FQ, network)))
            for network in ("LTE", "NR")
        ),
        Less(_DELAY.entry(TAIL, "DCH"), _DELAY.entry(L4S, "DCH")),
        AtLeast(_FROZEN.entry(L4S, "DCH"), 25, slack=0),
    ),
    _claim(
        59,
        "PDPC is no cure for a call: frames come more than half as late as with drop-tail, as it keeps a "
        "buffer that is four fifths full. On LTE and NR the download keeps nine tenths of its goodput.",
        (Less(_DELAY.entry(TAIL, network), Times(2, _DELAY.entry(PDPC, network))) for network in NETWORKS),
        (
            NotLess(_DOWNLOAD.entry(PDPC, network), Times(0.9, _DOWNLOAD.entry(TAIL, network)))
            for network in ("LTE", "NR")
        ),
    ),
    _claim(
        60,
        "A video beside the download never stalls on NR, and on LTE with drop-tail only; on DCH, where half "
        "of the bearer is less than the lowest level, it stalls with every queue.",
        (Never(_STALLS.entry(way, "NR")) for way in BESIDE),
        (Never(_STALLS.entry(way, "LTE")) for way in BESIDE if way != TAIL),
        (Positive(_STALLS.entry(way, "DCH")) for way in BESIDE),
    ),
    _claim(
        61,
        "With FQ-CoDel a video starts earlier than with drop-tail in every cell.",
        (Less(_STARTUP.entry(FQ, network), _STARTUP.entry(TAIL, network)) for network in NETWORKS),
    ),
)
"""What the study shows."""
