"""Studies of settings that the papers keep fixed: errors, TTI, delayed ACKs, small files."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from airpath_studies.base.cell import Cell, Overrides
from airpath_studies.base.paper import study
from airpath_studies.shared.downloads import ARQ, RETURN, Download, Key, by_key, make_table
from airpath_studies.shared.lundsten import SIX, THREE, make_download, with_options
from airpath_studies.shared.zhang import WINDOWS as ZHANG_WINDOWS

_BLER = "radio.dch.downlink.channel.bernoulli.bler"


ERROR_RATES = study(
    3,
    "Block error rates",
    "What would another operating point cost? Increase for 16 MB over no block errors at all.",
    make_table(
        "", by_key(SIX), {f"{bler} %": with_options((_BLER, f"{bler} %")) for bler in (0, 1, 5, 10, 20)}
    ),
    heads="block errors",
)


def _uplink(bler: int) -> Overrides:
    """An uplink that loses blocks."""
    up = "radio.dch.uplink"
    arq = '{ tti = "20 ms", retransmission_delay = "60 ms", delivery = "out_of_sequence" }'
    return ((f"{up}.rlc.fixed_delay_arq", arq), (f"{up}.channel.bernoulli.bler", f"{bler} %"))


def _over_uplink(bler: int, key: Key) -> Cell:
    """Compared with a download without errors in both directions."""
    without = make_download(*key, options=_uplink(0))
    return make_download(*key, options=_uplink(bler)).against_no_errors(without)


UPLINK = study(
    4,
    "Errors on the uplink",
    "The papers' uplink has no errors. Here it sends blocks like the downlink, one per TTI, lost as often "
    "as the line says; the downlink has 10 %. Increase for 16 MB over no errors in either direction.",
    make_table("", by_key(THREE), {f"{bler} %": partial(_over_uplink, bler) for bler in (0, 1, 10, 20)}),
    heads="uplink errors",
)

TTI = study(
    5,
    "Length of a TTI",
    "A lost block comes back three TTIs later, as in the papers with 20 ms. Increase for 16 MB over no "
    "block errors with the same TTI.",
    make_table(
        "",
        by_key(THREE),
        {
            f"{tti} ms": with_options((f"{ARQ}.tti", f"{tti} ms"), (RETURN, f"{3 * tti} ms"))
            for tti in (10, 20, 40, 80)
        },
    ),
    heads="TTI",
)

DELAYED_ACK = study(
    6,
    "Delayed ACKs",
    "Lundsten's receiver acknowledges every segment. Increase for 16 MB over the same receiver without "
    "block errors.",
    make_table(
        "",
        by_key(SIX),
        {
            "every segment": with_options(("tcp.ack_every", "1")),
            "every second, 200 ms": with_options(
                ("tcp.ack_every", "2"), ("tcp.delayed_ack_timeout", "200 ms")
            ),
        },
    ),
    heads="receiver",
)


def _zhang(file_bytes: int, key: Key) -> Cell:
    download = Download(*key, ZHANG_WINDOWS[key], file_bytes, timestamps=True)
    return replace(download.against_no_errors(), scenario="zhang-dch")


ZHANG_SMALL = study(
    8,
    "Small files with Zhang's settings",
    "Zhang simulates 10 MB only. Increase over no block errors with New-Reno, delayed ACKs, an initial "
    "window of two and connection set-up.",
    make_table(
        "",
        by_key(ZHANG_WINDOWS),
        {
            **{f"{size} kB": partial(_zhang, size * 1000) for size in (50, 100, 200)},
            "10 MB": partial(_zhang, 10_000_000),
        },
    ),
    heads="file",
)
