"""Studies of TCP and of the link: what the thesis argues or leaves open, and does not simulate."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from airpath.experiments.papers.base.cell import Cell, Overrides
from airpath.experiments.papers.downloads import (
    ARQ,
    NO_BLOCK_ERRORS,
    RETURN,
    Download,
    fast_retransmits,
    increase,
    received_s,
    retransmitted,
    timeouts,
)
from airpath.experiments.papers.lundsten.figures import WORST
from airpath.experiments.papers.lundsten.model import EIFEL, SMALL_FILE_BYTES, WINDOWS, eifel, make_download
from airpath.experiments.papers.lundsten.study import (
    SIX,
    THREE,
    Key,
    make_grid,
    make_study,
    make_tables,
    with_options,
)

_UPLINK = "radio.dch.uplink.rate"


def _heads(keys: tuple[Key, ...]) -> tuple[str, ...]:
    return tuple(f"{rate}/{packet}" for rate, packet in keys)


def _over_reno(key: Key, download: Download) -> Cell:
    """Beside Reno without block errors, as the thesis compares variants."""
    return download.against_no_errors(make_download(*key))


_RESPONSES: tuple[tuple[str, Callable[[Key], Cell]], ...] = (
    ("Reno", lambda key: _over_reno(key, make_download(*key))),
    ("Eifel, window as before", lambda key: _over_reno(key, make_download(*key, **EIFEL))),
    (
        "Eifel, response of RFC 4015",
        lambda key: _over_reno(key, make_download(*key, **eifel("rfc4015", variant="Eifel, RFC 4015"))),
    ),
)

EIFEL_RESPONSE = make_tables(
    1,
    "What Eifel does when nothing was lost",
    "Section 3.1.4 gives the sender the window that it had before the retransmission. RFC 4015, three years "
    "later, lets it go on from what is in flight. Does this explain Table 5 (34.2 %)?",
    "sender",
    make_grid("increase", _heads(THREE), [(name, [make(key) for key in THREE]) for name, make in _RESPONSES]),
    make_grid(
        "segments sent again",
        _heads(THREE),
        [(name, [make(key) for key in THREE]) for name, make in _RESPONSES],
        retransmitted,
    ),
)

_SIZES = (50_000, SMALL_FILE_BYTES, 200_000)


def opened(handshake: str, key: Key, size: int) -> Cell:
    """A small file, with or without connection set-up, at 10 % block errors."""
    options = (("tcp.handshake", handshake),)
    cell = make_download(*key, size, variant=handshake, options=options).alone(errors=True)
    # At 384/576 one fast retransmit more or less outweighs what set-up takes.
    return replace(cell, precise=received_s, runs=1000 if key == WORST else 1)


T_TCP = make_tables(
    3,
    "T/TCP",
    "Section 3.1.7: T/TCP saves set-up time, which counts for small files. Time from the UE's first segment "
    "until it has the file, at 10 % block errors; without set-up the server's first segment begins it.",
    "connection set-up",
    *(
        make_grid(
            f"{rate}/{packet}",
            [f"{size // 1000} kB" for size in _SIZES],
            [
                (name, [opened(handshake, (rate, packet), size) for size in _SIZES])
                for name, handshake in (("none", "none"), ("three-way", "three_way"), ("T/TCP", "ttcp"))
            ],
            received_s,
            "s",
        )
        for rate, packet in THREE
    ),
)

GIVEN_UP: Overrides = ((f"{ARQ}.delivery", "in_sequence"), (f"{ARQ}.max_transmissions", "2"))

SACK_OPTIONS: Overrides = (("tcp.sack", "true"), ("tcp.recovery.sack", "{}"))
_RECOVERIES: tuple[tuple[str, Overrides], ...] = (
    ("Reno", ()),
    ("NewReno", (("tcp.recovery.newreno", "{}"),)),
    ("SACK", SACK_OPTIONS),
    ("SACK, undone by DSACK", (*SACK_OPTIONS, ("tcp.dsack", "true"), ("tcp.undo.dsack", "{}"))),
)


def recovering(name: str, options: Overrides, key: Key, more: Overrides = ()) -> Cell:
    """A sender with these options, beside Reno without block errors."""
    return _over_reno(key, make_download(*key, variant=name, options=(*options, *more)))


SACK = make_tables(
    4,
    "SACK",
    "Section 3.1.7: SACK helps where several packets of a window are lost. The link's reordering loses none; "
    "in the last column blocks are given up after two transmissions, in sequence.",
    "sender",
    make_grid(
        "increase",
        (*_heads(THREE), "384/576, blocks given up"),
        [
            (
                name,
                [
                    *(recovering(name, options, key) for key in THREE),
                    recovering(f"{name}, blocks given up", options, WORST, GIVEN_UP),
                ],
            )
            for name, options in _RECOVERIES
        ],
    ),
)

_TIMERS: tuple[tuple[str, Overrides], ...] = (
    ("ticks of 100 ms, at least 1 s", ()),
    ("ticks of 10 ms, at least 10 ms", (("tcp.rto", '{ initial = "3 s", min = "10 ms", tick = "10 ms" }'),)),
    ("RFC 6298, exact, at least 1 s", (("tcp.rto", '{ initial = "3 s", min = "1 s" }'),)),
    (
        "RFC 6298, every segment timed, at least 10 ms",
        (("tcp.rto", '{ initial = "3 s", min = "10 ms" }'), ("tcp.rtt_sampling", "every_segment")),
    ),
    ("Eifel timer", (("tcp.rto", '{ timer = "eifel_timer", initial = "3 s", min = "10 ms" }'),)),
    ("Linux's", (("tcp.rto", '{ timer = "linux", initial = "3 s", min = "200 ms" }'),)),
)
_BACK_LATE: Overrides = (
    (f"{ARQ}.delivery", "in_sequence"),
    (RETURN, "2 s"),
    ("radio.dch.downlink.channel.bernoulli.bler", "0.1 %"),
)


def _timed(name: str, timer: Overrides) -> tuple[str, list[Cell]]:
    def make(options: Overrides = (), **differs: bool) -> Cell:
        download = make_download(*WORST, variant=name, options=(*timer, *options), **differs)
        return download.against_no_errors()

    return name, [make(in_sequence=True), make(in_sequence=True, small_pdus=True), make(_BACK_LATE)]


_TIMED = [_timed(*known) for known in _TIMERS]
_WHERE_TIMED = ("one block per TTI", "PDUs of 40 B", "one block in 1000, back after 2 s")

TIMERS = make_tables(
    5,
    "Retransmission timers, in sequence",
    "Section 6.2: another way to compute the timer may be worth investigating. In sequence at 384/576, with "
    "the blocks of Tables 8 and 15, and where a block returns so late that timeouts are sure.",
    "timer",
    make_grid("increase", _WHERE_TIMED, _TIMED),
    make_grid("timeouts in a run", _WHERE_TIMED, _TIMED, timeouts, "1"),
    make_grid("fast retransmits in a run", _WHERE_TIMED, _TIMED, fast_retransmits, "1"),
)

_FACTORS = (1, 3, 6, 12, 24, 48)


def asymmetric(key: Key, factor: int) -> Download:
    """A download over an uplink so many times narrower."""
    options = ((_UPLINK, f"{key[0] * 1000 // factor} bit/s"),)
    return make_download(*key, variant=f"uplink {factor} times narrower", options=options)


def _beside_symmetric(key: Key, factor: int) -> Cell:
    symmetric, narrow = (asymmetric(key, known) for known in (1, factor))
    twin, overrides = ((*known.overrides, NO_BLOCK_ERRORS) for known in (symmetric, narrow))
    return Cell(f"{narrow.name}, no block errors", overrides, twin, increase)


_NARROW = ((384, 576), (384, 1500), (64, 576), (64, 1500))

ASYMMETRY = make_tables(
    6,
    "An uplink that is narrower",
    "Section 2.2: an asymmetry of 3 to 6 does TCP no harm. The uplink is so many times narrower than the "
    "downlink; ACKs of 40 B for every segment.",
    "times",
    make_grid(
        "transfer time without block errors, over that of a symmetric bearer",
        _heads(_NARROW),
        [(f"{factor}", [_beside_symmetric(key, factor) for key in _NARROW]) for factor in _FACTORS],
    ),
    make_grid(
        "increase at 10 % block errors over none",
        _heads(_NARROW),
        [
            (f"{factor}", [asymmetric(key, factor).against_no_errors() for key in _NARROW])
            for factor in _FACTORS
        ],
    ),
)

_TTI_OF_40_BYTES = {384: "833334 ns", 128: "2500 us", 64: "5 ms"}


def _one_by_one(key: Key, *, in_sequence: bool) -> Cell:
    options = ((f"{ARQ}.tti", _TTI_OF_40_BYTES[key[0]]),)
    download = make_download(*key, in_sequence=in_sequence, variant="PDUs of 40 B singly", options=options)
    return download.against_no_errors()


def _together(key: Key, *, in_sequence: bool) -> Cell:
    return make_download(*key, small_pdus=True, in_sequence=in_sequence).against_no_errors()


SINGLE_PDUS = make_tables(
    8,
    "PDUs of 40 bytes, together or one by one",
    "Appendix B.5 has no parameter for the size of a PDU, and by B.4 blocks are sent singly: `tti_` may have "
    "been the 0.83 ms that 40 bytes take at 384 kbit/s (2.5 and 5 ms at 128 and 64). Does this bring Tables "
    "14 (676, 388, 184, 18.7, 11.4, 11) and 15 (305, 14.3, 18.7, 11.5, 11, 11)?",
    "PDUs",
    *(
        make_grid(
            title,
            _heads(SIX),
            [
                (name, [of(key, in_sequence=in_sequence) for key in SIX])
                for name, of in (("a TTI of them together", _together), ("one by one", _one_by_one))
            ],
        )
        for title, in_sequence in (("out of sequence, Table 14", False), ("in sequence, Table 15", True))
    ),
)

UPLINK = make_study(
    9,
    "Rate of the uplink",
    "The thesis gives none. 64 kbit/s is ours; the trace of Appendix A.7 has links of 5 Mbit/s.",
    "uplink",
    SIX,
    tuple((f"{rate} kbit/s", with_options((_UPLINK, f"{rate} kbit/s"))) for rate in (64, 384, 5000)),
)


def faster(rate_kbps: int, tti_ms: int, back_ms: int) -> Callable[[int], Cell]:
    """A bearer with another TTI and time until a block is back; windows cover 300 ms of it."""

    def make(packet_bytes: int) -> Cell:
        window = WINDOWS.get((rate_kbps, packet_bytes)) or -(-rate_kbps * 300 // (8 * packet_bytes))
        options = ((f"{ARQ}.tti", f"{tti_ms} ms"), (RETURN, f"{back_ms} ms"))
        variant = f"TTI {tti_ms} ms, back after {back_ms} ms"
        size = 16_000_000
        download = Download(rate_kbps, packet_bytes, window, size, variant=variant, options=options)
        return download.against_no_errors()

    return make


_LINKS = ((384, 20, 60), (384, 10, 40), (384, 2, 10), (1800, 2, 10), (3600, 2, 10))

FASTER_LINK = make_tables(
    10,
    "A link layer that repairs sooner",
    "Section 3.1.6: HSDPA's TTI is shorter and its retransmissions are faster, which should reduce the "
    "problem. One user, 10 % of the blocks lost, out of sequence; no shared channel.",
    "bearer",
    make_grid(
        "increase",
        ("576 B", "1500 B"),
        [
            (
                f"{rate} kbit/s, TTI {tti} ms, back after {back} ms",
                [faster(rate, tti, back)(packet) for packet in (576, 1500)],
            )
            for rate, tti, back in _LINKS
        ],
    ),
)
