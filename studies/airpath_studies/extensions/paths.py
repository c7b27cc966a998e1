"""Two paths for one connection: which scheduler gains from a second path, and which one loses by it."""

from __future__ import annotations

from functools import cache

from airpath_studies.base.cell import Cell, Metric, Outcome, Overrides
from airpath_studies.base.claims import claims_of
from airpath_studies.base.conditions import Less, NotLess, Tie
from airpath_studies.base.grid import Grid, make_grid
from airpath_studies.base.paper import study
from airpath_studies.base.quantity import Quantity, Times

RUN_S = 30
"""Length of a run, seconds; the Wi-Fi is gone from 10 to 15."""

_STAYS: Overrides = (("change", "[]"),)
_FAR: Overrides = (
    *_STAYS,
    ("cell.1.radio.lte.downlink.blocks.bandwidth", "1.4 MHz"),
    ("cell.1.wired.delay", "100 ms"),
)

SITUATIONS: dict[str, Overrides] = {
    "two paths alike": _STAYS,
    "the Wi-Fi is gone for 5 s": (),
    "LTE slow and far": _FAR,
    "the same, buffer of 128 kB": (
        *_FAR,
        ("tcp.receive_buffer", "128 kB"),
        ("tcp.receive_buffer_max", "128 kB"),
    ),
}
"""What becomes of the paths: Wi-Fi of 20 Mbit/s, 10 ms; LTE of 10 MHz, 15 ms, or of 1.4 MHz, 100 ms."""

ALIKE, GONE, FAR, SMALL = SITUATIONS


def _alone(path: str) -> Overrides:
    return (("flow", f'[{{ ue = "phone", over = "{path}", app = {{ bulk = {{}} }} }}]'),)


SCHEDULERS = ("linux", "min_rtt", "round_robin", "redundant", "blest")
WAYS: dict[str, Overrides] = {
    "TCP, Wi-Fi": _alone("wifi"),
    "TCP, LTE": _alone("lte"),
    **{name: (("flow.0.multipath.scheduler", name),) for name in SCHEDULERS},
}
"""What carries the download: TCP over one path, or both paths with this scheduler."""


def goodput_mbps(outcome: Outcome) -> float:
    """Bytes in order at the phone, over the whole run, Mbit/s."""
    return float(outcome.flow["bytes_received"]) * 8e-6 / RUN_S


def blocked_percent(outcome: Outcome) -> float:
    """Share of the run in which the receive window kept back new data."""
    return 100 * float(outcome.flow["multipath"]["blocked_s"]) / RUN_S


_UNITS: dict[Metric, str] = {goodput_mbps: "Mbit/s", blocked_percent: "percent"}


@cache
def _cell(situation: str, way: str) -> Cell:
    overrides = (*SITUATIONS[situation], *WAYS[way])
    name = f"{way}, {situation}"
    return Cell(
        name, overrides, None, goodput_mbps, scenario="mptcp-lte-wifi", is_read=False, runs=8, most_runs=16
    )


def measure(metric: Metric, situation: str, way: str) -> Quantity:
    """Make a quantity of one situation."""
    cell = _cell(situation, way)
    return Quantity(cell.name, cell, metric, unit=_UNITS[metric])


def _table(title: str, metric: Metric, ways: tuple[str, ...]) -> Grid:
    lines = [((situation,), situation) for situation in SITUATIONS]
    return make_grid(
        _UNITS[metric], {way: way for way in ways}, lines, lambda key, way: measure(metric, key, way), title
    )


PATHS = study(
    22,
    "Two paths for one download",
    "A phone downloads over Wi-Fi and LTE with Multipath TCP. What does each scheduler of paths get, beside "
    "TCP over one of them: where both are alike; where the Wi-Fi is gone for 5 of 30 s; where LTE is slow "
    "and far; and where the receive buffer is small in addition?",
    _table("Goodput", goodput_mbps, tuple(WAYS)),
    _table("Time in which the receive window kept back new data", blocked_percent, SCHEDULERS),
    heads=("paths",),
)

_claim = claims_of("extensions", PATHS.place)


def _goodput(situation: str, way: str) -> Quantity:
    return measure(goodput_mbps, situation, way)


PATHS_CLAIMS = (
    _claim(
        51,
        "Where both paths are alike every scheduler but redundant gets more than TCP over either, and "
        "redundant no less than TCP over the better one.",
        (
            Less(_goodput(ALIKE, alone), _goodput(ALIKE, way))
            for alone in ("TCP, Wi-Fi", "TCP, LTE")
            for way in SCHEDULERS
            if way != "redundant"
        ),
        NotLess(_goodput(ALIKE, "redundant"), Times(0.95, _goodput(ALIKE, "TCP, LTE"))),
    ),
    _claim(
        52,
        "A connection over both paths gets through the time without Wi-Fi: with linux, min_rtt and blest it "
        "gets more than TCP would over a Wi-Fi that stays.",
        (Less(_goodput(ALIKE, "TCP, Wi-Fi"), _goodput(GONE, way)) for way in ("linux", "min_rtt", "blest")),
    ),
    _claim(
        53,
        "Where LTE is slow and far, its queue makes even a receive buffer of 6 MB small: min_rtt, round "
        "robin and blest get less than TCP over the Wi-Fi. linux, which leaves a slow queue alone, gets as "
        "much.",
        (
            Less(_goodput(FAR, way), _goodput(FAR, "TCP, Wi-Fi"))
            for way in ("min_rtt", "round_robin", "blest")
        ),
        NotLess(_goodput(FAR, "linux"), _goodput(FAR, "TCP, Wi-Fi")),
    ),
    _claim(
        54,
        "With a buffer of 128 kB linux, too, gets less than half of TCP over the Wi-Fi, as round robin does; "
        "blest, which leaves out a path that would block, gets as much.",
        (
            Less(_goodput(SMALL, way), Times(0.5, _goodput(SMALL, "TCP, Wi-Fi")))
            for way in ("linux", "round_robin")
        ),
        Tie(_goodput(SMALL, "blest"), _goodput(SMALL, "TCP, Wi-Fi")),
    ),
)
"""What the study shows."""
