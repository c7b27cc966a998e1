"""Studies of settings that the papers keep fixed: errors, TTI, delayed ACKs, small files."""

from __future__ import annotations

from collections.abc import Callable

from airpath.experiments.papers.base.cell import Cell, Overrides
from airpath.experiments.papers.downloads import ARQ, RETURN, Download, increase
from airpath.experiments.papers.lundsten.model import make_download
from airpath.experiments.papers.lundsten.study import SIX, THREE, Key, make_study, with_options
from airpath.experiments.papers.zhang.model import WINDOWS as ZHANG_WINDOWS

_BLER = "radio.dch.downlink.channel.bernoulli.bler"


ERROR_RATES = make_study(
    3,
    "Block error rates",
    "What would another operating point cost? Increase for 16 MB over no block errors at all.",
    "block errors",
    SIX,
    tuple((f"{bler} %", with_options((_BLER, f"{bler} %"))) for bler in (0, 1, 5, 10, 20)),
)


def _uplink(bler: int) -> Callable[[Key], Cell]:
    """Make a download whose uplink loses blocks beside one without errors in either direction."""

    def options(percent: int) -> Overrides:
        up = "radio.dch.uplink"
        arq = '{ tti = "20 ms", retransmission_delay = "60 ms", delivery = "out_of_sequence" }'
        return ((f"{up}.rlc.fixed_delay_arq", arq), (f"{up}.channel.bernoulli.bler", f"{percent} %"))

    def make(key: Key) -> Cell:
        without = make_download(*key, options=options(0))
        return make_download(*key, options=options(bler)).against_no_errors(without)

    return make


UPLINK = make_study(
    4,
    "Errors on the uplink",
    "The papers' uplink has no errors. Here it sends blocks like the downlink, one per TTI, lost as often "
    "as the line says; the downlink has 10 %. Increase for 16 MB over no errors in either direction.",
    "uplink errors",
    THREE,
    tuple((f"{bler} %", _uplink(bler)) for bler in (0, 1, 10, 20)),
)

TTI = make_study(
    5,
    "Length of a TTI",
    "A lost block comes back three TTIs later, as in the papers with 20 ms. Increase for 16 MB over no "
    "block errors with the same TTI.",
    "TTI",
    THREE,
    tuple(
        (
            f"{tti} ms",
            with_options((f"{ARQ}.tti", f"{tti} ms"), (RETURN, f"{3 * tti} ms")),
        )
        for tti in (10, 20, 40, 80)
    ),
)

DELAYED_ACK = make_study(
    6,
    "Delayed ACKs",
    "Lundsten's receiver acknowledges every segment. Increase for 16 MB over the same receiver without "
    "block errors.",
    "receiver",
    SIX,
    (
        ("every segment", with_options(("tcp.ack_every", "1"))),
        ("every second, 200 ms", with_options(("tcp.ack_every", "2"), ("tcp.delayed_ack_timeout", "200 ms"))),
    ),
)


def _zhang(file_bytes: int) -> Callable[[Key], Cell]:
    def make(key: Key) -> Cell:
        download = Download(*key, ZHANG_WINDOWS[key], file_bytes, timestamps=True)
        cell = download.against_no_errors()
        return Cell(cell.name, cell.overrides, cell.reference, increase, scenario="zhang-dch")

    return make


ZHANG_SMALL = make_study(
    8,
    "Small files with Zhang's settings",
    "Zhang simulates 10 MB only. Increase over no block errors with New-Reno, delayed ACKs, an initial "
    "window of two and connection set-up.",
    "file",
    tuple(ZHANG_WINDOWS),
    tuple(
        (name, _zhang(size))
        for name, size in (("50 kB", 50_000), ("100 kB", 100_000), ("200 kB", 200_000), ("10 MB", 10_000_000))
    ),
)
