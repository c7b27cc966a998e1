"""The thesis' downloads over HSDPA: whether HARQ and MAC-hs cure what a dedicated channel did to TCP.

Server, wire, TCP, files and packets are those of Tables 3 and 14. The radio is `radio.hsdpa`: PDUs of RLC AM
such that one, or two, fill a TTI of 2 ms at exactly the thesis' rates. As in the thesis 10 % of all
transmissions are lost, including retransmissions, and radio and Iub add no delay. The uplink has 384 kbit/s
and TTIs of 10 ms, so the idle RTT is the same as there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any

from airpath.scenario import inline
from airpath_studies.base.cell import Cell, Metric, Outcome
from airpath_studies.base.claims import claims_of
from airpath_studies.base.conditions import AtLeast, AtMost, Less, Never, Tie, WithinPoints
from airpath_studies.base.grid import Grid
from airpath_studies.base.paper import study
from airpath_studies.base.quantity import Minus, Quantity, Times
from airpath_studies.shared.downloads import (
    FLOOR,
    Download,
    Key,
    by_key,
    fast_retransmits,
    make_table,
    received_later,
    timeouts,
)
from airpath_studies.shared.lundsten import (
    CELLS,
    EIFEL,
    LARGE_FILE_BYTES,
    SIX,
    SMALL_FILE_BYTES,
    THREE,
    WESTWOOD,
    WINDOWS,
    make_download,
    split_box,
)

_TTI_MS = 2
_MAC_HEADER_BITS, _PDU_HEADER_BYTES = 21, 2
_PDU_BYTES = 42
"""Size of HSDPA's PDUs, where no other is said."""

_ROWS = {2: 173, 3: 233, 4: 317, 9: 931, 15: 3319, 22: 7168}
"""Bits of a block by CQI (TS 25.214 table 7D), of the rows that are used here."""


@dataclass(frozen=True)
class Link:
    """How HSDPA is set."""

    pdus: int = 1
    """PDUs that fill a block; 0: as many of 42 B as fit."""
    lost: tuple[str, ...] = ("10 %",)
    """Shares of the first transmissions of blocks that are lost, and of each further one."""
    t1_ms: int = 60
    """How long MAC-hs waits for a missing block; 2 ms are less than a repetition takes."""
    in_sequence: bool = True
    """Whether RLC hands packets up in sequence."""
    misread: str = "0 %"
    """Share of the NACKs that the Node B misreads as ACKs: RLC has to repair these blocks."""

    @property
    def without_errors(self) -> Link:
        """The same, with nothing lost."""
        return replace(self, lost=("0 %",), misread="0 %")


def _row(rate_kbps: int, pdus: int) -> tuple[int, int]:
    """CQI of a rate, and size of a PDU in bytes."""
    pdu = rate_kbps * _TTI_MS // (8 * pdus) + _PDU_HEADER_BYTES if pdus else _PDU_BYTES
    in_a_block = rate_kbps * _TTI_MS // (8 * (pdu - _PDU_HEADER_BYTES))
    needs = 8 * pdu * in_a_block + _MAC_HEADER_BITS
    return next(cqi for cqi, bits in _ROWS.items() if bits >= needs), pdu


def _radio(rate_kbps: int, link: Link) -> str:
    """`[radio]` for a rate: the UE stands where it reports the row of that rate, and does not move."""
    cqi, pdu = _row(rate_kbps, link.pdus)
    windows = {"configured_tx_window_size": 2047, "configured_rx_window_size": 2047}
    am = {
        **windows,
        "pdu": f"{pdu} B",
        # A packet that fills its PDUs exactly needs no further PDU for a length indicator.
        "special_he": True,
        "delivery": "in_sequence" if link.in_sequence else "out_of_sequence",
        "timer_poll": "200 ms",
        "timer_status_prohibit": "100 ms",
    }
    downlink: dict[str, Any] = {
        # The middle of the row: CQI = floor(s / 1.02 + 16.62).
        "reception": {"mean_sinr": f"{1.02 * (cqi + 0.5 - 16.62):.2f} dB", "fading": {"none": {}}},
        "adaptation": {"outer_loop": False},
        "harq": {"bler": list(link.lost), "nack_as_ack": link.misread},
        "reordering": {"t1": f"{link.t1_ms} ms"},
        # The amount sent in 80 ms: more than in the 10 ms between two grants, less than RLC's timers wait.
        "iub": {"delay": "0 ms", "capacity": rate_kbps * 10 // (pdu - _PDU_HEADER_BYTES)},
        "delay": "0 ms",
        "rlc": {"am": am},
    }
    # It loses nothing, so that reports of what has arrived need not take room of the downlink.
    up = {**windows, "tti": "10 ms", "timer_poll": "1200 ms", "timer_status_prohibit": "1 s"}
    uplink = {"rate": "384 kbit/s", "delay": "0 ms", "rlc": {"am": up}}
    return inline({"hsdpa": {"downlink": downlink, "uplink": uplink}})


def _over(download: Download, link: Link) -> Download:
    return replace(download, options=(*download.options, ("radio", _radio(download.rate_kbps, link))))


_RUNS = ((1000, 20), (100, 6), (0, 3))
"""Runs that are enough for 16 MB, from a rate in kbit/s on: slow ones take long and differ by little."""


@cache
def _beside(download: Download, link: Link, other: Download) -> Cell:
    """A download over HSDPA compared with another one without block errors."""
    overrides, twin = _over(download, link).overrides, _over(other, link.without_errors).overrides
    is_small = download.file_bytes == SMALL_FILE_BYTES
    most = None if is_small else next(runs for least, runs in _RUNS if download.rate_kbps >= least)
    return Cell(
        f"{download.name}, over HSDPA", overrides, twin, received_later, is_read=False, most_runs=most
    )


def _reno(link: Link, key: Key, size: int = LARGE_FILE_BYTES) -> Cell:
    download = make_download(*key, size)
    return _beside(download, link, download)


def _dch(key: Key, size: int) -> Cell:
    """Over the dedicated channel, compared with the same download without block errors."""
    return make_download(*key, size).against_no_errors()


def _beside_dch(key: Key, size: int = LARGE_FILE_BYTES) -> Cell:
    """Over HSDPA, compared with a dedicated channel without block errors."""
    return replace(_reno(Link(), key, size), reference=_dch(key, size).reference)


def _of_variant(**variant: Any) -> Callable[[Key], Cell]:
    """A variant of TCP compared with Reno, both over HSDPA."""
    return lambda key: _beside(make_download(*key, **variant), Link(), make_download(*key))


def _at_own_rates(link: Link, key: Key) -> Cell:
    """At a rate of HSDPA's, with its own PDUs and a window of 300 ms; at the thesis', as there."""
    rate, packet = key
    if key in WINDOWS:
        return _reno(link, key)
    window = -(-rate * 300 // (8 * packet))
    options = (("tcp.window_scaling", "true"), ("tcp.receive_buffer", "1 MB"))
    download = Download(rate, packet, window, LARGE_FILE_BYTES, options=options)
    return _beside(download, replace(link, pdus=0), download)


def retransmitted_by_rlc(outcome: Outcome) -> float:
    """Retransmitted RLC PDUs, percent of the data PDUs."""
    rlc = outcome.element("radio.hsdpa")["ues"][0]["downlink"]["rlc"]
    return 100 * float(rlc["retransmitted_pdus"]) / float(rlc["data_pdus"])


_LINKS = {
    "as it is": Link(),
    "RLC out of sequence": Link(in_sequence=False),
    "MAC-hs does not wait": Link(t1_ms=2),
    "MAC-hs does not wait, RLC out of sequence": Link(t1_ms=2, in_sequence=False),
    "1 % of NACKs misread": Link(misread="1 %"),
    "1 % of NACKs misread, RLC out of sequence": Link(misread="1 %", in_sequence=False),
}
_OWN_RATES: tuple[Key, ...] = ((1440, 576), (1440, 1500), (3360, 576), (3360, 1500))
_OF_LINKS = by_key((*THREE, *_OWN_RATES))


def _links(title: str, metric: Metric, unit: str = "percent") -> Grid:
    lines = {name: partial(_at_own_rates, link) for name, link in _LINKS.items()}
    return make_table(title, _OF_LINKS, lines, metric, unit)


def _small(make: Callable[..., Cell]) -> Callable[[Key], Cell]:
    return lambda key: make(key, SMALL_FILE_BYTES)


HSDPA = study(
    16,
    "HSDPA in place of the dedicated channel",
    "The thesis expects HSDPA to end spurious retransmissions (3.1.6, Table 1). Its downloads of Tables 3 "
    "and 14 over HSDPA: the same server, wire, TCP, files and rates, one or two PDUs of RLC AM in a block "
    "of 2 ms, 10 % of all transmissions lost, no delay beside. How much later does the receiver have the "
    "last byte of 16 MB than without block errors (percent)? And which part of HSDPA does it?",
    make_table(
        "Reno, over the same link without block errors",
        by_key(SIX),
        {
            "DCH": CELLS.__getitem__,
            "HSDPA": partial(_reno, Link()),
            "HSDPA, two PDUs in a block": partial(_reno, Link(pdus=2)),
            "HSDPA, over DCH without block errors": _beside_dch,
        },
        received_later,
    ),
    make_table(
        "100 kB, Reno, over the same link without block errors",
        by_key(SIX),
        {
            "DCH": lambda key: _dch(key, SMALL_FILE_BYTES),
            "HSDPA": _small(partial(_reno, Link())),
            "HSDPA, over DCH without block errors": _small(_beside_dch),
        },
        received_later,
    ),
    make_table(
        "Remedies, over Reno on HSDPA without block errors",
        by_key(THREE),
        {
            "none": partial(_reno, Link()),
            "Eifel": _of_variant(**EIFEL),
            "Westwood": _of_variant(**WESTWOOD),
            "split by a proxy": lambda key: _beside(split_box(*key), Link(), make_download(*key)),
        },
        received_later,
    ),
    _links("What keeps packets in order, Reno, over the same link without block errors", received_later),
    _links("Fast retransmits", fast_retransmits, "1"),
    _links("PDUs retransmitted by RLC", retransmitted_by_rlc),
    heads="link",
)

_claim = claims_of("extensions", HSDPA.place)
_LARGE, _SMALL, _REMEDIES, _INCREASE, _, _RETRANSMITTED = HSDPA.tables
_OWN = tuple(by_key(_OWN_RATES))
_PAYS = ("HSDPA", "HSDPA, two PDUs in a block")


def _all(of: Grid, *lines: str) -> tuple[Quantity, ...]:
    return tuple(of.entry(column, line) for line in lines for column in of.columns)


def _count(metric: Metric, quantities: Iterable[Quantity]) -> tuple[Never, ...]:
    """That something never happens in the runs of these."""
    return tuple(Never(Quantity(f"{of.name}, {metric.__name__}", of.cell, metric, "1")) for of in quantities)


_ORDERED, _IN_ORDER_ALONE = "as it is", "MAC-hs does not wait"
_LOOSE, _RLC_LOOSE = "MAC-hs does not wait, RLC out of sequence", "RLC out of sequence"
_MISREAD, _MISREAD_LOOSE = "1 % of NACKs misread", "1 % of NACKs misread, RLC out of sequence"

HSDPA_CLAIMS = (
    _claim(
        25,
        "HSDPA cures what Tables 3 and 14 show: Reno pays for the repetitions and for nothing else, at each "
        "rate and packet size, with one PDU in a block or two, without a fast retransmit or a timeout.",
        *(WithinPoints(of, FLOOR, 0.5) for of in _all(_LARGE, *_PAYS)),
        *_count(fast_retransmits, _all(_LARGE, *_PAYS)),
        *_count(timeouts, _all(_LARGE, *_PAYS)),
        *(Less(_LARGE.entry(column, "HSDPA"), _LARGE.entry(column, "DCH")) for column in by_key(THREE)),
    ),
    _claim(
        26,
        "Where Reno suffers on the dedicated channel, a file of 100 kB pays less over HSDPA than there, and "
        "less than a large one.",
        (Less(_SMALL.entry(column, "HSDPA"), _SMALL.entry(column, "DCH")) for column in by_key(THREE)),
        (Less(_SMALL.entry(column, "HSDPA"), _LARGE.entry(column, "HSDPA")) for column in by_key(THREE)),
    ),
    _claim(
        27,
        "Remedies have nothing left to do: Eifel and Westwood take the time that Reno does, and a proxy 30 "
        "ms from the cell saves less than a point.",
        *(
            Tie(_REMEDIES.entry(column, remedy), _REMEDIES.entry(column, "none"))
            for remedy in ("Eifel", "Westwood")
            for column in _REMEDIES.columns
        ),
        *(
            WithinPoints(Minus(split, none), -0.5, 0.7)
            for split, none in zip(_all(_REMEDIES, "split by a proxy"), _all(_REMEDIES, "none"), strict=True)
        ),
    ),
    _claim(
        28,
        "HARQ cures only together with what puts blocks in order: if MAC-hs does not wait for repetitions, "
        "RLC has to repair what is lost. If it hands up what has come meanwhile, 384/576 takes longer than "
        "over the dedicated channel, and HSDPA's own rates suffer more still.",
        Less(_LARGE.entry("384/576", "DCH"), _INCREASE.entry("384/576", _LOOSE)),
        *(
            Less(_INCREASE.entry("384/576", _LOOSE), _INCREASE.entry(f"{rate}/{packet}", _LOOSE))
            for rate, packet in _OWN_RATES
        ),
    ),
    _claim(
        29,
        "RLC's sequence alone does not do: TCP retransmits nothing then, but RLC sends a tenth again, and "
        "repairs so late that each download takes at least a quarter longer.",
        *(AtLeast(of, 25) for of in _all(_INCREASE, _IN_ORDER_ALONE)),
        *_count(fast_retransmits, _all(_INCREASE, _IN_ORDER_ALONE)),
    ),
    _claim(
        30,
        "And RLC has to deliver in sequence what HARQ leaves to it, a PDU in ten thousand: out of sequence "
        "this alone brings fast retransmits, and makes the increase a third larger or more at HSDPA's own "
        "rates. With 1 % of the NACKs misread it is one in a thousand: less than six points in sequence, "
        "and out of sequence five times the increase or more.",
        (
            Less(Times(4 / 3, _INCREASE.entry(column, _ORDERED)), _INCREASE.entry(column, _RLC_LOOSE))
            for column in _OWN
        ),
        (AtMost(of, 0.02, slack=0) for of in _all(_RETRANSMITTED, _ORDERED)),
        (AtMost(of, 0.2, slack=0) for of in _all(_RETRANSMITTED, _MISREAD)),
        (AtMost(of, FLOOR + 6, slack=0) for of in _all(_INCREASE, _MISREAD)),
        (
            Less(Times(5, _INCREASE.entry(column, _MISREAD)), _INCREASE.entry(column, _MISREAD_LOOSE))
            for column in _OWN
        ),
    ),
)
"""What the study shows."""
