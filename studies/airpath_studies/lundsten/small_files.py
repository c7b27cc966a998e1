"""The claims of Lundsten's thesis about small files and initial windows, and about packet sizes."""

from __future__ import annotations

from airpath_studies.base.cell import Metric
from airpath_studies.base.claims import claims_of
from airpath_studies.base.conditions import (
    About,
    AtLeast,
    Less,
    Positive,
    Spread,
    Tie,
    WithinPoints,
    between,
    rising,
)
from airpath_studies.base.quantity import Minus, Quantity, Times
from airpath_studies.shared.downloads import Key, decrease, increase, saved_s, transfer_s
from airpath_studies.shared.lundsten import (
    CELLS,
    FAST,
    SIX,
    SMALL_FILE_BYTES,
    WORST,
    initial_window_cell,
    make_download,
)

_RATES = (384, 128, 64)
_SIZES = (50_000, SMALL_FILE_BYTES, 200_000)

_claim = claims_of("lundsten")


def _name(key: Key) -> str:
    return f"{key[0]}/{key[1]}"


def _small(key: Key) -> Quantity:
    """The increase for 100 kB."""
    cell = make_download(*key, SMALL_FILE_BYTES).against_no_errors()
    return Quantity(f"{_name(key)}, 100 kB", cell, increase)


def _large(key: Key) -> Quantity:
    return Quantity(_name(key), CELLS[key], increase)


def _pdus(key: Key, *, in_sequence: bool) -> Quantity:
    """The increase with PDUs of 40 bytes."""
    cell = make_download(*key, small_pdus=True, in_sequence=in_sequence).against_no_errors()
    return Quantity(f"{_name(key)}, 40 B{', in sequence' if in_sequence else ''}", cell, increase)


def _speed(key: Key) -> Quantity:
    """The speed of 100 kB without block errors, kbit/s."""
    download = make_download(*key, SMALL_FILE_BYTES)
    return Quantity(f"speed at {_name(key)}", download.alone(errors=False), download.speed, unit="kbit/s")


def _utilisation(key: Key) -> Quantity:
    """The same, percent of the bearer's speed."""
    download = make_download(*key, SMALL_FILE_BYTES)
    return Quantity(f"use of {_name(key)}", download.alone(errors=False), download.share_of_bearer)


def _saved(key: Key, size: int, segments: int = 3) -> Quantity:
    """What an initial window saves of the transfer time, percent."""
    cell = initial_window_cell(*key, size, segments)
    return Quantity(f"{_name(key)}, {size // 1000} kB, window {segments}", cell, decrease)


def _offset(packets: int, segments: int, metric: Metric, unit: str) -> Quantity:
    """What an initial window saves without block errors."""
    download = make_download(*WORST, packets * 576, initial_window=segments)
    cell = download.against_initial_window_1(errors=False)
    return Quantity(f"saved by window {segments}, {packets} packets", cell, metric, unit=unit)


_TWELVE = tuple(_saved(key, size) for size in _SIZES for key in SIX[:4])
"""What an initial window of 3 saves in the cells of Tables 11 to 13."""

_MOST = _saved(FAST, 50_000)

SMALL_FILE_CLAIMS = (
    _claim(
        32,
        "Tables 3, 9, Section 5.4.1",
        "384/576: the increase for 100 kB, about 95 %, is far below a large file's (six tenths at most).",
        Less(_small(WORST), Times(0.6, _large(WORST))),
        About(_small(WORST), 95),
    ),
    _claim(
        33,
        "Table 10",
        "100 kB without block errors: 384 kbit/s gives 225 to 250 kbit/s only, 64 kbit/s more than 95 % of "
        "the bearer, and the share falls as the bearer gets faster.",
        *(limit for packet in (576, 1500) for limit in between(_speed((384, packet)), 225, 250)),
        *(AtLeast(_utilisation((64, packet)), 95, slack=0) for packet in (576, 1500)),
        *rising(*(_utilisation((rate, 576)) for rate in _RATES)),
        *rising(*(_utilisation((rate, 1500)) for rate in _RATES)),
    ),
    _claim(
        34,
        "Table 10",
        "100 kB without block errors: 1500 bytes are faster than 576 on each bearer.",
        *(Less(_speed((rate, 576)), _speed((rate, 1500))) for rate in _RATES),
    ),
    _claim(
        35,
        "Sections 5.4.1, 5.4.2",
        "Single runs of 100 kB scatter widely at 10 % block errors (384 kbit/s: by a tenth and more).",
        *(
            Spread(Quantity(f"transfer time {_name(key)}", _small(key).cell, transfer_s, unit="s"), 0.1)
            for key in (WORST, FAST)
        ),
    ),
    _claim(
        36,
        "Tables 11 to 13",
        "An initial window of 3 instead of 1 shortens every small transfer.",
        *map(Positive, _TWELVE),
    ),
    _claim(
        37,
        "Table 11, Sections 5.4.2, 6.2",
        "From 3 to 4 segments little changes: at most about 4 points.",
        *(
            WithinPoints(Minus(_saved(key, SMALL_FILE_BYTES, 4), _saved(key, SMALL_FILE_BYTES)), 0, 4)
            for key in SIX[:4]
        ),
    ),
    _claim(
        38,
        "Tables 11 to 13",
        "What an initial window of 3 saves falls from 50 to 100 to 200 kB.",
        *(less for key in SIX[:4] for less in rising(*(_saved(key, size) for size in reversed(_SIZES)))),
    ),
    _claim(
        39,
        "Table 12, Section 5.4.3",
        "It saves most at 384/1500 with 50 kB, about 21 %.",
        About(_MOST, 21),
        *(Less(saved, _MOST) for saved in _TWELVE if saved != _MOST),
    ),
    _claim(
        40,
        "Table 13, Section 5.4.3",
        "With 200 kB it saves little, 2 to 4 %.",
        *(limit for key in SIX[:4] for limit in between(_saved(key, 200_000), 2, 4)),
    ),
    _claim(
        41,
        "Figure 18",
        "Without block errors initial windows of 1, 3 and 4 differ by an offset at the start only, so that "
        "the share saved is largest for very small files (20 kB against 50, 100 and 200).",
        *(
            Tie(_offset(104, segments, saved_s, "s"), _offset(packets, segments, saved_s, "s"))
            for segments in (3, 4)
            for packets in (35, 174, 348)
        ),
        *(
            less
            for n in (3, 4)
            for less in rising(*(_offset(packets, n, decrease, "percent") for packets in (348, 174, 87, 35)))
        ),
    ),
    _claim(
        42,
        "Section 5.4.1, Table 10",
        "100 kB: no block errors instead of 10 % give roughly 10 to 20 % more throughput, and much more "
        "(at least twice that) at 384/576.",
        *(limit for key in SIX[1:] for limit in between(_small(key), 10, 20)),
        AtLeast(_small(WORST), 40, slack=0),
    ),
    _claim(
        43,
        "Section 7.1, Tables 3, 9, 14, 15",
        "Large packets do better than small ones in every case.",
        *(Less(_large((rate, 1500)), _large((rate, 576))) for rate in _RATES),
        *(Less(_small((rate, 1500)), _small((rate, 576))) for rate in _RATES),
        *(
            Less(*(_pdus((rate, packet), in_sequence=in_sequence) for packet in (1500, 576)))
            for in_sequence in (False, True)
            for rate in _RATES
        ),
    ),
    _claim(
        44,
        "Sections 5.4.3, 6.2, Tables 11 to 13",
        "A larger initial window gains more where packets are large.",
        *(
            Less(_saved((rate, 576), size, segments), _saved((rate, 1500), size, segments))
            for rate in (384, 128)
            for size, segments in ((50_000, 3), (SMALL_FILE_BYTES, 3), (SMALL_FILE_BYTES, 4), (200_000, 3))
        ),
    ),
)
"""Claims 32 to 44."""
